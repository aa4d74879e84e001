"""Idempotence: lost responses lose and duplicate nothing, whatever the client retries.

A proxy drops responses to Produce requests whose batches are already stored, by resetting the
connection. Afterwards every record is in the log exactly once and in order, and the client has
reported success for each.
"""

import functools
import logging
import multiprocessing
import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Protocol

import kafka
import pytest
from kafka.admin import KafkaAdminClient

from mock_kafka import ConfigValue, MockKafka
from protocol.errors import ErrorCode
from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.deadline import Deadline
from scenarios.clients.installed import ClientName, load_client
from scenarios.clients.interface import Config, Delivery, ProducerOptions, Record
from tests.free_ports import free_port_run
from tests.interop.conftest import broker_errors
from tests.interop.dropping_proxy import HOST, DroppingProxy, Tally

BROKER_COUNT = 3
# So that requests in flight carry different partitions to one broker, or, with librdkafka, which
# sends one partition in a request, five batches of the same one.
PARTITION_COUNTS = {"kafka-python": 45, "aiokafka": 24, "confluent-kafka": 3}
RECORDS_PER_ROUND = 1200
DROPS_PER_TEST = 250
DROP_RATE = 0.2
RECORDS_PER_BURST, RECORDS_AT_ONCE = 60, 12
DELIVERY_TIMEOUT_S = 60.0
# Of a test's sending. A quiet machine needs 2 to 8 s; a busy one gets the time it takes.
SENDING_TIMEOUT_S = 240.0
# So many responses are lost at once, at least one time. With 4 responses about 3 partitions some
# partition loses several: the batches before its newest one get base offset -1 under KIP-758.
LOST_AT_ONCE: dict[ClientName, int] = {"kafka-python": 3, "aiokafka": 1, "confluent-kafka": 4}

CODECS = ("none", "lz4")
# The broker's log lines about batches of a correct client.
KNOWN_CODES = {1: {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}, 5: {ErrorCode.NONE}}
RULE_SETS = {"kip-758": 1, "kafka": 5}

Values = list[tuple[int, bytes]]
"""Partition and value of each record, in the order of sending."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What a client reported about one record: its offset, -1 or None where it knows of none."""

    partition: int
    value: bytes
    offset: int | None


class Sender(Protocol):
    """An idempotent producer that stays open for several rounds."""

    def send_all(self, topic: str, values: Values) -> list[Delivered]:
        """Send, and wait for every delivery; raise the first error of the client."""

    def close(self) -> None: ...


class SeparateSender:
    """A sender in its own process, so that it does not delay the proxy.

    kafka-python's thread is busy while it has batches that it may not send yet.
    """

    def __init__(self, name: ClientName, servers: str, compression: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, name, servers, compression))
        self._process.start()
        theirs.close()

    def send_all(self, topic: str, values: Values) -> list[Delivered]:
        self._pipe.send((topic, values))
        response: list[Delivered] | Exception = self._pipe.recv()
        if isinstance(response, Exception):
            raise response
        return response

    def close(self) -> None:
        self._pipe.send(None)
        self._process.join()


def _serve(pipe: Connection, name: ClientName, servers: str, compression: str) -> None:
    """Run in the other process: send values from the pipe until it has None."""
    with closing(ClientSender(name, servers, compression)) as sender:
        for topic, values in iter(pipe.recv, None):
            try:
                pipe.send(sender.send_all(topic, values))
            except Exception as failure:  # noqa: BLE001 - the process that waits raises it
                pipe.send(failure)


CONFIGS: dict[ClientName, Config] = {
    # Up to five requests in flight to a broker, but one batch of a partition at a time.
    "kafka-python": {
        "batch_size": 220,
        "max_request_size": 700,
        "max_in_flight_requests_per_connection": 5,
        "retry_backoff_ms": 5,
        "reconnect_backoff_ms": 1,
        "reconnect_backoff_max_ms": 5,
    },
    # One request at a time to a broker, with a batch of every partition that has any.
    "aiokafka": {"max_batch_size": 220, "retry_backoff_ms": 5},
    # Up to five batches of the same partition in flight, one in each request.
    "confluent-kafka": {
        "batch.num.messages": 4,
        "max.in.flight.requests.per.connection": 5,
        "retry.backoff.ms": 5,
        "retry.backoff.max.ms": 20,
        "reconnect.backoff.ms": 1,
        "reconnect.backoff.max.ms": 5,
        "topic.metadata.refresh.fast.interval.ms": 10,
        "log_level": 0,
    },
}


