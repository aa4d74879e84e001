"""The adapter of kafka-python 2, whose calls have fewer bounds and other arguments."""

import inspect
import logging
from typing import Any

import kafka
import kafka.admin
import kafka.errors
from kafka.structs import OffsetAndMetadata, TopicPartition

from atlas.adapters.adapter import Failure, UnsupportedError, main, offsets_of
from atlas.adapters.kafka_python import KafkaPythonAdapter

_ADMIN: Any = kafka.admin  # the types are those of kafka-python 3
_CONSUMER_CLOSE = inspect.signature(kafka.KafkaConsumer.close).parameters


class KafkaPython2Adapter(KafkaPythonAdapter):
    """Releases from 2.0 on; each method is what `KafkaPythonAdapter` describes.

    The admin client raises the first error of a response itself.
    """

    def failure_of(self, error: BaseException) -> Failure:
        """Classify by the attribute `retriable`; a timeout has its own class."""
        kind = "unknown"
        if isinstance(error, kafka.errors.KafkaTimeoutError | kafka.errors.RequestTimedOutError):
            kind = "timeout"
        elif (
            isinstance(error, kafka.errors.KafkaError)
            and type(error) is not kafka.errors.KafkaError
        ):
            kind = "retriable" if error.retriable else "fatal"
        return Failure(type(error).__name__, str(error), kind)

    def consumer(
        self,
        id: str,
        settings: dict[str, Any],
        topics: list[str] | None = None,
        assign: dict[str, list[int]] | None = None,
    ) -> dict[str, Any]:
        """Create a consumer; that of a group waits for a response longer than a session lasts.

        A poll of 2.0 has no bound while a group rebalances, so two members need two threads.
        """
        if "timeout_ms" not in _CONSUMER_CLOSE and any(
            isinstance(handle, kafka.KafkaConsumer) for handle in self.handles.values()
        ):
            raise UnsupportedError
        if settings.get("group") is not None and "session_timeout_ms" in settings:
            least_ms = settings["session_timeout_ms"] + 500
            settings["request_timeout_ms"] = max(settings.get("request_timeout_ms", 0), least_ms)
        return super().consumer(id, settings, topics, assign)

    def send_offsets(
        self, producer: Any, consumer: Any, offsets: dict[str, dict[str, int]]
    ) -> None:
        """Add offsets of the consumer's group to the transaction."""
        committed = {
            partition: OffsetAndMetadata(offset, "", -1)
            for partition, offset in offsets_of(TopicPartition, offsets).items()
        }
        group = consumer.config["group_id"]
        producer.send_offsets_to_transaction(committed, group)

    def commit(self, consumer: Any, timeout_ms: int) -> None:
        """Commit the positions."""
        del timeout_ms  # it is not bounded
        consumer.commit()

    def position(self, consumer: Any, topic: str, partition: int) -> dict[str, Any]:
        """Return the position."""
        return {"offset": consumer.position(TopicPartition(topic, partition))}

    def committed(self, consumer: Any, topic: str, partition: int) -> dict[str, Any]:
        """Return the committed offset."""
        return {"offset": consumer.committed(TopicPartition(topic, partition))}

    def create_topic(
        self,
        admin: Any,
        topic: str,
        timeout_ms: int,
        partitions: int = 1,
        replication_factor: int = 1,
    ) -> None:
        """Create a topic."""
        new = _ADMIN.NewTopic(topic, partitions, replication_factor)
        admin.create_topics([new], timeout_ms=timeout_ms)

    def create_partitions(self, admin: Any, topic: str, partitions: int, timeout_ms: int) -> None:
        """Have a topic with so many partitions."""
        new = {topic: _ADMIN.NewPartitions(partitions)}
        admin.create_partitions(new, timeout_ms=timeout_ms)

    def describe_configs(self, admin: Any, topic: str) -> None:
        """Describe the configuration of a topic; the responses have the errors."""
        kind = _ADMIN.ConfigResourceType.TOPIC
        resource = _ADMIN.ConfigResource(kind, topic)
        for response in admin.describe_configs([resource]):
            _raise_first(response)

    def alter_config(self, admin: Any, topic: str, config: dict[str, str]) -> None:
        """Set configuration keys of a topic; the response has the errors."""
        kind = _ADMIN.ConfigResourceType.TOPIC
        resource = _ADMIN.ConfigResource(kind, topic, config)
        _raise_first(admin.alter_configs([resource]))

    def list_groups(self, admin: Any) -> None:
        """List the groups."""
        admin.list_consumer_groups()

    def describe_group(self, admin: Any, group: str) -> None:
        """Describe a group."""
        admin.describe_consumer_groups([group])

    def delete_group(self, admin: Any, group: str) -> None:
        """Delete a group; kafka-python returns the classes of errors."""
        for _, error in admin.delete_consumer_groups([group]):
            if error is not kafka.errors.NoError:
                raise error()

    def delete_records(
        self, admin: Any, topic: str, offset: int, timeout_ms: int, partition: int = 0
    ) -> None:
        """Delete the records before an offset."""
        if not hasattr(kafka.KafkaAdminClient, "delete_records"):
            raise UnsupportedError
        super().delete_records(admin, topic, offset, timeout_ms, partition)

    def close_consumer(self, consumer: Any, timeout_ms: int) -> None:
        """Close a consumer."""
        bound = {"timeout_ms": timeout_ms} if "timeout_ms" in _CONSUMER_CLOSE else {}
        consumer.close(autocommit=False, **bound)


def _raise_first(response: Any) -> None:
    for code, *_ in response.resources:
        if code:
            raise kafka.errors.for_code(code)()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)d %(name)s %(message)s")
    main(KafkaPython2Adapter)
