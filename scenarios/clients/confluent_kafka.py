"""confluent-kafka: librdkafka for Python."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewTopic

from scenarios.clients.deadline import DEADLINE_S, Deadline
from scenarios.clients.interface import (
    Client,
    Config,
    Delivery,
    GroupMember,
    Headers,
    Producer,
    ProducerOptions,
    Record,
    Report,
)

POLL_MS = 20
HEARTBEAT_INTERVAL_MS = 200


class ConfluentProducer(Producer):
    """A `confluent_kafka.Producer`; it reports outcomes in `poll`, `flush` and `close`."""

    def __init__(self, settings: Config) -> None:
        self._producer: Any = confluent_kafka.Producer(dict(settings))

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
        """See `Producer`; it returns at once."""

        def settle(error: Any, message: Any) -> None:
            if error is not None:
                report(Delivery(-1, confluent_kafka.KafkaException(error), error.name()))
            else:
                offset = message.offset()
                report(Delivery(-1 if offset is None else offset))

        optional: dict[str, Any] = {}
        if partition is not None:
            optional["partition"] = partition
        if timestamp_ms is not None:
            optional["timestamp"] = timestamp_ms
        try:
            self._producer.produce(
                topic, value=value, key=key, headers=list(headers), on_delivery=settle, **optional
            )
        except confluent_kafka.KafkaException as error:
            report(Delivery(-1, error, error.args[0].name()))

    def poll(self, timeout_s: float) -> None:
        """See `Producer`."""
        self._producer.poll(timeout_s)

    def flush(self, timeout_s: float = DEADLINE_S) -> None:
        """See `Producer`."""
        left_count = self._producer.flush(timeout_s)
        if left_count:
            raise TimeoutError(f"{left_count} records have no outcome")

    def close(self) -> None:
        """See `Producer`."""
        self._producer.flush()
        del self._producer  # this ends its threads

    def abort(self) -> None:
        """See `Producer`."""
        self._producer.purge()
        self._producer.poll(0)
        del self._producer


class ConfluentMember(GroupMember):
    """A `confluent_kafka.Consumer` with a subscription."""

    def __init__(self, topic: str, settings: Config) -> None:
        self.rebalances = 0
        self.revoked: list[set[int]] = []
        """The revoked partitions, in the order of the rebalances."""
        self._topic = topic
        self.consumer: Any = confluent_kafka.Consumer(dict(settings))
        self.consumer.subscribe([topic], on_assign=self._on_assign, on_revoke=self._on_revoke)

    def _on_assign(self, _consumer: Any, _partitions: Any) -> None:
        self.rebalances += 1

    def _on_revoke(self, _consumer: Any, partitions: Any) -> None:
        self.revoked.append({partition.partition for partition in partitions})

    def poll(self, record_count_max: int | None = None) -> list[Record]:
        """See `GroupMember`."""
        records: list[Record] = []
        timeout_s = POLL_MS / 1000
        while record_count_max is None or len(records) < record_count_max:
            message = self.consumer.poll(timeout_s)
            if message is None:
                break
            records.append(record_of_confluent(message))
            timeout_s = 0
        return records

    def assigned(self) -> set[int]:
        """See `GroupMember`."""
        return {partition.partition for partition in self.consumer.assignment()}

    def commit(self) -> None:
        """See `GroupMember`."""
        for partition in self.consumer.commit(asynchronous=False):
            _raise(partition.error)

    def commit_at(self, partition: int, offset: int, metadata: str) -> None:
        """See `GroupMember`."""
        position = confluent_kafka.TopicPartition(self._topic, partition, offset, metadata)
        [committed] = self.consumer.commit(offsets=[position], asynchronous=False)
        _raise(committed.error)

    def committed(self, partition: int) -> tuple[int, str] | None:
        """See `GroupMember`."""
        key = confluent_kafka.TopicPartition(self._topic, partition)
        [found] = self.consumer.committed([key], timeout=DEADLINE_S)
        if found.offset == confluent_kafka.OFFSET_INVALID:
            return None
        return found.offset, found.metadata or ""

    def close(self) -> None:
        """See `GroupMember`."""
        self.consumer.close()


class Confluent(Client):
    """https://pypi.org/project/confluent-kafka/."""

    name = "confluent-kafka"

    def create_topic(
        self, servers: str, topic: str, partition_count: int, replication_factor: int
    ) -> None:
        """See `Client`."""
        create_topic(servers, topic, partition_count, replication_factor)

    def producer(
        self, servers: str, config: Config | None = None, options: ProducerOptions | None = None
    ) -> Producer:
        """See `Client`."""
        options = options or ProducerOptions()
        settings: dict[str, Any] = {
            "bootstrap.servers": servers,
            "acks": options.acks,
            "enable.idempotence": options.is_idempotent,
            "compression.type": options.compression,
        }
        if options.credentials is not None:
            settings |= {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": options.credentials.username,
                "sasl.password": options.credentials.password,
            }
        if options.linger_ms is not None:
            settings["linger.ms"] = options.linger_ms
        if options.max_request_bytes is not None:
            settings["message.max.bytes"] = options.max_request_bytes
        return ConfluentProducer({**settings, **(config or {})})

    def join(
        self,
        servers: str,
        topic: str,
        group: str,
        *,
        session_timeout_ms: int = 10_000,
        instance_id: str | None = None,
        assignor: str = "range",
    ) -> ConfluentMember:
        """See `Client`; the assignor may be "cooperative-sticky", too."""
        settings: dict[str, Any] = {
            "bootstrap.servers": servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": session_timeout_ms,
            "heartbeat.interval.ms": HEARTBEAT_INTERVAL_MS,
            "partition.assignment.strategy": assignor,
        }
        if instance_id is not None:
            settings["group.instance.id"] = instance_id
        return ConfluentMember(topic, settings)

    def read(
        self, servers: str, topic: str, partition_count: int, record_count: int
    ) -> list[Record]:
        """See `Client`."""
        with confluent_consumer(servers) as consumer:
            consumer.assign(
                # Not OFFSET_BEGINNING: a waiting Fetch would delay the look-up of other offsets.
                [confluent_kafka.TopicPartition(topic, p, 0) for p in range(partition_count)]
            )
            return poll_confluent(consumer, record_count)


