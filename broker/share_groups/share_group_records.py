"""The records of a share group in `__consumer_offsets`.

Source: Kafka's `GroupCoordinatorRecordHelpers`, with the versions that it writes.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from broker.groups.consumer.assignment import Assignment
from broker.share_groups.member import ShareMember
from protocol import coordinator_records as schema
from protocol.coordinator_records import CoordinatorRecord, encode_key, tombstones, topic_partitions
from protocol.data_messages import encode_data

_VERSION = 0
_STABLE_STATE = 1
"""Kafka's `MemberState.STABLE`, the only state of a member of a share group."""


def member_record(group_id: str, member: ShareMember) -> CoordinatorRecord:
    """Return the record of the client and the subscription of a member."""
    value = schema.ShareGroupMemberMetadataValue(
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscribed_topic_names),
    )
    return _member_key(group_id, member.member_id), encode_data(value, _VERSION)


def epoch_record(group_id: str, group_epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """Return the record of a new epoch of a group."""
    value = schema.ShareGroupMetadataValue(epoch=group_epoch, metadata_hash=metadata_hash)
    return encode_key(schema.ShareGroupMetadataKey(group_id=group_id)), encode_data(value, _VERSION)


def target_record(group_id: str, member_id: str, target: Assignment) -> CoordinatorRecord:
    """Return the record of the target assignment of a member."""
    value_class = schema.ShareGroupTargetAssignmentMemberValue
    value = value_class(topic_partitions=topic_partitions(value_class.TopicPartition, target))
    return _target_key(group_id, member_id), encode_data(value, _VERSION)


def target_epoch_record(
    group_id: str, assignment_epoch: int, assignment_ms: int
) -> CoordinatorRecord:
    """Return the record of the epoch of the target assignment, and when it was computed.

    A time of 0 is not written, and lets the next one be computed at once.
    """
    value = schema.ShareGroupTargetAssignmentMetadataValue(
        assignment_epoch=assignment_epoch, assignment_timestamp=assignment_ms
    )
    key = schema.ShareGroupTargetAssignmentMetadataKey(group_id=group_id)
    return encode_key(key), encode_data(value, _VERSION)


def current_record(group_id: str, member: ShareMember) -> CoordinatorRecord:
    """Return the record of what a member has and in which epoch."""
    value_class = schema.ShareGroupCurrentMemberAssignmentValue
    value = value_class(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=_STABLE_STATE,
        assigned_partitions=topic_partitions(value_class.TopicPartitions, member.assigned),
    )
    return _current_key(group_id, member.member_id), encode_data(value, _VERSION)


def state_partitions_record(
    group_id: str,
    *,
    initializing: Mapping[UUID, Iterable[int]],
    initialized: Mapping[UUID, Iterable[int]],
    topic_names: Mapping[UUID, str],
) -> CoordinatorRecord:
    """Return the record of the partitions whose share state exists or is being created."""
    value_class = schema.ShareGroupStatePartitionMetadataValue

    def topics(partitions: Mapping[UUID, Iterable[int]]) -> list[Any]:
        return [
            value_class.TopicPartitionsInfo(
                topic_id=topic_id,
                topic_name=topic_names.get(topic_id, ""),
                partitions=sorted(indexes),
            )
            for topic_id, indexes in partitions.items()
        ]

    value = value_class(
        initializing_topics=topics(initializing),
        initialized_topics=topics(initialized),
        deleting_topics=[],
    )
    key = schema.ShareGroupStatePartitionMetadataKey(group_id=group_id)
    return encode_key(key), encode_data(value, _VERSION)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """Return the records that delete a member, in Kafka's order."""
    keys = (
        _current_key(group_id, member_id),
        _target_key(group_id, member_id),
        _member_key(group_id, member_id),
    )
    return tombstones(keys)


def group_tombstones(group_id: str) -> list[CoordinatorRecord]:
    """Return the records that delete a group without members, in Kafka's order."""
    keys = (
        schema.ShareGroupTargetAssignmentMetadataKey(group_id=group_id),
        schema.ShareGroupStatePartitionMetadataKey(group_id=group_id),
        schema.ShareGroupMetadataKey(group_id=group_id),
    )
    return tombstones(map(encode_key, keys))


def _member_key(group_id: str, member_id: str) -> bytes:
    return encode_key(schema.ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id))


def _target_key(group_id: str, member_id: str) -> bytes:
    return encode_key(
        schema.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    )


def _current_key(group_id: str, member_id: str) -> bytes:
    return encode_key(
        schema.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
    )
