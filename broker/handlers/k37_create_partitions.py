"""CreatePartitions: v0-3.

Behaviour:
    - Each topic has its own result, in request order. A name that occurs twice gets one
      INVALID_REQUEST. A missing topic gets UNKNOWN_TOPIC_OR_PARTITION, and without ALTER on it
      any topic gets TOPIC_AUTHORIZATION_FAILED.
    - `count` is the new number of partitions and must be larger than the current one
      (INVALID_PARTITIONS).
    - New partitions continue the round robin of the existing ones, or go to the brokers that the
      client names, one list per partition (INVALID_REPLICA_ASSIGNMENT), with the same replication
      factor.
    - A valid topic charges the controller_mutation_rate for its new partitions (KIP-599). While the
      quota is exhausted it gets THROTTLING_QUOTA_EXCEEDED from v3 on; before v3 the partitions are
      created and the client is throttled. validate_only charges nothing.
    - More than 10,000 new partitions in one request get POLICY_VIOLATION for all its topics, before
      Kafka 4.4 UNKNOWN_SERVER_ERROR for the topic that gets so many.
    - With controller.mutation.time.us valid topics wait in the controller's queue, and the response
      waits for them. After timeout_ms it says REQUEST_TIMED_OUT for them; the partitions are still
      created later.
    - With a timeout_ms that is not positive every topic gets REQUEST_TIMED_OUT, also with
      validate_only, and nothing is added. If every name occurs twice or is denied, that is the
      error.

Gaps:
    - Kafka before 4.4 bounds the new partitions of all topics of the request together.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from broker.administration.new_partitions import (
    BOUNDS_REQUESTS_SINCE,
    check_new_partitions,
    check_total,
)
from broker.administration.placement import Assignments
from broker.authorization.checks import ALTER_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.controller_queue import TIMED_OUT, is_over
from broker.cluster.made_partitions import make_in_turns
from broker.cluster.topics import Topic
from broker.config.api_versions import release_of
from broker.errors import Refusal
from broker.pending_response import PendingResponse
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.request.mutation_quota import MutationQuota
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_Result = messages.CreatePartitionsResponse.CreatePartitionsTopicResult
STRICT_QUOTA_VERSION_MIN = 3


@handles(ApiKey.CREATE_PARTITIONS, checks=(ALTER_TOPIC,))
@may_pause
def handle_create_partitions(
    context: RequestContext, request: "messages.CreatePartitionsRequest", cluster: Cluster
) -> "messages.CreatePartitionsResponse | PendingResponse":
    """Kafka's `ControllerApis.createPartitions`."""
    version = context.api_version
    counts = Counter(topic.name for topic in paced(request.topics))
    refusals = _refuse_names(context, cluster, counts)
    refusal = _refuse_all(context, request, cluster, refusals)
    if refusal is not None:
        return messages.CreatePartitionsResponse(
            version=version,
            throttle_time_ms=0,
            results=[_result(version, topic.name, refusal) for topic in paced(request.topics)],
        )
    quota = MutationQuota(cluster, context, is_strict=version >= STRICT_QUOTA_VERSION_MIN)
    is_immediate = cluster.controller_queue.is_immediate
    results: dict[str, _Result] = {}
    queued = []
    topics = {topic.name: topic for topic in paced(request.topics)}
    for name, topic in paced(topics.items()):
        outcome = refusals.get(name) or _check(cluster, topic)
        refusal = outcome if isinstance(outcome, Refusal) else None
        if not isinstance(outcome, Refusal) and not request.validate_only:
            refusal = quota.charge(len(outcome.assignments))
            if refusal is None and is_immediate:
                refusal = _add(cluster, topic, outcome)
            elif refusal is None:
                refusal = TIMED_OUT
                queued.append(topic)
        results[name] = _result(version, name, refusal)

    def respond(now_ms: int) -> "messages.CreatePartitionsResponse":
        quota.settle(now_ms)
        return messages.CreatePartitionsResponse(
            version=version,
            throttle_time_ms=context.throttle_time_ms,
            results=list(results.values()),
        )

    def grow_queued(now_ms: int) -> "messages.CreatePartitionsResponse":
        for topic in paced(queued):
            results[topic.name] = _result(version, topic.name, _grow(cluster, topic))
        return respond(now_ms)

    if not queued:
        return respond(context.now_ms)
    return cluster.controller_queue.submit_request(
        "createPartitions",
        context.now_ms,
        request.timeout_ms,
        mutation_count=lambda: sum(_added_count(cluster, topic) for topic in paced(queued)),
        finish=grow_queued,
        timed_out=respond,
    )


