"""The adapter of confluent-kafka, which is librdkafka for Python."""

import inspect
import logging
import sys
import threading
from collections.abc import Iterable, Mapping
from typing import Any

import confluent_kafka
from confluent_kafka.admin import AdminClient

from atlas.adapters.adapter import Failure, UnansweredError, UnsupportedError, main, mapped
from atlas.adapters.confluent_admin import CALL_MS, ConfluentAdmin

_PRODUCER = {
    "acks": "acks",
    "idempotent": "enable.idempotence",
    "transactional_id": "transactional.id",
    "transaction_timeout_ms": "transaction.timeout.ms",
    "delivery_timeout_ms": "delivery.timeout.ms",
    "request_timeout_ms": "socket.timeout.ms",
    "linger_ms": "linger.ms",
    "retries": "retries",
    "retry_backoff_ms": "retry.backoff.ms",
    "max_in_flight": "max.in.flight",
    "compression": "compression.type",
    "metadata_max_age_ms": "topic.metadata.refresh.interval.ms",
}
_CONSUMER = {
    "group": "group.id",
    "instance_id": "group.instance.id",
    "group_protocol": "group.protocol",
    "isolation": "isolation.level",
    "auto_offset_reset": "auto.offset.reset",
    "auto_commit": "enable.auto.commit",
    "session_timeout_ms": "session.timeout.ms",
    "heartbeat_interval_ms": "heartbeat.interval.ms",
    "fetch_max_wait_ms": "fetch.wait.max.ms",
    "request_timeout_ms": "socket.timeout.ms",
    "retry_backoff_ms": "retry.backoff.ms",
    "metadata_max_age_ms": "topic.metadata.refresh.interval.ms",
    "assignor": "partition.assignment.strategy",
}
_ADMIN = {
    "request_timeout_ms": "socket.timeout.ms",
    "retry_backoff_ms": "retry.backoff.ms",
    "metadata_max_age_ms": "topic.metadata.refresh.interval.ms",
}
_SHARE = ("group.id", "socket.timeout.ms", "retry.backoff.ms")
_SECURITY = {
    "mechanism": "sasl.mechanism",
    "username": "sasl.username",
    "password": "sasl.password",
}
_BROKER_DECIDES = ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy")
_TIMEOUTS = {
    confluent_kafka.KafkaError._MSG_TIMED_OUT,
    confluent_kafka.KafkaError._TIMED_OUT,  # noqa: SLF001
    confluent_kafka.KafkaError._TIMED_OUT_QUEUE,  # noqa: SLF001
    confluent_kafka.KafkaError.REQUEST_TIMED_OUT,
}
_LIBRDKAFKA: int = confluent_kafka.libversion()[1]
_GROUP_PROTOCOL_SINCE, _BACKOFF_BOUND_SINCE = 0x02_04_00_00, 0x02_03_00_00
"""The releases of librdkafka with group.protocol, and with retry.backoff.max.ms."""
_POLL_S = 0.02


