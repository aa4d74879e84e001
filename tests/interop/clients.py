"""Three client libraries behind one small interface: write these records, read so many.

What is special to one library (its admin calls, its group options) its own tests use directly.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import aiokafka
import confluent_kafka
import kafka
import kafka.codec
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

DEADLINE_S = 20.0
Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class Record:
    """What a client sends, and gets back; `offset` is -1 until the broker has said it."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    partition: int = 0
    timestamp_ms: int = 1_700_000_000_000
    offset: int = -1


class Client(Protocol):
    """What the three have in common."""

    @property
    def name(self) -> str:
        """The library's name on PyPI."""

    @property
    def compressions(self) -> tuple[str, ...]:
        """The codecs it can write and read here."""

    def produce(
        self,
        servers: str,
        topic: str,
        records: Sequence[Record],
        *,
        compression: str = "none",
        acks: int = -1,
        is_idempotent: bool = False,
        max_request_bytes: int = 1_000_000,
    ) -> list[Record]:
        """Send the records; returns them with their offsets (-1 with acks=0), in order."""

    def read(
        self, servers: str, topic: str, partition_count: int, record_count: int
    ) -> list[Record]:
        """The first `record_count` records of all partitions, in each partition's order."""


class Deadline:
    """A bound for polling: `while deadline.holds("...")`."""

    def __init__(self, seconds: float = DEADLINE_S) -> None:
        self._end = time.monotonic() + seconds

    def holds(self, awaited: str) -> bool:
        """True until the time is over, then an AssertionError that says what did not come."""
        assert time.monotonic() < self._end, f"not in time: {awaited}"
        return True


def create_topic(
    servers: str,
    topic: str,
    partition_count: int = 1,
    replication_factor: int = 1,
    assignment: list[list[int]] | None = None,
    config: dict[str, str] | None = None,
) -> None:
    """Create a topic and wait for the response."""
    admin = AdminClient({"bootstrap.servers": servers})
    wanted: dict[str, Any] = {"num_partitions": partition_count, "config": config or {}}
    if assignment is not None:
        wanted |= {"num_partitions": len(assignment), "replica_assignment": assignment}
    else:
        wanted["replication_factor"] = replication_factor
    admin.create_topics([NewTopic(topic, **wanted)])[topic].result(DEADLINE_S)


class KafkaPython:
    """kafka-python: pure Python, idempotent unless configured otherwise."""

    name = "kafka-python"

    def __init__(self) -> None:
        known = {
            "gzip": kafka.codec.has_gzip(),
            "snappy": kafka.codec.has_snappy(),
            "lz4": kafka.codec.has_lz4(),
            "zstd": kafka.codec.has_zstd(),
        }
        self.compressions = ("none", *(name for name, is_here in known.items() if is_here))

    def produce(
        self,
        servers: str,
        topic: str,
        records: Sequence[Record],
        *,
        compression: str = "none",
        acks: int = -1,
        is_idempotent: bool = False,
        max_request_bytes: int = 1_000_000,
    ) -> list[Record]:
        producer = kafka.KafkaProducer(
            bootstrap_servers=servers,
            acks="all" if acks == -1 else acks,
            enable_idempotence=is_idempotent,
            compression_type=None if compression == "none" else compression,
            max_request_size=max_request_bytes,
            retries=5,
        )
        try:
            futures = [
                producer.send(
                    topic,
                    record.value,
                    record.key,
                    list(record.headers),
                    record.partition,
                    record.timestamp_ms,
                )
                for record in records
            ]
            producer.flush(DEADLINE_S)
            offsets = [future.get(DEADLINE_S).offset for future in futures]
        finally:
            producer.close()
        return _with_offsets(records, offsets)

    def read(
        self, servers: str, topic: str, partition_count: int, record_count: int
    ) -> list[Record]:
        with kafka_python_consumer(servers) as consumer:
            consumer.assign([kafka.TopicPartition(topic, p) for p in range(partition_count)])
            consumer.seek_to_beginning()
            return poll_kafka_python(consumer, record_count)


@contextmanager
def kafka_python_consumer(servers: str, *topics: str, **config: Any) -> Iterator[Any]:
    """A consumer of kafka-python that is closed in the end."""
    settings = {"auto_offset_reset": "earliest", "enable_auto_commit": False, **config}
    consumer = kafka.KafkaConsumer(*topics, bootstrap_servers=servers, **settings)
    try:
        yield consumer
    finally:
        consumer.close()


def poll_kafka_python(consumer: Any, record_count: int) -> list[Record]:
    """Poll until there are at least so many records."""
    found: list[Record] = []
    deadline = Deadline()
    while len(found) < record_count and deadline.holds(f"{record_count} records"):
        for batch in consumer.poll(timeout_ms=200).values():
            found += [from_kafka_python(message) for message in batch]
    return found


def from_kafka_python(message: Any) -> Record:
    return Record(
        message.value,
        message.key,
        tuple(message.headers),
        message.partition,
        message.timestamp,
        message.offset,
    )


