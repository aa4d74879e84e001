"""The Java clients (producer, consumer, admin), in the versions of Spark and Kafka."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from mock_kafka import ConfigValue, MockKafka
from protocol.errors import ErrorCode
from scenarios.clients.confluent_kafka import CONFLUENT, create_topic
from scenarios.clients.interface import by_partition
from scenarios.maven import CannotRunError
from tests.free_ports import free_port_run
from tests.interop.client_program import Lines
from tests.interop.conftest import CONFIG, broker_errors
from tests.interop.dropping_proxy import HOST, DroppingProxy
from tests.interop.java_clients import JavaClients, compile_java_clients

VERSIONS = (*(pytest.param(old, marks=pytest.mark.long) for old in ("3.9.2", "4.1.0")), "4.4.0")
RECORD_COUNT = 4000


@pytest.fixture(scope="module", params=VERSIONS)
def java(request: pytest.FixtureRequest) -> JavaClients:
    """Return clients of one version; skip without a JDK or Maven Central."""
    try:
        return compile_java_clients(request.param)
    except CannotRunError as error:
        pytest.skip(str(error))


def test_records_are_produced_and_read_by_a_group_that_resumes(
    java: JavaClients, kafka_of_three: MockKafka, topic: str
) -> None:
    servers = kafka_of_three.bootstrap_servers
    create_topic(servers, topic, partition_count=2)
    sent = java.run("produce", servers, topic, 100)
    assert sent[:-1] == [
        ["sent", str(number), str(number % 2), str(number // 2)] for number in range(100)
    ]

    def read(count: int) -> Lines:
        group = {"group_id": f"{topic}.group", "auto_offset_reset": "earliest"}
        lines = java.run("consume", servers, topic, count, max_poll_records=10, **group)
        return [line[1:] for line in lines]

    first, rest = read(40), read(60)
    assert (len(first), len(rest)) == (40, 60)
    expected = [
        [str(number % 2), str(number // 2), str(1000 + number), "key", str(number), str(number)]
        for number in range(100)
    ]
    assert sorted(first + rest, key=lambda line: int(line[4])) == expected


@pytest.mark.parametrize("assignor", ["RangeAssignor", "CooperativeStickyAssignor"])
def test_members_of_a_group_share_partitions_and_take_over_from_a_leaver(
    java: JavaClients, kafka_of_three: MockKafka, topic: str, assignor: str
) -> None:
    servers = kafka_of_three.bootstrap_servers
    create_topic(servers, topic, partition_count=4)
    java.run("produce", servers, topic, 40)
    lines = java.run(
        "share",
        servers,
        topic,
        40,
        group_id=f"{topic}.group",
        auto_offset_reset="earliest",
        heartbeat_interval_ms=100,
        partition_assignment_strategy=f"org.apache.kafka.clients.consumer.{assignor}",
    )
    assert lines == [["read", "40"], ["shared", "2", "2"], ["alone", "4"]]


def test_admin_operations_of_the_java_client(
    java: JavaClients, kafka_of_three: MockKafka, topic: str
) -> None:
    lines = java.run("administer", kafka_of_three.bootstrap_servers, topic)
    assert lines == [
        ["brokers", "3"],
        ["features", "6"],
        ["listed", "true"],
        ["partitions", "3"],
        ["retention", "12345"],
        ["producer", "4"],
        ["offset", "2"],
        ["offset", "5"],
        ["offset", "4"],
        ["offset", "4"],
        ["committed", "3"],
        ["group", "0"],
        ["groups", "true"],
        ["reassigning", "0"],
        ["leader", "3"],
        ["log dirs", "3"],
        ["quota", "{producer_byte_rate=1024.0}"],
        ["quota", "null"],
        ["listed", "false"],
    ]


def test_no_record_is_lost_when_a_leader_moves(
    java: JavaClients, kafka_of_three: MockKafka, topic: str
) -> None:
    servers = kafka_of_three.bootstrap_servers
    create_topic(servers, topic, assignment=[[3, 2]])
    lines = java.run("move", servers, topic, 20, retry_backoff_ms=10, fetch_max_wait_ms=20)
    assert [line[2:] for line in lines] == [
        [str(number), str(1000 + number), "key", str(number), str(number)] for number in range(20)
    ]


def test_topics_beyond_the_quota_are_created_by_retries(java: JavaClients, topic: str) -> None:
    config: dict[str, ConfigValue] = {
        "client.quotas": "user=ANONYMOUS,controller_mutation_rate=2",
        "controller.quota.window.num": 2,
    }
    with MockKafka(config=config) as kafka:
        lines = java.run("create", kafka.bootstrap_servers, topic, 8)
        assert broker_errors(kafka) == []
    assert lines[:8] == [["created", str(number)] for number in range(8)]
    # Four at once, of which one may overdraw the bucket; two a second for the other three.
    assert int(lines[8][1]) >= 1500
    [refused] = [line for line in lines if line[0] == "refused"]
    assert 0 < int(refused[1]) <= 500


def test_a_producer_beyond_its_quota_waits(java: JavaClients, topic: str) -> None:
    config: dict[str, ConfigValue] = {
        "client.quotas": "user=ANONYMOUS,producer_byte_rate=4000",
        "quota.window.num": 2,
    }
    with MockKafka(config=config) as kafka:
        create_topic(kafka.bootstrap_servers, topic)
        lines = java.run("produce", kafka.bootstrap_servers, topic, 60, batch_size=0)
    assert lines[-1][0] == "throttled"
    assert float(lines[-1][1]) > 0


def test_a_producer_continues_after_records_expired(
    java: JavaClients, kafka_of_three: MockKafka, topic: str
) -> None:
    """One record per round: with several, the client sends a later one between two expiries.

    The record that expired may be stored all the same: its last request can be on its way when
    the round ends, and the topic then accepts it. Nothing is stored twice in either case.
    """
    kafka = kafka_of_three
    [partition] = kafka.create_topic(topic, 1, 2).partitions
    [follower] = set(partition.replicas) - {partition.leader}
    kafka.stop_broker(follower)
    try:
        timeouts = {"delivery_timeout_ms": 3000, "request_timeout_ms": 500}
        lines = java.run("expire", kafka.bootstrap_servers, topic, 1, **timeouts)
    finally:
        kafka.start_broker(follower)
    offsets = [record.offset for record in kafka.records(topic)]
    assert offsets in ([0, 1], [0, 1, 2])
    kafka.audit().raise_on_findings()
    assert lines == [
        ["results", "0"],
        ["results", "TimeoutException"],
        ["results", str(offsets[-1])],
    ]


@pytest.mark.parametrize("batches", [1, 5], ids=["kip-758", "kafka"])
def test_lost_responses_lose_and_duplicate_no_record(
    java: JavaClients, topic: str, batches: int
) -> None:
    port = free_port_run(2)
    config: dict[str, ConfigValue] = {
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
        "log.retention.ms": -1,
        "producer.state.batches": batches,
    }
    kafka = MockKafka(config=config, port=port + 1)
    with kafka, DroppingProxy(port, [port + 1], seed=758) as proxy:
        create_topic(kafka.bootstrap_servers, topic, partition_count=2)
        proxy.drop_rate = 0.1
        sent = java.run(
            "produce",
            proxy.servers,
            topic,
            RECORD_COUNT,
            batch_size=200,
            retry_backoff_ms=5,
            reconnect_backoff_ms=5,
        )
        assert proxy.tally.drops > 10
        assert set(proxy.tally.codes) <= {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}
        proxy.drop_rate = 0
        read = by_partition(CONFLUENT.read(kafka.bootstrap_servers, topic, 2, RECORD_COUNT))
        assert broker_errors(kafka) == []
    for partition in (0, 1):
        numbers = [int(record.value or b"") for record in read[partition]]
        assert numbers == list(range(partition, RECORD_COUNT, 2))
    for _, number, _partition, offset in sent[:-1]:
        # The response to a duplicate may have no offset.
        assert offset in {"-1", str(int(number) // 2)}


GIVEN_UP = {"TimeoutException", "OutOfOrderSequenceException"}
"""The errors with which the client gives up a record; a slow one got the second of them."""


def assert_acknowledged_records_are_stored(kafka: MockKafka, topic: str, lines: Lines) -> None:
    """Check that each record whose future succeeded is in the log once, at the future's offset."""
    offsets: dict[str, list[int]] = {}
    for record in kafka.records(topic):
        offsets.setdefault((record.value or b"").decode(), []).append(record.offset)
    for _, number, outcome in lines:
        assert len(offsets.get(number, [])) <= 1, lines
        if outcome not in GIVEN_UP:
            assert number in offsets, f"{number} was acknowledged and is not stored: {lines}"
            assert int(outcome) in {-1, *offsets[number]}
    # The tested case: a later record was stored before the retry of the first one.
    assert lines[0][:2] == ["outcome", "0"]
    assert lines[0][2] in GIVEN_UP
    assert [line[2] for line in lines[1:]] == [str(offset) for offset in range(len(lines) - 1)]
    errors = {error for request in kafka.requests(api="Produce") for error in request.errors}
    assert errors == {"NOT_ENOUGH_REPLICAS", "OUT_OF_ORDER_SEQUENCE_NUMBER"}
    assert broker_errors(kafka) == []


