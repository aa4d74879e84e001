"""Tests with `@mock_kafka.explore` in a project that uses mock-kafka."""

import pytest

import mock_kafka

pytestmark = pytest.mark.slow

pytest_plugins = ["pytester"]

SERVICE = """
    import pytest
    import mock_kafka as mk
    from kafka import KafkaProducer

    def send(kafka, count, is_idempotent):
        producer = KafkaProducer(
            bootstrap_servers=kafka.bootstrap_servers,
            enable_idempotence=is_idempotent,
            retries=9,
            retry_backoff_ms=10,
            reconnect_backoff_ms=10,
        )
        for number in range(count):
            producer.send("orders", b"%d" % number).get(timeout=30)
        producer.close(timeout=1)
        return [record.value for record in kafka.records("orders")]
"""
PASSING = """
    runs = []

    @pytest.mark.parametrize("count", [2])
    @mk.explore(runs=3)
    def test_each_run_has_an_empty_cluster(mock_kafka, count, request):
        runs.append(mock_kafka.bootstrap_servers)
        assert mock_kafka.brokers == 3
        assert send(mock_kafka, count, True) == [b"0", b"1"]

    def test_there_were_as_many_runs():
        assert len(runs) == len(set(runs)) == 4

    tries = []

    @mk.explore
    async def test_async_tests_run(mock_kafka):
        await mock_kafka.aio.create_topic("orders")
        tries.append(1)

    def test_the_option_sets_the_runs():
        assert len(tries) == 3

    rule = {"api": "Fetch", "delay_ms": 1}
    counts = []

    @pytest.mark.mock_kafka(brokers=1, faults=[rule])
    @mk.explore(runs=2)
    def test_the_marker_is_for_every_run(mock_kafka):
        assert mock_kafka.brokers == 1
        counts.append([fault.rule for fault in mock_kafka.faults()][0])
        assert counts[-1] == rule
"""
FAILING = """
    @mk.explore(runs=40, profiles=["producer"], repeats=2)
    def test_a_producer_without_idempotence(mock_kafka):
        assert send(mock_kafka, 3, False) == [b"0", b"1", b"2"]
"""
BROKEN = """
    @mk.explore(runs=5)
    def test_it_fails_without_faults(mock_kafka):
        mock_kafka.create_topic("orders")
        raise AssertionError("of the test itself")

    @mk.explore(runs=5)
    def test_it_is_skipped(mock_kafka):
        pytest.skip("nothing to do")
"""


def run(pytester: pytest.Pytester, source: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(test_service=SERVICE + source)
    pytester.makeini("[pytest]\nasyncio_mode = auto\n")
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)


def test_passing_tests_run_several_times(pytester: pytest.Pytester) -> None:
    source = PASSING.replace("runs=3", "").replace("== 4", "== 3")
    result = run(pytester, source, "--explore-runs", "2")
    result.assert_outcomes(passed=5)


def test_the_report_has_the_rules_and_the_seed(pytester: pytest.Pytester) -> None:
    result = run(pytester, FAILING, "--explore-seed", "90000")
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "ExplorationError: AssertionError" in text
    assert "with these fault rules, drawn from seed 900" in text
    assert "repeated: failed 2 of 2" in text
    assert "assert send(mock_kafka, 3, False) == " in text


def test_a_test_that_fails_without_faults_is_its_own_failure(pytester: pytest.Pytester) -> None:
    result = run(pytester, BROKEN)
    result.assert_outcomes(failed=1, skipped=1)
    text = result.stdout.str()
    assert "of the test itself" in text
    assert "This was the first run of @mock_kafka.explore, without faults." in text


def test_wrong_uses_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'prodcer'; did you mean producer\?"):
        mock_kafka.explore(profiles=["prodcer"])
    with pytest.raises(TypeError, match="needs the argument mock_kafka"):
        mock_kafka.explore(lambda: None)
