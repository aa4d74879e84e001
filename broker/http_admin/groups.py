"""Consumer groups, and the producer state of partitions."""

from typing import Annotated

import msgspec

from broker.cluster.coordinators import move_coordinator, move_transaction_coordinator
from broker.errors import Refusal
from broker.groups.consumer.assignment import Assignment
from broker.http_admin.operation import Input, Name, NodeId, PartitionIndex, Problem, operation
from broker.http_admin.state import Admin
from producer_state.counts import count
from protocol.errors import ErrorCode


class OffsetView(msgspec.Struct):
    """A committed offset; `lag` is the log end offset minus it, null without a log."""

    topic: str
    partition: int
    offset: int
    lag: int | None
    metadata: str


class AssignedView(msgspec.Struct):
    """Partitions of one topic."""

    topic: str
    partitions: list[int]


class MemberView(msgspec.Struct):
    """One member of a group; what comes after the host is null in a classic group.

    `state` is stable, unrevoked_partitions or unreleased_partitions. `assigned` is what it may
    read, `revoking` what it has to give up, `target` what it shall have in the end.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_epoch: int | None = None
    state: str | None = None
    assigned: list[AssignedView] | None = None
    revoking: list[AssignedView] | None = None
    target: list[AssignedView] | None = None


class GroupView(msgspec.Struct):
    """One group; `coordinator` is null while its partition has no leader.

    The type is classic or consumer. The protocol's name is the assignor. Epochs are null in a
    classic group.
    """

    group_id: str
    state: str
    protocol_type: str
    protocol_name: str
    coordinator: int | None
    members: list[MemberView]
    offsets: list[OffsetView]
    group_type: str = "classic"
    group_epoch: int | None = None
    assignment_epoch: int | None = None


class GroupPath(Input):
    """A group by its id."""

    group_id: Name


class CoordinatorBody(Input):
    """The new coordinator."""

    broker: NodeId


class ProducersQuery(Input):
    """The partitions, and the number of producers of each."""

    topic: str | None = None
    partition: PartitionIndex | None = None
    limit: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 100


class ProducerView(msgspec.Struct):
    """One idempotent producer in a partition; `last_sequence` is -1 before its first batch."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int


class PartitionProducersView(msgspec.Struct):
    """The producer state of a partition; `producers` are the first by id."""

    topic: str
    partition: int
    count: int
    bytes: int
    producers: list[ProducerView]


class ProducersView(msgspec.Struct):
    """The size of all producer state, and the state by partition."""

    count: int
    bytes: int
    partitions: list[PartitionProducersView]


@operation("GET", "/v1/groups", tag="groups")
def list_groups(admin: Admin) -> list[GroupView]:
    """List all groups with members and committed offsets."""
    return [_view(admin, group.group_id) for group in admin.cluster.groups.list_groups()]


@operation("GET", "/v1/groups/{group_id}", tag="groups")
def get_group(admin: Admin, path: GroupPath) -> GroupView:
    """Return one group."""
    return _view(admin, path.group_id)


@operation("DELETE", "/v1/groups/{group_id}", tag="groups", status=204, media_type=None)
def delete_group(admin: Admin, path: GroupPath) -> None:
    """Delete a group that has no members, with its offsets."""
    _view(admin, path.group_id)
    if admin.cluster.groups.delete_group(path.group_id, admin.now_ms()) != ErrorCode.NONE:
        raise Problem(409, f"group {path.group_id!r} has members; they must leave first")


@operation("PUT", "/v1/groups/{group_id}/coordinator", tag="groups", status=204, media_type=None)
def put_coordinator(admin: Admin, path: GroupPath, body: CoordinatorBody) -> None:
    """Move a group or transactional id to a coordinator.

    It becomes the leader of the partitions of `__consumer_offsets` and `__transaction_state` that
    the id belongs to, so all groups and transactional ids of these partitions move.
    """
    admin.check_broker(body.broker)
    try:
        move_coordinator(admin.cluster, path.group_id, body.broker, admin.now_ms())
        move_transaction_coordinator(admin.cluster, path.group_id, body.broker, admin.now_ms())
    except ValueError as error:
        raise Problem(409, f"{error}; POST /v1/brokers/{body.broker}/start first") from error


@operation("GET", "/v1/producers", tag="producers")
def list_producers(admin: Admin, query: ProducersQuery) -> ProducersView:
    """Return the state of idempotent producers by partition, and its memory."""
    all_topics = admin.cluster.topics.all()
    topics = all_topics if query.topic is None else [admin.topic(query.topic)]
    partitions = [
        partition
        for topic in topics
        for partition in topic.partitions
        if query.partition in {None, partition.partition_index}
    ]
    total = count(partition.producers for partition in partitions)
    views = [
        PartitionProducersView(
            partition.topic_name,
            partition.partition_index,
            len(partition.producers),
            partition.producers.bytes_held(),
            [
                ProducerView(*producer[:4])
                for producer in partition.producers.describe()[: query.limit]
            ],
        )
        for partition in partitions
        if len(partition.producers)
    ]
    return ProducersView(total.producer_ids, total.bytes_held, views)


def _view(admin: Admin, group_id: str) -> GroupView:
    group = admin.cluster.groups.describe(group_id)
    if group is None:
        return _consumer_view(admin, group_id)
    return GroupView(
        group_id=group_id,
        state=group.state.value,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        coordinator=admin.cluster.coordinator_id(group_id),
        members=[
            MemberView(
                member.member_id, member.group_instance_id, member.client_id, member.client_host
            )
            for member in group.members
        ],
        offsets=_offsets(admin, group_id),
    )


def _consumer_view(admin: Admin, group_id: str) -> GroupView:
    group = admin.cluster.groups.describe_consumer_group(group_id)
    if isinstance(group, Refusal):
        raise Problem(404, f"there is no group {group_id!r}; GET /v1/groups lists them")
    return GroupView(
        group_id=group_id,
        state=group.state.value,
        protocol_type="consumer",
        protocol_name=group.assignor_name,
        coordinator=admin.cluster.coordinator_id(group_id),
        members=[
            MemberView(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.member_epoch,
                member.state.name.lower(),
                _assigned(admin, member.assigned_partitions),
                _assigned(admin, member.partitions_pending_revocation),
                _assigned(admin, target),
            )
            for member, target in group.members
        ],
        offsets=_offsets(admin, group_id),
        group_type="consumer",
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
    )


def _assigned(admin: Admin, assignment: Assignment) -> list[AssignedView]:
    found = []
    for topic_id, indexes in assignment.items():
        topic = admin.cluster.topics.get_by_id(topic_id)
        if topic is not None:
            found.append(AssignedView(topic.name, sorted(indexes)))
    return found


def _offsets(admin: Admin, group_id: str) -> list[OffsetView]:
    cluster = admin.cluster
    offsets = []
    for topic_name, partition_index, committed in cluster.groups.all_committed(group_id):
        topic = cluster.topics.get(topic_name)
        partition = None if topic is None else topic.partition(partition_index)
        lag = None if partition is None else partition.log.log_end_offset - committed.offset
        offsets.append(
            OffsetView(topic_name, partition_index, committed.offset, lag, committed.metadata)
        )
    return offsets