@may_pause
def _refuse_names(
    context: RequestContext, cluster: Cluster, counts: Mapping[str, int]
) -> dict[str, Refusal]:
    """Return the errors of topics that Kafka's controller does not look at."""
    refusals = {}
    for name, count in paced(counts.items()):
        if count > 1:
            refusals[name] = Refusal(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        elif not is_allowed(context, cluster, ALTER_TOPIC, name):
            refusals[name] = Refusal(ALTER_TOPIC.error_code, None)
    return refusals


@may_pause
def _refuse_all(
    context: RequestContext,
    request: "messages.CreatePartitionsRequest",
    cluster: Cluster,
    refusals: Mapping[str, Refusal],
) -> Refusal | None:
    """Return the error of a request that the controller refuses as a whole."""
    topics = [topic for topic in paced(request.topics) if topic.name not in refusals]
    if is_over(request.timeout_ms) and topics:
        return TIMED_OUT
    if release_of(cluster.config.for_broker(context.broker_id)) < BOUNDS_REQUESTS_SINCE:
        return None
    return check_total(cluster, ((topic.name, topic.count) for topic in topics))


class _Growth(NamedTuple):
    topic: Topic
    assignments: Assignments


def _check(
    cluster: Cluster, requested: "messages.CreatePartitionsRequest.CreatePartitionsTopic"
) -> _Growth | Refusal:
    topic = cluster.topics.get(requested.name)
    if topic is None:
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
    chosen = None
    if requested.assignments is not None:
        chosen = [tuple(assignment.broker_ids) for assignment in requested.assignments]
    assignments = check_new_partitions(cluster, topic, requested.count, chosen)
    return assignments if isinstance(assignments, Refusal) else _Growth(topic, assignments)


@may_pause
def _grow(
    cluster: Cluster, requested: "messages.CreatePartitionsRequest.CreatePartitionsTopic"
) -> Refusal | None:
    growth = _check(cluster, requested)
    return growth if isinstance(growth, Refusal) else _add(cluster, requested, growth)


@may_pause
def _add(
    cluster: Cluster,
    requested: "messages.CreatePartitionsRequest.CreatePartitionsTopic",
    growth: _Growth,
) -> Refusal | None:
    """Add checked partitions; many are made with pauses, and are checked again after them."""
    topic, assignments = growth
    made = make_in_turns(
        topic.name, len(topic.partitions), assignments, cluster.alive_broker_ids(), cluster.config
    )
    if made is not None:
        checked_again = _check(cluster, requested)
        if isinstance(checked_again, Refusal):
            return checked_again
        topic, assignments = checked_again
    cluster.add_partitions(topic, assignments, made)
    return None


def _added_count(
    cluster: Cluster, requested: "messages.CreatePartitionsRequest.CreatePartitionsTopic"
) -> int:
    growth = _check(cluster, requested)
    return 0 if isinstance(growth, Refusal) else len(growth.assignments)


def _result(version: int, name: str, refusal: Refusal | None) -> _Result:
    return _Result(
        version=version,
        name=name,
        error_code=refusal.error_code if refusal else ErrorCode.NONE,
        error_message=refusal.error_message if refusal else None,
    )
