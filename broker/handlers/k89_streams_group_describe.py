"""StreamsGroupDescribe: v0-1.

Behaviour:
    - Returns the state, the epochs, the topology and the members of streams groups, with their
      current and target tasks. While the group works the topology has the partition counts of its
      internal topics, else it is as the first member sent it.
    - v1 adds the assignor, and the description of the topology if it is requested (KIP-1331), with
      a status: 0 for not requested, 1 for not stored, 3 if it is there.
    - GROUP_ID_NOT_FOUND for a group that does not exist or is of another type, NOT_COORDINATOR for
      a group of another coordinator, INVALID_GROUP_ID for an empty id.
    - UNSUPPORTED_VERSION unless the feature streams.version is 1 and
      group.coordinator.rebalance.protocols has streams.
    - Groups that the client may not describe come first (GROUP_AUTHORIZATION_FAILED). A group with
      topics that it may not describe gets TOPIC_AUTHORIZATION_FAILED with a message.
"""

from collections.abc import Iterable
from dataclasses import asdict
from functools import partial

from broker.administration.described_groups import described_groups
from broker.authorization.checks import DESCRIBE_GROUP, DESCRIBE_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import has_streams_protocol, ownership_error
from broker.errors import Refusal
from broker.groups.streams.group import ReportedOffsets, StreamsGroup
from broker.groups.streams.member import StreamsMember
from broker.groups.streams.requests import TaskOffset
from broker.groups.streams.sticky_assignor import NAME
from broker.groups.streams.tasks import Tasks
from broker.groups.streams.topology_view import TopicView, topology_view
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

NOT_REQUESTED = 0
NOT_STORED = 1
AVAILABLE = 3
"""Whether there is a description of the topology (KIP-1331)."""
_HAS_HIDDEN_TOPICS = Refusal(
    DESCRIBE_TOPIC.error_code,
    "The described group uses topics that the client is not authorized to describe.",
)

_Response = messages.StreamsGroupDescribeResponse
_Group = _Response.DescribedGroup
_Subtopology = _Group.Topology.Subtopology
_Topic = _Subtopology.TopicInfo
_Member = _Group.Member
_Assignment = _Member.Assignment
_Description = _Group.TopologyDescription
_Described = _Description.TopologyDescriptionSubtopology
_Store = _Description.TopologyDescriptionGlobalStore


@handles(ApiKey.STREAMS_GROUP_DESCRIBE, checks=(DESCRIBE_GROUP, DESCRIBE_TOPIC))
@may_pause
def handle_streams_group_describe(
    context: RequestContext, request: "messages.StreamsGroupDescribeRequest", cluster: Cluster
) -> "messages.StreamsGroupDescribeResponse":
    """Kafka's `KafkaApis.handleStreamsGroupDescribe`."""
    version = context.api_version
    refused = partial(_refused, version)
    if not has_streams_protocol(cluster):
        refusal = Refusal(ErrorCode.UNSUPPORTED_VERSION, None)
        groups = [refused(group_id, refusal) for group_id in paced(request.group_ids)]
        return _Response(version=version, groups=groups)

    @may_pause
    def describe(group_id: str) -> _Group:
        group = _describe(context, group_id, cluster)
        if request.include_topology_description and group.error_code == ErrorCode.NONE:
            _add_description(group, cluster, version)
        return group

    groups = described_groups(
        context, cluster, request, describe, refused, _topic_names, _HAS_HIDDEN_TOPICS
    )
    return _Response(version=version, groups=groups)


@may_pause
def _topic_names(group: _Group) -> Iterable[str]:
    subtopologies = None if group.topology is None else group.topology.subtopologies
    for subtopology in paced(subtopologies or ()):
        yield from subtopology.source_topics
        yield from subtopology.repartition_sink_topics
        yield from (topic.name for topic in subtopology.repartition_source_topics)
        yield from (topic.name for topic in subtopology.state_changelog_topics)


@may_pause
def _describe(context: RequestContext, group_id: str, cluster: Cluster) -> _Group:
    version = context.api_version
    error_code = ownership_error(cluster, context.broker_id, group_id)
    if not group_id:
        error_code = ErrorCode.INVALID_GROUP_ID
    if error_code is not ErrorCode.NONE:
        return _refused(version, group_id, Refusal(error_code, None))
    group = cluster.groups.streams.find(group_id)
    if isinstance(group, Refusal):
        return _refused(version, group_id, group)
    return _Group(
        version=version,
        error_code=ErrorCode.NONE,
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        topology=_topology(group, version),
        members=[_member(group, member, version) for member in paced(group.members.values())],
        topology_description_status=NOT_REQUESTED,
        assignor_name=NAME,
    )


