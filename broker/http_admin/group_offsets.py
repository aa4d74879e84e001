"""Reset the offsets of groups: committed ones, and where share groups begin.

Sources: `reset-offsets` of Kafka's `ConsumerGroupCommand` and `ShareGroupCommand`.
"""

from collections.abc import Sequence
from typing import Literal

from broker.administration.share_offsets import alter_offsets
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import GROUP_METADATA, SHARE_GROUP_STATE
from broker.cluster.topics import Partition
from broker.dispatch.turn_queue import TurnKind
from broker.groups.requests import CommitRequest, OffsetToCommit
from broker.http_admin.group_views import GroupOffsetView
from broker.http_admin.groups import GroupPath, get_group, list_group_offsets
from broker.http_admin.operation import Count, Input, Name, PartitionIndex, Problem, operation
from broker.http_admin.state import Admin
from broker.share_groups.sessions import TopicIdPartition
from broker.share_groups.share_group import ShareGroup
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

COMMIT_OFFSETS = 1_000
"""Offsets of one commit: Kafka stores it as one batch, which has room for some thousands."""


class OffsetsBody(Input):
    """Where a group goes on: at exactly one of `to`, `offset` and `timestamp`.

    `timestamp`, in ms since the epoch, is that of the first record with it or a later one; without
    such a record the group goes on at the end. It applies to the partitions of one topic, or to one
    partition, or to all partitions of the topics that the group has committed or subscribes to, of
    a share group to those that have a state.
    """

    to: Literal["earliest", "latest"] | None = None
    offset: Count | None = None
    timestamp: Count | None = None
    topic: Name | None = None
    partition: PartitionIndex | None = None


@operation(
    "PUT",
    "/v1/groups/{group_id}/offsets",
    tag="groups",
    turn_kind=TurnKind.EXCLUSIVE,
    further_rules="Not exactly one of `to`, `offset` and `timestamp`, or a partition without topic",
)
@may_pause
def reset_group_offsets(admin: Admin, path: GroupPath, body: OffsetsBody) -> list[GroupOffsetView]:
    """Set the committed offsets of a group without members; return all of them.

    A share group begins there, and what was acknowledged is forgotten. An offset that is outside of
    a log becomes the nearest one in it.
    """
    if [body.to, body.offset, body.timestamp].count(None) != 2:
        raise Problem(422, "give one of to, offset and timestamp", location="body")
    if get_group(admin, path).members:
        reason = "has members; they must leave before its offsets are reset"
        raise Problem(409, f"group {path.group_id!r} {reason}")
    offsets = [
        OffsetToCommit(
            partition.topic_name, partition.partition_index, _new_offset(admin, partition, body)
        )
        for partition in paced(_partitions(admin, path, body))
    ]
    share_group = admin.cluster.share.groups.get(path.group_id)
    if share_group is None:
        commit_offsets(admin, path.group_id, offsets)
    else:
        _begin_at(admin, share_group, offsets)
    return list_group_offsets(admin, path)


@may_pause
def _partitions(admin: Admin, path: GroupPath, body: OffsetsBody) -> list[Partition]:
    if body.topic is None:
        if body.partition is not None:
            raise Problem(422, "a partition needs its topic", location="body")
        listed = [(entry.topic, entry.partition) for entry in list_group_offsets(admin, path)]
        topics = {name: admin.cluster.topics.get(name) for name, _ in listed}
        found = [
            None if (topic := topics[name]) is None else topic.partition(index)
            for name, index in listed
        ]
        return [partition for partition in found if partition is not None]
    return admin.partitions(body.topic, body.partition)


@may_pause
def _new_offset(admin: Admin, partition: Partition, body: OffsetsBody) -> int:
    log = partition.log
    if body.to == "earliest":
        return log.log_start_offset
    if body.offset is not None:
        return min(max(body.offset, log.log_start_offset), log.high_watermark)
    if body.timestamp is not None:
        return min(admin.offset_from_time(partition, body.timestamp), log.high_watermark)
    return log.high_watermark


@may_pause
def commit_offsets(admin: Admin, group_id: str, offsets: Sequence[OffsetToCommit]) -> None:
    """Store offsets of a group without members.

    Raises:
        Problem: 422, the coordinator refuses them.
    """
    ensure_internal_topic(admin.cluster, GROUP_METADATA)
    for first in paced(range(0, len(offsets), COMMIT_OFFSETS)):
        request = CommitRequest(group_id, offsets[first : first + COMMIT_OFFSETS])
        for error_code in admin.cluster.groups.table.commit(request, admin.now_ms()):
            if error_code is not ErrorCode.NONE:
                raise Problem(422, f"offsets: group {group_id!r}: {ErrorCode(error_code).name}")


@may_pause
def _begin_at(admin: Admin, group: ShareGroup, offsets: Sequence[OffsetToCommit]) -> None:
    """Begin partitions of a share group without members at other offsets.

    Raises:
        Problem: 422, the share coordinator refuses one.
    """
    ensure_internal_topic(admin.cluster, SHARE_GROUP_STATE)
    new_offsets = {
        TopicIdPartition(
            admin.topic(entry.topic_name).topic_id, entry.partition_index
        ): entry.offset
        for entry in paced(offsets)
    }
    results = alter_offsets(admin.cluster, group, new_offsets, admin.now_ms())
    for refusal in paced(results.values()):
        if refusal is not None:
            reason = ErrorCode(refusal.error_code).name
            raise Problem(422, f"offsets: share group {group.group_id!r}: {reason}")