class ClientSender:
    """A sender with any of the client libraries."""

    def __init__(self, name: ClientName, servers: str, compression: str) -> None:
        options = ProducerOptions(compression=compression, is_idempotent=True, linger_ms=0)
        self._is_librdkafka = name == "confluent-kafka"
        self._producer = load_client(name).producer(servers, CONFIGS[name], options)

    def send_all(self, topic: str, values: Values) -> list[Delivered]:
        records = [Record(value, partition=part, timestamp_ms=None) for part, value in values]
        send = self._send_in_bursts if self._is_librdkafka else self._producer.send_all
        deliveries = send(topic, records, DELIVERY_TIMEOUT_S)
        for delivery in deliveries:
            if delivery.error is not None:
                raise delivery.error
        return [
            Delivered(part, value, delivery.offset)
            for (part, value), delivery in zip(values, deliveries, strict=True)
        ]

    def _send_in_bursts(
        self, topic: str, records: Sequence[Record], timeout_s: float
    ) -> list[Delivery]:
        # With a backlog librdkafka fills only two of its five places until a response arrives. It
        # sends more when there are new records, so they are sent in bursts of a few at a time.
        deliveries: list[Delivery] = []
        for first in range(0, len(records), RECORDS_PER_BURST):
            burst: dict[int, Delivery] = {}
            for start in range(first, first + RECORDS_PER_BURST, RECORDS_AT_ONCE):
                for index, record in enumerate(records[start : start + RECORDS_AT_ONCE], start):
                    report = functools.partial(burst.__setitem__, index)
                    self._producer.send(topic, record.value, report, partition=record.partition)
                self._producer.poll(0.001)
            self._producer.flush(timeout_s)
            deliveries += [burst[index] for index in sorted(burst)]
        return deliveries

    def close(self) -> None:
        self._producer.close()


@dataclass(frozen=True, slots=True)
class Topic:
    """The topic of a test."""

    name: str
    partition_count: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """Three brokers that clients reach only through the proxy."""

    proxy: DroppingProxy
    kafka: MockKafka
    batches: int


@pytest.fixture(scope="module", params=RULE_SETS)
def shared_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    batches = RULE_SETS[request.param]
    first = free_port_run(2 * BROKER_COUNT)
    upstream_ports = range(first + BROKER_COUNT, first + 2 * BROKER_COUNT)
    config: dict[str, ConfigValue] = {
        "advertised.listeners": f"PLAINTEXT://{HOST}:{first}",
        "producer.state.batches": batches,
    }
    kafka = MockKafka(BROKER_COUNT, config, port=upstream_ports[0])
    with kafka, DroppingProxy(first, upstream_ports, seed=758) as proxy:
        yield Cluster(proxy, kafka, batches)


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Iterator[Cluster]:
    """Yield the cluster; fail the test if the broker reports an internal error."""
    logging.disable(logging.CRITICAL)  # several lines for every lost connection, thousands in all
    before = len(broker_errors(shared_cluster.kafka))
    yield shared_cluster
    logging.disable(logging.NOTSET)
    shared_cluster.proxy.drop_rate = 0.0
    assert broker_errors(shared_cluster.kafka)[before:] == []


def values_of_round(rng: random.Random, next_numbers: list[int]) -> Values:
    """Return records of random size for random partitions, numbered per partition."""
    values = []
    for _ in range(RECORDS_PER_ROUND):
        partition = rng.randrange(len(next_numbers))
        number = next_numbers[partition]
        next_numbers[partition] += 1
        values.append((partition, b"%d:%d:" % (partition, number) + b"x" * rng.randrange(60)))
    return values


