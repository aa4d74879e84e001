"""The commands of admin clients for aiokafka."""

from collections.abc import Coroutine
from typing import Any, TextIO

import aiokafka.admin
import aiokafka.errors
from aiokafka.structs import TopicPartition

from atlas.adapters.adapter import Adapter, mapped
from atlas.adapters.kafka_python_names import ADMIN, connection_settings
from atlas.adapters.loop_thread import LoopThread

CALL_MS = 5_000
"""How long a call may take that has no `timeout_ms`."""


class AioKafkaAdmin(Adapter):
    """The part of the adapter for administration; aiokafka returns responses, errors included."""

    def __init__(self, output: TextIO) -> None:
        super().__init__(output)
        self._thread = LoopThread()

    def admin(self, id: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Create and start an admin client."""
        access = connection_settings(settings)
        known, ignored = mapped(settings, ADMIN)

        async def start() -> None:
            admin = aiokafka.admin.AIOKafkaAdminClient(
                bootstrap_servers=self.bootstrap, **known, **access
            )
            self.handles[id] = admin
            await admin.start()

        self._thread.run(start(), CALL_MS)
        return {"ignored": ignored}

    def create_topic(
        self,
        admin: Any,
        topic: str,
        timeout_ms: int,
        partitions: int = 1,
        replication_factor: int = 1,
    ) -> None:
        """Create a topic; aiokafka returns the response, errors included."""
        new_topic = aiokafka.admin.NewTopic(topic, partitions, replication_factor)
        creating = admin.create_topics([new_topic], timeout_ms=timeout_ms)
        _raise_code(self._thread.run(creating, timeout_ms).topic_errors[0][1])

    def delete_topic(self, admin: Any, topic: str, timeout_ms: int) -> None:
        """Delete a topic; aiokafka returns the response, errors included."""
        deleting = admin.delete_topics([topic], timeout_ms=timeout_ms)
        _raise_code(self._thread.run(deleting, timeout_ms).topic_error_codes[0][1])

    def create_partitions(self, admin: Any, topic: str, partitions: int, timeout_ms: int) -> None:
        """Have a topic with so many partitions."""
        new = {topic: aiokafka.admin.NewPartitions(partitions)}
        creating = admin.create_partitions(new, timeout_ms=timeout_ms)
        _raise_code(self._thread.run(creating, timeout_ms).topic_errors[0][1])

    def describe_topic(self, admin: Any, topic: str, timeout_ms: int) -> None:
        """Describe a topic; raise the error of its description."""
        [found] = self._thread.run(admin.describe_topics([topic]), timeout_ms)
        _raise_code(found["error_code"])

    def list_topics(self, admin: Any, timeout_ms: int) -> dict[str, Any]:
        """List the topics."""
        return {"topics": sorted(self._thread.run(admin.list_topics(), timeout_ms))}

    def describe_configs(self, admin: Any, topic: str, timeout_ms: int) -> None:
        """Describe the configuration of a topic."""
        self._check(admin.describe_configs([_of_topic(topic)]), timeout_ms, "resources")

    def alter_config(self, admin: Any, topic: str, config: dict[str, str], timeout_ms: int) -> None:
        """Set configuration keys of a topic."""
        self._check(admin.alter_configs([_of_topic(topic, config)]), timeout_ms, "resources")

    def list_groups(self, admin: Any, timeout_ms: int) -> None:
        """List the groups."""
        self._thread.run(admin.list_consumer_groups(), timeout_ms)

    def describe_group(self, admin: Any, group: str, timeout_ms: int) -> None:
        """Describe a group; raise the error of its description."""
        self._check(admin.describe_consumer_groups([group]), timeout_ms, "groups")

    def delete_records(
        self, admin: Any, topic: str, offset: int, timeout_ms: int, partition: int = 0
    ) -> None:
        """Delete the records before an offset."""
        before = {
            TopicPartition(topic, partition): aiokafka.admin.RecordsToDelete(before_offset=offset)
        }
        deleting = admin.delete_records(before, timeout_ms=timeout_ms)
        self._thread.run(deleting, timeout_ms)

    def describe_cluster(self, admin: Any, timeout_ms: int) -> None:
        """Describe the cluster."""
        self._thread.run(admin.describe_cluster(), timeout_ms)

    def _check(self, asking: Coroutine[Any, Any, Any], timeout_ms: int, field: str) -> None:
        """Raise the first error of responses; a field of each has entries that begin with one."""
        for response in self._thread.run(asking, timeout_ms):
            for code, *_ in getattr(response, field):
                _raise_code(code)


def _of_topic(topic: str, config: dict[str, str] | None = None) -> Any:
    kinds = aiokafka.admin.config_resource
    return kinds.ConfigResource(kinds.ConfigResourceType.TOPIC, topic, config)


def _raise_code(code: int) -> None:
    if code:
        raise aiokafka.errors.for_code(code)(code)
