"""Groups in requests and responses, as the values of `Admin`."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias
from uuid import UUID

from client.resources import (
    Address,
    GroupDescription,
    MemberDescription,
    PartitionKey,
    PartitionOffset,
    StreamsTasks,
    Subtopology,
)
from client.topology import TopologyStatus, topology_description
from protocol import messages
from protocol.codec import DecodeError
from protocol.consumer_protocol import decode_assignment

_ConsumerGroup: TypeAlias = "messages.ConsumerGroupDescribeResponse.DescribedGroup"
_ShareGroup: TypeAlias = "messages.ShareGroupDescribeResponse.DescribedGroup"
_StreamsGroup: TypeAlias = "messages.StreamsGroupDescribeResponse.DescribedGroup"
_StreamsAssignment: TypeAlias = (
    "messages.StreamsGroupDescribeResponse.DescribedGroup.Member.Assignment"
)
_OldTopic: TypeAlias = "messages.OffsetFetchResponse.OffsetFetchResponseTopic"
_Topic: TypeAlias = (
    "messages.OffsetFetchResponse.OffsetFetchResponseGroup.OffsetFetchResponseTopics"
)
_Committed: TypeAlias = "messages.OffsetCommitResponse.OffsetCommitResponseTopic"
_Assignment: TypeAlias = (
    "messages.ConsumerGroupDescribeResponse.DescribedGroup.Member.Assignment"
    " | messages.ShareGroupDescribeResponse.DescribedGroup.Member.Assignment"
)

_CONSUMER = "consumer"
NO_TOPIC_ID = UUID(int=0)
_CLASSIC_MEMBER_TYPE, _CONSUMER_MEMBER_TYPE = 0, 1


def by_topic(partitions: Iterable[PartitionKey]) -> dict[str, list[int]]:
    """Return partition indexes by topic name, both in the order of their first occurrence."""
    found: dict[str, list[int]] = {}
    for name, index in partitions:
        found.setdefault(name, []).append(index)
    return found


def consumer_group(
    group: _ConsumerGroup, coordinator_id: int, coordinator: Address
) -> GroupDescription:
    """Return a group of a ConsumerGroupDescribe response."""
    members = tuple(
        MemberDescription(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            _partitions(member.assignment),
            member.member_epoch,
            _partitions(member.target_assignment),
            _is_upgraded(member),
        )
        for member in group.members
    )
    return _with_epochs("consumer", group, coordinator_id, coordinator, members)


def share_group(group: _ShareGroup, coordinator_id: int, coordinator: Address) -> GroupDescription:
    """Return a group of a ShareGroupDescribe response."""
    members = tuple(
        MemberDescription(
            member.member_id,
            None,
            member.client_id,
            member.client_host,
            _partitions(member.assignment),
            member.member_epoch,
        )
        for member in group.members
    )
    return _with_epochs("share", group, coordinator_id, coordinator, members)


def streams_group(
    group: _StreamsGroup, coordinator_id: int, coordinator: Address
) -> GroupDescription:
    """Return a group of a StreamsGroupDescribe response."""
    topology, described = group.topology, group.topology_description
    subtopologies = (
        () if topology is None else tuple(map(_subtopology, topology.subtopologies or ()))
    )
    members = []
    for member in group.members:
        tasks, target_tasks = _tasks(member.assignment), _tasks(member.target_assignment)
        members.append(
            MemberDescription(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                _read_by(tasks, subtopologies),
                member.member_epoch,
                _read_by(target_tasks, subtopologies),
                not member.is_classic,
                member.process_id,
                tasks,
                target_tasks,
            )
        )
    return GroupDescription(
        group_id=group.group_id,
        group_type="streams",
        state=group.group_state,
        assignor=group.assignor_name or "",
        coordinator_id=coordinator_id,
        coordinator=coordinator,
        members=tuple(members),
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        topology_epoch=None if topology is None else topology.epoch,
        subtopologies=subtopologies,
        topology_status=TopologyStatus(group.topology_description_status),
        topology=None if described is None else topology_description(described),
    )


def _subtopology(
    found: "messages.StreamsGroupDescribeResponse.DescribedGroup.Topology.Subtopology",
) -> Subtopology:
    return Subtopology(
        found.subtopology_id,
        tuple(found.source_topics),
        tuple(topic.name for topic in found.repartition_source_topics),
        tuple(topic.name for topic in found.state_changelog_topics),
    )


def _tasks(assignment: _StreamsAssignment) -> StreamsTasks:
    active, standby, warmup = (
        {task.subtopology_id: tuple(task.partitions) for task in tasks}
        for tasks in (assignment.active_tasks, assignment.standby_tasks, assignment.warmup_tasks)
    )
    return StreamsTasks(active, standby, warmup)


def _read_by(tasks: StreamsTasks, subtopologies: Iterable[Subtopology]) -> frozenset[PartitionKey]:
    """Return the partitions that active tasks read."""
    return frozenset(
        (topic, index)
        for part in subtopologies
        for topic in (*part.source_topics, *part.repartition_topics)
        for index in tasks.active.get(part.subtopology_id, ())
    )


def _with_epochs(
    group_type: str,
    group: "_ConsumerGroup | _ShareGroup",
    coordinator_id: int,
    coordinator: Address,
    members: tuple[MemberDescription, ...],
) -> GroupDescription:
    return GroupDescription(
        group_id=group.group_id,
        group_type=group_type,
        state=group.group_state,
        assignor=group.assignor_name,
        coordinator_id=coordinator_id,
        coordinator=coordinator,
        members=members,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
    )


def classic_group(
    group: "messages.DescribeGroupsResponse.DescribedGroup",
    coordinator_id: int,
    coordinator: Address,
) -> GroupDescription:
    """Return a group of a DescribeGroups response; only consumers have readable assignments."""
    is_consumer_group = group.protocol_type in {_CONSUMER, ""}
    return GroupDescription(
        group_id=group.group_id,
        group_type="classic",
        state=group.group_state,
        assignor=group.protocol_data,
        coordinator_id=coordinator_id,
        coordinator=coordinator,
        members=tuple(
            MemberDescription(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                _decoded(bytes(member.member_assignment)) if is_consumer_group else frozenset(),
            )
            for member in group.members
        ),
    )


def committed_offsets(
    topics: "Iterable[_OldTopic | _Topic]", names: Mapping[UUID, str]
) -> dict[PartitionKey, PartitionOffset]:
    """Return the offsets of an OffsetFetch response, whose topics may have an id only."""
    return {
        (topic_name(topic, names), part.partition_index): PartitionOffset(
            part.committed_offset, part.committed_leader_epoch, part.metadata or ""
        )
        for topic in topics
        for part in topic.partitions
        if not part.error_code and part.committed_offset >= 0
    }


def topic_name(topic: "_OldTopic | _Topic | _Committed", names: Mapping[UUID, str]) -> str:
    """Return the name of a topic that may have an id only; "" if that is unknown."""
    if isinstance(topic, messages.OffsetFetchResponse.OffsetFetchResponseTopic):
        return topic.name
    return topic.name or names.get(topic.topic_id or NO_TOPIC_ID, "")


def offsets_to_commit(
    offsets: Mapping[PartitionKey, PartitionOffset], topic_ids: Mapping[str, UUID]
) -> list["messages.OffsetCommitRequest.OffsetCommitRequestTopic"]:
    """Return the topics of an OffsetCommit request, by name and by id."""
    topic_class = messages.OffsetCommitRequest.OffsetCommitRequestTopic
    return [
        topic_class(
            name=name,
            topic_id=topic_ids.get(name, NO_TOPIC_ID),
            partitions=[
                topic_class.OffsetCommitRequestPartition(
                    partition_index=index,
                    committed_offset=offsets[name, index].offset,
                    committed_leader_epoch=offsets[name, index].leader_epoch,
                    committed_metadata=offsets[name, index].metadata,
                )
                for index in indexes
            ],
        )
        for name, indexes in by_topic(offsets).items()
    ]


def _partitions(assignment: _Assignment) -> frozenset[PartitionKey]:
    return frozenset(
        (topic.topic_name, index)
        for topic in assignment.topic_partitions
        for index in topic.partitions
    )


def _decoded(assignment: bytes) -> frozenset[PartitionKey]:
    try:
        found = decode_assignment(assignment)
    except DecodeError:
        return frozenset()
    return frozenset((topic, index) for topic, indexes in found.items() for index in indexes)


def _is_upgraded(
    member: "messages.ConsumerGroupDescribeResponse.DescribedGroup.Member",
) -> bool | None:
    member_type = member.member_type
    if member_type not in {_CLASSIC_MEMBER_TYPE, _CONSUMER_MEMBER_TYPE}:
        return None
    return member_type == _CONSUMER_MEMBER_TYPE
