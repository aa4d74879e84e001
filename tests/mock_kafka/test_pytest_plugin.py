"""The pytest plugin in a project that uses mock-kafka."""

import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

pytest_plugins = ["pytester"]

PASSING = """
    import socket
    import pytest

    seen = []

    @pytest.mark.parametrize("number", range(3))
    def test_the_cluster_is_empty(mock_kafka, number):
        assert mock_kafka.topics() == []
        mock_kafka.create_topic("orders")
        seen.append(mock_kafka.pid)
        assert len(set(seen)) == 1

    def test_leave_a_connection_open(mock_kafka, request):
        host, port = mock_kafka.bootstrap_servers.split(":")
        request.session.left = socket.create_connection((host, int(port)), timeout=30)

    def test_the_connection_of_the_last_test_is_closed(mock_kafka, request):
        assert request.session.left.recv(1) == b""
        request.session.left.close()

    @pytest.mark.mock_kafka(brokers=2, config={"num.partitions": 3})
    def test_a_marker_configures_the_cluster(mock_kafka):
        assert mock_kafka.brokers == 2
        assert len(mock_kafka.create_topic("orders").partitions) == 3

    RULE = {"principal": "alice", "operations": ["read", "describe"], "topic": "orders"}

    @pytest.mark.parametrize("number", range(2))
    @pytest.mark.mock_kafka(allow=[RULE], deny=[{**RULE, "operations": "write"}])
    def test_a_marker_has_rules(mock_kafka, number):
        assert [(acl.permission_type, acl.operation) for acl in mock_kafka.acls()] == [
            ("ALLOW", "READ"), ("ALLOW", "DESCRIBE"), ("DENY", "WRITE"),
        ]
        mock_kafka.delete_acls()

    @pytest.mark.mock_kafka(acls=True)
    def test_without_rules_nothing_is_allowed(mock_kafka):
        assert not mock_kafka.authorize("alice", "read", topic="orders")

    def test_a_factory_makes_several(mock_kafka_factory, mock_kafka):
        other = mock_kafka_factory()
        third = mock_kafka_factory(brokers=3)
        assert len({mock_kafka.pid, other.pid, third.pid}) == 3
        assert third.brokers == 3
"""
FAILING = """
    import socket
    import pytest
    from kafka import KafkaProducer

    def test_an_order(mock_kafka):
        producer = KafkaProducer(bootstrap_servers=mock_kafka.bootstrap_servers)
        producer.send("orders", b"1").get(30)
        producer.close()
        assert mock_kafka.records("orders") == []

    def test_without_requests(mock_kafka):
        raise AssertionError

    @pytest.mark.mock_kafka(faults=[{"refuse_connection": True}])
    def test_refused(mock_kafka):
        host, port = mock_kafka.bootstrap_servers.split(":")
        with socket.create_connection((host, int(port)), timeout=30) as client:
            mock_kafka.wait_for(kind="connection")
        raise AssertionError

    def test_a_stopped_cluster(mock_kafka):
        mock_kafka.stop()
        raise AssertionError

    def test_fine(mock_kafka):
        pass
"""
CONFIGURED = """
    def test_the_options_apply(mock_kafka):
        assert mock_kafka.brokers == 2
        topic = mock_kafka.create_topic("orders")
        assert (len(topic.partitions), len(topic.partitions[0].replicas)) == (4, 2)
"""
AUDITED = """
    import pytest
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.structs import OffsetAndMetadata

    def commit(kafka, offset):
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
        producer.send("orders", b"1").get(30)
        producer.close()
        consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, group_id="billing")
        partition = TopicPartition("orders", 0)
        consumer.assign([partition])
        consumer.commit({partition: OffsetAndMetadata(offset, "", -1)})
        consumer.close(autocommit=False)

    def test_all_is_stored(mock_kafka):
        commit(mock_kafka, 1)
        assert mock_kafka.audit().covered == 1

    def test_an_offset_beyond_the_end(mock_kafka):
        commit(mock_kafka, 7)

    @pytest.mark.mock_kafka(audit=False)
    def test_without_audit(mock_kafka):
        commit(mock_kafka, 7)

    def test_that_fails_for_another_reason(mock_kafka):
        commit(mock_kafka, 7)
        assert "its own reason" == ""

    def test_a_cluster_that_was_stopped(mock_kafka):
        mock_kafka.stop()
"""
ASYNC = """
    import asyncio
    import pytest
    from aiokafka import AIOKafkaProducer

    @pytest.fixture{fixture_scope}
    async def loop_of_fixture():
        return asyncio.get_running_loop()

    @pytest.mark.parametrize("number", range(2))
    async def test_each_has_an_empty_cluster(mock_kafka, loop_of_fixture, number):
        assert loop_of_fixture is asyncio.get_running_loop()
        assert await mock_kafka.aio.topics() == []
        async with AIOKafkaProducer(bootstrap_servers=mock_kafka.bootstrap_servers) as producer:
            assert (await producer.send_and_wait("orders", b"1")).offset == 0

    @pytest.mark.mock_kafka(brokers=2)
    async def test_the_marker_and_the_factory(mock_kafka, mock_kafka_factory):
        assert (mock_kafka.brokers, mock_kafka_factory(brokers=3).brokers) == (2, 3)

    async def test_a_failure_shows_the_requests(mock_kafka):
        async with AIOKafkaProducer(bootstrap_servers=mock_kafka.bootstrap_servers) as producer:
            await producer.send_and_wait("orders", b"1")
        raise AssertionError
"""


