"""StreamsGroupHeartbeat: v0-1.

Behaviour:
    - Joins a streams group (epoch 0), keeps the session of a member, leaves (epoch -1, or -2 for a
      static member). The first member brings the topology of the group. Another one gets
      INVALID_REQUEST, one with a lower epoch the status STALE_TOPOLOGY.
    - The coordinator computes the partitions of internal topics, creates those that are missing,
      and assigns active and standby tasks with Kafka's sticky assignor. A task is released before
      another member gets it.
    - With an authorizer the client needs CREATE on the cluster, or on every internal topic that is
      missing. Otherwise none is created, and the status of missing topics names those.
    - Statuses say what the group waits for: source topics, internal topics, partition counts that
      fit together, the initial rebalance delay or the assignment interval; what a member lacks
      (client tags, v1); and that a member has asked for a shutdown of the application.
    - Members get the partitions of all endpoints when these have changed. While source topics are
      missing or do not fit together, such a heartbeat fails with UNKNOWN_SERVER_ERROR.
    - A member is asked for the description of its topology (v1, KIP-1331) if the group has none and
      group.streams.topology.description.plugin.class names a class, whichever: at once, and again
      after 30 s, then after twice as long each time, up to an hour.
    - Before Kafka 4.4 (broker.api.versions) static members, task offsets and warm-up tasks are
      INVALID_REQUEST.
    - UNSUPPORTED_VERSION unless the feature streams.version is 1 and
      group.coordinator.rebalance.protocols has streams.
    - Errors: GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED (a topic of the topology that
      the client may not describe), INVALID_REQUEST, STREAMS_INVALID_TOPOLOGY, GROUP_ID_NOT_FOUND
      (also for a group of another type), UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH,
      UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED, NOT_COORDINATOR.

Gaps:
    - Source topics by regular expression are INVALID_REQUEST, and no member gets warm-up tasks, as
      in Kafka 4.4.
    - A group may have up to 20,000 tasks (STREAMS_INVALID_TOPOLOGY). Kafka has no limit.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from broker.administration.streams_topics import create_internal_topics
from broker.authorization.checks import (
    CREATE_CLUSTER_STATUS,
    CREATE_TOPIC_STATUS,
    DESCRIBE_TOPIC,
    READ_GROUP,
)
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import has_streams_protocol, ownership_error
from broker.cluster.topics import INTERNAL_TOPICS, topic_name_problem
from broker.config.api_versions import release_of
from broker.errors import Refusal
from broker.groups.streams.member import Endpoint
from broker.groups.streams.request_checks import check_request
from broker.groups.streams.requests import (
    EndpointPartitions,
    StreamsHeartbeat,
    StreamsHeartbeatResult,
    TaskOffset,
)
from broker.groups.streams.statuses import Status, StatusCode
from broker.groups.streams.tasks import Tasks, tasks_of
from broker.groups.streams.topology import (
    CopartitionGroup,
    Subtopology,
    TopicInfo,
    Topology,
    named_topics,
)
from broker.request.authorization import denied_names, is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced, paced_elements

_Response = messages.StreamsGroupHeartbeatResponse
_Endpoints = _Response.EndpointToPartitions


@handles(
    ApiKey.STREAMS_GROUP_HEARTBEAT,
    checks=(READ_GROUP, DESCRIBE_TOPIC, CREATE_CLUSTER_STATUS, CREATE_TOPIC_STATUS),
)
@may_pause
def handle_streams_group_heartbeat(
    context: RequestContext, request: "messages.StreamsGroupHeartbeatRequest", cluster: Cluster
) -> "messages.StreamsGroupHeartbeatResponse":
    """Kafka's `KafkaApis.handleStreamsGroupHeartbeat`."""
    version = context.api_version
    result = _carry_out(context, request, cluster)
    if isinstance(result, Refusal):
        return _Response(
            version=version, error_code=result.error_code, error_message=result.error_message
        )
    missing = result.missing_topics
    group = cluster.groups.streams.find(request.group_id)
    if missing and not isinstance(group, Refusal):
        failures = create_internal_topics(
            context, cluster, group, missing, retry_ms=2 * result.heartbeat_interval_ms
        )
        if failures:
            result = replace(result, statuses=_with_failures(result.statuses, failures))
    return _response(result, version)


