"""Handle a StreamsGroupHeartbeat: a member joins or reports.

The checks come first and change nothing. Then the member is updated, the group gets a new epoch if
members, topics or its configuration have changed, a new epoch gets targets, and the member moves
towards its own. Source: Kafka's `GroupMetadataManager.streamsGroupHeartbeat`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from broker.errors import Refusal
from broker.groups.consumer.assignment import is_subset
from broker.groups.consumer.member import STATIC_LEAVE_EPOCH
from broker.groups.consumer.topics import TopicSource, group_hash
from broker.groups.modern_group import check_instance, unknown_member, unreleased_instance
from broker.groups.streams.configured_topology import TASKS_MAX, ConfiguredTopology, configure
from broker.groups.streams.group import STANDBY_REPLICAS, ReportedOffsets, StreamsGroup
from broker.groups.streams.member import Endpoint, StreamsMember
from broker.groups.streams.partition_counts import TopologyError
from broker.groups.streams.requests import StreamsHeartbeat, TaskOffset
from broker.groups.streams.statuses import Status, StatusCode
from broker.groups.streams.tasks import NOTHING_TARGETED, Tasks
from broker.groups.streams.topology import Topology
from protocol.errors import ErrorCode

RACK_TAGS = "rack.aware.assignment.tags"


@dataclass(frozen=True, slots=True)
class StreamsSettings:
    """What a group is configured with; `is_delayed` while it waits for its first members."""

    standby_replicas: int
    rack_tags: tuple[str, ...] = ()
    assignment_interval_ms: int = 0
    is_delayed: bool = False

    @property
    def assignment_configs(self) -> Mapping[str, str]:
        """What a change of begins a new epoch."""
        configs = {STANDBY_REPLICAS: str(self.standby_replicas)}
        if self.rack_tags:
            configs[RACK_TAGS] = ",".join(self.rack_tags)
        return configs


class Checked(NamedTuple):
    """A heartbeat that the group takes: its member as it was, and the topology with its topics.

    `replaced` is the static member whose place the member takes.
    """

    before: StreamsMember
    replaced: StreamsMember | None
    topology: Topology
    configured: ConfiguredTopology
    metadata_hash: int
    reported_offsets: ReportedOffsets | None


def check_member(
    group: StreamsGroup, request: StreamsHeartbeat, topics: TopicSource, *, size_max: int
) -> Checked | Refusal:
    """Return what a heartbeat brings, or why the group refuses it; change nothing."""
    found = _find_member(group, request, size_max)
    if isinstance(found, Refusal):
        return found
    before, replaced = found
    topology = _topology(group, request)
    if isinstance(topology, Refusal):
        return topology
    try:
        configured, metadata_hash = _configured(group, topology, topics)
    except TopologyError as error:
        return Refusal(error.error_code, str(error))
    refusal = _check_tasks(configured, request)
    if refusal is not None:
        return refusal
    offsets = _reported_offsets(group, request)
    if isinstance(offsets, Refusal):
        return offsets
    if configured.subtopologies is None and _needs_endpoints(group, request, before, replaced):
        # Kafka's `EndpointToPartitionsManager` throws then, whatever status the group has.
        return Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, None)
    return Checked(before, replaced, topology, configured, metadata_hash, offsets)


def _needs_endpoints(
    group: StreamsGroup,
    request: StreamsHeartbeat,
    before: StreamsMember,
    replaced: StreamsMember | None,
) -> bool:
    """Return whether a response has the partitions at the endpoints of members, and there are any.

    The topology is not ready, so a member that has tasks loses them.
    """
    endpoint = _endpoint(before, request)
    has_moved = endpoint is not None and not before.assigned.is_empty
    epoch = group.endpoint_epoch + (endpoint != before.user_endpoint or has_moved)
    if epoch == request.endpoint_epoch:
        return False
    shown = group.members.keys() - {
        before.member_id,
        None if replaced is None else replaced.member_id,
    }
    return endpoint is not None or any(
        group.members[member_id].user_endpoint is not None for member_id in shown
    )


def _find_member(
    group: StreamsGroup, request: StreamsHeartbeat, size_max: int
) -> tuple[StreamsMember, StreamsMember | None] | Refusal:
    """Return the member as it was, or a new one, and the static member that it replaces."""
    member_id, instance_id = request.member_id, request.group_instance_id
    current = None if instance_id is None else group.static_member(instance_id)
    member = group.members.get(member_id)
    if request.member_epoch == 0:
        if current is None and member is None and len(group.members) >= size_max:
            return Refusal(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The streams group has reached its maximum capacity of {size_max} members.",
            )
        if current is None or instance_id is None:
            return member or StreamsMember(member_id), None
        if current.member_epoch != STATIC_LEAVE_EPOCH:
            return unreleased_instance(current, instance_id, member_id)
        return (
            replace(current, member_id=member_id, member_epoch=0, previous_member_epoch=0),
            current,
        )
    if instance_id is not None:
        refusal = check_instance(group, instance_id, member_id)
        if refusal is not None:
            return refusal
    if member is None:
        return unknown_member(group, member_id)
    return _check_epoch(member, request) or (member, None)


def _check_epoch(member: StreamsMember, request: StreamsHeartbeat) -> Refusal | None:
    """A member may be one epoch behind, if it may have missed the response with the new one."""
    received, known = request.member_epoch, member.member_epoch
    owned, assigned = request.owned, member.assigned
    is_behind = (
        received == member.previous_member_epoch
        and owned is not None
        and is_subset(owned.active, assigned.active_tasks)
        and is_subset(owned.standby, assigned.standby)
        and not request.warmup
    )
    if received == known or (received < known and is_behind):
        return None
    size = "greater" if received > known else "smaller"
    return Refusal(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The streams group member has a {size} member epoch ({received}) than the one known by"
        f" the group coordinator ({known}). The member must abandon all its partitions and"
        " rejoin.",
    )


def _topology(group: StreamsGroup, request: StreamsHeartbeat) -> Topology | Refusal:
    """Return the topology of the group, which its first member brings."""
    current, sent = group.topology, request.topology
    if current is None:
        assert sent is not None, "a member that joins sends a topology"
        return sent
    if sent is not None and sent.epoch >= current.epoch and sent != current:
        return Refusal(ErrorCode.INVALID_REQUEST, "Topology updates are not supported yet.")
    return current


def _configured(
    group: StreamsGroup, topology: Topology, topics: TopicSource
) -> tuple[ConfiguredTopology, int]:
    """Return the topology with its topics as they are now, and their hash.

    Raises:
        TopologyError: the application has to be changed.
    """
    if group.configured is not None and group.has_current_metadata:
        return group.configured, group.metadata_hash
    existing = (topics.get(name) for name in topology.required_topics)
    metadata_hash = group_hash(topic for topic in existing if topic is not None)
    if group.configured is not None and metadata_hash == group.metadata_hash:
        return group.configured, metadata_hash
    return configure(topology, topics), metadata_hash


def _check_tasks(configured: ConfiguredTopology, request: StreamsHeartbeat) -> Refusal | None:
    subtopologies, owned = configured.ready, request.owned
    if subtopologies is None or owned is None:
        return None
    reported: tuple[Tasks, ...] = (owned.active, owned.standby, request.warmup or {})
    for tasks in reported:
        for subtopology_id, indexes in tasks.items():
            subtopology = subtopologies.get(subtopology_id)
            if subtopology is None:
                message = f"Subtopology {subtopology_id} does not exist in the topology."
                return Refusal(ErrorCode.INVALID_REQUEST, message)
            for index in indexes:
                if not 0 <= index < subtopology.task_count:
                    return Refusal(
                        ErrorCode.INVALID_REQUEST,
                        f"Task {index} for subtopology {subtopology_id} is invalid. Number of"
                        f" tasks for this subtopology: {subtopology.task_count}",
                    )
    return None


def _reported_offsets(
    group: StreamsGroup, request: StreamsHeartbeat
) -> ReportedOffsets | Refusal | None:
    """Return the last offsets of a member's tasks; None if its request has none."""
    if request.task_offsets is None and request.task_end_offsets is None:
        return None
    known = group.reported_offsets.get(request.member_id, ReportedOffsets())
    offsets, end_offsets = request.task_offsets, request.task_end_offsets
    for sent in (offsets, end_offsets):
        refusal = None if sent is None else _check_offsets(sent)
        if refusal is not None:
            return refusal
    return ReportedOffsets(
        known.offsets if offsets is None else tuple(offsets),
        known.end_offsets if end_offsets is None else tuple(end_offsets),
    )