@pytest.mark.slow
def test_tests_share_a_process_that_is_reset(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PASSING)
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "--strict-markers").assert_outcomes(
        passed=10
    )


@pytest.mark.slow
@pytest.mark.parametrize("loop_scope", ["function", "session"])
def test_async_tests_of_pytest_asyncio_use_the_same_fixtures(
    pytester: pytest.Pytester, loop_scope: str
) -> None:
    scope = "" if loop_scope == "function" else '(scope="session")'
    pytester.makepyfile(ASYNC.format(fixture_scope=scope))
    done = pytester.runpytest_subprocess(
        *("-p", "no:cacheprovider", "--strict-markers", "-W", "error"),
        *("-o", "asyncio_mode=auto"),
        *("-o", f"asyncio_default_test_loop_scope={loop_scope}"),
        *("-o", f"asyncio_default_fixture_loop_scope={loop_scope}"),
    )
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines(["*mock-kafka requests*", "*Produce v* orders *-> responded*"])


@pytest.mark.slow
def test_each_xdist_worker_has_its_own_process(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import os, pathlib, pytest

        @pytest.mark.parametrize("number", range(8))
        def test_the_cluster_is_empty(mock_kafka, number):
            assert mock_kafka.topics() == []
            mock_kafka.create_topic("orders")
            pathlib.Path(f"{os.environ['PYTEST_XDIST_WORKER']}-{mock_kafka.pid}").touch()
    """)
    done = pytester.runpytest_subprocess("-n2", "--dist", "each")
    done.assert_outcomes(passed=16)
    pairs = [path.name.split("-") for path in pytester.path.glob("gw*-*")]
    assert len(pairs) == len({worker for worker, _ in pairs}) == len({pid for _, pid in pairs}) == 2


@pytest.mark.slow
@pytest.mark.parametrize("ini", ["", "filterwarnings = error\n"])
def test_a_test_with_kafka_python_has_no_warnings(pytester: pytest.Pytester, ini: str) -> None:
    pytester.makeini(f"[pytest]\nasyncio_default_fixture_loop_scope = function\n{ini}")
    pytester.makepyfile("""
        from kafka import KafkaAdminClient

        def test_topics(mock_kafka):
            with KafkaAdminClient(bootstrap_servers=mock_kafka.bootstrap_servers) as admin:
                assert admin.list_topics() == []
    """)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(passed=1, warnings=0)


@pytest.mark.slow
def test_the_report_of_a_failing_test_has_the_last_requests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILING)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(failed=4, passed=1)
    done.stdout.fnmatch_lines(
        ["*mock-kafka requests*", "#*broker 1*kafka-python*Produce v* orders *-> responded*"]
    )
    done.stdout.fnmatch_lines(["*test_without_requests*", "*mock-kafka requests*", "no requests"])
    done.stdout.fnmatch_lines(
        ["*test_a_stopped_cluster*", "not available: the cluster is not running*"]
    )

    done.stdout.fnmatch_lines(["*test_refused*", "*new connection  -> refused  [[]#1 refuse_c*"])

    quiet = pytester.runpytest_subprocess("--mock-kafka-log=0", "-k", "an_order")
    quiet.stdout.no_fnmatch_line("*mock-kafka requests*")


@pytest.mark.slow
def test_the_traceback_of_a_failing_test_has_the_line_of_the_caller_and_none_of_ours(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("""
        import asyncio
        import pytest

        def test_sync(mock_kafka):
            mock_kafka.produce("orders", b"1", partition=7)

        def test_async(mock_kafka):
            async def run():
                await mock_kafka.aio.records("no-such-topic")
            asyncio.run(run())

        def test_a_timeout(mock_kafka):
            mock_kafka.wait_for(api="Produce", timeout_s=0)

        @pytest.mark.mock_kafka(config={"num.partition": 3})
        def test_an_unknown_key(mock_kafka):
            pass
    """)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(failed=3, errors=1)
    done.stdout.fnmatch_lines_random(
        [
            ">*mock_kafka.produce(*",
            "E*UNKNOWN_TOPIC_OR_PARTITION*",
            ">*mock_kafka.aio.records(*",
            "E*no topic 'no-such-topic'*",
            ">*mock_kafka.wait_for(*",
            "E*num.partitions*",
        ]
    )
    frames = [line for line in done.outlines if re.match(r"\S*mock_kafka/\w+\.py:\d+", line)]
    assert [line for line in frames if "pytest_plugin" not in line] == []
    done.stdout.no_fnmatch_line("*threads.py:*")


@pytest.mark.slow
def test_the_report_has_the_decoded_messages_of_the_newest_and_the_failed_requests(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("""
        from kafka import KafkaProducer

        def test_an_order(mock_kafka):
            mock_kafka.fail(api="Metadata", error="LEADER_NOT_AVAILABLE", times=1)
            producer = KafkaProducer(
                bootstrap_servers=mock_kafka.bootstrap_servers, retry_backoff_ms=1
            )
            for _ in range(10):
                producer.send("orders", b"1").get(30)
            producer.close()
            assert mock_kafka.records("orders") == []
    """)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.stdout.fnmatch_lines(
        [
            "*mock-kafka requests*",
            "#*Metadata v*LEADER_NOT_AVAILABLE*",
            "    request: {*topics*",
            "    response: {*LEADER_NOT_AVAILABLE*",
            "#*Produce v* orders *-> responded*",
            "    response: {*base_offset*",
        ]
    )
    decoded = [line for line in done.outlines if line.startswith("    request: ")]
    all_of_them = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-v").outlines
    assert len(decoded) < len([line for line in all_of_them if line.startswith("    request: ")])


@pytest.mark.slow
def test_a_module_and_a_session_share_a_cluster(pytester: pytest.Pytester) -> None:
    module = """
        import pytest

        pytestmark = pytest.mark.mock_kafka(brokers=2)

        @pytest.fixture(scope="module")
        def orders(mock_kafka_module):
            return mock_kafka_module.create_topic("orders")

        def test_one(mock_kafka_module, orders, events):
            assert mock_kafka_module.brokers == 2
            mock_kafka_module.produce("orders", b"1")

        def test_two(mock_kafka_module, events, mock_kafka):
            assert len(mock_kafka_module.records("orders")) == 1
            assert len(events.records("events")) == 1
            assert mock_kafka.topics() == []

        def test_three(mock_kafka_module):
            raise AssertionError
    """
    pytester.makeconftest("""
        import pytest

        @pytest.fixture(scope="session")
        def events(mock_kafka_session):
            mock_kafka_session.produce("events", b"1")
            return mock_kafka_session
    """)
    pytester.makepyfile(test_a=module, test_b=module)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(passed=4, failed=2)
    assert len([line for line in done.outlines if "mock-kafka requests" in line]) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("marker", "reason"),
    [
        ("mock_kafka(broker=3)", "*unknown argument 'broker'; did you mean brokers?*audit*"),
        ("mock_kafka(3)", "*takes named arguments only: mock_kafka(brokers=3*"),
        ("mock_kafka_broker(3)", "*unknown marker 'mock_kafka_broker'; did you mean mock_kafka?*"),
    ],
)
def test_an_unknown_marker_or_argument_is_an_error_that_says_what_is_known(
    pytester: pytest.Pytester, marker: str, reason: str
) -> None:
    pytester.makepyfile(f"""
        import pytest

        @pytest.mark.{marker}
        def test_it(mock_kafka):
            pass
    """)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert done.ret != 0
    pytest.LineMatcher(done.outlines + done.errlines).fnmatch_lines([reason])


def test_an_unknown_option_is_an_error_that_says_what_is_known(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("def test_it(): pass")
    done = pytester.runpytest_subprocess("--mock-kafka-broker=3")
    done.stderr.fnmatch_lines(["*--mock-kafka-broker'; did you mean --mock-kafka-brokers?*"])


def test_a_count_of_brokers_that_is_no_number_is_an_error_of_one_line(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nmock_kafka_brokers = three")
    pytester.makepyfile("def test_it(mock_kafka): pass")
    done = pytester.runpytest_subprocess()
    done.assert_outcomes(errors=1)
    reason = "*UsageError: mock_kafka_brokers: 'three' is not a number"
    done.stdout.fnmatch_lines([reason])
    done.stdout.no_fnmatch_line("*ValueError*")


@pytest.mark.slow
@pytest.mark.parametrize("is_ini", [True, False])
def test_options_configure_the_clusters(pytester: pytest.Pytester, is_ini: bool) -> None:
    pytester.makepyfile(CONFIGURED)
    options = []
    if is_ini:
        pytester.makeini("""
            [pytest]
            mock_kafka_brokers = 2
            mock_kafka_config =
                num.partitions=4
                default.replication.factor=2
        """)
    else:
        options = ["--mock-kafka-brokers=2", "--mock-kafka-config=num.partitions=4"]
        options += ["--mock-kafka-config", "default.replication.factor=2"]
    pytester.runpytest_subprocess(*options).assert_outcomes(passed=1)


@pytest.mark.slow
@pytest.mark.parametrize("is_ini", [True, False])
def test_fault_rules_of_the_options_and_of_a_marker_both_apply(
    pytester: pytest.Pytester, is_ini: bool
) -> None:
    pytester.makepyfile("""
        import pytest

        @pytest.mark.mock_kafka(faults=[{"delay_ms": 2}])
        def test_for_one(mock_kafka):
            assert [each.rule for each in mock_kafka.faults()] == [{"delay_ms": 1}, {"delay_ms": 2}]

        def test_for_all(mock_kafka):
            assert [each.rule for each in mock_kafka.faults()] == [{"delay_ms": 1}]
    """)
    pytester.path.joinpath("faults.json").write_text('{"delay_ms": 1}')
    options = [] if is_ini else ["--mock-kafka-faults=faults.json"]
    if is_ini:
        pytester.makeini("[pytest]\nmock_kafka_faults = faults.json")
    pytester.runpytest_subprocess(*options).assert_outcomes(passed=2)


@pytest.mark.slow
@pytest.mark.parametrize("is_ini", [True, False])
def test_a_test_fails_when_the_audit_of_its_cluster_has_findings(
    pytester: pytest.Pytester, is_ini: bool
) -> None:
    pytester.makepyfile(AUDITED)
    options = [] if is_ini else ["--mock-kafka-audit"]
    if is_ini:
        pytester.makeini("[pytest]\nmock_kafka_audit = true")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--mock-kafka-log=0", *options)
    done.assert_outcomes(passed=3, failed=2)
    done.stdout.fnmatch_lines(
        [
            "audit: 1 findings; acknowledgements: 1 covered*",
            "  offset_beyond_log_end  orders-0 offset 7  group 'billing' has committed offset 7*",
            "*its own reason*",
            "FAILED *test_an_offset_beyond_the_end*",
            "FAILED *test_that_fails_for_another_reason*",
        ]
    )


@pytest.mark.slow
def test_a_marker_secures_a_cluster_and_moves_it_to_new_ports(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import socket
        import pytest
        from kafka import KafkaProducer

        pytestmark = pytest.mark.mock_kafka(tls=True, users={"alice": "secret"}, ports="new")
        pids, ports = [], []

        @pytest.mark.parametrize("number", range(2))
        def test_a_user(mock_kafka, number):
            for port in ports:
                with pytest.raises(ConnectionRefusedError):
                    socket.create_connection(("127.0.0.1", port))
            producer = KafkaProducer(**mock_kafka.client_settings("kafka-python"))
            producer.send("orders", b"1").get(30)
            producer.close()
            assert {request.user for request in mock_kafka.requests(api="Produce")} == {"alice"}
            ports.append(int(mock_kafka.bootstrap_servers.rpartition(":")[2]))
            pids.append(mock_kafka.pid)
            assert len(set(pids)) == 1
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)


def test_the_audit_is_off_by_default(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(AUDITED)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-k", "beyond or without_audit")
    done.assert_outcomes(passed=2)


@pytest.mark.slow
def test_a_marker_enables_the_audit_for_one_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(AUDITED.replace("audit=False", "audit=True"))
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-k", "beyond or without_audit")
    done.assert_outcomes(passed=1, failed=1)


@pytest.mark.slow
def test_a_config_option_without_a_value_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(CONFIGURED)
    done = pytester.runpytest_subprocess("--mock-kafka-config=num.partitions")
    done.stdout.fnmatch_lines(["*'num.partitions' must be KEY=VALUE*"])


def test_a_project_without_the_fixtures_does_not_import_the_cluster() -> None:
    program = "import sys, mock_kafka.pytest_plugin; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    ours = [name for name in done.stdout.split() if name.partition(".")[0] == "mock_kafka"]
    assert ours == ["mock_kafka", "mock_kafka.pytest_plugin"]
    assert not {"asyncio", "http.client", "broker", "kafka"} & set(done.stdout.split())