@may_pause
def _carry_out(
    context: RequestContext, request: "messages.StreamsGroupHeartbeatRequest", cluster: Cluster
) -> StreamsHeartbeatResult | Refusal:
    if not has_streams_protocol(cluster):
        return Refusal(ErrorCode.UNSUPPORTED_VERSION, None)
    if not is_allowed(context, cluster, READ_GROUP, request.group_id):
        return Refusal(READ_GROUP.error_code, None)
    topology = duplicate = refusal = None
    if request.topology is not None:
        subtopologies = _subtopologies(request.topology)
        by_id = {subtopology.subtopology_id: subtopology for subtopology in subtopologies}
        topology = Topology(request.topology.epoch, by_id)
        names = named_topics(subtopologies)
        refusal = _check_topic_names(names)
        if refusal is None and denied_names(context, cluster, DESCRIBE_TOPIC, names):
            refusal = Refusal(DESCRIBE_TOPIC.error_code, None)
        duplicate = _check_duplicates(subtopologies) if len(by_id) < len(subtopologies) else None
    heartbeat = _heartbeat(context, request, topology)
    release = release_of(cluster.config.for_broker(context.broker_id))
    refusal = refusal or check_request(heartbeat, release) or duplicate
    if refusal is not None:
        return refusal
    error_code = ownership_error(cluster, context.broker_id, request.group_id)
    if error_code is not ErrorCode.NONE:
        return Refusal(error_code, None)
    return cluster.groups.streams.heartbeat(heartbeat, context.now_ms)


@may_pause
def _heartbeat(
    context: RequestContext,
    request: "messages.StreamsGroupHeartbeatRequest",
    topology: Topology | None,
) -> StreamsHeartbeat:
    endpoint, tags = request.user_endpoint, request.client_tags
    return StreamsHeartbeat(
        group_id=request.group_id,
        member_id=request.member_id,
        member_epoch=request.member_epoch,
        endpoint_epoch=request.endpoint_information_epoch,
        group_instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topology=topology,
        active=_tasks(request.active_tasks),
        standby=_tasks(request.standby_tasks),
        warmup=_tasks(request.warmup_tasks),
        process_id=request.process_id,
        user_endpoint=None if endpoint is None else Endpoint(endpoint.host, endpoint.port),
        client_tags=None if tags is None else {tag.key: tag.value for tag in tags},
        task_offsets=_offsets(request.task_offsets),
        task_end_offsets=_offsets(request.task_end_offsets),
        shutdown_application=request.shutdown_application,
        client_id=context.client_id or "",
        client_host=f"/{context.client_host}",  # as Java prints an address
        api_version=context.api_version,
    )


@may_pause
def _tasks(
    entries: "Iterable[messages.StreamsGroupHeartbeatRequest.TaskIds] | None",
) -> Tasks | None:
    if entries is None:
        return None
    return tasks_of((entry.subtopology_id, entry.partitions) for entry in paced(entries))


@may_pause
def _offsets(
    entries: "Iterable[messages.StreamsGroupHeartbeatRequest.TaskOffset] | None",
) -> Sequence[TaskOffset] | None:
    if entries is None:
        return None
    return [
        TaskOffset(entry.subtopology_id, entry.partition, entry.offset) for entry in paced(entries)
    ]


@may_pause
def _subtopologies(
    topology: "messages.StreamsGroupHeartbeatRequest.Topology",
) -> list[Subtopology]:
    return [
        Subtopology(
            subtopology_id=entry.subtopology_id,
            source_topics=tuple(entry.source_topics),
            source_topic_regex=tuple(entry.source_topic_regex),
            state_changelog_topics=_topics(entry.state_changelog_topics),
            repartition_sink_topics=tuple(entry.repartition_sink_topics),
            repartition_source_topics=_topics(entry.repartition_source_topics),
            copartition_groups=tuple(
                CopartitionGroup(
                    tuple(group.source_topics),
                    tuple(group.source_topic_regex),
                    tuple(group.repartition_source_topics),
                )
                for group in paced(entry.copartition_groups)
            ),
        )
        for entry in paced(topology.subtopologies)
    ]


