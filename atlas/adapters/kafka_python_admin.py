"""The commands of admin clients for kafka-python."""

import functools
import re
from typing import Any

import kafka
import kafka.admin
import kafka.errors
from kafka.structs import TopicPartition

from atlas.adapters.adapter import Adapter, mapped
from atlas.adapters.kafka_python_names import ADMIN, connection_settings

_ERROR = re.compile(r"\[Error (-?\d+)\] \w+:? ?(.*)", re.DOTALL)


class KafkaPythonAdmin(Adapter):
    """The part of the adapter for administration; some calls return errors as codes or texts."""

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
        admin: Any,
        topic: str,
        timeout_ms: int,
        partitions: int = 1,
        replication_factor: int = 1,
    ) -> None:
        """Create a topic."""
        options = {"num_partitions": partitions, "replication_factor": replication_factor}
        admin.create_topics({topic: options}, timeout_ms=timeout_ms)

    def delete_topic(self, admin: Any, topic: str, timeout_ms: int) -> None:
        """Delete a topic."""
        admin.delete_topics([topic], timeout_ms=timeout_ms)

    def create_partitions(self, admin: Any, topic: str, partitions: int, timeout_ms: int) -> None:
        """Have a topic with so many partitions."""
        admin.create_partitions({topic: partitions}, timeout_ms=timeout_ms)

    def describe_topic(self, admin: Any, topic: str) -> None:
        """Describe a topic; raise the error of its description."""
        for description in admin.describe_topics([topic]):
            _raise_code(description.get("error_code", 0))

    def list_topics(self, admin: Any) -> dict[str, Any]:
        """List the topics."""
        return {"topics": sorted(admin.list_topics())}

    def describe_configs(self, admin: Any, topic: str) -> None:
        """Describe the configuration of a topic."""
        resource = kafka.admin.ConfigResource("TOPIC", topic)
        admin.describe_configs([resource])

    def alter_config(self, admin: Any, topic: str, config: dict[str, str]) -> None:
        """Set configuration keys of a topic."""
        resource = kafka.admin.ConfigResource("TOPIC", topic, config)
        for results in admin.alter_configs([resource]).values():
            for result in results.values():
                _raise_text(result)

    def list_groups(self, admin: Any) -> None:
        """List the groups."""
        admin.list_groups()

    def describe_group(self, admin: Any, group: str) -> None:
        """Describe a group; raise the error of its description."""
        for description in admin.describe_groups([group]).values():
            _raise_text(description.get("error"))

    def delete_group(self, admin: Any, group: str) -> None:
        """Delete a group; kafka-python returns the names of errors."""
        for result in admin.delete_groups([group]).values():
            error = getattr(kafka.errors, str(result), None)
            if error is not None and error is not kafka.errors.NoError:
                raise error()

    def delete_records(
        self, admin: Any, topic: str, offset: int, timeout_ms: int, partition: int = 0
    ) -> None:
        """Delete the records before an offset."""
        before = {TopicPartition(topic, partition): offset}
        admin.delete_records(before, timeout_ms=timeout_ms)

    def describe_cluster(self, admin: Any) -> None:
        """Describe the cluster."""
        admin.describe_cluster()


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
