"""Reset the committed offsets of groups.

Source: `reset-offsets` of Kafka's `ConsumerGroupCommand`.
"""

from collections.abc import Sequence
from typing import Literal

from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import GROUP_METADATA
from broker.cluster.topics import Partition
from broker.dispatch.turn_queue import TurnKind
from broker.groups.requests import CommitRequest, OffsetToCommit
from broker.http_admin.group_views import GroupOffsetView
from broker.http_admin.groups import GroupPath, get_group, list_group_offsets
from broker.http_admin.operation import Count, Input, Name, PartitionIndex, Problem, operation
from broker.http_admin.state import Admin
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

COMMIT_OFFSETS = 1_000
"""Offsets of one commit: Kafka stores it as one batch, which has room for some thousands."""


class OffsetsBody(Input):
    """Where a group goes on: at exactly one of `to`, `offset` and `timestamp`.

    `timestamp`, in ms since the epoch, is that of the first record with it or a later one; without
    such a record the group goes on at the end. It applies to the partitions of one topic, or to one
    partition, or to all partitions of the topics that the group has committed or subscribes to.
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

    An offset that is outside of a log becomes the nearest one in it.
    """
    if [body.to, body.offset, body.timestamp].count(None) != 2:
        raise Problem(422, "give one of to, offset and timestamp", location="body")
    if get_group(admin, path).members:
        reason = "has members; they must leave before its offsets are reset"
        raise Problem(409, f"group {path.group_id!r} {reason}")
    partitions = _partitions(admin, path, body)
    offsets = [
        OffsetToCommit(
            partition.topic_name, partition.partition_index, _new_offset(admin, partition, body)
        )
        for partition in paced(partitions)
    ]
    commit_offsets(admin, path.group_id, offsets)
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
    list_group_offsets(admin, path)  # a share group has none
    if body.partition is None:
        return list(admin.topic(body.topic).partitions)
    return [admin.partition(body.topic, body.partition)]


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
