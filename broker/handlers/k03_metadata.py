"""Metadata: v0-13.

Behaviour:
    - Lists the brokers that are up, the controller, and topics with leaders, replicas and ISR.
    - In v0 an empty list of topics means all. Later versions use null for all, and an empty list
      for none. From v12 a request may name topics by id; an unknown id gets UNKNOWN_TOPIC_ID. An
      id or no name in v10-11 gets INVALID_REQUEST for every topic, and no brokers.
    - A topic that occurs twice is described once. If any topic is named by id, names are ignored.
      Unknown ids come first, missing topics last.
    - A missing topic is created if the request and auto.create.topics.enable allow it and its name
      is valid. This response says UNKNOWN_TOPIC_OR_PARTITION and the next one has the topic, as in
      KRaft. An invalid name gets INVALID_TOPIC_EXCEPTION.
    - Auto-creation charges the client's controller_mutation_rate for the partitions (KIP-599).
      While the quota is exhausted the topic is not created, and this response is the same.
    - `__consumer_offsets` is created in the same way, with its own configuration and at no charge.
      Other internal topics are not.
    - With controller.mutation.time.us the topic waits in the controller's queue. Further requests
      for its name charge nothing and create nothing in that time.
    - A partition without a leader has LEADER_NOT_AVAILABLE and leader -1.
    - With an authorizer, without DESCRIBE on a topic: a list of all topics leaves it out; a name
      gets TOPIC_AUTHORIZATION_FAILED, whether or not the topic exists, and an id the same without
      the name. To create a missing topic the client needs CREATE on the cluster or on the topic
      (TOPIC_AUTHORIZATION_FAILED). These results come last.
    - Authorized operations, if requested (topics v8+, cluster v8-10), are those that the client may
      do: all without an authorizer, none on the cluster without DESCRIBE.
"""

from functools import lru_cache
from typing import TypeAlias
from uuid import UUID

from broker.administration.authorized_operations import cluster_operations, topic_operations
from broker.administration.automatic_topics import create_automatically
from broker.administration.new_topic import NewTopic, check_size
from broker.authorization.checks import (
    CREATE_CLUSTER,
    CREATE_TOPIC,
    DESCRIBE_CLUSTER_UNLISTED,
    DESCRIBE_TOPIC,
    Check,
)
from broker.cluster import internal_topics
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.topics import INTERNAL_TOPICS, NO_LEADER, Partition, Topic, topic_name_problem
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_body
from protocol.errors import ErrorCode
from protocol.metadata import read_names, topic_in, with_topics
from protocol.pacing import may_pause, paced

_TopicResponse = messages.MetadataResponse.MetadataResponseTopic
_PartitionResponse = _TopicResponse.MetadataResponsePartition
_NO_TOPIC_ID = UUID(int=0)
_Broker: TypeAlias = tuple[int, str, int, str | None]
"""Node id, host, port and rack."""
AUTO_CREATION_CHOICE_VERSION_MIN = 4
RESPONSE_RANKS = (0, 1, 2)
_ERRORS_WITHOUT_OPERATIONS = {ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.TOPIC_AUTHORIZATION_FAILED}
SHORT_TOPICS_MAX = 1_000
"""With more topics a request takes turns."""
NEW_PARTITIONS_MAX = 50
"""How many partitions a request encodes that takes no turns; the others are known."""


@may_pause
def describe_known(
    context: RequestContext, frame: bytes | bytearray, start: int, end: int, cluster: Cluster
) -> bytes | None:
    """Respond with what was said of the topics before, if they exist and have not changed."""
    if cluster.authorizer is not None:
        return None
    version = context.api_version
    names = read_names(version, frame, start, end, SHORT_TOPICS_MAX)
    if names is None:
        return None
    topics: list[Topic] = []
    if names:
        for name in names:
            topic = cluster.topics.get(name)
            if topic is None:
                return None
            topics.append(topic)
    elif len(cluster.topics) <= SHORT_TOPICS_MAX:
        topics += cluster.topics.all()
    else:
        return None
    alive_ids = cluster.alive_broker_ids()
    left = NEW_PARTITIONS_MAX
    encoded_topics = []
    for topic in topics:
        state = (
            alive_ids,
            [
                (part.leader_id, part.leader_epoch, part.isr, part.replicas)
                for part in topic.partitions
            ],
        )
        known = topic.encoded_metadata.get(version)
        if known is None or known[0] != state:
            left -= len(topic.partitions)
            if left < 0 or not topic.partitions:
                return None
            known = topic.encoded_metadata[version] = state, _encode_topic(cluster, topic, version)
        encoded_topics.append(known[1])
    body = with_topics(
        version, _encode_cluster(version, *_brokers(context, cluster)), encoded_topics
    )
    return body if len(body) <= cluster.config["response.bytes.max"] else None


@lru_cache(maxsize=256)
@may_pause
def _encode_cluster(
    version: int, brokers: tuple[_Broker, ...], cluster_id: str, controller_id: int
) -> bytes:
    return bytes(encode_body(_response(version, brokers, cluster_id, controller_id, []), version))