def send_through_drops(cluster: Cluster, sender: Sender, topic: Topic) -> list[Delivered]:
    """Send rounds of records until enough responses were lost, several at once among them.

    Returns all reported deliveries.

    The first round loses nothing, so that every partition knows the producer. An unknown producer
    may start with any sequence (KIP-360): if a batch is refused because the leader moved, and the
    next one in flight is accepted because it moved back, neither our broker nor Kafka notices the
    gap.
    """
    rng = random.Random(topic.name)
    proxy = cluster.proxy
    next_numbers = [0] * topic.partition_count
    delivered: list[Delivered] = []
    deadline = Deadline(SENDING_TIMEOUT_S)
    delivered += sender.send_all(topic.name, values_of_round(rng, next_numbers))
    proxy.drop_rate = DROP_RATE
    try:
        while proxy.tally.wants_more(DROPS_PER_TEST) and deadline.holds(str(proxy.tally)):
            delivered += sender.send_all(topic.name, values_of_round(rng, next_numbers))
    finally:
        proxy.drop_rate = 0.0
    return delivered


def stored(cluster: Cluster, topic: Topic) -> dict[int, list[bytes]]:
    """Return all values in each partition's log."""
    partitions = [kafka.TopicPartition(topic.name, i) for i in range(topic.partition_count)]
    found: dict[int, list[bytes]] = {part.partition: [] for part in partitions}
    with kafka.KafkaConsumer(
        bootstrap_servers=cluster.proxy.servers, enable_auto_commit=False
    ) as consumer:
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        left = sum(consumer.end_offsets(partitions).values())
        deadline = Deadline()
        while left > 0 and deadline.holds("all records"):
            for partition, messages in consumer.poll(timeout_ms=200).items():
                found[partition.partition] += [message.value for message in messages]
                left -= len(messages)
    return found


def check_promise(cluster: Cluster, topic: Topic, delivered: list[Delivered]) -> int:
    """Check that each record is stored once and in order; return the number of wrong offsets.

    When a leader moves, librdkafka may send its new leader a batch while the batches before it
    still wait to be sent again. It gets OUT_OF_ORDER_SEQUENCE_NUMBER, takes the next epoch, and
    sends again under it whatever it has no response for. Such records are stored once per epoch.
    """
    expected: dict[int, list[bytes]] = {index: [] for index in range(topic.partition_count)}
    wrong_count = 0
    for record in delivered:
        wrong_count += record.offset != len(expected[record.partition])
        expected[record.partition].append(record.value)
    found = stored(cluster, topic)
    if cluster.proxy.tally.codes[ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]:
        assert "confluent-kafka" in topic.name
        found = {index: list(dict.fromkeys(values)) for index, values in found.items()}
    assert found == expected
    cluster.kafka.audit().raise_on_findings()
    return wrong_count


def check_pressure(cluster: Cluster, name: ClientName, compression: str) -> None:
    """Check that the client had the retries and requests in flight that the test is about."""
    tally = cluster.proxy.tally
    # A client may leave an incompressible batch uncompressed.
    assert set(tally.codecs) <= {compression, "none"}
    assert tally.codecs[compression] > tally.codecs.total() // 2
    if name == "confluent-kafka":
        # Only librdkafka has several batches of a partition in flight, one per request.
        assert max(tally.responses_per_drop) >= LOST_AT_ONCE[name]
        assert tally.shared_requests == 0
        assert (tally.unknown_offsets > 0) == (cluster.batches == 1)
        return
    assert tally.shared_requests > DROPS_PER_TEST
    assert tally.unknown_offsets == 0
    if name == "kafka-python":
        assert max(tally.responses_per_drop) >= LOST_AT_ONCE[name]
    else:
        assert set(tally.responses_per_drop) == {1}


