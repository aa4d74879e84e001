"""A share group as a coordinator loads it from its records.

Source: the functions `replay` of Kafka's `GroupMetadataManager` for `ShareGroup...` records.
"""

from typing import Any

from broker.groups.consumer.loading import assignment
from broker.groups.consumer.topics import TopicSource
from broker.groups.loaded_records import LoadedRecords
from broker.share_groups.member import ShareMember
from broker.share_groups.share_group import ShareGroup
from protocol import coordinator_records as schema


def load_share_group(group: ShareGroup, records: LoadedRecords, topics: TopicSource) -> None:
    """Have an empty group be what its records say.

    Share states whose initialization had begun are initialized again with the next heartbeat.
    """
    epoch = records.value(schema.ShareGroupMetadataKey)
    target_epoch = records.value(schema.ShareGroupTargetAssignmentMetadataKey)
    states = records.value(schema.ShareGroupStatePartitionMetadataKey)
    targets = records.by_member(schema.ShareGroupTargetAssignmentMemberKey)
    current = records.by_member(schema.ShareGroupCurrentMemberAssignmentKey)
    described = records.by_member(schema.ShareGroupMemberMetadataKey)
    if epoch is not None:
        group.group_epoch = epoch.epoch
    if target_epoch is not None:
        group.assignment_epoch = target_epoch.assignment_epoch
        group.assignment_ms = target_epoch.assignment_timestamp
    group.targets = {
        member_id: assignment(value.topic_partitions) for member_id, value in targets.items()
    }
    for entry in () if states is None else states.initialized_topics:
        group.initialized[entry.topic_id] = set(entry.partitions)
    group.has_state_partitions = states is not None
    members = [
        _member(member_id, value, current.get(member_id)) for member_id, value in described.items()
    ]
    group.load_members(members, 0 if epoch is None else epoch.metadata_hash, topics)


def _member(member_id: str, value: Any, current: Any) -> ShareMember:
    return ShareMember(
        member_id,
        0 if current is None else current.member_epoch,
        -1 if current is None else current.previous_member_epoch,
        value.rack_id,
        value.client_id,
        value.client_host,
        frozenset(value.subscribed_topic_names or ()),
        {} if current is None else assignment(current.assigned_partitions),
    )