CONFLUENT = Confluent()


def create_topic(
    servers: str,
    topic: str,
    partition_count: int = 1,
    replication_factor: int = 1,
    assignment: list[list[int]] | None = None,
    config: dict[str, str] | None = None,
) -> None:
    """Create a topic and wait for the response.

    `assignment` has the replicas of each partition; it replaces both counts.
    """
    settings: dict[str, Any] = {"num_partitions": partition_count, "config": config or {}}
    if assignment is not None:
        settings |= {"num_partitions": len(assignment), "replica_assignment": assignment}
    else:
        settings["replication_factor"] = replication_factor
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, **settings)])[topic].result(DEADLINE_S)


@contextmanager
def confluent_consumer(servers: str, **config: Any) -> Iterator[Any]:
    """Open a `confluent_kafka.Consumer`, and close it at the end.

    Names in `config` have underscores where librdkafka's have dots.
    """
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
    """Poll until there are at least `record_count` records."""
    records: list[Record] = []
    deadline = Deadline()
    while len(records) < record_count and deadline.holds(f"{record_count} records"):
        # If it were asked for more than there are, it would wait for the others.
        messages = consumer.consume(min(500, record_count - len(records)), timeout=0.2)
        records += [record_of_confluent(message) for message in messages]
    return records


def record_of_confluent(message: Any) -> Record:
    """Return a message as a record.

    Raises:
        KafkaException: the message is an error.
    """
    _raise(message.error())
    return Record(
        message.value(),
        message.key(),
        tuple(message.headers() or ()),
        message.partition(),
        message.timestamp()[1],
        message.offset(),
    )


def _raise(error: Any) -> None:
    if error is not None:
        raise confluent_kafka.KafkaException(error)
