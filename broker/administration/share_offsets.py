"""The offsets of share groups: describe them, set them, delete them.

Sources: Kafka's `GroupMetadataManager.alterShareGroupOffsets` and
`sharePartitionsEligibleForOffsetDeletion`, `GroupCoordinatorService.describeShareGroupOffsets`.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ownership_error
from broker.cluster.share_loading import are_share_groups_enabled
from broker.cluster.share_log import topic_id_text
from broker.errors import (
    NOT_COORDINATOR_MESSAGE,
    UNKNOWN_PARTITION,
    UNSUPPORTED_VERSION_MESSAGE,
    Refusal,
)
from broker.request.context import RequestContext
from broker.share_groups.sessions import TopicIdPartition
from broker.share_groups.share_group import ShareGroup
from broker.share_groups.share_state import NO_COUNT, SharePartitionKey
from broker.share_groups.state_batches import NO_OFFSET
from protocol.errors import ErrorCode
from protocol.hash_order import in_hash_order, int_hash, uuid_hash
from protocol.pacing import may_pause

UNKNOWN_LAG = -1


class ShareOffset(NamedTuple):
    """Where a group has come in a partition, as the share coordinator has it.

    `start_offset` is -1 without a state. `lag` is the number of records that are not finished, up
    to the high watermark; -1 if it is not known.
    """

    start_offset: int = NO_OFFSET
    leader_epoch: int = 0
    lag: int = UNKNOWN_LAG


def share_offset(cluster: Cluster, key: SharePartitionKey) -> ShareOffset:
    """Return the offset and the lag of a share partition."""
    state = cluster.share.states.get(key)
    topic = cluster.topics.get_by_id(key.topic_id)
    partition = None if topic is None else topic.partition(key.partition_index)
    if state is None or partition is None:
        return ShareOffset()
    lag = UNKNOWN_LAG
    if state.start_offset != NO_OFFSET and state.finished_count != NO_COUNT:
        lag = partition.log.high_watermark - state.start_offset - state.finished_count
    return ShareOffset(state.start_offset, state.leader_epoch, lag)


def group_to_change(
    context: RequestContext, cluster: Cluster, group_id: str, *, is_made: bool = False
) -> ShareGroup | Refusal:
    """Return a share group that this broker coordinates and whose offsets may be changed.

    `is_made` is as in `empty_group`.
    """
    if not are_share_groups_enabled(cluster):
        return Refusal(ErrorCode.UNSUPPORTED_VERSION, UNSUPPORTED_VERSION_MESSAGE)
    if not group_id:
        return Refusal(ErrorCode.INVALID_GROUP_ID, "The group id is invalid.")
    error_code = ownership_error(cluster, context.broker_id, group_id)
    if error_code is not ErrorCode.NONE:
        return Refusal(error_code, NOT_COORDINATOR_MESSAGE)
    return empty_group(cluster, group_id, is_made=is_made)


def empty_group(cluster: Cluster, group_id: str, *, is_made: bool = False) -> ShareGroup | Refusal:
    """Return a share group whose offsets may be changed, since it has no members.

    With `is_made` a group that does not exist is a new one.
    """
    groups = cluster.share.groups
    group = groups.find_or_make(group_id) if is_made else groups.find(group_id)
    if isinstance(group, ShareGroup) and not group.is_empty:
        return Refusal(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")
    return group


def alter_offsets(
    cluster: Cluster, group: ShareGroup, offsets: Mapping[TopicIdPartition, int], now_ms: int
) -> dict[TopicIdPartition, Refusal | None]:
    """Begin share partitions of an empty group at other offsets; return why not, for each.

    The internal topic of their state exists.
    """
    results: dict[TopicIdPartition, Refusal | None] = {}
    for partition, offset in offsets.items():
        topic = cluster.topics.get_by_id(partition.topic_id)
        if topic is None or topic.partition(partition.partition_index) is None:
            results[partition] = UNKNOWN_PARTITION
            continue
        key = SharePartitionKey(group.group_id, *partition)
        results[partition] = cluster.share.states.initialize(key, group.group_epoch, offset, now_ms)
        _drop_from_leaders(cluster, key, now_ms)
    # Also without any: a group whose offsets an administrator altered is kept.
    changed = [partition for partition, refusal in results.items() if refusal is None]
    cluster.share.groups.set_initialized(group, changed, now_ms)
    return results


@may_pause
def negative_partition(group_id: str, indexes: Mapping[UUID, Collection[int]]) -> Refusal | None:
    """Refuse the first negative partition, by topic id: UNKNOWN_SERVER_ERROR.

    Kafka's `DefaultStatePersister.validate` throws then, before it changes any partition.
    """
    requested = [topic_id for topic_id in indexes if indexes[topic_id]]
    for topic_id in in_hash_order(requested, uuid_hash):
        for index in in_hash_order(indexes[topic_id], int_hash):
            if index < 0:
                return Refusal(
                    ErrorCode.UNKNOWN_SERVER_ERROR,
                    "Initialize share group parameters has invalid partitionId -"
                    f" {group_id} {topic_id_text(topic_id)} {index}",
                )
    return None


def delete_offsets(
    cluster: Cluster, group: ShareGroup, topic_id: UUID, now_ms: int
) -> Refusal | None:
    """Delete the state of a topic in an empty group; return why not."""
    indexes = group.initialized.get(topic_id)
    if not indexes:
        return Refusal(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "There is no offset information to delete."
        )
    refusal = _delete_states(cluster, group, topic_id, sorted(indexes), now_ms)
    if refusal is None:
        cluster.share.groups.forget_states(group, topic_id, now_ms)
    return refusal


def delete_share_group(cluster: Cluster, group: ShareGroup, now_ms: int) -> ErrorCode:
    """Delete a share group without members, with its state."""
    if not group.is_empty:
        return ErrorCode.NON_EMPTY_GROUP
    for topic_id, indexes in group.initialized.items():
        refusal = _delete_states(cluster, group, topic_id, sorted(indexes), now_ms)
        if refusal is not None:
            return refusal.error_code
    return cluster.share.groups.delete(group, now_ms)


def _delete_states(
    cluster: Cluster, group: ShareGroup, topic_id: UUID, indexes: Iterable[int], now_ms: int
) -> Refusal | None:
    for index in indexes:
        key = SharePartitionKey(group.group_id, topic_id, index)
        refusal = cluster.share.states.delete(key, now_ms)
        if refusal is not None:
            return refusal
        _drop_from_leaders(cluster, key, now_ms)
    return None


def _drop_from_leaders(cluster: Cluster, key: SharePartitionKey, now_ms: int) -> None:
    """Let leaders read the state again; no member is connected any more, or will be soon."""
    for leader in cluster.share.leaders.values():
        leader.drop_share_partition(key, now_ms)