@may_pause
def _encode_topic(cluster: Cluster, topic: Topic, version: int) -> bytes:
    response = messages.MetadataResponse(
        version=version,
        throttle_time_ms=0,
        brokers=[],
        cluster_id=None,
        controller_id=0,
        topics=[_describe(cluster, topic, version)],
    )
    return topic_in(version, bytes(encode_body(response, version)))


@handles(
    ApiKey.METADATA,
    shortcut=describe_known,
    checks=(DESCRIBE_TOPIC, CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_CLUSTER_UNLISTED),
)
@may_pause
def handle_metadata(
    context: RequestContext, request: "messages.MetadataRequest", cluster: Cluster
) -> "messages.MetadataResponse":
    """Kafka's `KafkaApis.handleTopicMetadataRequest`."""
    version = context.api_version
    requested = request.topics
    if (
        requested
        and 10 <= version < 12
        and any(topic.name is None or _has_id(topic) for topic in paced(requested))
    ):
        return _refuse_ids(version, requested)
    if requested is None or (version == 0 and not requested):
        topics = [
            _describe(cluster, topic, version)
            for topic in paced(cluster.topics.all())
            if is_allowed(context, cluster, DESCRIBE_TOPIC, topic.name, is_noted=False)
        ]
    else:
        may_create = cluster.config["auto.create.topics.enable"] and (
            version < AUTO_CREATION_CHOICE_VERSION_MIN or request.allow_auto_topic_creation
        )
        distinct = _distinct(requested, version)
        topics = _describe_requested(context, distinct, cluster, may_create=may_create)
    if version >= 8 and request.include_topic_authorized_operations:
        for topic in paced(topics):
            if topic.error_code not in _ERRORS_WITHOUT_OPERATIONS:
                operations = topic_operations(context, cluster, topic.name or "")
                topic.authorized_operations = set(operations)
    response = _response(version, *_brokers(context, cluster), topics)
    if 8 <= version <= 10 and request.include_cluster_authorized_operations:
        response.authorized_operations = set(cluster_operations(context, cluster))
    return response


@may_pause
def _describe_requested(
    context: RequestContext,
    distinct: list["messages.MetadataRequest.MetadataRequestTopic"],
    cluster: Cluster,
    *,
    may_create: bool,
) -> list[_TopicResponse]:
    """Describe the topics that a request names; create missing ones if `may_create`."""
    version = context.api_version
    failed_checks: dict[str, Check] = {}
    if cluster.authorizer is not None:
        failed_checks = _failed_checks(context, cluster, distinct, creates=may_create)
        distinct = [topic for topic in paced(distinct) if topic.name not in failed_checks]
    if may_create:
        new = [
            topic.name
            for topic in paced(distinct)
            if topic.name is not None and cluster.topics.get(topic.name) is None
        ]
        may_create = check_size(cluster, map(NewTopic, new)) is None
    created: set[str] = set()
    found = [
        _find(context, topic, cluster, created if may_create else None) for topic in paced(distinct)
    ]
    topics = [
        topic for rank in RESPONSE_RANKS for topic in paced(found) if _response_rank(topic) == rank
    ]
    for check in (CREATE_TOPIC, DESCRIBE_TOPIC):
        for name, failed in paced(failed_checks.items()):
            if failed is check:
                denied = _missing(version, check.error_code, name, _NO_TOPIC_ID)
                denied.is_internal = denied.is_internal and check is CREATE_TOPIC
                topics.append(denied)
    return topics


@may_pause
def _failed_checks(
    context: RequestContext,
    cluster: Cluster,
    requested: list["messages.MetadataRequest.MetadataRequestTopic"],
    *,
    creates: bool,
) -> dict[str, Check]:
    """Return the names that the client may not describe, or not create if `creates`."""
    failed: dict[str, Check] = {}
    for topic in paced(requested):
        if topic.name is None or _has_id(topic):
            continue
        if not is_allowed(context, cluster, DESCRIBE_TOPIC, topic.name):
            failed[topic.name] = DESCRIBE_TOPIC
        elif (
            creates
            and cluster.topics.get(topic.name) is None
            and not _may_create(context, cluster, topic.name)
        ):
            failed[topic.name] = CREATE_TOPIC
    return failed


def _may_create(context: RequestContext, cluster: Cluster, name: str) -> bool:
    return is_allowed(context, cluster, CREATE_CLUSTER, is_noted=False) or is_allowed(
        context, cluster, CREATE_TOPIC, name
    )


def _brokers(context: RequestContext, cluster: Cluster) -> tuple[tuple[_Broker, ...], str, int]:
    """Return the brokers that are up, the cluster id, and the controller."""
    brokers = tuple(
        (broker.node_id, address.host, address.port, broker.rack)
        for broker, address in cluster.addresses(context.session.listener)
        if broker.is_alive
    )
    return brokers, cluster.cluster_id, cluster.controller_id


