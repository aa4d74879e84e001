"""Groups as the admin port shows them: members with their assignments, offsets, epochs."""

from typing import TYPE_CHECKING

import msgspec

from broker.cluster.cluster import Cluster
from broker.errors import Refusal
from broker.groups.consumer.assignment import Assignment
from broker.groups.consumer.requests import ConsumerGroupDescription
from broker.groups.group import CONSUMER_PROTOCOL_TYPE
from broker.groups.results import GroupDescription
from broker.http_admin.share_views import (
    SharePartitionView,
    ShareSessionView,
    share_partition_views,
    share_session_views,
)
from broker.http_admin.state import Admin
from broker.share_groups.coordinator import GROUP_TYPE
from broker.share_groups.share_group import ShareGroup
from protocol.codec import DecodeError
from protocol.consumer_protocol import decode_assignment, subscribed_topics
from protocol.pacing import may_pause, paced

if TYPE_CHECKING:  # most brokers never have such a group
    from broker.groups.streams.group import StreamsGroup
    from broker.groups.streams.tasks import Tasks


class OffsetView(msgspec.Struct):
    """A committed offset; `lag` is the high watermark minus it, null without a log."""

    topic: str
    partition: int
    offset: int
    lag: int | None
    metadata: str


class GroupOffsetView(msgspec.Struct):
    """A partition that a group reads; without a commit `offset` is null.

    `lag` is the high watermark minus the committed offset, or the whole log without a commit; null
    if there is no such partition. In a share group they are the start offset and the number of
    records that are not done yet, both null until the first fetch has chosen the start.
    """

    topic: str
    partition: int
    offset: int | None
    lag: int | None
    metadata: str | None


class AssignedView(msgspec.Struct):
    """Partitions of one topic."""

    topic: str
    partitions: list[int]


