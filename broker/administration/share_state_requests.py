"""The requests of leaders to share coordinators: each partition succeeds or fails alone.

Source: Kafka's `ShareCoordinatorService`.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from broker.administration.deletion import NO_TOPIC_ID
from broker.authorization.checks import CLUSTER_ACTION_CLUSTER
from broker.cluster.cluster import Cluster
from broker.errors import NOT_COORDINATOR_MESSAGE, Refusal
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.share_groups.share_state import SharePartitionKey
from protocol.errors import ErrorCode
from protocol.hash_order import in_hash_order, int_hash, uuid_hash
from protocol.pacing import may_pause, paced

ResultT = TypeVar("ResultT")
TopicT = TypeVar("TopicT")
HandlePartition = Callable[[SharePartitionKey, Any], Any]
"""`handle(key, partition)` returns the result of a partition of the request."""


@may_pause
def results_by_topic(
    context: RequestContext,
    cluster: Cluster,
    request: Any,
    topic_class: Callable[..., TopicT],
    result_class: Callable[..., ResultT],
    handle: HandlePartition,
    *,
    skips_empty_topics: bool = False,
) -> list[TopicT]:
    """Return the results of all partitions of a request, in the order of Kafka's hash maps.

    There are none if the request has no group or no topics, or a topic without partitions, unless
    `skips_empty_topics`. A partition that occurs twice is handled twice and has the last result.
    Brokers send these requests: a client without permission for cluster actions is refused.
    """
    if not is_allowed(context, cluster, CLUSTER_ACTION_CLUSTER):
        denial = CLUSTER_ACTION_CLUSTER.refusal
        return [
            topic_class(
                topic_id=topic.topic_id or NO_TOPIC_ID,
                partitions=[
                    _result(result_class, entry.partition, denial)
                    for entry in paced(topic.partitions)
                ],
            )
            for topic in paced(request.topics)
        ]
    has_empty_topic = not all(topic.partitions for topic in paced(request.topics))
    if not request.group_id.strip() or (has_empty_topic and not skips_empty_topics):
        return []
    results: dict[Any, dict[int, Any]] = {}
    for topic in paced(request.topics):
        topic_id = topic.topic_id or NO_TOPIC_ID  # the codec decodes an id of zeros as None
        for entry in paced(topic.partitions):
            key = SharePartitionKey(request.group_id, topic_id, entry.partition)
            results.setdefault(topic_id, {})[entry.partition] = handle(key, entry)
    return [
        topic_class(
            topic_id=topic_id,
            partitions=[
                results[topic_id][index]
                for index in paced(in_hash_order(results[topic_id], int_hash))
            ],
        )
        for topic_id in paced(in_hash_order(results, uuid_hash))
    ]


def coordinator_refusal(
    context: RequestContext, cluster: Cluster, key: SharePartitionKey, operation: str
) -> Refusal | None:
    """Refuse a share partition that another broker coordinates; `operation` is for the message."""
    partition = cluster.share.log.partition(key)
    if partition is not None and partition.leader_id == context.broker_id:
        return None
    message = f"Unable to {operation}: {NOT_COORDINATOR_MESSAGE}"
    return Refusal(ErrorCode.NOT_COORDINATOR, message)


def partition_result(
    result_class: Callable[..., ResultT], key: SharePartitionKey, refusal: Refusal | None
) -> ResultT:
    """Return the result of a partition that has nothing but its error."""
    return _result(result_class, key.partition_index, refusal)


def _result(
    result_class: Callable[..., ResultT], partition_index: int, refusal: Refusal | None
) -> ResultT:
    return result_class(
        partition=partition_index,
        error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
        error_message=None if refusal is None else refusal.error_message,
    )
