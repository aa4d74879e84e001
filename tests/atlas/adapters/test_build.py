"""The adapters in Go, Java and JavaScript carry out the commands, as far as their libraries can."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from atlas.adapter_process import AdapterProcess
from atlas.clients import CLIENTS
from atlas.clusters import prepare
from atlas.steps import GROUP
from atlas.warm_up import plain
from mock_kafka import MockKafka
from scenarios.maven import CannotRunError
from tests.atlas.adapters.adapter_driver import AdapterDriver

pytestmark = pytest.mark.interop


class Library(NamedTuple):
    """What a library names MESSAGE_TOO_LARGE, and what it can do."""

    error: str
    kind: str = "fatal"
    is_idempotent: bool = True
    reads_assigned: bool = True
    has_positions: bool = True
    sends_offsets: bool = True
    has_group_protocol: bool = True
    shares: bool = False
    has_streams: bool = False
    has_tokens: bool = False


_JAVA = Library("RecordTooLargeException", has_group_protocol=True, shares=True, has_tokens=True)
LIBRARIES = {
    "franz-go": Library("MESSAGE_TOO_LARGE", sends_offsets=False, shares=True, has_tokens=True),
    "sarama": Library("KError(10)", "unknown", has_positions=False, has_group_protocol=False),
    "kafka-go": Library(
        "Message Size Too Large", is_idempotent=False, has_positions=False, has_group_protocol=False
    ),
    "kafkajs": Library(
        "MESSAGE_TOO_LARGE", reads_assigned=False, has_positions=False, has_group_protocol=False
    ),
    "platformatic": Library("MESSAGE_TOO_LARGE", reads_assigned=False),
    "java-4.4": _JAVA._replace(has_streams=True),
    "java-3.9": _JAVA._replace(shares=False),
    "java-2.8": _JAVA._replace(has_group_protocol=False, shares=False),
}
_QUICK = "franz-go"
"""The others need separate builds and downloads."""
_CONFIG = {
    # Clients of the test before may ask for the topic until they are closed.
    "auto.create.topics.enable": False,
    "group.min.session.timeout.ms": 200,
    "group.initial.rebalance.delay.ms": 0,
    # By default a member of a share group gets its partitions with its second heartbeat.
    "group.share.heartbeat.interval.ms": 200,
    "group.share.min.heartbeat.interval.ms": 200,
    "group.streams.heartbeat.interval.ms": 200,
    "group.streams.min.heartbeat.interval.ms": 200,
}
_PRODUCER = {"linger_ms": 0, "retry_backoff_ms": 20, "request_timeout_ms": 5_000, "acks": -1}
_READER = {"auto_offset_reset": "earliest", "auto_commit": False, "fetch_max_wait_ms": 50}
_VALUES = ["0", "1", "2"]


@pytest.fixture(scope="module")
def kafka() -> Iterator[MockKafka]:
    with MockKafka(config=_CONFIG) as kafka:
        yield kafka


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=() if name == _QUICK else pytest.mark.long) for name in LIBRARIES
    ],
)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def process(name: str) -> Iterator[AdapterProcess]:
    """A running adapter; the skip says what is missing."""
    try:
        command = CLIENTS[name].start()
    except CannotRunError as error:
        pytest.skip(f"{name}: {error}")
    process = AdapterProcess(command.words, command.environment)
    yield process
    process.end()
    assert process.exit_status == 0


@pytest.fixture
def library(name: str) -> Library:
    return LIBRARIES[name]


@pytest.fixture
def driver(process: AdapterProcess, kafka: MockKafka) -> AdapterDriver:
    """The adapter in a new experiment, with the topic orders."""
    driver = AdapterDriver(process)
    driver.done("begin", experiment="a test", bootstrap=kafka.bootstrap_servers)
    kafka.reset()
    kafka.create_topic("orders")
    return driver


def stored(kafka: MockKafka) -> list[str]:
    return [(record.value or b"").decode() for record in kafka.records("orders")]


def test_it_says_what_it_is(process: AdapterProcess, name: str, library: Library) -> None:
    assert process.ready["client"] == name.partition("-2")[0].partition("-3")[0].partition("-4")[0]
    assert process.ready["version"].startswith(name.removeprefix("java-") if "java" in name else "")
    supports = {"producer", "consumer", "group", "admin"}
    supports |= {"idempotence", "transactions"} if library.is_idempotent else set()
    supports |= {"group_protocol_consumer"} if library.has_group_protocol else set()
    supports |= {"share"} if library.shares else set()
    supports |= {"streams"} if library.has_streams else set()
    supports |= {"delegation_tokens"} if library.has_tokens else set()
    assert set(process.ready["supports"]) == supports


def test_records_are_delivered_with_their_offsets(
    driver: AdapterDriver, kafka: MockKafka, library: Library
) -> None:
    settings = {**_PRODUCER, "idempotent": library.is_idempotent, "no_such_setting": 1}
    assert "no_such_setting" in driver.done("producer", id="p", settings=settings)["ignored"]
    numbers = [driver.send("p", "orders", value) for value in _VALUES]
    driver.done("flush", producer="p", timeout_ms=10_000)
    reports = [driver.report(number) for number in numbers]
    assert [(report["event"], report["offset"]) for report in reports] == [
        ("delivered", offset) for offset in range(3)
    ]
    assert driver.done("close", id="p", timeout_ms=5_000)["took_ms"] < 5_000
    assert stored(kafka) == _VALUES


def test_an_error_has_the_name_and_the_class_of_the_library(
    driver: AdapterDriver, kafka: MockKafka, library: Library
) -> None:
    kafka.fail(api="Produce", error="MESSAGE_TOO_LARGE", times=1)
    driver.done("producer", id="p", settings=_PRODUCER)
    report = driver.report(driver.send("p", "orders", "too large"))
    assert (report["event"], report["error"], report["class"]) == (
        "undelivered",
        library.error,
        library.kind,
    )
    assert driver.report(driver.send("p", "orders", "small"))["event"] == "delivered"
    assert stored(kafka) == ["small"]


def test_assigned_partitions_are_read(
    driver: AdapterDriver, kafka: MockKafka, library: Library
) -> None:
    kafka.produce("orders", *(value.encode() for value in _VALUES))
    opened = driver.run("consumer", id="c", settings=_READER, assign={"orders": [0]})
    if not library.reads_assigned:
        assert opened["event"] == "unsupported"
        assert driver.run("poll", consumer="c")["event"] == "failed"
        return
    assert driver.poll("c", 3) == list(enumerate(_VALUES))
    assert driver.run("poll", consumer="c", records_max=10, timeout_ms=100)["records"] == []


def test_a_group_commits(driver: AdapterDriver, kafka: MockKafka, library: Library) -> None:
    kafka.produce("orders", *(value.encode() for value in _VALUES))
    settings = {**_READER, "group": GROUP, "session_timeout_ms": 6_000}
    driver.done("consumer", id="c", settings=settings, topics=["orders"])
    assert driver.poll("c", 3) == list(enumerate(_VALUES))
    place = {"consumer": "c", "topic": "orders", "partition": 0}
    assert driver.done("committed", **place)["offset"] is None
    driver.done("commit", consumer="c", timeout_ms=5_000)
    assert driver.done("committed", **place)["offset"] == 3
    position = driver.run("position", **place)
    expected = ("done", 3) if library.has_positions else ("unsupported", None)
    assert (position["event"], position.get("offset")) == expected
    driver.done("close", id="c", timeout_ms=5_000)
    requests = kafka.requests(api="OffsetCommit")
    assert [request.errors for request in requests] == [()] * len(requests) != []
    assert kafka.requests(api="LeaveGroup"), "a closed member leaves"


def test_the_broker_assigns_where_the_library_lets_it(
    driver: AdapterDriver, kafka: MockKafka, library: Library
) -> None:
    kafka.produce("orders", *(value.encode() for value in _VALUES))
    settings = {**_READER, "group": GROUP, "group_protocol": "consumer"}
    opened = driver.run("consumer", id="c", settings=settings, topics=["orders"])
    if not library.has_group_protocol:
        is_ignored = "group_protocol" in opened.get("ignored", ())
        assert opened["event"] == "unsupported" or is_ignored
        return
    assert driver.poll("c", 3) == list(enumerate(_VALUES))
    assert kafka.requests(api="ConsumerGroupHeartbeat")


def test_a_transaction_commits_records_and_offsets(
    driver: AdapterDriver, kafka: MockKafka, library: Library
) -> None:
    kafka.create_topic("invoices")
    kafka.produce("orders", b"1")
    settings = {**_PRODUCER, "transactional_id": "payments"}
    opened = driver.run("producer", id="p", settings=settings)
    if not library.is_idempotent:
        assert opened["event"] == "unsupported"
        return
    driver.done("consumer", id="c", settings={**_READER, "group": GROUP}, topics=["orders"])
    assert driver.poll("c", 1) == [(0, "1")]
    driver.done("begin_transaction", producer="p")
    number = driver.send("p", "invoices", "paid")
    offsets = {"producer": "p", "consumer": "c", "offsets": {"orders": {"0": 1}}}
    sent = driver.run("send_offsets", timeout_ms=5_000, **offsets)
    assert sent["event"] == ("done" if library.sends_offsets else "unsupported")
    driver.done("commit_transaction", producer="p", timeout_ms=5_000)
    assert driver.report(number)["event"] == "delivered"
    driver.done("begin_transaction", producer="p")
    driver.report(driver.send("p", "invoices", "aborted"))
    driver.done("abort_transaction", producer="p", timeout_ms=5_000)
    committed = kafka.records("invoices", isolation_level="read_committed")
    assert [record.value for record in committed] == [b"paid"]
    if library.sends_offsets:
        place = {"consumer": "c", "topic": "orders", "partition": 0}
        assert driver.done("committed", **place)["offset"] == 1


def test_a_share_group_acknowledges(
    driver: AdapterDriver, kafka: MockKafka, library: Library
) -> None:
    kafka.reset()
    prepare(kafka, plain("share", records={"orders": 1}), 0)
    settings = {"group": GROUP, "fetch_max_wait_ms": 50}
    opened = driver.run("share_consumer", id="s", settings=settings, topics=["orders"])
    if not library.shares:
        assert opened["event"] == "unsupported"
        return
    assert driver.poll("s", 1) == [(0, "0")]
    place = {"topic": "orders", "partition": 0, "offset": 0}
    driver.done("acknowledge", consumer="s", type="accept", **place)
    driver.done("commit", consumer="s", timeout_ms=5_000)
    driver.done("close", id="s", timeout_ms=5_000)


def test_an_application_of_streams_copies_records(
    driver: AdapterDriver, kafka: MockKafka, library: Library
) -> None:
    kafka.create_topic("invoices")
    kafka.produce("orders", *(value.encode() for value in _VALUES))
    settings = {"group": GROUP, "auto_offset_reset": "earliest"}
    topics = {"topic": "orders", "output": "invoices"}
    opened = driver.run("streams", id="s", settings=settings, **topics)
    if not library.has_streams:
        assert opened["event"] == "unsupported"
        return
    waiting = {"streams": "s", "timeout_ms": 10_000}
    assert driver.done("process", records=3, **waiting)["processed"] == 3
    more = driver.run("process", streams="s", records=4, timeout_ms=50)
    assert (more["event"], more["error"]) == ("failed", "unanswered")
    kafka.fail(api="StreamsGroupHeartbeat", error="GROUP_MAX_SIZE_REACHED")
    failed = driver.run("process", records=4, **waiting)
    assert (failed["error"], failed["class"]) == ("StreamsException", "fatal")
    driver.done("close", id="s", timeout_ms=5_000)
    assert [record.value for record in kafka.records("invoices")] == [b"0", b"1", b"2"]


def test_an_admin_client_makes_its_calls(driver: AdapterDriver, kafka: MockKafka) -> None:
    driver.done("admin", id="a", settings={"request_timeout_ms": 5_000})
    call = {"admin": "a", "topic": "new", "timeout_ms": 5_000}
    driver.done("create_topic", **call, partitions=2, replication_factor=1)
    assert driver.done("describe_topic", **call)["partitions"] == 2
    driver.done("create_partitions", **call, partitions=3)
    assert len(kafka.topic("new").partitions) == 3
    driver.done("alter_config", **call, config={"retention.ms": "5000"})
    assert driver.done("describe_configs", **call)["configs"]["retention.ms"] == "5000"
    assert "new" in driver.done("list_topics", admin="a", timeout_ms=5_000)["topics"]
    assert len(driver.done("describe_cluster", admin="a", timeout_ms=5_000)["brokers"]) == 1
    driver.done("delete_topic", **call)
    assert driver.run("delete_group", admin="a", group="none")["event"] == "failed"
    driver.done("close", id="a", timeout_ms=5_000)


def test_what_it_does_not_know_is_unsupported(driver: AdapterDriver) -> None:
    assert driver.run("no_such_command")["event"] == "unsupported"
    assert driver.run("flush", producer="none")["event"] == "failed"
    assert driver.done("close", id="none", timeout_ms=100)["took_ms"] < 100
