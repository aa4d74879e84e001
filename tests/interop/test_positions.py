"""Positions of a consumer: seeks, offsets for times, offsets out of range."""

import asyncio
from collections.abc import Callable
from typing import Any

import aiokafka
import confluent_kafka
import pytest
from kafka import KafkaAdminClient, OffsetAndMetadata, TopicPartition
from kafka.errors import OffsetOutOfRangeError

from mock_kafka import MockKafka
from scenarios.clients.aiokafka import AIOKAFKA, poll_aiokafka
from scenarios.clients.confluent_kafka import (
    CONFLUENT,
    confluent_consumer,
    create_topic,
    poll_confluent,
)
from scenarios.clients.deadline import DEADLINE_S, Deadline
from scenarios.clients.interface import Record
from scenarios.clients.kafka_python import KAFKA_PYTHON, kafka_python_consumer, poll_kafka_python

START_MS = 1_700_000_000_000
STEP_MS = 10
RECORDS = [Record(value=b"%d" % n, timestamp_ms=START_MS + n * STEP_MS) for n in range(100)]
# A time, and the offset of the first record at or after it (None: there is none).
TIMES = [
    (0, 0),
    (START_MS - 1, 0),
    (START_MS, 0),
    (START_MS + 1, 1),
    (START_MS + 50 * STEP_MS, 50),
    (START_MS + 50 * STEP_MS + 1, 51),
    (START_MS + 99 * STEP_MS, 99),
    (START_MS + 99 * STEP_MS + 1, None),
]


@pytest.fixture(params=["one batch", "many batches", "gzip"])
def filled(kafka: MockKafka, topic: str, request: pytest.FixtureRequest) -> str:
    """Return a topic of one partition with 100 records, 10 ms apart."""
    servers = kafka.bootstrap_servers
    create_topic(servers, topic)
    step = 7 if request.param == "many batches" else 100
    codec = "gzip" if request.param == "gzip" else "none"
    for start in range(0, 100, step):
        AIOKAFKA.produce(servers, topic, RECORDS[start : start + step], compression=codec)
    return topic


def test_kafka_python_seeks_anywhere(kafka: MockKafka, filled: str) -> None:
    where = kafka_tp(filled)
    with kafka_python_consumer(kafka.bootstrap_servers) as consumer:
        consumer.assign([where])
        consumer.seek(where, 42)
        assert [record.offset for record in poll_kafka_python(consumer, 58)] == list(range(42, 100))
        consumer.seek_to_beginning()
        assert poll_kafka_python(consumer, 1)[0].offset == 0
        consumer.seek_to_end()
        assert consumer.position(where) == 100
        KAFKA_PYTHON.produce(kafka.bootstrap_servers, filled, [Record(value=b"new")])
        assert [(r.offset, r.value) for r in poll_kafka_python(consumer, 1)] == [(100, b"new")]


def test_kafka_python_finds_offsets_by_time_beginning_and_end(
    kafka: MockKafka, filled: str
) -> None:
    where = kafka_tp(filled)
    with kafka_python_consumer(kafka.bootstrap_servers) as consumer:
        for time_ms, offset in TIMES:
            found = consumer.offsets_for_times({where: time_ms})[where]
            assert (None if found is None else found.offset) == offset
            if found is not None:
                assert found.timestamp == START_MS + found.offset * STEP_MS
        assert consumer.beginning_offsets([where]) == {where: 0}
        assert consumer.end_offsets([where]) == {where: 100}


async def test_aiokafka_seeks_anywhere(kafka: MockKafka, filled: str) -> None:
    where = aiokafka.TopicPartition(filled, 0)
    async with aiokafka.AIOKafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([where])
        consumer.seek(where, 42)
        offsets = [record.offset for record in await poll_aiokafka(consumer, 58)]
        assert offsets == list(range(42, 100))
        await consumer.seek_to_beginning(where)
        assert (await poll_aiokafka(consumer, 1))[0].offset == 0
        await consumer.seek_to_end(where)
        assert await consumer.position(where) == 100


async def test_aiokafka_finds_offsets_by_time_beginning_and_end(
    kafka: MockKafka, filled: str
) -> None:
    where = aiokafka.TopicPartition(filled, 0)
    async with aiokafka.AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap_servers) as consumer:
        for time_ms, offset in TIMES:
            found = (await consumer.offsets_for_times({where: time_ms}))[where]
            assert (None if found is None else found.offset) == offset
        assert await consumer.beginning_offsets([where]) == {where: 0}
        assert await consumer.end_offsets([where]) == {where: 100}


def test_confluent_seeks_anywhere(kafka: MockKafka, filled: str) -> None:
    with confluent_consumer(kafka.bootstrap_servers) as consumer:
        consumer.assign([confluent_tp(filled, 42)])
        assert [record.offset for record in poll_confluent(consumer, 58)] == list(range(42, 100))
        consumer.seek(confluent_tp(filled, confluent_kafka.OFFSET_BEGINNING))
        assert poll_confluent(consumer, 1)[0].offset == 0


def test_confluent_finds_offsets_by_time_beginning_and_end(kafka: MockKafka, filled: str) -> None:
    with confluent_consumer(kafka.bootstrap_servers) as consumer:
        for time_ms, offset in TIMES:
            [found] = consumer.offsets_for_times([confluent_tp(filled, time_ms)], DEADLINE_S)
            # librdkafka returns the end if there is no such record.
            expected = confluent_kafka.OFFSET_END if offset is None else offset
            assert found.offset == expected
        low_high = consumer.get_watermark_offsets(confluent_tp(filled), DEADLINE_S)
        assert low_high == (0, 100)


