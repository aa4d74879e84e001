"""DeleteTopics: v1-6.

Behaviour:
    - Deletes topics by name, from v6 also by id. Results come in request order, with name and id.
    - A missing topic gets UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID. A topic that is named
      twice, by both name and id, or by neither, gets INVALID_REQUEST.
    - With an authorizer the client needs DELETE on the cluster, or DELETE on the topic, and
      DESCRIBE if it names the topic (TOPIC_AUTHORIZATION_FAILED). Without DESCRIBE the result of a
      missing topic is the same, and that of an id has no name.
    - A deletable topic charges the controller_mutation_rate for its partitions (KIP-599). While the
      quota is exhausted it gets THROTTLING_QUOTA_EXCEEDED from v5 on; before v5 it is deleted and
      the client is throttled.
    - With delete.topic.enable=false nothing is deleted: TOPIC_DELETION_DISABLED, before v3
      INVALID_REQUEST.
    - Records, producer state and committed offsets are deleted with the topic. Fetches that wait
      for its records complete at once.
    - With controller.mutation.time.us the deletable topics wait in the controller's queue, and the
      response waits for them. After timeout_ms it says REQUEST_TIMED_OUT for them; they are still
      deleted later.
    - With a timeout_ms that is not positive every topic gets REQUEST_TIMED_OUT and nothing is
      deleted, unless no topic of the request could be looked up.

Gaps:
    - Kafka shuffles the results; here they are the same in each run.
"""

from broker.administration.deletion import (
    NO_TOPIC_ID,
    FoundTopic,
    RequestedTopic,
    check_enabled,
    find_topics,
    needs_lookup,
)
from broker.authorization.checks import DELETE_CLUSTER, DELETE_TOPIC, DESCRIBE_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.controller_queue import TIMED_OUT, is_over
from broker.cluster.topics import Topic
from broker.errors import UNKNOWN_PARTITION, UNKNOWN_TOPIC_ID, Refusal
from broker.pending_response import PendingResponse
from broker.request.context import RequestContext
from broker.request.mutation_quota import MutationQuota
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced, paced_elements

_Result = messages.DeleteTopicsResponse.DeletableTopicResult
STRICT_QUOTA_VERSION_MIN = 5
TOPIC_ID_VERSION_MIN = 6


@handles(ApiKey.DELETE_TOPICS, checks=(DELETE_CLUSTER, DESCRIBE_TOPIC, DELETE_TOPIC))
@may_pause
def handle_delete_topics(
    context: RequestContext, request: "messages.DeleteTopicsRequest", cluster: Cluster
) -> "messages.DeleteTopicsResponse | PendingResponse":
    """Kafka's `ControllerApis.deleteTopics`."""
    version = context.api_version
    requested = _requested_topics(version, request)
    disabled = check_enabled(cluster, version)
    if disabled is not None:
        found = [FoundTopic(topic.name, topic.topic_id, disabled) for topic in paced(requested)]
    elif is_over(request.timeout_ms) and needs_lookup(requested):
        found = [FoundTopic(topic.name, topic.topic_id, TIMED_OUT) for topic in paced(requested)]
    else:
        found = find_topics(context, cluster, requested)
    quota = MutationQuota(cluster, context, is_strict=version >= STRICT_QUOTA_VERSION_MIN)
    is_immediate = cluster.controller_queue.is_immediate
    results = []
    queued: list[tuple[int, Topic]] = []
    for index, item in enumerate(paced(found)):
        if isinstance(item.outcome, Refusal):
            refusal: Refusal | None = item.outcome
        else:
            refusal = _charge(cluster, quota, item.outcome)
            if refusal is None and is_immediate:
                cluster.delete_topic(item.outcome, context.now_ms)
            elif refusal is None:
                refusal = TIMED_OUT
                queued.append((index, item.outcome))
        results.append(_result(version, item, refusal))

    def respond(now_ms: int) -> "messages.DeleteTopicsResponse":
        quota.settle(now_ms)
        return messages.DeleteTopicsResponse(
            version=version, throttle_time_ms=context.throttle_time_ms, responses=results
        )

    def delete_queued(now_ms: int) -> "messages.DeleteTopicsResponse":
        names = {topic.name for topic in paced_elements(requested)}
        for index, topic in paced(queued):
            item = found[index]
            if _is_there(cluster, topic):
                cluster.delete_topic(topic, now_ms)
                results[index] = _result(version, item, None)
            else:
                refusal = UNKNOWN_PARTITION if item.name in names else UNKNOWN_TOPIC_ID
                results[index] = _result(version, item, refusal)
        return respond(now_ms)

    if not queued:
        return respond(context.now_ms)
    return cluster.controller_queue.submit_request(
        "deleteTopics",
        context.now_ms,
        request.timeout_ms,
        mutation_count=lambda: sum(
            len(topic.partitions)
            for _, topic in paced_elements(queued)
            if _is_there(cluster, topic)
        ),
        finish=delete_queued,
        timed_out=respond,
    )


def _charge(cluster: Cluster, quota: MutationQuota, topic: Topic) -> Refusal | None:
    if not _is_there(cluster, topic):
        return UNKNOWN_PARTITION  # deleted by another request during a pause
    return quota.charge(len(topic.partitions))


def _is_there(cluster: Cluster, topic: Topic) -> bool:
    return cluster.topics.get_by_id(topic.topic_id) is topic


def _result(version: int, found: FoundTopic, refusal: Refusal | None) -> _Result:
    return _Result(
        version=version,
        name=found.name,
        topic_id=found.topic_id,
        error_code=refusal.error_code if refusal else ErrorCode.NONE,
        error_message=refusal.error_message if refusal else None,
    )


@may_pause
def _requested_topics(
    version: int, request: "messages.DeleteTopicsRequest"
) -> list[RequestedTopic]:
    if version < TOPIC_ID_VERSION_MIN:
        return [RequestedTopic(name) for name in paced(request.topic_names)]
    return [
        RequestedTopic(topic.name, topic.topic_id or NO_TOPIC_ID) for topic in paced(request.topics)
    ]