@may_pause
def _topics(
    entries: "Iterable[messages.StreamsGroupHeartbeatRequest.Topology.Subtopology.TopicInfo]",
) -> tuple[TopicInfo, ...]:
    return tuple(
        TopicInfo(
            entry.name,
            entry.partitions,
            entry.replication_factor,
            tuple((config.key, config.value) for config in entry.topic_configs),
        )
        for entry in paced(entries)
    )


@may_pause
def _check_topic_names(names: Sequence[str]) -> Refusal | None:
    internal = [name for name in paced(names) if name in INTERNAL_TOPICS]
    if internal:
        return Refusal(
            ErrorCode.STREAMS_INVALID_TOPOLOGY,
            f"Use of Kafka internal topics {','.join(internal)} in a Kafka Streams topology is"
            " prohibited.",
        )
    invalid = [name for name in paced(names) if topic_name_problem(name) is not None]
    if invalid:
        message = f"Topic names {','.join(invalid)} are not valid topic names."
        return Refusal(ErrorCode.STREAMS_INVALID_TOPOLOGY, message)
    return None


@may_pause
def _check_duplicates(subtopologies: Sequence[Subtopology]) -> Refusal | None:
    seen: set[str] = set()
    for subtopology in paced_elements(subtopologies):
        if subtopology.subtopology_id in seen:
            message = f"Duplicate key {subtopology.subtopology_id}"
            return Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, message)
        seen.add(subtopology.subtopology_id)
    return None


def _with_failures(statuses: tuple[Status, ...], failures: str) -> tuple[Status, ...]:
    return tuple(
        Status(status.code, f"{status.detail}; {failures}")
        if status.code is StatusCode.MISSING_INTERNAL_TOPICS
        else status
        for status in statuses
    )


def _response(
    result: StreamsHeartbeatResult, version: int
) -> "messages.StreamsGroupHeartbeatResponse":
    endpoints = result.endpoints
    tasks = result.tasks
    return _Response(
        version=version,
        member_id=result.member_id,
        member_epoch=result.member_epoch,
        heartbeat_interval_ms=result.heartbeat_interval_ms,
        task_offset_interval_ms=result.task_offset_interval_ms,
        acceptable_recovery_lag=result.acceptable_recovery_lag,
        status=[
            _Response.Status(version=version, status_code=status.code, status_detail=status.detail)
            for status in result.statuses
        ],
        active_tasks=None if tasks is None else _task_ids(tasks.active, version),
        standby_tasks=None if tasks is None else _task_ids(tasks.standby, version),
        warmup_tasks=None if tasks is None else [],
        topology_description_required=result.needs_description,
        endpoint_information_epoch=result.endpoint_epoch,
        partitions_by_user_endpoint=(
            None if endpoints is None else [_endpoint(found, version) for found in endpoints]
        ),
    )


def _task_ids(tasks: Tasks, version: int) -> list[_Response.TaskIds]:
    return [
        _Response.TaskIds(
            version=version, subtopology_id=subtopology_id, partitions=sorted(indexes)
        )
        for subtopology_id, indexes in sorted(tasks.items())
    ]


def _endpoint(found: EndpointPartitions, version: int) -> _Endpoints:
    return _Endpoints(
        version=version,
        user_endpoint=_Endpoints.Endpoint(
            version=version, host=found.endpoint.host, port=found.endpoint.port
        ),
        active_partitions=_partitions(found.active, version),
        standby_partitions=_partitions(found.standby, version),
    )


def _partitions(
    partitions: Mapping[str, Sequence[int]], version: int
) -> list[_Endpoints.TopicPartition]:
    return [
        _Endpoints.TopicPartition(version=version, topic=topic, partitions=list(indexes))
        for topic, indexes in partitions.items()
    ]