class LeaderMover:
    """Move the leader of one partition after the other, every few drops; a context manager.

    Leadership rotates among the brokers, so that it returns only after both others had it.
    """

    def __init__(self, cluster: Cluster, topic: Topic) -> None:
        self.moves = 0
        self._proxy = cluster.proxy
        self._topic = topic
        self._rng = random.Random(topic.name)
        self._is_over = threading.Event()
        self._failures: list[Exception] = []
        self._thread = threading.Thread(target=self._run, name="leader-mover")

    def __enter__(self) -> "LeaderMover":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._is_over.set()
        self._thread.join()
        assert self._failures == []

    def _run(self) -> None:
        try:
            with closing(KafkaAdminClient(bootstrap_servers=self._proxy.servers)) as admin:
                target = 0
                while not self._is_over.is_set():
                    target += self._rng.randint(1, 5)
                    while not self._proxy.wait_for_drops(target, 0.05):
                        if self._is_over.is_set():
                            return
                    self._move(admin)
        except Exception as failure:  # noqa: BLE001 - the thread that waits raises it
            self._failures.append(failure)

    def _move(self, admin: Any) -> None:
        """Rotate the replicas, and elect the first of them."""
        turn, index = divmod(self.moves, self._topic.partition_count)
        replicas = [1 + (index + turn + number) % BROKER_COUNT for number in range(BROKER_COUNT)]
        partition = kafka.TopicPartition(self._topic.name, index)
        response = admin.alter_partition_reassignments({partition: replicas})
        assert response == {partition: None}
        admin.elect_leaders(0, {self._topic.name: [index]})
        self.moves += 1


@pytest.mark.interop
@pytest.mark.parametrize(
    "compression",
    [CODECS[0], *(pytest.param(codec, marks=pytest.mark.long) for codec in CODECS[1:])],
)
@pytest.mark.parametrize("name", CONFIGS)
def test_lost_responses_lose_no_record_and_double_none(
    cluster: Cluster, name: ClientName, compression: str
) -> None:
    """With fixed leaders no batch is out of order.

    librdkafka gets base offset -1 for all but the newest of its batches in flight, and then
    reports -1, 0, 1, ... for the records of such a batch: it adds a record's index to the base
    offset without looking. Under Kafka's rules it gets every offset.
    """
    topic = Topic(f"retries.{name}.{compression}", PARTITION_COUNTS[name])
    create_topic(cluster.proxy.servers, topic.name, topic.partition_count, BROKER_COUNT)
    cluster.proxy.tally = Tally(LOST_AT_ONCE[name])
    with closing(SeparateSender(name, cluster.proxy.servers, compression)) as sender:
        delivered = send_through_drops(cluster, sender, topic)

    wrong_offset_count = check_promise(cluster, topic, delivered)
    if name != "confluent-kafka" or cluster.batches == 5:
        assert wrong_offset_count == 0
    check_pressure(cluster, name, compression)
    assert set(cluster.proxy.tally.codes) == KNOWN_CODES[cluster.batches]


@pytest.mark.interop
@pytest.mark.parametrize(
    "name",
    [
        "kafka-python",
        pytest.param("aiokafka", marks=pytest.mark.long),
        pytest.param("confluent-kafka", marks=pytest.mark.long),
    ],
)
def test_leaders_that_move_during_retries_change_nothing(
    cluster: Cluster, name: ClientName
) -> None:
    """Leaders move every few drops, each to the next broker.

    Not tested: a leader that returns at once. librdkafka 2.16 then knows the
    right leader and epoch, but still sends to the other broker, which refuses each time.
    """
    topic = Topic(f"retries.moves.{name}", PARTITION_COUNTS[name])
    create_topic(cluster.proxy.servers, topic.name, topic.partition_count, BROKER_COUNT)
    cluster.proxy.tally = Tally(LOST_AT_ONCE[name])
    with (
        closing(SeparateSender(name, cluster.proxy.servers, "lz4")) as sender,
        LeaderMover(cluster, topic) as mover,
    ):
        delivered = send_through_drops(cluster, sender, topic)

    check_promise(cluster, topic, delivered)
    check_pressure(cluster, name, "lz4")
    assert mover.moves > DROPS_PER_TEST // 10
