"""The commands of admin clients for confluent-kafka."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import confluent_kafka
import confluent_kafka.admin
from confluent_kafka.admin import ConfigResource, NewPartitions, NewTopic

from atlas.adapters.adapter import Adapter, UnansweredError, UnsupportedError

if TYPE_CHECKING:
    from concurrent.futures import Future

CALL_MS = 5_000
_MARGIN_S = 0.3


class ConfluentAdmin(Adapter):
    """The part of the adapter for administration; each call returns futures."""

    def create_topic(
        self,
        admin: Any,
        topic: str,
        timeout_ms: int,
        partitions: int = 1,
        replication_factor: int = 1,
    ) -> None:
        """Create a topic."""
        new_topic = NewTopic(topic, partitions, replication_factor)
        _wait(admin.create_topics([new_topic], **_bounds(timeout_ms)), timeout_ms)

    def delete_topic(self, admin: Any, topic: str, timeout_ms: int) -> None:
        """Delete a topic."""
        _wait(admin.delete_topics([topic], **_bounds(timeout_ms)), timeout_ms)

    def create_partitions(self, admin: Any, topic: str, partitions: int, timeout_ms: int) -> None:
        """Have a topic with so many partitions."""
        new = [NewPartitions(topic, partitions)]
        _wait(admin.create_partitions(new, **_bounds(timeout_ms)), timeout_ms)

    def describe_topic(self, admin: Any, topic: str, timeout_ms: int) -> None:
        """Describe a topic."""
        self._need(admin, "describe_topics")
        names = confluent_kafka.TopicCollection([topic])
        described = admin.describe_topics(names, request_timeout=timeout_ms / 1000)
        _wait(described, timeout_ms)

    def list_topics(self, admin: Any, timeout_ms: int) -> dict[str, Any]:
        """List the topics."""
        return {"topics": sorted(admin.list_topics(timeout=timeout_ms / 1000).topics)}

    def describe_configs(self, admin: Any, topic: str, timeout_ms: int) -> None:
        """Describe the configuration of a topic."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        described = admin.describe_configs([resource], request_timeout=timeout_ms / 1000)
        _wait(described, timeout_ms)

    def alter_config(self, admin: Any, topic: str, config: dict[str, str], timeout_ms: int) -> None:
        """Set configuration keys of a topic."""
        self._need(admin, "incremental_alter_configs")
        entries = [
            confluent_kafka.admin.ConfigEntry(
                name,
                value,
                incremental_operation=confluent_kafka.admin.AlterConfigOpType.SET,
            )
            for name, value in config.items()
        ]
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
        altered = admin.incremental_alter_configs([resource], request_timeout=timeout_ms / 1000)
        _wait(altered, timeout_ms)

    def list_groups(self, admin: Any, timeout_ms: int) -> None:
        """List the groups; its errors are those of single brokers."""
        listing = admin.list_consumer_groups(request_timeout=timeout_ms / 1000)
        for error in _result(listing, timeout_ms).errors:
            raise confluent_kafka.KafkaException(error)

    def describe_group(self, admin: Any, group: str, timeout_ms: int) -> None:
        """Describe a group."""
        described = admin.describe_consumer_groups([group], request_timeout=timeout_ms / 1000)
        _wait(described, timeout_ms)

    def delete_group(self, admin: Any, group: str, timeout_ms: int) -> None:
        """Delete a group."""
        deleted = admin.delete_consumer_groups([group], request_timeout=timeout_ms / 1000)
        _wait(deleted, timeout_ms)

    def delete_records(
        self, admin: Any, topic: str, offset: int, timeout_ms: int, partition: int = 0
    ) -> None:
        """Delete the records before an offset."""
        before = [confluent_kafka.TopicPartition(topic, partition, offset)]
        _wait(admin.delete_records(before, **_bounds(timeout_ms)), timeout_ms)

    def describe_cluster(self, admin: Any, timeout_ms: int) -> None:
        """Describe the cluster."""
        self._need(admin, "describe_cluster")
        asking = admin.describe_cluster(request_timeout=timeout_ms / 1000)
        _result(asking, timeout_ms)

    def _need(self, admin: Any, call: str) -> None:
        """Raise `UnsupportedError` for a call that an older release lacks."""
        if not hasattr(admin, call):
            raise UnsupportedError


def _bounds(timeout_ms: int) -> dict[str, float]:
    return {"operation_timeout": timeout_ms / 1000, "request_timeout": timeout_ms / 1000}


def _wait(futures: Mapping[Any, "Future[Any]"], timeout_ms: int) -> None:
    """Wait for the results of an operation; raise the first error."""
    for future in futures.values():
        _result(future, timeout_ms)


def _result(future: "Future[Any]", timeout_ms: int) -> Any:
    try:
        return future.result(timeout_ms / 1000 + _MARGIN_S)
    except TimeoutError as error:
        raise UnansweredError from error
