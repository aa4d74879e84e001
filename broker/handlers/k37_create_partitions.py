"""CreatePartitions: v0-3.

Behaviour:
    Each topic is answered by itself, in request order; a name twice in a request gets one
    INVALID_REQUEST. `count` is the number of partitions afterwards and has to be larger than now
    (INVALID_PARTITIONS). New partitions go on with the round robin of the old ones, or on the
    brokers that the client names, one list for each (INVALID_REPLICA_ASSIGNMENT), as many as the
    old ones have. A topic that isn't there gets UNKNOWN_TOPIC_OR_PARTITION.
    A topic that is fine costs its new partitions of the controller_mutation_rate (KIP-599): from v3
    on it is refused with THROTTLING_QUOTA_EXCEEDED while that is overdrawn, before v3 the client is
    throttled instead. With validate_only nothing is charged and nothing refused for it.
    More than 10 000 new partitions in a topic get POLICY_VIOLATION. timeout_ms counts for nothing.

Gaps:
    Kafka's bound on partitions counts all topics of the request together.
"""

from collections import Counter
from typing import TYPE_CHECKING, Any

from broker.config.alteration import Refusal
from broker.context import RequestContext
from broker.registry import handles
from broker.topic_admin.mutation_quota import MutationQuota
from broker.topic_admin.new_partitions import check_new_partitions
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.cluster import Cluster

_Result = messages.CreatePartitionsResponse.CreatePartitionsTopicResult
STRICT_QUOTA_VERSION_MIN = 3


@handles(ApiKey.CREATE_PARTITIONS, versions=(0, 3))
def handle_create_partitions(context: RequestContext, request: Any, cluster: "Cluster") -> Any:
    """Kafka's `ControllerApis.createPartitions`."""
    version = context.api_version
    counts = Counter(topic.name for topic in request.topics)
    quota = MutationQuota(cluster, context, is_strict=version >= STRICT_QUOTA_VERSION_MIN)
    results = []
    for name, topic in {topic.name: topic for topic in request.topics}.items():
        if counts[name] > 1:
            refusal: Refusal | None = Refusal(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        else:
            refusal = _grow(cluster, topic, None if request.validate_only else quota)
        results.append(
            _Result(
                version=version,
                name=name,
                error_code=refusal.error_code if refusal else ErrorCode.NONE,
                error_message=refusal.error_message if refusal else None,
            )
        )
    quota.settle()
    return messages.CreatePartitionsResponse(
        version=version, throttle_time_ms=context.throttle_time_ms, results=results
    )


def _grow(cluster: "Cluster", wanted: Any, quota: MutationQuota | None) -> Refusal | None:
    """Grow a topic at the cost of a quota; without one, only see whether it could."""
    topic = cluster.topics.get(wanted.name)
    if topic is None:
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
    chosen = None
    if wanted.assignments is not None:
        chosen = [tuple(assignment.broker_ids) for assignment in wanted.assignments]
    assignments = check_new_partitions(cluster, topic, wanted.count, chosen)
    if isinstance(assignments, Refusal):
        return assignments
    if quota is None:
        return None
    refusal = quota.charge(len(assignments))
    if refusal is None:
        cluster.add_partitions(topic, assignments)
    return refusal
