"""The offsets of an OffsetCommit or TxnOffsetCommit, and the partitions that do not exist."""

from collections.abc import Sequence
from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.groups.commit_results import SplitCommit, split_commit
from broker.groups.requests import CommitRequest, OffsetToCommit
from protocol.errors import ErrorCode
from protocol.offset_commit import MISSING_GROUP_VERSION_MIN
from protocol.pacing import may_pause, paced


@may_pause
def requested_offsets(
    cluster: Cluster, topics: Sequence[Any], *, uses_topic_ids: bool
) -> tuple[SplitCommit[Any, Topic], tuple[OffsetToCommit, ...]]:
    """Return which partitions exist, and the offsets for them; `topics` is as in the request.

    An OffsetCommit names topics by id from version 10 on, a TxnOffsetCommit never does.
    """
    split = split_commit(
        (
            (
                requested.topic_id if uses_topic_ids else requested.name,
                cluster.topics.get_by_id(requested.topic_id)
                if uses_topic_ids
                else cluster.topics.get(requested.name),
                requested.partitions,
            )
            for requested in paced(topics)
        ),
        ErrorCode.UNKNOWN_TOPIC_ID if uses_topic_ids else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )
    offsets = tuple(
        OffsetToCommit(
            topic_name=topic.name,
            partition_index=partition.partition_index,
            offset=partition.committed_offset,
            leader_epoch=partition.committed_leader_epoch,
            metadata=partition.committed_metadata,
            topic_id=topic.topic_id if uses_topic_ids else None,
        )
        for _key, topic, partitions in paced(split.known)
        for partition in paced(partitions)
    )
    return split, offsets


def commit_request(
    api_version: int, request: Any, offsets: tuple[OffsetToCommit, ...]
) -> CommitRequest:
    """Return what the group's coordinator gets of a request."""
    return CommitRequest(
        group_id=request.group_id,
        offsets=offsets,
        generation_id=request.generation_id_or_member_epoch,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        retention_ms=request.retention_time_ms,
        knows_missing_groups=api_version >= MISSING_GROUP_VERSION_MIN,
    )