class AioKafka:
    """aiokafka: asyncio, the oldest protocol versions of the three."""

    name = "aiokafka"
    compressions = ("none", "gzip", "snappy", "lz4", "zstd")

    def produce(
        self,
        servers: str,
        topic: str,
        records: Sequence[Record],
        *,
        compression: str = "none",
        acks: int = -1,
        is_idempotent: bool = False,
        max_request_bytes: int = 1_000_000,
    ) -> list[Record]:
        async def run() -> list[int]:
            async with aiokafka.AIOKafkaProducer(
                bootstrap_servers=servers,
                acks="all" if acks == -1 else acks,
                enable_idempotence=is_idempotent,
                compression_type=None if compression == "none" else compression,
                max_request_size=max_request_bytes,
            ) as producer:
                futures = [
                    await producer.send(
                        topic,
                        value=record.value,
                        key=record.key,
                        partition=record.partition,
                        timestamp_ms=record.timestamp_ms,
                        headers=list(record.headers),
                    )
                    for record in records
                ]
                results = await asyncio.wait_for(asyncio.gather(*futures), DEADLINE_S)
            return [-1 if result is None else result.offset for result in results]

        return _with_offsets(records, asyncio.run(run()))

    def read(
        self, servers: str, topic: str, partition_count: int, record_count: int
    ) -> list[Record]:
        async def run() -> list[Record]:
            async with aiokafka.AIOKafkaConsumer(
                bootstrap_servers=servers, auto_offset_reset="earliest", enable_auto_commit=False
            ) as consumer:
                consumer.assign([aiokafka.TopicPartition(topic, p) for p in range(partition_count)])
                return await poll_aiokafka(consumer, record_count)

        return asyncio.run(run())


async def poll_aiokafka(consumer: Any, record_count: int) -> list[Record]:
    """Poll until there are at least so many records."""
    found: list[Record] = []
    deadline = Deadline()
    while len(found) < record_count and deadline.holds(f"{record_count} records"):
        for batch in (await consumer.getmany(timeout_ms=200)).values():
            found += [from_aiokafka(message) for message in batch]
    return found


def from_aiokafka(message: Any) -> Record:
    return Record(
        message.value,
        message.key,
        tuple(message.headers),
        message.partition,
        message.timestamp,
        message.offset,
    )


class Confluent:
    """confluent-kafka: librdkafka underneath."""

    name = "confluent-kafka"
    compressions = ("none", "gzip", "snappy", "lz4", "zstd")

    def produce(
        self,
        servers: str,
        topic: str,
        records: Sequence[Record],
        *,
        compression: str = "none",
        acks: int = -1,
        is_idempotent: bool = False,
        max_request_bytes: int = 1_000_000,
    ) -> list[Record]:
        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": servers,
                "acks": acks,
                "enable.idempotence": is_idempotent,
                "compression.type": compression,
                "message.max.bytes": max_request_bytes,
            }
        )
        offsets: dict[int, int] = {}
        errors: list[Any] = []

        def note(index: int, error: Any, message: Any) -> None:
            if error is not None:
                errors.append(error)
            offset = None if message is None else message.offset()
            offsets[index] = -1 if offset is None else offset

        for index, record in enumerate(records):
            producer.produce(
                topic,
                value=record.value,
                key=record.key,
                headers=list(record.headers),
                partition=record.partition,
                timestamp=record.timestamp_ms,
                on_delivery=lambda error, message, index=index: note(index, error, message),
            )
        assert producer.flush(DEADLINE_S) == 0, "records were not delivered in time"
        assert errors == []
        return _with_offsets(records, [offsets[index] for index in range(len(records))])

    def read(
        self, servers: str, topic: str, partition_count: int, record_count: int
    ) -> list[Record]:
        with confluent_consumer(servers) as consumer:
            consumer.assign(
                # Not OFFSET_BEGINNING: a waiting Fetch would hold up the look-up of other offsets.
                [confluent_kafka.TopicPartition(topic, p, 0) for p in range(partition_count)]
            )
            return poll_confluent(consumer, record_count)


@contextmanager
def confluent_consumer(servers: str, **config: Any) -> Iterator[Any]:
    """A consumer of librdkafka that is closed in the end; dots in names are underscores here."""
    settings: dict[str, Any] = {
        "bootstrap.servers": servers,
        "group.id": "unused",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
    settings |= {name.replace("_", "."): value for name, value in config.items()}
    consumer = confluent_kafka.Consumer(settings)
    try:
        yield consumer
    finally:
        consumer.close()


def poll_confluent(consumer: Any, record_count: int) -> list[Record]:
    """Poll until there are at least so many records."""
    found: list[Record] = []
    deadline = Deadline()
    while len(found) < record_count and deadline.holds(f"{record_count} records"):
        # Asked for more than there is, it would wait for the rest.
        for message in consumer.consume(min(500, record_count - len(found)), timeout=0.2):
            if message.error() is not None:
                raise confluent_kafka.KafkaException(message.error())
            found.append(from_confluent(message))
    return found


def from_confluent(message: Any) -> Record:
    return Record(
        message.value(),
        message.key(),
        tuple(message.headers() or ()),
        message.partition(),
        message.timestamp()[1],
        message.offset(),
    )


def _with_offsets(records: Sequence[Record], offsets: Sequence[int]) -> list[Record]:
    return [replace(r, offset=offset) for r, offset in zip(records, offsets, strict=True)]


def by_partition(records: Sequence[Record]) -> dict[int, list[Record]]:
    """The records of every partition, in the order they came."""
    sorted_out: dict[int, list[Record]] = {}
    for record in records:
        sorted_out.setdefault(record.partition, []).append(record)
    return sorted_out


KAFKA_PYTHON, AIOKAFKA, CONFLUENT = KafkaPython(), AioKafka(), Confluent()
CLIENTS: tuple[Client, ...] = (KAFKA_PYTHON, AIOKAFKA, CONFLUENT)