def _check_offsets(offsets: Sequence[TaskOffset]) -> Refusal | None:
    if len(offsets) > TASKS_MAX:
        message = f"A streams group may have up to {TASKS_MAX} tasks."
        return Refusal(ErrorCode.INVALID_REQUEST, message)
    tasks = set()
    for subtopology_id, index, _offset in offsets:
        if (subtopology_id, index) in tasks:
            return Refusal(
                ErrorCode.INVALID_REQUEST,
                f"Task offsets contain a duplicate entry for subtopology {subtopology_id} and"
                f" partition {index}.",
            )
        tasks.add((subtopology_id, index))
    return None


def update(
    group: StreamsGroup,
    request: StreamsHeartbeat,
    checked: Checked,
    settings: StreamsSettings,
    now_ms: int,
) -> tuple[StreamsMember, list[Status]]:
    """Carry out a checked heartbeat; return the member as it is then, and what it should know."""
    if checked.replaced is not None:
        group.replace_static_member(checked.replaced, checked.before)
    member = _updated(checked.before, request)
    statuses = list(_stale_topology(group, member))
    has_changed = _has_changed(checked.before, member)
    if member != checked.before:
        group.write_member(member)
    if group.topology is None:
        group.set_topology(checked.topology)
    if checked.reported_offsets is not None:
        group.reported_offsets[member.member_id] = checked.reported_offsets
    group.configured, group.has_current_metadata = checked.configured, True
    is_ready = checked.configured.ready is not None
    validated_epoch = checked.topology.epoch if is_ready else -1
    configs = settings.assignment_configs
    if (
        has_changed
        or checked.metadata_hash != group.metadata_hash
        or validated_epoch != group.validated_topology_epoch
        or configs != group.assignment_configs
    ):
        group.begin_epoch(checked.metadata_hash, validated_epoch, configs)
    target = NOTHING_TARGETED
    if settings.is_delayed:
        statuses.append(_delayed("initial rebalance delay"))
    else:
        if group.may_assign(settings.assignment_interval_ms, now_ms):
            group.update_targets(now_ms)
        elif group.assignment_epoch < group.group_epoch:
            statuses.append(_delayed("assignment interval"))
        target = group.target_of(member.member_id)
    return group.reconcile(member, target, request.owned), statuses


