"""CreateTopics: v2-7.

Behaviour:
    - Each topic has its own result, in request order. A name that occurs twice gets one
      INVALID_REQUEST. Such names, and those of topics that the client may not create, come last, in
      the order of Kafka's hash sets.
    - With an authorizer the client needs CREATE on the cluster, or on the topic
      (TOPIC_AUTHORIZATION_FAILED). Without DESCRIBE_CONFIGS on the topic the result has no counts
      and no configuration, and TOPIC_AUTHORIZATION_FAILED as topic_config_error_code.
    - `__cluster_metadata` is INVALID_REQUEST.
    - Checks, in this order: the name (INVALID_TOPIC_EXCEPTION, also if it differs from an existing
      topic's only in `.` and `_`; two topics of one request may), TOPIC_ALREADY_EXISTS,
      INVALID_CONFIG, and the placement.
    - The client sends counts (-1 is the broker's default; INVALID_REPLICATION_FACTOR,
      INVALID_PARTITIONS) or the brokers of every partition (INVALID_REPLICA_ASSIGNMENT). Both
      together are INVALID_REQUEST.
    - A valid topic charges the controller_mutation_rate for its partitions (KIP-599). While the
      quota is exhausted it gets THROTTLING_QUOTA_EXCEEDED from v6 on; before v6 it is created and
      the client is throttled. validate_only charges nothing.
    - More than 10,000 partitions in one request get POLICY_VIOLATION for all its topics.
    - Every broker accepts the request. v5 adds counts and the effective configuration, v7 the topic
      id. The topic exists when the response is sent.
    - With controller.mutation.time.us valid topics wait in the controller's queue, and the response
      waits for them. After timeout_ms it says REQUEST_TIMED_OUT for them; they are still created
      later. A name in the queue gets TOPIC_ALREADY_EXISTS.
    - With a timeout_ms that is not positive every topic gets REQUEST_TIMED_OUT, also with
      validate_only, and nothing is created. If every name occurs twice or is denied, that is the
      error.

Gaps:
    - Internal topics cannot be created (INVALID_TOPIC_EXCEPTION): their state is kept elsewhere.
    - There are no create-topic policies.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from uuid import UUID

from broker.administration.config_description import describe_new_topic
from broker.administration.new_topic import (
    CLUSTER_METADATA_TOPIC,
    NO_CLUSTER_METADATA,
    NewTopic,
    TopicPlan,
    check_new_topic,
    check_size,
    create_planned,
)
from broker.authorization.checks import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_CONFIGS_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.controller_queue import TIMED_OUT, is_over
from broker.config.topic_config import TopicConfig
from broker.errors import Refusal
from broker.pending_response import PendingResponse
from broker.request.authorization import denied_names, is_allowed
from broker.request.context import RequestContext
from broker.request.mutation_quota import MutationQuota
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.hash_order import in_hash_order, string_hash
from protocol.pacing import may_pause, paced

_Result = messages.CreateTopicsResponse.CreatableTopicResult
_NO_TOPIC_ID = UUID(int=0)
STRICT_QUOTA_VERSION_MIN = 6


@handles(ApiKey.CREATE_TOPICS, checks=(CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_CONFIGS_TOPIC))
@may_pause
def handle_create_topics(
    context: RequestContext, request: "messages.CreateTopicsRequest", cluster: Cluster
) -> "messages.CreateTopicsResponse | PendingResponse":
    """Kafka's `ControllerApis.createTopics` and `ReplicationControlManager.createTopics`."""
    counts = Counter(topic.name for topic in paced(request.topics))
    topics = {topic.name: _from_wire(topic) for topic in paced(request.topics)}
    refusals = _refuse_names(context, cluster, counts) | _refuse_cluster_metadata(counts)
    if is_over(request.timeout_ms) and len(refusals) < len(topics):
        return messages.CreateTopicsResponse(
            version=context.api_version,
            throttle_time_ms=0,
            topics=[_refused(context, topic.name, TIMED_OUT) for topic in paced(request.topics)],
        )
    named = {name: topic for name, topic in paced(topics.items()) if name not in refusals}
    too_large = check_size(cluster, named.values())
    is_strict = context.api_version >= STRICT_QUOTA_VERSION_MIN
    quota = MutationQuota(cluster, context, is_strict=is_strict)
    is_immediate = request.validate_only or cluster.controller_queue.is_immediate
    results: dict[str, _Result] = {}
    created: set[str] = set()
    queued: dict[str, int] = {}
    for name, topic in paced(named.items()):
        outcome = too_large or _check(cluster, topic, created)
        if isinstance(outcome, TopicPlan) and not request.validate_only:
            outcome = quota.charge(len(outcome.assignments)) or outcome
        if isinstance(outcome, Refusal):
            results[name] = _refused(context, name, outcome)
        elif is_immediate:
            if request.validate_only:
                results[name] = _planned(context, outcome, cluster)
            else:
                results[name] = _create(context, cluster, topic, outcome, created)
            created.add(name)
        else:
            results[name] = _refused(context, name, TIMED_OUT)
            queued[name] = len(outcome.assignments)
    results |= {n: _refused(context, n, refusal) for n, refusal in paced(refusals.items())}

    def respond(now_ms: int) -> "messages.CreateTopicsResponse":
        quota.settle(now_ms)
        return messages.CreateTopicsResponse(
            version=context.api_version,
            throttle_time_ms=context.throttle_time_ms,
            topics=list(results.values()),
        )

    def create_queued(now_ms: int) -> "messages.CreateTopicsResponse":
        for name in paced(queued):
            cluster.controller_queue.pending_topics.discard(name)
            # Checked again: brokers and topics may have changed, and leaders are spread now.
            outcome = check_new_topic(cluster, topics[name], created)
            if isinstance(outcome, Refusal):
                results[name] = _refused(context, name, outcome)
            else:
                results[name] = _create(context, cluster, topics[name], outcome, created)
                created.add(name)
        return respond(now_ms)

    if not queued:
        return respond(context.now_ms)
    cluster.controller_queue.pending_topics.update(queued)
    return cluster.controller_queue.submit_request(
        "createTopics",
        context.now_ms,
        request.timeout_ms,
        mutation_count=lambda: sum(queued.values()),
        finish=create_queued,
        timed_out=respond,
    )