class MemberView(msgspec.Struct):
    """One member of a group.

    `protocol` is the one that it uses: classic, consumer, share or streams. Its epoch, its state
    and its target are null in the classic protocol. The state is stable, unrevoked_partitions or
    unreleased_partitions, or of Kafka Streams unrevoked_tasks or unreleased_tasks. `assigned` is
    what it may read, `revoking` what it has to give up, `target` what it shall have in the end; of
    Kafka Streams it is what its active tasks read. The assignment and the topics of a member of a
    classic group are null if they are not those of a consumer; it has them only while the group is
    stable.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    protocol: str = "classic"
    rack_id: str | None = None
    subscribed_topics: list[str] | None = None
    subscribed_regex: str | None = None
    member_epoch: int | None = None
    state: str | None = None
    assigned: list[AssignedView] | None = None
    revoking: list[AssignedView] | None = None
    target: list[AssignedView] | None = None
    sessions: list[ShareSessionView] = []


class GroupView(msgspec.Struct):
    """One group; `coordinator` is null while its partition has no leader.

    The type is classic, consumer, share or streams. The protocol's name is the assignor. A classic
    group has a generation, others have epochs. `is_assigned_manually`: the target assignment was
    set by `PUT /v1/groups/{group_id}/assignment`. A share group has share partitions instead of
    offsets.
    """

    group_id: str
    state: str
    protocol_type: str
    protocol_name: str
    coordinator: int | None
    members: list[MemberView]
    offsets: list[OffsetView]
    group_type: str = "classic"
    generation_id: int | None = None
    group_epoch: int | None = None
    assignment_epoch: int | None = None
    is_assigned_manually: bool = False
    share_partitions: list[SharePartitionView] = []


@may_pause
def group_view(admin: Admin, group_id: str) -> GroupView | None:
    """Return a group of any type, or None if there is none with this id."""
    cluster = admin.cluster
    share_group = cluster.share.groups.get(group_id)
    if share_group is not None:
        return _share_view(admin, share_group)
    classic = cluster.groups.describe(group_id)
    if classic is not None:
        return _classic_view(cluster, classic)
    described = cluster.groups.describe_consumer_group(group_id)
    if not isinstance(described, Refusal):
        return _consumer_view(cluster, described)
    streams_group = _streams_group(cluster, group_id)
    return None if streams_group is None else _streams_view(cluster, streams_group)


def _streams_group(cluster: Cluster, group_id: str) -> "StreamsGroup | None":
    if group_id not in cluster.groups.table:
        return None
    found = cluster.groups.streams.find(group_id)
    return None if isinstance(found, Refusal) else found


def is_stable(cluster: Cluster, group_id: str, member_count: int | None) -> bool:
    """Return whether a group has members, this many if it is given, with their final assignment."""
    share_group = cluster.share.groups.get(group_id)
    if share_group is not None:
        found, has_settled = len(share_group.members), share_group.is_reconciled
    else:
        group = cluster.groups.table.get(group_id)
        if group is None:
            return False
        found, has_settled = len(group.members), group.state.value == "Stable"
    return has_settled and found > 0 and member_count in {None, found}


@may_pause
def _classic_view(cluster: Cluster, group: GroupDescription) -> GroupView:
    is_consumer_group = group.protocol_type == CONSUMER_PROTOCOL_TYPE
    return GroupView(
        group_id=group.group_id,
        state=group.state.value,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        coordinator=cluster.coordinator_id(group.group_id),
        members=[
            MemberView(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                subscribed_topics=_subscribed(member.metadata) if is_consumer_group else None,
                assigned=_decoded(member.assignment) if is_consumer_group else None,
            )
            for member in paced(group.members)
        ],
        offsets=_offsets(cluster, group.group_id),
        generation_id=group.generation_id,
    )


@may_pause
def _subscribed(metadata: bytes) -> list[str] | None:
    topics = subscribed_topics(metadata)
    return None if topics is None else sorted(topics)


def _decoded(assignment: bytes) -> list[AssignedView] | None:
    try:
        partitions = decode_assignment(assignment)
    except DecodeError:
        return None
    return [AssignedView(topic, sorted(indexes)) for topic, indexes in partitions.items()]


@may_pause
def _consumer_view(cluster: Cluster, group: ConsumerGroupDescription) -> GroupView:
    return GroupView(
        group_id=group.group_id,
        state=group.state.value,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=group.assignor_name,
        coordinator=cluster.coordinator_id(group.group_id),
        members=[
            MemberView(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                protocol="consumer" if member.classic is None else "classic",
                rack_id=member.rack_id,
                subscribed_topics=sorted(member.subscribed_topic_names),
                subscribed_regex=member.subscribed_topic_regex or None,
                member_epoch=member.member_epoch,
                state=member.state.name.lower(),
                assigned=_assigned(cluster, member.assigned_partitions),
                revoking=_assigned(cluster, member.partitions_pending_revocation),
                target=_assigned(cluster, target),
            )
            for member, target in paced(group.members)
        ],
        offsets=_offsets(cluster, group.group_id),
        group_type="consumer",
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        is_assigned_manually=group.is_assigned_manually,
    )


@may_pause
def _streams_view(cluster: Cluster, group: "StreamsGroup") -> GroupView:
    def views(tasks: "Tasks") -> list[AssignedView]:
        found = cluster.groups.streams.assigned_partitions(group, tasks)
        return [AssignedView(topic, indexes) for topic, indexes in found]

    topology = group.topology
    return GroupView(
        group_id=group.group_id,
        state=group.state.value,
        protocol_type=group.protocol_type,
        protocol_name="sticky",
        coordinator=cluster.coordinator_id(group.group_id),
        members=[
            MemberView(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                protocol=group.group_type,
                rack_id=member.rack_id,
                subscribed_topics=[] if topology is None else sorted(topology.subtopology_of),
                member_epoch=member.member_epoch,
                state=member.state.name.lower(),
                assigned=views(member.assigned.active_tasks),
                revoking=views(member.pending_revocation.active_tasks),
                target=views(group.target_of(member.member_id).active),
            )
            for member in paced(group.members.values())
        ],
        offsets=_offsets(cluster, group.group_id),
        group_type=group.group_type,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
    )


@may_pause
def _share_view(admin: Admin, group: ShareGroup) -> GroupView:
    cluster = admin.cluster
    return GroupView(
        group_id=group.group_id,
        state=group.state_name,
        protocol_type=GROUP_TYPE,
        protocol_name="simple",
        coordinator=cluster.coordinator_id(group.group_id),
        members=[
            MemberView(
                member.member_id,
                None,
                member.client_id,
                member.client_host,
                protocol=GROUP_TYPE,
                rack_id=member.rack_id,
                subscribed_topics=sorted(member.subscribed_topic_names),
                member_epoch=member.member_epoch,
                assigned=_assigned(cluster, member.assigned),
                target=_assigned(cluster, group.targets.get(member.member_id, {})),
                sessions=share_session_views(cluster, group.group_id, member.member_id),
            )
            for member in paced(group.members.values())
        ],
        offsets=[],
        group_type=GROUP_TYPE,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        share_partitions=share_partition_views(cluster, group),
    )


def _assigned(cluster: Cluster, assignment: Assignment) -> list[AssignedView]:
    found = []
    for topic_id, indexes in assignment.items():
        topic = cluster.topics.get_by_id(topic_id)
        if topic is not None:
            found.append(AssignedView(topic.name, sorted(indexes)))
    return found


@may_pause
def group_offset_views(cluster: Cluster, view: GroupView) -> list[GroupOffsetView]:
    """Return all partitions of the topics that a group has committed or subscribes to.

    Of a share group they are those that have a state.
    """
    if view.group_type == GROUP_TYPE:
        return [
            GroupOffsetView(shared.topic, shared.partition, shared.start_offset, shared.lag, None)
            for shared in paced(view.share_partitions)
        ]
    found = {
        (committed.topic, committed.partition): GroupOffsetView(
            committed.topic,
            committed.partition,
            committed.offset,
            committed.lag,
            committed.metadata,
        )
        for committed in paced(view.offsets)
    }
    topics = {topic for topic, _ in found}
    for member in paced(view.members):
        topics |= {assigned.topic for assigned in member.assigned or ()}
        topics.update(member.subscribed_topics or ())
    for name in sorted(topics):
        topic = cluster.topics.get(name)
        for partition in paced(() if topic is None else topic.partitions):
            log, index = partition.log, partition.partition_index
            lag = log.high_watermark - log.log_start_offset
            found.setdefault((name, index), GroupOffsetView(name, index, None, lag, None))
    return [found[key] for key in sorted(found)]


@may_pause
def _offsets(cluster: Cluster, group_id: str) -> list[OffsetView]:
    offsets = []
    for topic_name, partition_index, committed in paced(
        cluster.groups.table.all_committed(group_id)
    ):
        topic = cluster.topics.get(topic_name)
        partition = None if topic is None else topic.partition(partition_index)
        lag = None if partition is None else partition.log.high_watermark - committed.offset
        offsets.append(
            OffsetView(topic_name, partition_index, committed.offset, lag, committed.metadata)
        )
    return offsets
