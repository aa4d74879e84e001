"""kafka-python: pure Python, with a separate thread for each producer."""

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import kafka
import kafka.admin
import kafka.codec
import kafka.errors
import kafka.version
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

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

if int(kafka.version.__version__.partition(".")[0]) < 3:
    raise ImportError("kafka-python 3 is needed here")

POLL_MS = 20
FIRST_POLL_MS = 1_000
HEARTBEAT_INTERVAL_MS = 200
_ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
_ABORT_S = 1.0


def producer_settings(options: ProducerOptions) -> dict[str, Any]:
    """Return the options in the names that kafka-python and aiokafka share."""
    settings: dict[str, Any] = {
        "acks": "all" if options.acks == -1 else options.acks,
        "compression_type": None if options.compression == "none" else options.compression,
        "enable_idempotence": options.is_idempotent,
    }
    if options.credentials is not None:
        settings |= {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": options.credentials.username,
            "sasl_plain_password": options.credentials.password,
        }
    if options.linger_ms is not None:
        settings["linger_ms"] = options.linger_ms
    if options.max_request_bytes is not None:
        settings["max_request_size"] = options.max_request_bytes
    return settings


def member_settings(
    servers: str, group: str, session_timeout_ms: int, instance_id: str | None
) -> dict[str, Any]:
    """Return the settings of a member of a group, but for its assignor."""
    return {
        "bootstrap_servers": servers,
        "group_id": group,
        "group_instance_id": instance_id,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "session_timeout_ms": session_timeout_ms,
        "heartbeat_interval_ms": HEARTBEAT_INTERVAL_MS,
    }


class KafkaPythonProducer(Producer):
    """A `KafkaProducer`."""

    def __init__(self, servers: str, settings: Config) -> None:
        self._producer: Any = kafka.KafkaProducer(bootstrap_servers=servers, **settings)

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
        """See `Producer`; it blocks while the topic is unknown."""
        try:
            future = self._producer.send(topic, value, key, list(headers), partition, timestamp_ms)
        except Exception as error:  # noqa: BLE001 - any error is the outcome of the record
            report(failure(error))
            return
        future.add_callback(lambda metadata: report(Delivery(metadata.offset)))
        future.add_errback(lambda error: report(failure(error)))

    def poll(self, timeout_s: float) -> None:
        """See `Producer`."""
        threading.Event().wait(timeout_s)

    def flush(self, timeout_s: float = DEADLINE_S) -> None:
        """See `Producer`."""
        try:
            self._producer.flush(timeout_s)
        except kafka.errors.KafkaTimeoutError as error:
            raise TimeoutError(str(error)) from error

    def close(self) -> None:
        """See `Producer`."""
        self._producer.close()

    def abort(self) -> None:
        """See `Producer`."""
        with contextlib.suppress(Exception):  # it raises when records are left
            self._producer.close(timeout=0)
        # After an exception its thread is still running.
        sender = self._producer._sender  # noqa: SLF001
        sender.force_close()
        sender.join(_ABORT_S)


def failure(error: Exception) -> Delivery:
    """Return the outcome of a record that was not delivered."""
    return Delivery(error=error, error_name=type(error).__name__)