@may_pause
def _refuse_names(
    context: RequestContext, cluster: Cluster, counts: Mapping[str, int]
) -> dict[str, Refusal]:
    """Return the errors of topics that Kafka's controller does not look at, in Kafka's order."""
    duplicates = [name for name, count in paced(counts.items()) if count > 1]
    once = [name for name, count in paced(counts.items()) if count == 1]
    refusals = dict.fromkeys(
        in_hash_order(duplicates, string_hash),
        Refusal(ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
    )
    if not is_allowed(context, cluster, CREATE_CLUSTER, is_noted=False):
        denied = denied_names(context, cluster, CREATE_TOPIC, once)
        refusal = Refusal(CREATE_TOPIC.error_code, "Authorization failed.")
        for name in paced(in_hash_order(once, string_hash)):
            if name in denied:
                refusals[name] = refusal
    return refusals


def _refuse_cluster_metadata(counts: Mapping[str, int]) -> dict[str, Refusal]:
    is_requested = counts.get(CLUSTER_METADATA_TOPIC) == 1
    return {CLUSTER_METADATA_TOPIC: NO_CLUSTER_METADATA} if is_requested else {}


@may_pause
def _check(cluster: Cluster, topic: NewTopic, created: Collection[str]) -> TopicPlan | Refusal:
    if topic.name in cluster.controller_queue.pending_topics:
        message = f"Topic '{topic.name}' already exists."
        return Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, message)
    return check_new_topic(cluster, topic, created)


def _from_wire(topic: "messages.CreateTopicsRequest.CreatableTopic") -> NewTopic:
    return NewTopic(
        name=topic.name,
        partition_count=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=tuple(
            (assignment.partition_index, tuple(assignment.broker_ids))
            for assignment in topic.assignments
        ),
        overrides={config.name: config.value for config in topic.configs},
    )


@may_pause
def _create(
    context: RequestContext,
    cluster: Cluster,
    new_topic: NewTopic,
    plan: TopicPlan,
    created: Collection[str],
) -> _Result:
    topic = create_planned(cluster, new_topic, plan, created)
    if isinstance(topic, Refusal):
        return _refused(context, plan.name, topic)
    return _result(context, cluster, plan, topic.topic_id, topic.config)


def _planned(context: RequestContext, plan: TopicPlan, cluster: Cluster) -> _Result:
    config = TopicConfig(cluster.shared_config, plan.overrides)
    return _result(context, cluster, plan, cluster.new_uuid(), config)


def _result(
    context: RequestContext, cluster: Cluster, plan: TopicPlan, topic_id: UUID, config: TopicConfig
) -> _Result:
    version = context.api_version
    if not is_allowed(context, cluster, DESCRIBE_CONFIGS_TOPIC, plan.name, is_noted=False):
        return _Result(
            version=version,
            name=plan.name,
            topic_id=topic_id,
            error_code=ErrorCode.NONE,
            error_message=None,
            topic_config_error_code=DESCRIBE_CONFIGS_TOPIC.error_code,
            num_partitions=-1,
            replication_factor=-1,
            configs=[],
        )
    return _Result(
        version=version,
        name=plan.name,
        topic_id=topic_id,
        error_code=ErrorCode.NONE,
        error_message=None,
        num_partitions=len(plan.assignments),
        replication_factor=len(plan.assignments[0]),
        configs=_describe_config(version, cluster, config) if version >= 5 else [],
    )


def _describe_config(
    version: int, cluster: Cluster, config: TopicConfig
) -> list[_Result.CreatableTopicConfigs]:
    return [
        _Result.CreatableTopicConfigs(
            version=version,
            name=entry.key.name,
            # Kafka returns what the request says as it is.
            value=config.overrides.get(entry.key.name, entry.text),
            read_only=entry.is_read_only,
            config_source=entry.source,
            is_sensitive=entry.key.is_sensitive,
        )
        for entry in describe_new_topic(cluster.config, cluster.controller_id, config.overrides)
    ]


def _refused(context: RequestContext, name: str, refusal: Refusal) -> _Result:
    return _Result(
        version=context.api_version,
        name=name,
        topic_id=_NO_TOPIC_ID,
        error_code=refusal.error_code,
        error_message=refusal.error_message,
        num_partitions=-1,
        replication_factor=-1,
        configs=[],
    )
