"""DeleteTopics: v1-6.

Behaviour:
    By name, and from v6 also by id. Results come in request order and tell both name and id of what
    was deleted. A topic that isn't there gets UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID; one
    that is named twice, by name and id together, or not at all, gets INVALID_REQUEST.
    A topic that may go costs its partitions of the controller_mutation_rate (KIP-599): from v5 on
    it stays, with THROTTLING_QUOTA_EXCEEDED, while that is overdrawn; before v5 the client is
    throttled instead.
    With delete.topic.enable=false nothing is deleted: TOPIC_DELETION_DISABLED, before v3
    INVALID_REQUEST. Records, producers' state and committed offsets go with the topic; whoever
    waits for its records hears at once. timeout_ms counts for nothing.

Gaps:
    Kafka shuffles the results.
"""

from typing import TYPE_CHECKING, Any

from broker.config.alteration import Refusal
from broker.context import RequestContext
from broker.registry import handles
from broker.topic_admin.deletion import NO_TOPIC_ID, Found, Wanted, check_enabled, find_topics
from broker.topic_admin.mutation_quota import MutationQuota
from broker.topics import Topic
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.cluster import Cluster

_Result = messages.DeleteTopicsResponse.DeletableTopicResult
STRICT_QUOTA_VERSION_MIN = 5
TOPIC_ID_VERSION_MIN = 6


@handles(ApiKey.DELETE_TOPICS, versions=(1, 6))
def handle_delete_topics(context: RequestContext, request: Any, cluster: "Cluster") -> Any:
    """Kafka's `ControllerApis.deleteTopics`."""
    version = context.api_version
    wanted = _wanted(version, request)
    disabled = check_enabled(cluster, version)
    if disabled is not None:
        found = [Found(each.name, each.topic_id, disabled) for each in wanted]
    else:
        found = find_topics(cluster, wanted)
    quota = MutationQuota(cluster, context, is_strict=version >= STRICT_QUOTA_VERSION_MIN)
    results = []
    for each in found:
        if isinstance(each.outcome, Refusal):
            refusal: Refusal | None = each.outcome
        else:
            refusal = _delete(context, each.outcome, cluster, quota)
        results.append(
            _Result(
                version=version,
                name=each.name,
                topic_id=each.topic_id,
                error_code=refusal.error_code if refusal else ErrorCode.NONE,
                error_message=refusal.error_message if refusal else None,
            )
        )
    quota.settle()
    return messages.DeleteTopicsResponse(
        version=version, throttle_time_ms=context.throttle_time_ms, responses=results
    )


def _delete(
    context: RequestContext, topic: Topic, cluster: "Cluster", quota: MutationQuota
) -> Refusal | None:
    refusal = quota.charge(len(topic.partitions))
    if refusal is None:
        cluster.delete_topic(topic, context.now_ms)
    return refusal


def _wanted(version: int, request: Any) -> list[Wanted]:
    if version < TOPIC_ID_VERSION_MIN:
        return [Wanted(name) for name in request.topic_names]
    return [Wanted(topic.name, topic.topic_id or NO_TOPIC_ID) for topic in request.topics]
