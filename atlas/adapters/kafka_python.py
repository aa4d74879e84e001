"""The adapter of kafka-python."""

import contextlib
import functools
import logging
import re
import time
from collections.abc import Mapping
from typing import Any

import kafka
import kafka.admin
import kafka.errors
import kafka.version
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.structs import OffsetAndMetadata, TopicPartition

from atlas.adapters.adapter import Adapter, Failure, UnsupportedError, main, mapped
from atlas.adapters.kafka_python_names import (
    ADMIN,
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
_ERROR = re.compile(r"\[Error (-?\d+)\] \w+:? ?(.*)", re.DOTALL)


def _known_to(keys: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    return {name: key for name, key in names.items() if key in keys}


class KafkaPythonAdapter(Adapter):
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
        producer: str,
        topic: str,
        value: str | None = None,
        key: str | None = None,
        partition: int | None = None,
    ) -> None:
        """Send a record; it blocks while the topic is unknown."""
        data, key_data = (None if text is None else text.encode() for text in (value, key))
        future = self.handles[producer].send(topic, data, key_data, partition=partition)
        future.add_callback(lambda metadata: self.delivered(number, metadata.offset))
        future.add_errback(lambda error: self.undelivered(number, self.failure_of(error)))

    def flush(self, producer: str, timeout_ms: int) -> None:
        """Wait for the outcome of all records."""
        self.handles[producer].flush(timeout_ms / 1000)

    def begin_transaction(self, producer: str) -> None:
        """Begin a transaction."""
        self.handles[producer].begin_transaction()

    def commit_transaction(self, producer: str, timeout_ms: int) -> None:
        """Commit; `max_block_ms` bounds it."""
        del timeout_ms
        self.handles[producer].commit_transaction()

    def abort_transaction(self, producer: str, timeout_ms: int) -> None:
        """Abort; `max_block_ms` bounds it."""
        del timeout_ms
        self.handles[producer].abort_transaction()

    def send_offsets(
        self, producer: str, consumer: str, offsets: dict[str, dict[str, int]], timeout_ms: int = 0
    ) -> None:
        """Add offsets of the consumer's group to the transaction."""
        del timeout_ms
        committed = {
            TopicPartition(topic, int(index)): OffsetAndMetadata(offset, "", -1)
            for topic, partitions in offsets.items()
            for index, offset in partitions.items()
        }
        group = self.handles[consumer].group_metadata()
        self.handles[producer].send_offsets_to_transaction(committed, group)

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

    def poll(self, consumer: str, records_max: int, timeout_ms: int) -> dict[str, Any]:
        """Return the records that have arrived."""
        polled = self.handles[consumer].poll(timeout_ms=timeout_ms, max_records=records_max)
        return {"records": records_of(polled)}

    def commit(self, consumer: str, timeout_ms: int = 5_000) -> None:
        """Commit the positions."""
        self.handles[consumer].commit(timeout_ms=timeout_ms)

    def position(self, consumer: str, topic: str, partition: int = 0) -> dict[str, Any]:
        """Return the position."""
        key = TopicPartition(topic, partition)
        return {"offset": self.handles[consumer].position(key, timeout_ms=5_000)}

    def committed(self, consumer: str, topic: str, partition: int = 0) -> dict[str, Any]:
        """Return the committed offset."""
        key = TopicPartition(topic, partition)
        return {"offset": self.handles[consumer].committed(key, timeout_ms=5_000)}

    def seek(self, consumer: str, topic: str, offset: int, partition: int = 0) -> None:
        """Set the position."""
        self.handles[consumer].seek(TopicPartition(topic, partition), offset)

    # Administration ------------------------------------------------------------------------

    def admin(self, id: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Create an admin client."""
        access = connection_settings(settings)
        known, ignored = mapped(settings, ADMIN)
        self.handles[id] = kafka.admin.KafkaAdminClient(
            bootstrap_servers=self.bootstrap, **known, **access
        )
        return {"ignored": ignored}

    def create_topic(
        self,
        admin: str,
        topic: str,
        partitions: int = 1,
        replication_factor: int = 1,
        timeout_ms: int = 5_000,
    ) -> None:
        """Create a topic."""
        options = {"num_partitions": partitions, "replication_factor": replication_factor}
        self.handles[admin].create_topics({topic: options}, timeout_ms=timeout_ms)

    def delete_topic(self, admin: str, topic: str, timeout_ms: int = 5_000) -> None:
        """Delete a topic."""
        self.handles[admin].delete_topics([topic], timeout_ms=timeout_ms)

    def create_partitions(
        self, admin: str, topic: str, partitions: int, timeout_ms: int = 5_000
    ) -> None:
        """Have a topic with so many partitions."""
        self.handles[admin].create_partitions({topic: partitions}, timeout_ms=timeout_ms)

    def describe_topic(self, admin: str, topic: str, timeout_ms: int = 0) -> None:
        """Describe a topic; raise the error of its description."""
        del timeout_ms
        for description in self.handles[admin].describe_topics([topic]):
            _raise_code(description.get("error_code", 0))

    def list_topics(self, admin: str, timeout_ms: int = 0) -> dict[str, Any]:
        """List the topics."""
        del timeout_ms
        return {"topics": sorted(self.handles[admin].list_topics())}

    def describe_configs(self, admin: str, topic: str, timeout_ms: int = 0) -> None:
        """Describe the configuration of a topic."""
        del timeout_ms
        resource = kafka.admin.ConfigResource("TOPIC", topic)
        self.handles[admin].describe_configs([resource])

    def alter_config(
        self, admin: str, topic: str, config: dict[str, str], timeout_ms: int = 0
    ) -> None:
        """Set configuration keys of a topic."""
        del timeout_ms
        resource = kafka.admin.ConfigResource("TOPIC", topic, config)
        for results in self.handles[admin].alter_configs([resource]).values():
            for result in results.values():
                _raise_text(result)

    def list_groups(self, admin: str, timeout_ms: int = 0) -> None:
        """List the groups."""
        del timeout_ms
        self.handles[admin].list_groups()

    def describe_group(self, admin: str, group: str, timeout_ms: int = 0) -> None:
        """Describe a group; raise the error of its description."""
        del timeout_ms
        for description in self.handles[admin].describe_groups([group]).values():
            _raise_text(description.get("error"))

    def delete_group(self, admin: str, group: str, timeout_ms: int = 0) -> None:
        """Delete a group; kafka-python returns the names of errors."""
        del timeout_ms
        for result in self.handles[admin].delete_groups([group]).values():
            error = getattr(kafka.errors, str(result), None)
            if error is not None and error is not kafka.errors.NoError:
                raise error()

    def delete_records(
        self, admin: str, topic: str, offset: int, partition: int = 0, timeout_ms: int = 5_000
    ) -> None:
        """Delete the records before an offset."""
        before = {TopicPartition(topic, partition): offset}
        self.handles[admin].delete_records(before, timeout_ms=timeout_ms)

    def describe_cluster(self, admin: str, timeout_ms: int = 0) -> None:
        """Describe the cluster."""
        del timeout_ms
        self.handles[admin].describe_cluster()

    # Closing -------------------------------------------------------------------------------

    def close(self, id: str, timeout_ms: int) -> dict[str, Any]:
        """Close a client; one that does not is ended by force."""
        handle = self.handles.pop(id)
        began_s = time.monotonic()  # noqa: TID251 - a client's program has its own clock
        try:
            if isinstance(handle, kafka.KafkaProducer):
                handle.close(timeout_ms / 1000)
            elif isinstance(handle, kafka.KafkaConsumer):
                self.close_consumer(handle, timeout_ms)
            else:
                handle.close()
        except Exception:
            self.forget(handle)
            raise
        took_s = time.monotonic() - began_s  # noqa: TID251 - the same
        return {"took_ms": round(took_s * 1000)}

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


@functools.cache
def _error_class(code: int) -> type[Exception]:
    found: type[Exception] = kafka.errors.for_code(code)
    return found


def _raise_code(code: int) -> None:
    if code:
        raise _error_class(code)()


def _raise_text(text: str | None) -> None:
    """Raise an error of which the library returns the text."""
    match = _ERROR.match(text or "")
    if match is not None:
        raise _error_class(int(match[1]))(match[2])


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)d %(name)s %(message)s")
    main(KafkaPythonAdapter)