@pytest.mark.parametrize("batches", [1, 5], ids=["kip-758", "kafka"])
def test_acknowledged_records_are_stored_when_a_follower_returns(
    java: JavaClients, topic: str, batches: int
) -> None:
    """The first request finds too few in-sync replicas; later ones in flight find enough."""
    with MockKafka(brokers=2, config=CONFIG | {"producer.state.batches": batches}) as kafka:
        created = kafka.create_topic(topic, 1, 2, {"min.insync.replicas": "2"})
        [follower] = {1, 2} - {created.partitions[0].leader}
        kafka.stop_broker(follower)
        kafka.delay(api="Produce", ms=300, at="before_handling", times=5)
        with ThreadPoolExecutor(1) as pool:
            run = pool.submit(
                java.run,
                "outcomes",
                kafka.bootstrap_servers,
                topic,
                8,
                batch_size=1,
                delivery_timeout_ms=4000,
                request_timeout_ms=3000,
            )
            kafka.wait_for(api="Produce", error="NOT_ENOUGH_REPLICAS", timeout_s=60)
            kafka.start_broker(follower)
            lines = run.result()
        assert_acknowledged_records_are_stored(kafka, topic, lines)


@pytest.mark.parametrize("batches", [1, 5], ids=["kip-758", "kafka"])
def test_acknowledged_records_are_stored_when_the_first_request_was_refused(
    java: JavaClients, topic: str, batches: int
) -> None:
    with MockKafka(config=CONFIG | {"producer.state.batches": batches}) as kafka:
        kafka.create_topic(topic)
        kafka.add_fault(api="Produce", error="NOT_ENOUGH_REPLICAS", delay_request_ms=200, times=1)
        lines = java.run(
            "outcomes",
            kafka.bootstrap_servers,
            topic,
            5,
            batch_size=1,
            delivery_timeout_ms=3000,
            request_timeout_ms=2000,
        )
        assert_acknowledged_records_are_stored(kafka, topic, lines)
