"""The records of a group of the consumer protocol in `__consumer_offsets`.

Source: Kafka's `GroupCoordinatorRecordHelpers`, with the versions that it writes.
"""

from typing import Any

from broker.groups.consumer.assignment import Assignment
from broker.groups.consumer.member import ConsumerMember
from broker.groups.consumer.regexes import ResolvedRegex
from protocol import coordinator_records as schema
from protocol.coordinator_records import CoordinatorRecord, encode_key, tombstones, topic_partitions
from protocol.data_messages import encode_data

_VERSION = 0


def member_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """Return the record of what a member said about itself."""
    classic = member.classic
    value_class = schema.ConsumerGroupMemberMetadataValue
    classic_class = value_class.ClassicMemberMetadata
    value = value_class(
        instance_id=member.group_instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscribed_topic_names),
        subscribed_topic_regex=member.subscribed_topic_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.server_assignor,
        classic_member_metadata=None
        if classic is None
        else classic_class(
            session_timeout_ms=classic.session_timeout_ms,
            supported_protocols=[
                classic_class.ClassicProtocol(name=name, metadata=metadata)
                for name, metadata in classic.protocols.items()
            ],
        ),
    )
    return _member_key(group_id, member.member_id), encode_data(value, _VERSION)


def epoch_record(group_id: str, group_epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """Return the record of a new epoch of a group."""
    value = schema.ConsumerGroupMetadataValue(epoch=group_epoch, metadata_hash=metadata_hash)
    key = schema.ConsumerGroupMetadataKey(group_id=group_id)
    return encode_key(key), encode_data(value, _VERSION)


def target_record(group_id: str, member_id: str, target: Assignment) -> CoordinatorRecord:
    """Return the record of the target assignment of a member."""
    value_class = schema.ConsumerGroupTargetAssignmentMemberValue
    value = value_class(topic_partitions=topic_partitions(value_class.TopicPartition, target))
    return _target_key(group_id, member_id), encode_data(value, _VERSION)


def target_epoch_record(
    group_id: str, assignment_epoch: int, assignment_ms: int
) -> CoordinatorRecord:
    """Return the record of the epoch of the target assignment, and when it was computed.

    A time of 0 is not written, and lets the next one be computed at once.
    """
    value = schema.ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=assignment_epoch, assignment_timestamp=assignment_ms
    )
    key = schema.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)
    return encode_key(key), encode_data(value, _VERSION)


def current_record(
    group_id: str, member: ConsumerMember, *, with_epochs: bool = True
) -> CoordinatorRecord:
    """Return the record of what a member owns, and of its epoch and perhaps of each partition."""
    value_class = schema.ConsumerGroupCurrentMemberAssignmentValue
    value = value_class(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=int(member.state),
        assigned_partitions=_owned(member, member.assigned_partitions, with_epochs),
        partitions_pending_revocation=_owned(
            member, member.partitions_pending_revocation, with_epochs
        ),
    )
    return _current_key(group_id, member.member_id), encode_data(value, _VERSION)


def _owned(member: ConsumerMember, assignment: Assignment, with_epochs: bool) -> list[Any]:
    entry_class = schema.ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions
    entries = topic_partitions(entry_class, assignment)
    if with_epochs:
        for entry in entries:
            epochs = member.partition_epochs[entry.topic_id]
            entry.assignment_epochs = [epochs[index] for index in entry.partitions]
    return entries


def regex_record(group_id: str, regex: str, resolved: ResolvedRegex) -> CoordinatorRecord:
    """Return the record of the topics that an expression matched."""
    value = schema.ConsumerGroupRegularExpressionValue(
        topics=sorted(resolved.topic_names),
        image_version=resolved.created_count,
        timestamp=resolved.resolved_ms,
    )
    return _regex_key(group_id, regex), encode_data(value, _VERSION)


def regex_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    """Return the record that deletes an expression."""
    return _regex_key(group_id, regex), None


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """Return the records that delete a member, in Kafka's order."""
    keys = (
        _current_key(group_id, member_id),
        _target_key(group_id, member_id),
        _member_key(group_id, member_id),
    )
    return tombstones(keys)


def group_tombstones(
    group_id: str, member_ids: list[str], regexes: list[str]
) -> list[CoordinatorRecord]:
    """Return the records that delete a group with its members, in Kafka's order."""
    keys = [
        *(_current_key(group_id, member_id) for member_id in member_ids),
        *(_target_key(group_id, member_id) for member_id in member_ids),
        encode_key(schema.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)),
        *(_member_key(group_id, member_id) for member_id in member_ids),
        *(_regex_key(group_id, regex) for regex in regexes),
        encode_key(schema.ConsumerGroupPartitionMetadataKey(group_id=group_id)),
        encode_key(schema.ConsumerGroupMetadataKey(group_id=group_id)),
    ]
    return tombstones(keys)


def _member_key(group_id: str, member_id: str) -> bytes:
    return encode_key(schema.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id))


def _target_key(group_id: str, member_id: str) -> bytes:
    key = schema.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return encode_key(key)


def _current_key(group_id: str, member_id: str) -> bytes:
    key = schema.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
    return encode_key(key)


def _regex_key(group_id: str, regex: str) -> bytes:
    key = schema.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    return encode_key(key)
