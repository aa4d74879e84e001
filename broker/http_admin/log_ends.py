"""The ends of logs: lose them, leave gaps, append markers; followers that lag."""

from enum import Enum
from typing import Annotated

import msgspec

from broker.cluster.log_truncation import truncate_log
from broker.cluster.offset_gap import leave_gap
from broker.cluster.paused_followers import pause_follower, resume_follower
from broker.cluster.topics import NO_LEADER, Partition, Topic
from broker.cluster.transactions import append_marker
from broker.dispatch.turn_queue import TurnKind
from broker.http_admin.operation import (
    INT32_MAX,
    Count,
    Input,
    Name,
    NodeId,
    PartitionIndex,
    Problem,
    operation,
)
from broker.http_admin.state import Admin
from broker.http_admin.topics import PartitionPath, PartitionView, partition_view
from broker.transactions.marker import Marker
from protocol.errors import ErrorCode
from protocol.pacing import may_pause


class TruncateBody(Input):
    """Where the log ends then."""

    offset: Count


class GapBody(Input):
    """How many offsets have no record."""

    count: Annotated[int, msgspec.Meta(ge=1, le=INT32_MAX)] = 1


class MarkerKind(Enum):
    """How the transaction of a marker ended."""

    ABORT = "abort"
    COMMIT = "commit"


class ControlRecordBody(Input):
    """What the control record says."""

    kind: MarkerKind = MarkerKind.COMMIT


class FollowerPath(Input):
    """A replica of a partition."""

    name: Name
    partition: PartitionIndex
    node_id: NodeId


@operation(
    "POST",
    "/v1/topics/{name}/partitions/{partition}/truncate",
    tag="topics",
    turn_kind=TurnKind.EXCLUSIVE,
    further_rules="The offset is not in the log, or the topic is synthetic",
)
@may_pause
def truncate_partition(admin: Admin, path: PartitionPath, body: TruncateBody) -> PartitionView:
    """Have the log of a partition lose its end, as by an unclean election.

    All replicas lose it. The leader stays, in a new epoch, and has the producer state of what is
    left. A batch is cut at the offset.
    """
    partition = admin.partition(path.name, path.partition)
    if admin.topic(path.name).is_synthetic:
        raise Problem(422, f"{path.name} is synthetic: its logs end where its configuration says")
    log = partition.log
    if not log.log_start_offset <= body.offset <= log.log_end_offset:
        offsets = f"{log.log_start_offset} to {log.log_end_offset}"
        raise Problem(422, f"partition {path.partition} of {path.name!r} has offsets {offsets}")
    truncate_log(admin.cluster, partition, body.offset, admin.now_ms())
    return partition_view(partition)


@operation(
    "POST",
    "/v1/topics/{name}/partitions/{partition}/gap",
    tag="topics",
    turn_kind=TurnKind.EXCLUSIVE,
    further_rules="The topic is internal or synthetic, or the partition has no leader",
)
def leave_partition_gap(admin: Admin, path: PartitionPath, body: GapBody) -> PartitionView:
    """Leave offsets without records at the end of a log, as compaction does.

    The last of them has an empty batch, the others have none.
    """
    topic, partition = _writable(admin, path)
    leave_gap(admin.cluster, topic, partition, body.count, admin.now_ms())
    return partition_view(partition)


@operation(
    "POST",
    "/v1/topics/{name}/partitions/{partition}/control-records",
    tag="topics",
    turn_kind=TurnKind.EXCLUSIVE,
    further_rules="The topic is internal or synthetic, or a broker would refuse the marker",
)
@may_pause
def append_control_record(
    admin: Admin, path: PartitionPath, body: ControlRecordBody
) -> PartitionView:
    """Append the marker of a transaction that has no records in the partition.

    The last offset of the log is then none of a record.
    """
    topic, partition = _writable(admin, path)
    cluster, is_commit = admin.cluster, body.kind is MarkerKind.COMMIT
    marker = Marker(cluster.producer_ids.next_id(partition.leader_id), 0, 0, is_commit, 0)
    error_code = append_marker(cluster, topic, partition, marker, admin.now_ms())
    if error_code is not ErrorCode.NONE:
        raise Problem(422, f"{error_code.name}: partition {path.partition} of {path.name!r}")
    return partition_view(partition)


@operation(
    "POST",
    "/v1/topics/{name}/partitions/{partition}/followers/{node_id}/pause",
    tag="leaders",
    further_rules="The broker does not follow the leader of the partition",
)
@may_pause
def pause_partition_follower(admin: Admin, path: FollowerPath) -> PartitionView:
    """Have a follower fetch nothing more from the leader, while its broker is up.

    It leaves the ISR at once, and its log ends where it is. With unclean.leader.election.enable it
    can lead, without what it has not fetched.
    """
    partition = admin.partition(path.name, path.partition)
    try:
        pause_follower(admin.cluster, partition, path.node_id, admin.now_ms())
    except ValueError as error:
        raise Problem(422, str(error)) from error
    return partition_view(partition)


@operation(
    "POST",
    "/v1/topics/{name}/partitions/{partition}/followers/{node_id}/resume",
    tag="leaders",
)
@may_pause
def resume_partition_follower(admin: Admin, path: FollowerPath) -> PartitionView:
    """Have a paused follower fetch again: it catches up at once, and is in sync."""
    partition = admin.partition(path.name, path.partition)
    resume_follower(admin.cluster, partition, path.node_id, admin.now_ms())
    return partition_view(partition)


def _writable(admin: Admin, path: PartitionPath) -> tuple[Topic, Partition]:
    topic, partition = admin.topic(path.name), admin.partition(path.name, path.partition)
    if topic.is_read_only:
        kind = "synthetic" if topic.is_synthetic else "internal"
        raise Problem(422, f"INVALID_TOPIC_EXCEPTION: {path.name} is {kind}")
    if partition.leader_id == NO_LEADER:
        raise Problem(422, f"partition {path.partition} of {path.name!r} has no leader")
    return topic, partition
