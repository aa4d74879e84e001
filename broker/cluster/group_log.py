"""The log of the groups: the partitions of `__consumer_offsets`."""

from collections.abc import Mapping
from typing import Any

from broker.cluster.internal_topics import (
    GROUP_METADATA,
    append_batch,
    append_records,
    batch_bytes_max,
    partition_for,
)
from broker.cluster.topics import GROUP_METADATA_TOPIC, Partition, Topic, TopicTable
from broker.config.api_versions import release_of
from protocol.coordinator_records import CoordinatorRecord
from protocol.errors import ErrorCode
from protocol.releases import Release

TOPIC_IDS_SINCE: Release = (4, 3)
"""First release that looks up the id of a topic which an OffsetCommit names."""


class GroupLog:
    """Finds the partition of a group, and appends the group's records to it.

    `has_topic_ids` is whether the records of offsets always have the ids of topics.
    """

    def __init__(self, topics: TopicTable, config: Mapping[str, Any]) -> None:
        """`config` is that of the start."""
        self._topics = topics
        self.use(config)
        self._partition_count: int = config[GROUP_METADATA.partition_count_key]
        self._compression_codec: int = config["offsets.topic.compression.codec"]

    def use(self, config: Mapping[str, Any]) -> None:
        """Write as the release does that the brokers emulate by now; other keys are read-only."""
        self.has_topic_ids = release_of(config) >= TOPIC_IDS_SINCE

    def partition_index(self, group_id: str) -> int:
        """Return the index of a group's partition, whether or not there is such a topic."""
        return partition_for(group_id, self._partition_count)

    def partition(self, group_id: str) -> Partition | None:
        """Return the partition of a group, or None if there is no such topic or partition."""
        topic = self._topics.get(GROUP_METADATA_TOPIC)
        return None if topic is None else self._partition_of(topic, group_id)

    def _partition_of(self, topic: Topic, group_id: str) -> Partition | None:
        index, partitions = partition_for(group_id, self._partition_count), topic.partitions
        return partitions[index] if index < len(partitions) else None

    def append(
        self,
        group_id: str,
        records: list[CoordinatorRecord],
        now_ms: int,
        *,
        is_atomic: bool = False,
        producer: tuple[int, int] | None = None,
    ) -> ErrorCode:
        """Append the records of a group; return NONE, or why none of them was appended.

        With a producer id and epoch they belong to their transaction.

        With `is_atomic` they are one batch. Then the errors are those of Kafka's coordinator:
        COORDINATOR_NOT_AVAILABLE if too few replicas are in sync, UNKNOWN_SERVER_ERROR if the batch
        is larger than the topic allows.
        """
        topic = self._topics.get(GROUP_METADATA_TOPIC)
        if topic is None or (partition := self._partition_of(topic, group_id)) is None:
            return ErrorCode.NOT_COORDINATOR
        if is_atomic:
            if topic.has_too_few_in_sync(partition):
                return ErrorCode.COORDINATOR_NOT_AVAILABLE
            if batch_bytes_max(records) > topic.max_message_bytes:
                return ErrorCode.UNKNOWN_SERVER_ERROR
            append_batch(topic, partition, records, self._compression_codec, now_ms, producer)
        else:
            append_records(topic, partition, records, self._compression_codec, now_ms, producer)
        return ErrorCode.NONE