def _refused(version: int, group_id: str, refusal: Refusal) -> _Group:
    return _Group(
        version=version,
        error_code=refusal.error_code,
        error_message=refusal.error_message,
        group_id=group_id,
        group_state="",
        members=[],
    )


@may_pause
def _topology(group: StreamsGroup, version: int) -> _Group.Topology:
    epoch, subtopologies = topology_view(group)
    return _Group.Topology(
        version=version,
        epoch=epoch,
        subtopologies=[
            _Subtopology(
                version=version,
                subtopology_id=subtopology.subtopology_id,
                source_topics=subtopology.source_topics,
                repartition_sink_topics=subtopology.repartition_sink_topics,
                state_changelog_topics=_topics(subtopology.state_changelog_topics, version),
                repartition_source_topics=_topics(subtopology.repartition_source_topics, version),
            )
            for subtopology in paced(subtopologies)
        ],
    )


@may_pause
def _add_description(described: _Group, cluster: Cluster, version: int) -> None:
    """Add the description that the group has of its current topology, and its status."""
    described.topology_description_status = NOT_STORED
    group = cluster.groups.streams.find(described.group_id)
    if isinstance(group, Refusal) or described.topology is None:
        return
    found = group.stored.description
    is_current = group.stored.epoch == described.topology.epoch
    if found is None or not is_current or not cluster.groups.streams.keeps_descriptions:
        return
    described.topology_description_status = AVAILABLE
    described.topology_description = _Description(
        version=version,
        subtopologies=[
            _Described(
                version=version,
                subtopology_id=subtopology_id,
                nodes=[
                    _Described.TopologyDescriptionNode(version=version, **asdict(node))
                    for node in paced(nodes)
                ],
            )
            for subtopology_id, nodes in paced(found.subtopologies)
        ],
        global_stores=[
            _Store(
                version=version,
                source=_Store.TopologyDescriptionNode(version=version, **asdict(source)),
                processor=_Store.TopologyDescriptionNode(version=version, **asdict(processor)),
            )
            for source, processor in paced(found.global_stores)
        ],
    )


def _topics(topics: Iterable[TopicView], version: int) -> list[_Topic]:
    return [
        _Topic(
            version=version,
            name=topic.name,
            partitions=topic.partition_count,
            replication_factor=topic.replication_factor,
            topic_configs=[
                _Topic.KeyValue(version=version, key=key, value=value)
                for key, value in topic.configs
            ],
        )
        for topic in topics
    ]


def _member(group: StreamsGroup, member: StreamsMember, version: int) -> _Member:
    endpoint, target = member.user_endpoint, group.target_of(member.member_id)
    reported = group.reported_offsets.get(member.member_id, ReportedOffsets())
    return _Member(
        version=version,
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        instance_id=member.group_instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None
        if endpoint is None
        else _Member.Endpoint(version=version, host=endpoint.host, port=endpoint.port),
        client_tags=[
            _Member.KeyValue(version=version, key=key, value=value)
            for key, value in member.client_tags.items()
        ],
        task_offsets=_offsets(reported.offsets, version),
        task_end_offsets=_offsets(reported.end_offsets, version),
        assignment=_tasks(member.assigned.active_tasks, member.assigned.standby, version),
        target_assignment=_tasks(target.active, target.standby, version),
        is_classic=False,
    )


def _offsets(offsets: Iterable[TaskOffset], version: int) -> list[_Member.TaskOffset]:
    return [
        _Member.TaskOffset(
            version=version,
            subtopology_id=found.subtopology_id,
            partition=found.partition_index,
            offset=found.offset,
        )
        for found in sorted(offsets)
    ]


def _tasks(active: Tasks, standby: Tasks, version: int) -> _Assignment:
    return _Assignment(
        version=version,
        active_tasks=_task_ids(active, version),
        standby_tasks=_task_ids(standby, version),
        warmup_tasks=[],
    )


def _task_ids(tasks: Tasks, version: int) -> list[_Assignment.TaskIds]:
    return [
        _Assignment.TaskIds(
            version=version, subtopology_id=subtopology_id, partitions=sorted(indexes)
        )
        for subtopology_id, indexes in sorted(tasks.items())
    ]