def kafka_tp(topic: str) -> Any:
    return TopicPartition(topic, 0)


def confluent_tp(topic: str, offset: int = 0) -> Any:
    return confluent_kafka.TopicPartition(topic, 0, offset)


@pytest.fixture
def shortened(kafka: MockKafka, topic: str) -> str:
    """Return a topic with log start offset 30 and log end offset 100."""
    servers = kafka.bootstrap_servers
    create_topic(servers, topic)
    for start in range(0, 100, 10):
        AIOKAFKA.produce(servers, topic, RECORDS[start : start + 10])
    admin = kafka_admin(servers)
    admin.delete_records({kafka_tp(topic): 30})
    admin.close()
    return topic


def kafka_admin(servers: str) -> Any:
    return KafkaAdminClient(bootstrap_servers=servers)


def first_of_kafka_python(servers: str, topic: str, start: int, reset: str) -> int:
    with kafka_python_consumer(servers, auto_offset_reset=reset) as consumer:
        consumer.assign([kafka_tp(topic)])
        consumer.seek(kafka_tp(topic), start)

        def poll() -> list[int]:
            return [r.offset for batch in consumer.poll(100).values() for r in batch]

        return first_offset(servers, topic, poll)


def first_of_aiokafka(servers: str, topic: str, start: int, reset: str) -> int:
    runner = asyncio.Runner()
    consumer: Any = None

    async def open_consumer() -> None:
        nonlocal consumer
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset=reset)
        await consumer.start()
        consumer.assign([aiokafka.TopicPartition(topic, 0)])
        consumer.seek(aiokafka.TopicPartition(topic, 0), start)

    async def poll_consumer() -> list[int]:
        batches = await consumer.getmany(timeout_ms=100)
        return [record.offset for batch in batches.values() for record in batch]

    with runner:
        runner.run(open_consumer())
        try:
            # A producer writes during the poll in its own loop, hence not AIOKAFKA.
            return first_offset(servers, topic, lambda: runner.run(poll_consumer()))
        finally:
            runner.run(consumer.stop())


def first_of_confluent(servers: str, topic: str, start: int, reset: str) -> int:
    with confluent_consumer(servers, auto_offset_reset=reset) as consumer:
        consumer.assign([confluent_tp(topic, start)])

        def poll() -> list[int]:
            message = consumer.poll(0.1)
            return [] if message is None or message.error() else [message.offset()]

        return first_offset(servers, topic, poll)


def first_offset(servers: str, topic: str, poll: Callable[[], list[int]]) -> int:
    """Return the first polled offset; add records from time to time for a consumer at the end."""
    deadline = Deadline()
    while deadline.holds("a first record"):
        offsets = poll()
        if offsets:
            return offsets[0]
        CONFLUENT.produce(servers, topic, [Record(value=b"new")])
    return -1


@pytest.mark.parametrize("outside", [0, 29, 1_000])
@pytest.mark.parametrize("reset", ["earliest", "latest"])
@pytest.mark.parametrize(
    "first_of",
    [first_of_kafka_python, first_of_aiokafka, first_of_confluent],
    ids=["kafka-python", "aiokafka", "confluent-kafka"],
)
def test_an_offset_out_of_range_is_reset_by_the_consumers_policy(
    kafka: MockKafka,
    shortened: str,
    first_of: Callable[[str, str, int, str], int],
    outside: int,
    reset: str,
) -> None:
    offset = first_of(kafka.bootstrap_servers, shortened, outside, reset)
    assert offset == 30 if reset == "earliest" else offset >= 100


def test_without_a_reset_policy_the_consumer_gets_offset_out_of_range(
    kafka: MockKafka, shortened: str
) -> None:
    with kafka_python_consumer(kafka.bootstrap_servers, auto_offset_reset="none") as consumer:
        consumer.assign([kafka_tp(shortened)])
        consumer.seek(kafka_tp(shortened), 5)
        with pytest.raises(OffsetOutOfRangeError):
            poll_kafka_python(consumer, 1)


def test_a_new_group_starts_by_its_reset_policy(kafka: MockKafka, shortened: str) -> None:
    servers = kafka.bootstrap_servers
    with kafka_python_consumer(servers, shortened, group_id=shortened) as consumer:
        assert poll_kafka_python(consumer, 70)[0].offset == 30


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_both_isolation_levels_read_all_non_transactional_records(
    kafka: MockKafka, filled: str, isolation: str
) -> None:
    servers = kafka.bootstrap_servers
    with confluent_consumer(servers, isolation_level=isolation) as consumer:
        consumer.assign([confluent_tp(filled)])
        assert len(poll_confluent(consumer, 100)) == 100
        # The end offset for this isolation level: the last stable offset.
        assert consumer.get_watermark_offsets(confluent_tp(filled), cached=True)[1] == 100
    with kafka_python_consumer(servers, isolation_level=isolation) as python_consumer:
        python_consumer.assign([kafka_tp(filled)])
        assert len(poll_kafka_python(python_consumer, 100)) == 100
        assert python_consumer.end_offsets([kafka_tp(filled)]) == {kafka_tp(filled): 100}


def test_lag_is_the_end_minus_what_was_committed(kafka: MockKafka, filled: str) -> None:
    servers = kafka.bootstrap_servers
    where = kafka_tp(filled)
    with kafka_python_consumer(servers, filled, group_id=filled) as consumer:
        poll_kafka_python(consumer, 1)
        consumer.commit({where: OffsetAndMetadata(40, "", -1)})
        assert consumer.end_offsets([where])[where] - consumer.committed(where) == 60
        assert consumer.highwater(where) == 100
