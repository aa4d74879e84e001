"""A group of the consumer protocol as a coordinator loads it from its records.

Source: the functions `replay` of Kafka's `GroupMetadataManager` for `ConsumerGroup...` records.
"""

from dataclasses import replace
from typing import Any

from broker.groups.consumer.assignment import Assignment, PartitionEpochs, assignment_of
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.member import ClassicMetadata, ConsumerMember, MemberState
from broker.groups.consumer.regexes import ResolvedRegex
from broker.groups.loaded_records import LoadedRecords, partition_epochs
from protocol import coordinator_records as schema


def load_consumer_group(group: ConsumerGroup, records: LoadedRecords) -> None:
    """Have an empty group be what its records say."""
    loaded = records.modern_group(
        "Consumer",
        group.group_epoch,
        _member,
        lambda value: assignment(value.topic_partitions),
    )
    group.load(loaded)
    for key, value in records.all(schema.ConsumerGroupRegularExpressionKey):
        # How many topics were created before is not known: the next heartbeat looks again.
        group.resolved_regexes[key.regular_expression] = ResolvedRegex(
            frozenset(value.topics), 0, value.timestamp
        )


def assignment(entries: Any) -> Assignment:
    """Return the partitions of entries with a topic id and the indexes of partitions."""
    return assignment_of((entry.topic_id, entry.partitions) for entry in entries)


def _member(member_id: str, value: Any, current: Any) -> ConsumerMember:
    classic = value.classic_member_metadata
    member = ConsumerMember(
        member_id,
        group_instance_id=value.instance_id,
        rack_id=value.rack_id,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topic_names=frozenset(value.subscribed_topic_names or ()),
        subscribed_topic_regex=value.subscribed_topic_regex or "",
        server_assignor=value.server_assignor,
        classic=None if classic is None else _classic(classic),
    )
    if current is None:
        return member
    return replace(
        member,
        member_epoch=current.member_epoch,
        previous_member_epoch=current.previous_member_epoch,
        state=MemberState(current.state),
        assigned_partitions=assignment(current.assigned_partitions),
        partitions_pending_revocation=assignment(current.partitions_pending_revocation),
        partition_epochs=_epochs(current),
    )


def _classic(value: Any) -> ClassicMetadata:
    protocols = {protocol.name: protocol.metadata for protocol in value.supported_protocols}
    return ClassicMetadata(value.session_timeout_ms, protocols)


def _epochs(current: Any) -> PartitionEpochs:
    """Return the epoch of each partition; the -2 of a static member that left counts as 0.

    Kafka's `Utils.assignmentFromTopicPartitions`.
    """
    epochs: dict[Any, dict[int, int]] = {}
    for entry in (*current.assigned_partitions, *current.partitions_pending_revocation):
        known = partition_epochs(entry, max(current.member_epoch, 0))
        epochs.setdefault(entry.topic_id, {}).update(known)
    return epochs