def _response(
    version: int,
    brokers: tuple[_Broker, ...],
    cluster_id: str,
    controller_id: int,
    topics: list[_TopicResponse],
) -> "messages.MetadataResponse":
    return messages.MetadataResponse(
        version=version,
        throttle_time_ms=0,
        brokers=[
            messages.MetadataResponse.MetadataResponseBroker(
                version=version, node_id=node_id, host=host, port=port, rack=rack
            )
            for node_id, host, port, rack in brokers
        ],
        cluster_id=cluster_id,
        controller_id=controller_id,
        topics=topics,
    )


def _has_id(topic: "messages.MetadataRequest.MetadataRequestTopic") -> bool:
    return topic.topic_id is not None and topic.topic_id != _NO_TOPIC_ID


@may_pause
def _refuse_ids(
    version: int, requested: list["messages.MetadataRequest.MetadataRequestTopic"]
) -> "messages.MetadataResponse":
    """Return the response to topic ids before v12, which has nothing but the error."""
    return messages.MetadataResponse(
        version=version,
        throttle_time_ms=0,
        brokers=[],
        topics=[
            _missing(version, ErrorCode.INVALID_REQUEST, topic.name, topic.topic_id)
            for topic in paced(requested)
        ],
    )


@may_pause
def _distinct(
    requested: list["messages.MetadataRequest.MetadataRequestTopic"], version: int
) -> list["messages.MetadataRequest.MetadataRequestTopic"]:
    """Return each requested topic once; only those with an id, if any has one."""
    by_id = {topic.topic_id: topic for topic in paced(requested)} if version >= 10 else {}
    by_id.pop(_NO_TOPIC_ID, None)
    by_id.pop(None, None)
    if by_id:
        return list(by_id.values())
    return list({topic.name: topic for topic in paced(requested)}.values())


def _response_rank(topic: _TopicResponse) -> int:
    """Return 0 for unknown ids, 1 for topics, 2 for missing topics: Kafka's order."""
    if topic.error_code == ErrorCode.UNKNOWN_TOPIC_ID:
        return 0
    return 1 if topic.partitions else 2


@may_pause
def _find(
    context: RequestContext,
    requested: "messages.MetadataRequest.MetadataRequestTopic",
    cluster: Cluster,
    created: set[str] | None,
) -> _TopicResponse:
    """Describe a topic; create a missing one and add it to `created`, unless that is None."""
    version = context.api_version
    if version >= 10 and _has_id(requested):
        topic = cluster.topics.get_by_id(requested.topic_id)
        if topic is None:
            return _missing(version, ErrorCode.UNKNOWN_TOPIC_ID, None, requested.topic_id)
        if not is_allowed(context, cluster, DESCRIBE_TOPIC, topic.name):
            return _missing(version, DESCRIBE_TOPIC.error_code, None, requested.topic_id)
        return _describe(cluster, topic, version)
    name = requested.name
    if name is None:
        return _missing(version, ErrorCode.INVALID_REQUEST, None, _NO_TOPIC_ID)
    topic = cluster.topics.get(name)
    if topic is not None:
        return _describe(cluster, topic, version)
    if topic_name_problem(name) is not None:
        return _missing(version, ErrorCode.INVALID_TOPIC_EXCEPTION, name, _NO_TOPIC_ID)
    # A topic that was there before a pause may be missing now.
    if created is not None and _may_create(context, cluster, name):
        _auto_create(context, name, cluster, created)
    return _missing(version, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name, _NO_TOPIC_ID)


@may_pause
def _auto_create(context: RequestContext, name: str, cluster: Cluster, created: set[str]) -> None:
    """Create a topic with the brokers' defaults, if it is valid; ignore a refusal.

    `created` has the names of topics that this request has created.
    """
    if name in INTERNAL_TOPICS:
        internal = internal_topics.BY_NAME.get(name)
        if internal is not None:
            ensure_internal_topic(cluster, internal)
        return
    create_automatically(context, cluster, NewTopic(name), created)


def _missing(
    version: int, error_code: ErrorCode, name: str | None, topic_id: UUID | None
) -> _TopicResponse:
    # Before v12 a name is not nullable.
    response_name = "" if name is None and version < 12 else name
    return _TopicResponse(
        version=version,
        error_code=error_code,
        name=response_name,
        topic_id=topic_id,
        is_internal=name in INTERNAL_TOPICS,
        partitions=[],
    )


@may_pause
def _describe(cluster: Cluster, topic: Topic, version: int) -> _TopicResponse:
    return _TopicResponse(
        version=version,
        error_code=ErrorCode.NONE,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[
            _describe_partition(cluster, part, version) for part in paced(topic.partitions)
        ],
    )


def _describe_partition(cluster: Cluster, partition: Partition, version: int) -> _PartitionResponse:
    has_leader = partition.leader_id != NO_LEADER
    return _PartitionResponse(
        version=version,
        error_code=ErrorCode.NONE if has_leader else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=partition.partition_index,
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        offline_replicas=[n for n in partition.replicas if not cluster.is_alive(n)],
    )