class KafkaPythonMember(GroupMember):
    """A `KafkaConsumer` with a subscription."""

    def __init__(self, topic: str, settings: Config) -> None:
        self.rebalances = 0
        self._topic = topic
        self.consumer: Any = kafka.KafkaConsumer(**settings)
        member = self

        class Listener(kafka.ConsumerRebalanceListener):  # type: ignore[misc, unused-ignore]
            def on_partitions_revoked(self, revoked: Any) -> None:
                pass

            def on_partitions_assigned(self, assigned: Any) -> None:
                member.rebalances += 1

        self.consumer.subscribe([topic], listener=Listener())

    def poll(self, record_count_max: int | None = None) -> list[Record]:
        """See `GroupMember`."""
        # kafka-python 3.0.12 joins before it knows the topic, and once more when it does. A poll
        # that ends during the second join loses the response, so the first polls are longer.
        timeout_ms = POLL_MS if self.consumer.assignment() else FIRST_POLL_MS
        batches = self.consumer.poll(timeout_ms=timeout_ms, max_records=record_count_max)
        return [record_of(message) for batch in batches.values() for message in batch]

    def assigned(self) -> set[int]:
        """See `GroupMember`."""
        return {partition.partition for partition in self.consumer.assignment()}

    def commit(self) -> None:
        """See `GroupMember`."""
        self.consumer.commit()

    def commit_at(self, partition: int, offset: int, metadata: str) -> None:
        """See `GroupMember`."""
        key = kafka.TopicPartition(self._topic, partition)
        self.consumer.commit({key: kafka.OffsetAndMetadata(offset, metadata, -1)})

    def committed(self, partition: int) -> tuple[int, str] | None:
        """See `GroupMember`."""
        key = kafka.TopicPartition(self._topic, partition)
        found = self.consumer.committed(key, metadata=True)
        return None if found is None else (found.offset, found.metadata)

    def close(self) -> None:
        """See `GroupMember`."""
        self.consumer.close()


class KafkaPython(Client):
    """https://pypi.org/project/kafka-python/."""

    name = "kafka-python"

    def __init__(self) -> None:
        codecs = {
            "gzip": kafka.codec.has_gzip(),
            "snappy": kafka.codec.has_snappy(),
            "lz4": kafka.codec.has_lz4(),
            "zstd": kafka.codec.has_zstd(),
        }
        self.compressions = ("none", *(name for name, is_here in codecs.items() if is_here))

    def create_topic(
        self, servers: str, topic: str, partition_count: int, replication_factor: int
    ) -> None:
        """See `Client`."""
        with contextlib.closing(kafka.admin.KafkaAdminClient(bootstrap_servers=servers)) as admin:
            admin.create_topics(
                {
                    topic: {
                        "num_partitions": partition_count,
                        "replication_factor": replication_factor,
                    }
                }
            )

    def producer(
        self, servers: str, config: Config | None = None, options: ProducerOptions | None = None
    ) -> Producer:
        """See `Client`."""
        settings = producer_settings(options or ProducerOptions())
        return KafkaPythonProducer(servers, {**settings, **(config or {})})

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
        """See `Client`."""
        settings = member_settings(servers, group, session_timeout_ms, instance_id)
        settings["partition_assignment_strategy"] = [_ASSIGNORS[assignor]]
        return KafkaPythonMember(topic, settings)

    def read(
        self, servers: str, topic: str, partition_count: int, record_count: int
    ) -> list[Record]:
        """See `Client`."""
        with kafka_python_consumer(servers) as consumer:
            consumer.assign([kafka.TopicPartition(topic, p) for p in range(partition_count)])
            consumer.seek_to_beginning()
            return poll_kafka_python(consumer, record_count)


KAFKA_PYTHON = KafkaPython()


@contextmanager
def kafka_python_consumer(servers: str, *topics: str, **config: Any) -> Iterator[Any]:
    """Open a `KafkaConsumer` that subscribes to topics, and close it at the end.

    It knows the topics before it joins a group. kafka-python 3.0 may join while it knows none of
    them, and join again when it does; sometimes it does not go on after that.
    """
    settings = {"auto_offset_reset": "earliest", "enable_auto_commit": False, **config}
    consumer = kafka.KafkaConsumer(bootstrap_servers=servers, **settings)
    try:
        for topic in topics:
            consumer.partitions_for_topic(topic)
        if topics:
            consumer.subscribe(topics)
        yield consumer
    finally:
        consumer.close()


def poll_kafka_python(consumer: Any, record_count: int) -> list[Record]:
    """Poll until there are at least `record_count` records."""
    records: list[Record] = []
    deadline = Deadline()
    while len(records) < record_count and deadline.holds(f"{record_count} records"):
        for batch in consumer.poll(timeout_ms=200).values():
            records += [record_of(message) for message in batch]
    return records


def record_of(message: Any) -> Record:
    """Return a message of kafka-python or aiokafka as a record."""
    return Record(
        message.value,
        message.key,
        tuple(message.headers),
        message.partition,
        message.timestamp,
        message.offset,
    )