class ConfluentAdapter(ConfluentAdmin):
    """https://pypi.org/project/confluent-kafka/; a thread serves the reports of each producer."""

    client = "confluent-kafka"
    version = confluent_kafka.__version__
    supports = (
        "producer",
        "idempotence",
        "transactions",
        "consumer",
        "group",
        *(["group_protocol_consumer"] if _LIBRDKAFKA >= _GROUP_PROTOCOL_SINCE else []),
        "admin",
        *(["share"] if hasattr(confluent_kafka, "ShareConsumer") else []),
    )

    def failure_of(self, error: BaseException) -> Failure:
        """Classify as librdkafka does; outside of transactions it says only what is fatal."""
        if isinstance(error, confluent_kafka.KafkaException) and error.args:
            error = error.args[0]
        if not isinstance(error, confluent_kafka.KafkaError):
            return Failure(type(error).__name__, str(error))
        kind = "unknown"
        if error.fatal():
            kind = "fatal"
        elif error.txn_requires_abort():
            kind = "abortable"
        elif error.code() in _TIMEOUTS:
            kind = "timeout"
        elif error.retriable():
            kind = "retriable"
        return Failure(error.name(), error.str(), kind)

    def _settings(
        self, settings: Mapping[str, Any], names: Mapping[str, str]
    ) -> tuple[dict[str, Any], list[str]]:
        given = dict(settings)
        security = given.pop("security", None)
        if _LIBRDKAFKA < _GROUP_PROTOCOL_SINCE:
            names = {name: key for name, key in names.items() if name != "group_protocol"}
        known, ignored = mapped(given, names)
        known |= {"bootstrap.servers": self.bootstrap, "logger": _LOG}
        if "retry.backoff.ms" in known and _LIBRDKAFKA >= _BACKOFF_BOUND_SINCE:
            # Its upper bound must not be lower; by default it is a second.
            known["retry.backoff.max.ms"] = max(1_000, known["retry.backoff.ms"])
        if security:
            known["security.protocol"] = "SASL_PLAINTEXT"
            known |= {_SECURITY[name]: value for name, value in security.items()}
        return known, ignored

    # Producers -----------------------------------------------------------------------------

    def producer(self, id: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Create a producer."""
        timeout_s = settings.get("delivery_timeout_ms", CALL_MS) / 1000
        known, ignored = self._settings(settings, _PRODUCER)
        if "transactional.id" in known:
            # librdkafka wants it to be at least the delivery timeout.
            known.setdefault("transaction.timeout.ms", 60_000)
        producer = _ServedProducer(known)
        self.handles[id] = producer
        if "transactional.id" in known:
            producer.producer.init_transactions(timeout_s)
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
        """Send a record."""

        def settle(error: Any, message: Any) -> None:
            if error is not None:
                self.undelivered(number, self.failure_of(error))
            else:
                self.delivered(number, message.offset())

        where = {} if partition is None else {"partition": partition}
        producer.producer.produce(topic, value=value, key=key, on_delivery=settle, **where)

    def flush(self, producer: Any, timeout_ms: int) -> None:
        """Wait for the outcome of all records."""
        if producer.producer.flush(timeout_ms / 1000):
            raise UnansweredError

    def begin_transaction(self, producer: Any) -> None:
        """Begin a transaction."""
        producer.producer.begin_transaction()

    def commit_transaction(self, producer: Any, timeout_ms: int) -> None:
        """Commit."""
        producer.producer.commit_transaction(timeout_ms / 1000)

    def abort_transaction(self, producer: Any, timeout_ms: int) -> None:
        """Abort."""
        producer.producer.abort_transaction(timeout_ms / 1000)

    def send_offsets(
        self, producer: Any, consumer: Any, offsets: dict[str, dict[str, int]], timeout_ms: int
    ) -> None:
        """Add offsets of the consumer's group to the transaction."""
        committed = [
            confluent_kafka.TopicPartition(topic, int(index), offset)
            for topic, partitions in offsets.items()
            for index, offset in partitions.items()
        ]
        group = consumer.consumer_group_metadata()
        producer.producer.send_offsets_to_transaction(committed, group, timeout_ms / 1000)

    # Consumers -----------------------------------------------------------------------------

    def consumer(
        self,
        id: str,
        settings: dict[str, Any],
        topics: list[str] | None = None,
        assign: dict[str, list[int]] | None = None,
    ) -> dict[str, Any]:
        """Create a consumer of topics, or of assigned partitions."""
        known, ignored = self._settings(settings, _CONSUMER)
        known.setdefault("group.id", "unused")
        if known.get("group.protocol") == "consumer":
            for name in _BROKER_DECIDES:
                known.pop(name, None)
        consumer = confluent_kafka.Consumer(known)
        self.handles[id] = consumer
        if topics:
            consumer.subscribe(topics)
        elif assign:
            start = confluent_kafka.OFFSET_BEGINNING
            consumer.assign(
                [
                    confluent_kafka.TopicPartition(topic, index, start)
                    for topic, indexes in assign.items()
                    for index in indexes
                ]
            )
        return {"ignored": ignored}

    def share_consumer(
        self, id: str, settings: dict[str, Any], topics: list[str]
    ) -> dict[str, Any]:
        """Create a share consumer with explicit acknowledgements."""
        if not hasattr(confluent_kafka, "ShareConsumer"):
            raise UnsupportedError
        known, ignored = self._settings(settings, _CONSUMER)
        known = {name: value for name, value in known.items() if name in _SHARE} | {
            "bootstrap.servers": self.bootstrap,
            "logger": _LOG,
            "share.acknowledgement.mode": "explicit",
        }
        consumer = confluent_kafka.ShareConsumer(known)
        self.handles[id] = consumer
        consumer.subscribe(topics)
        return {"ignored": ignored}

    def poll(self, consumer: Any, records_max: int, timeout_ms: int) -> dict[str, Any]:
        """Return the records that have arrived.

        Asked for more records than there are, librdkafka would wait for the others.
        """
        handle = consumer
        if isinstance(handle, confluent_kafka.Consumer):
            messages = []
            message = handle.poll(timeout_ms / 1000)
            while message is not None:
                messages.append(message)
                message = handle.poll(_POLL_S) if len(messages) < records_max else None
        else:
            messages = list(handle.poll(timeout_ms / 1000))
        return {"records": list(_records_of(messages))}

    def acknowledge(
        self, consumer: Any, topic: str, partition: int, offset: int, type: str
    ) -> None:
        """Acknowledge a record of a share consumer."""
        kind = confluent_kafka.AcknowledgeType[type.upper()]
        consumer.acknowledge_offset(topic, partition, offset, kind)

    def commit(self, consumer: Any, timeout_ms: int) -> None:
        """Commit the positions, or the acknowledgements of a share consumer."""
        handle = consumer
        if isinstance(handle, confluent_kafka.Consumer):
            for found in handle.commit(asynchronous=False) or ():
                if found.error is not None:
                    raise confluent_kafka.KafkaException(found.error)
        else:
            for error in handle.commit_sync(timeout_ms / 1000).values():
                if error is not None:
                    raise error

    def position(self, consumer: Any, topic: str, partition: int) -> dict[str, Any]:
        """Return the position."""
        key = confluent_kafka.TopicPartition(topic, partition)
        return {"offset": consumer.position([key])[0].offset}

    def committed(self, consumer: Any, topic: str, partition: int) -> dict[str, Any]:
        """Return the committed offset."""
        key = confluent_kafka.TopicPartition(topic, partition)
        [found] = consumer.committed([key], timeout=CALL_MS / 1000)
        if found.error is not None:
            raise confluent_kafka.KafkaException(found.error)
        return {"offset": None if found.offset < 0 else found.offset}

    def seek(self, consumer: Any, topic: str, offset: int, partition: int) -> None:
        """Set the position."""
        consumer.seek(confluent_kafka.TopicPartition(topic, partition, offset))

    # Administration ------------------------------------------------------------------------

    def admin(self, id: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Create an admin client."""
        known, ignored = self._settings(settings, _ADMIN)
        known.pop("logger")
        # Older releases take the settings only.
        takes_more = "kwargs" in inspect.signature(AdminClient.__init__).parameters
        log = {"logger": _LOG} if takes_more else {}
        self.handles[id] = AdminClient(known, **log)
        return {"ignored": ignored}

    # Closing -------------------------------------------------------------------------------

    def stop(self, handle: Any, timeout_ms: int) -> None:
        """See `Adapter`; what a producer has left is purged, and it is destroyed."""
        if isinstance(handle, _ServedProducer):
            if handle.producer.flush(timeout_ms / 1000):
                raise UnansweredError
            handle.destroy()
        elif hasattr(handle, "close"):
            handle.close()

    def forget(self, handle: Any) -> None:
        """See `Adapter`; a consumer closes in a thread, because that may take long."""
        if isinstance(handle, _ServedProducer):
            handle.destroy()
        elif hasattr(handle, "close"):
            threading.Thread(target=handle.close, daemon=True).start()


class _ServedProducer:
    """A producer with a thread that calls the callbacks of its records."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.producer: Any = confluent_kafka.Producer(dict(settings))
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._has_ended.is_set():
            self.producer.poll(_POLL_S)

    def destroy(self) -> None:
        """Purge what is left, and destroy the producer, which ends its threads."""
        self._has_ended.set()
        self._thread.join()
        self.producer.purge()
        self.producer.poll(0)
        del self.producer


def _records_of(messages: Iterable[Any]) -> Iterable[dict[str, Any]]:
    for message in messages:
        if message.error() is not None:
            raise confluent_kafka.KafkaException(message.error())
        key, value = message.key(), message.value()
        yield {
            "topic": message.topic(),
            "partition": message.partition(),
            "offset": message.offset(),
            "key": None if key is None else key.decode(errors="replace"),
            "value": None if value is None else value.decode(errors="replace"),
        }


_LOG = logging.getLogger("librdkafka")

if __name__ == "__main__":
    logging.basicConfig(
        level=logging.INFO, format="%(relativeCreated)d %(message)s", stream=sys.stderr
    )
    main(ConfluentAdapter)
