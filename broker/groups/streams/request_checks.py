"""Check a StreamsGroupHeartbeat as far as that needs no group.

Source: Kafka's `GroupCoordinatorService.throwIfStreamsGroupHeartbeatRequestIsInvalid`.
"""

from broker.errors import Refusal
from broker.groups.consumer.member import STATIC_LEAVE_EPOCH
from broker.groups.streams.requests import StreamsHeartbeat
from protocol.errors import ErrorCode
from protocol.releases import Release

STATIC_MEMBERS_SINCE: Release = (4, 4)
"""First release whose streams groups have static members, task offsets and warm-up tasks."""


def check_request(request: StreamsHeartbeat, release: Release) -> Refusal | None:
    """Return why a heartbeat is invalid whatever the group is, or None."""
    problem = _unsupported(request, release) or _invalid(request)
    if problem is not None:
        return Refusal(ErrorCode.INVALID_REQUEST, problem)
    topology = request.topology
    if topology is None:
        return None
    for subtopology in topology.subtopologies.values():
        for topic in subtopology.state_changelog_topics:
            if topic.partition_count:
                return Refusal(
                    ErrorCode.STREAMS_INVALID_TOPOLOGY,
                    f"Changelog topic {topic.name} must have an undefined partition count, but it"
                    f" is set to {topic.partition_count}.",
                )
    return None


def _unsupported(request: StreamsHeartbeat, release: Release) -> str | None:
    if release < STATIC_MEMBERS_SINCE:
        if request.group_instance_id is not None:
            return "Static membership is not yet supported."
        if request.task_offsets is not None:
            return "TaskOffsets are not supported yet."
        if request.task_end_offsets is not None:
            return "TaskEndOffsets are not supported yet."
        if request.warmup:
            return "WarmupTasks are not supported yet."
    topology = request.topology
    if topology is not None and any(
        subtopology.source_topic_regex for subtopology in topology.subtopologies.values()
    ):
        return "Regular expressions for source topics are not supported yet."
    return None


def _invalid(request: StreamsHeartbeat) -> str | None:
    for name, text in (
        ("MemberId", request.member_id),
        ("GroupId", request.group_id),
        ("InstanceId", request.group_instance_id),
        ("RackId", request.rack_id),
    ):
        if text is not None and not text.strip():
            return f"{name} can't be empty."
    problem = None
    if request.member_epoch == 0:
        problem = _join_problem(request)
    elif request.member_epoch == STATIC_LEAVE_EPOCH and request.group_instance_id is None:
        problem = "InstanceId can't be null."
    elif request.member_epoch < STATIC_LEAVE_EPOCH:
        problem = f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to -2."
    roles = (request.active, request.standby, request.warmup)
    if problem is None and request.owned is None and roles != (None, None, None):
        problem = "If one task-type is non-null, all must be non-null."
    if problem is None and request.member_epoch != 0 and request.topology is not None:
        problem = "Topology can only be provided when (re-)joining."
    return problem


def _join_problem(request: StreamsHeartbeat) -> str | None:
    if request.rebalance_timeout_ms == -1:
        return "RebalanceTimeoutMs must be provided in first request."
    for name, tasks in (
        ("ActiveTasks", request.active),
        ("StandbyTasks", request.standby),
        ("WarmupTasks", request.warmup),
    ):
        if tasks is None or tasks:
            return f"{name} must be empty when (re-)joining."
    if request.topology is None:
        return "Topology must be non-null when (re-)joining."
    return None
