"""What the wrappers of all client libraries have in common.

Each library is a `Client`, which opens a `Producer` and joins a `GroupMember`. Settings beyond the
common ones are given in the library's own names.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, NamedTuple, Self

from scenarios.clients.deadline import DEADLINE_S

Headers = tuple[tuple[str, bytes | None], ...]
Config = Mapping[str, Any]
"""Settings in the names of a library."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it is sent or was read; `offset` is -1 before the broker has assigned one.

    The default timestamp is constant, so that a record that was read equals the one that was sent.
    It is older than the retention time of a topic with default configuration. None, in a record
    that is sent, means now.
    """

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    partition: int = 0
    timestamp_ms: int | None = 1_700_000_000_000
    offset: int = -1


class Delivery(NamedTuple):
    """The outcome of a record: its offset, or the error.

    `offset` is -1 if the response has none, as with acks=0. `error_name` is the library's name of
    the error: a class, or librdkafka's constant.
    """

    offset: int = -1
    error: Exception | None = None
    error_name: str | None = None


Report = Callable[[Delivery], None]
"""Called once for each record, perhaps in another thread."""


class Credentials(NamedTuple):
    """User and password for SASL/PLAIN without TLS."""

    username: str
    password: str


@dataclass(frozen=True, slots=True)
class ProducerOptions:
    """The settings that all libraries have, under different names.

    `acks` is -1 for all replicas in sync; None means the library's default.
    """

    acks: int = -1
    compression: str = "none"
    credentials: Credentials | None = None
    is_idempotent: bool = False
    linger_ms: int | None = None
    max_request_bytes: int | None = None


class Producer(ABC):
    """A producer of a client library; call it from one thread at a time.

    Used in a `with` statement, it is closed at the end, and aborted after an exception.
    """

    @abstractmethod
    def send(
        self,
        topic: str,
        value: bytes | None,
        report: Report,
        *,
        key: bytes | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """Send a record; blocks as long as the library's own `send` does.

        An error that the library raises is reported like one that it returns later.
        """

    @abstractmethod
    def poll(self, timeout_s: float) -> None:
        """Let the client work for up to `timeout_s`."""

    @abstractmethod
    def flush(self, timeout_s: float = DEADLINE_S) -> None:
        """Wait until every record has an outcome.

        Raises:
            TimeoutError: some records have no outcome yet.
        """

    @abstractmethod
    def close(self) -> None:
        """Flush, and end the producer."""

    @abstractmethod
    def abort(self) -> None:
        """End the producer at once, with or without the outcomes of its records."""

    def send_records(
        self, topic: str, records: Sequence[Record], report: Callable[[int, Delivery], None]
    ) -> None:
        """Send `records` like `send`; `report` also gets the index of the record."""
        for index, record in enumerate(records):
            self.send(
                topic,
                record.value,
                functools.partial(report, index),
                key=record.key,
                headers=record.headers,
                partition=record.partition,
                timestamp_ms=record.timestamp_ms,
            )

    def send_all(
        self, topic: str, records: Sequence[Record], timeout_s: float = DEADLINE_S
    ) -> list[Delivery]:
        """Send `records` and wait; return their outcomes in the same order.

        Raises:
            TimeoutError: some records have no outcome.
        """
        deliveries: dict[int, Delivery] = {}
        self.send_records(topic, records, deliveries.__setitem__)
        self.flush(timeout_s)
        return [deliveries[index] for index in range(len(records))]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error_type is None:
            self.close()
        else:
            self.abort()


class GroupMember(ABC):
    """A consumer that is subscribed to one topic as a member of a group.

    It reads from the earliest offset if the group has committed none, and commits on request only.
    Partitions are those of its topic.
    """

    rebalances: int = 0
    """How often partitions were assigned to it."""

    @abstractmethod
    def poll(self, record_count_max: int | None = None) -> list[Record]:
        """Return the records that have arrived; take part in rebalances."""

    @abstractmethod
    def assigned(self) -> set[int]:
        """Return the partitions that are assigned to it."""

    @abstractmethod
    def commit(self) -> None:
        """Commit the offsets behind all polled records, and wait for the response."""

    @abstractmethod
    def commit_at(self, partition: int, offset: int, metadata: str) -> None:
        """Commit an offset with its metadata."""

    @abstractmethod
    def committed(self, partition: int) -> tuple[int, str] | None:
        """Fetch the committed offset of a partition and its metadata from the broker."""

    @abstractmethod
    def close(self) -> None:
        """Leave the group."""


class Client(ABC):
    """A client library."""

    name: str
    """Its name on PyPI."""
    compressions: tuple[str, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
    """The codecs that it can write and read on this machine."""

    @abstractmethod
    def create_topic(
        self, servers: str, topic: str, partition_count: int, replication_factor: int
    ) -> None:
        """Create a topic with the library's admin client, and wait for the response."""

    @abstractmethod
    def producer(
        self, servers: str, config: Config | None = None, options: ProducerOptions | None = None
    ) -> Producer:
        """Open a producer; `config` has precedence over `options`."""

    @abstractmethod
    def join(
        self,
        servers: str,
        topic: str,
        group: str,
        *,
        session_timeout_ms: int = 10_000,
        instance_id: str | None = None,
        assignor: str = "range",
    ) -> GroupMember:
        """Subscribe to a topic as a member of a group; `assignor` is "range" or "roundrobin"."""

    @abstractmethod
    def read(
        self, servers: str, topic: str, partition_count: int, record_count: int
    ) -> list[Record]:
        """Return the first `record_count` records of all partitions, each partition in order."""

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
        """Send `records` with a new producer; return them with their offsets (-1 with acks=0).

        Raises:
            Exception: the library's error of the first record that was not delivered.
            TimeoutError: some records have no outcome.
        """
        options = ProducerOptions(
            acks=acks,
            compression=compression,
            is_idempotent=is_idempotent,
            max_request_bytes=max_request_bytes,
        )
        with self.producer(servers, options=options) as producer:
            deliveries = producer.send_all(topic, records)
            for delivery in deliveries:
                if delivery.error is not None:
                    raise delivery.error
        return [
            replace(record, offset=delivery.offset)
            for record, delivery in zip(records, deliveries, strict=True)
        ]


def by_partition(records: Sequence[Record]) -> dict[int, list[Record]]:
    """Return the records of each partition in their order."""
    partitions: dict[int, list[Record]] = {}
    for record in records:
        partitions.setdefault(record.partition, []).append(record)
    return partitions