def _updated(member: StreamsMember, request: StreamsHeartbeat) -> StreamsMember:
    """Return the member with what the request says about it."""
    tags, timeout_ms = request.client_tags, request.rebalance_timeout_ms
    return replace(
        member,
        group_instance_id=request.group_instance_id or member.group_instance_id,
        rack_id=request.rack_id or member.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        topology_epoch=(
            member.topology_epoch if request.topology is None else request.topology.epoch
        ),
        process_id=member.process_id if request.process_id is None else request.process_id,
        user_endpoint=_endpoint(member, request),
        client_tags=member.client_tags if tags is None else tags,
    )


def _endpoint(member: StreamsMember, request: StreamsHeartbeat) -> Endpoint | None:
    """Return the endpoint that a member has now; one that joins must say it again."""
    keeps_endpoint = request.user_endpoint is None and request.member_epoch != 0
    return member.user_endpoint if keeps_endpoint else request.user_endpoint


def _has_changed(before: StreamsMember, member: StreamsMember) -> bool:
    """Return whether what a member says about itself needs new targets."""
    if member.group_instance_id is None:
        return member != before
    # A static member that comes back as it was gets its tasks back.
    return (
        before.topology_epoch != member.topology_epoch
        or before.rack_id != member.rack_id
        or before.client_tags != member.client_tags
        or before.process_id != member.process_id
    )


def _stale_topology(group: StreamsGroup, member: StreamsMember) -> Iterator[Status]:
    topology = group.topology
    if topology is not None and member.topology_epoch < topology.epoch:
        yield Status(
            StatusCode.STALE_TOPOLOGY,
            f"The member's topology epoch {member.topology_epoch} is behind the group's topology"
            f" epoch {topology.epoch}.",
        )


def _delayed(reason: str) -> Status:
    return Status(
        StatusCode.ASSIGNMENT_DELAYED, f"Assignment delayed due to the configured {reason}."
    )
