"""The adapter of kafka-python."""

import contextlib
import logging
from collections.abc import Mapping
from typing import Any

import kafka
import kafka.errors
import kafka.version
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.structs import OffsetAndMetadata, TopicPartition

from atlas.adapters.adapter import (
    Failure,
    UnsupportedError,
    encoded,
    main,
    mapped,
    offsets_of,
)
from atlas.adapters.kafka_python_admin import KafkaPythonAdmin
from atlas.adapters.kafka_python_names import (
    CONSUMER,
    PRODUCER,
    connection_settings,
    records_of,
    topic_partitions,
)

_ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
# Older releases lack some.
_PRODUCER_KEYS = kafka.KafkaProducer.DEFAULT_CONFIG
_CONSUMER_KEYS = kafka.KafkaConsumer.DEFAULT_CONFIG
_FORGET_S = 0.5


def _known_to(keys: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    return {name: key for name, key in names.items() if key in keys}


class KafkaPythonAdapter(KafkaPythonAdmin):
    """https://pypi.org/project/kafka-python/."""

    client = "kafka-python"
    version = kafka.version.__version__
    supports = (
        "producer",
        *(["idempotence"] if "enable_idempotence" in _PRODUCER_KEYS else []),
        *(["transactions"] if "transactional_id" in _PRODUCER_KEYS else []),
        "consumer",
        "group",
        "admin",
    )

    def failure_of(self, error: BaseException) -> Failure:
        """Classify by the attribute `retriable`; a timeout has its own class."""
        kind = "unknown"
        if isinstance(error, kafka.errors.KafkaTimeoutError | kafka.errors.RequestTimedOutError):
            kind = "timeout"
        elif isinstance(error, kafka.errors.TransactionAbortableError):
            kind = "abortable"
        elif isinstance(error, kafka.errors.BrokerResponseError | kafka.errors.RetriableError):
            kind = "retriable" if error.retriable else "fatal"
        return Failure(type(error).__name__, str(error), kind)

    # Producers -----------------------------------------------------------------------------

    def producer(self, id: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Create a producer; the delivery timeout also bounds how long `send` may block."""
        access = connection_settings(settings)
        known, ignored = mapped(settings, _known_to(_PRODUCER_KEYS, PRODUCER))
        if "transactional_id" in ignored:
            raise UnsupportedError
        if "delivery_timeout_ms" in settings:
            known["max_block_ms"] = settings["delivery_timeout_ms"]
        producer = kafka.KafkaProducer(bootstrap_servers=self.bootstrap, **known, **access)
        self.handles[id] = producer
        if known.get("transactional_id") is not None:
            producer.init_transactions()
        return {"ignored": ignored}

    def send(
        self,
        number: int,
        producer: Any,
        topic: str,
        value: str | None,
        key: str | None,
        partition: int | None,
    ) -> None:
        """Send a record; it blocks while the topic is unknown."""
        data, key_data = encoded(value, key)
        future = producer.send(topic, data, key_data, partition=partition)
        future.add_callback(lambda metadata: self.delivered(number, metadata.offset))
        future.add_errback(lambda error: self.undelivered(number, self.failure_of(error)))

    def flush(self, producer: Any, timeout_ms: int) -> None:
        """Wait for the outcome of all records."""
        producer.flush(timeout_ms / 1000)

    def begin_transaction(self, producer: Any) -> None:
        """Begin a transaction."""
        producer.begin_transaction()

    def commit_transaction(self, producer: Any) -> None:
        """Commit; `max_block_ms` bounds it."""
        producer.commit_transaction()

    def abort_transaction(self, producer: Any) -> None:
        """Abort; `max_block_ms` bounds it."""
        producer.abort_transaction()

    def send_offsets(
        self, producer: Any, consumer: Any, offsets: dict[str, dict[str, int]]
    ) -> None:
        """Add offsets of the consumer's group to the transaction."""
        committed = {
            partition: OffsetAndMetadata(offset, "", -1)
            for partition, offset in offsets_of(TopicPartition, offsets).items()
        }
        group = consumer.group_metadata()
        producer.send_offsets_to_transaction(committed, group)

    # Consumers -----------------------------------------------------------------------------

    def consumer(
        self,
        id: str,
        settings: dict[str, Any],
        topics: list[str] | None = None,
        assign: dict[str, list[int]] | None = None,
    ) -> dict[str, Any]:
        """Create a consumer of topics, or of assigned partitions."""
        if settings.get("group_protocol") not in {None, "classic"}:
            raise UnsupportedError
        settings.pop("group_protocol", None)
        assignor = settings.pop("assignor", None)
        access = connection_settings(settings)
        known, ignored = mapped(settings, _known_to(_CONSUMER_KEYS, CONSUMER))
        if assignor is not None:
            if assignor not in _ASSIGNORS:
                raise UnsupportedError
            known["partition_assignment_strategy"] = [_ASSIGNORS[assignor]]
        consumer = kafka.KafkaConsumer(bootstrap_servers=self.bootstrap, **known, **access)
        self.handles[id] = consumer
        if topics:
            for topic in topics:
                # Before it knows the topic it joins the group twice.
                consumer.partitions_for_topic(topic)
            consumer.subscribe(topics)
        elif assign:
            consumer.assign(topic_partitions(TopicPartition, assign))
        return {"ignored": ignored}

    def poll(self, consumer: Any, records_max: int, timeout_ms: int) -> dict[str, Any]:
        """Return the records that have arrived."""
        polled = consumer.poll(timeout_ms=timeout_ms, max_records=records_max)
        return {"records": records_of(polled)}

    def commit(self, consumer: Any, timeout_ms: int) -> None:
        """Commit the positions."""
        consumer.commit(timeout_ms=timeout_ms)

    def position(self, consumer: Any, topic: str, partition: int) -> dict[str, Any]:
        """Return the position."""
        key = TopicPartition(topic, partition)
        return {"offset": consumer.position(key, timeout_ms=5_000)}

    def committed(self, consumer: Any, topic: str, partition: int) -> dict[str, Any]:
        """Return the committed offset."""
        key = TopicPartition(topic, partition)
        return {"offset": consumer.committed(key, timeout_ms=5_000)}

    def seek(self, consumer: Any, topic: str, offset: int, partition: int) -> None:
        """Set the position."""
        consumer.seek(TopicPartition(topic, partition), offset)

    # Closing -------------------------------------------------------------------------------

    def stop(self, handle: Any, timeout_ms: int) -> None:
        """See `Adapter`."""
        if isinstance(handle, kafka.KafkaProducer):
            handle.close(timeout_ms / 1000)
        elif isinstance(handle, kafka.KafkaConsumer):
            self.close_consumer(handle, timeout_ms)
        else:
            handle.close()

    def close_consumer(self, consumer: Any, timeout_ms: int) -> None:
        """Close a consumer without a commit."""
        consumer.close(autocommit=False, timeout_ms=timeout_ms)

    def forget(self, handle: Any) -> None:
        """See `Adapter`."""
        with contextlib.suppress(Exception):
            if isinstance(handle, kafka.KafkaProducer):
                sender = handle._sender  # noqa: SLF001 - after an exception its thread still runs
                with contextlib.suppress(Exception):
                    handle.close(timeout=0)
                sender.force_close()
                sender.join(_FORGET_S)
            elif isinstance(handle, kafka.KafkaConsumer):
                self.close_consumer(handle, round(_FORGET_S * 1000))
            else:
                handle.close()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)d %(name)s %(message)s")
    main(KafkaPythonAdapter)
