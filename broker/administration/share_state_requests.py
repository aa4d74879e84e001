"""The requests of leaders to share coordinators: each partition succeeds or fails alone.

Source: Kafka's `ShareCoordinatorService`.
"""

from collections.abc import Callable
from typing import Any

from broker.administration.deletion import NO_TOPIC_ID
from broker.cluster.cluster import Cluster
from broker.errors import NOT_COORDINATOR_MESSAGE, Refusal
from broker.request.context import RequestContext
from broker.share_groups.share_state import SharePartitionKey
from protocol.errors import ErrorCode

HandlePartition = Callable[[SharePartitionKey, Any], Any]
"""`handle(key, partition)` returns the result of a partition of the request."""


def results_by_topic(request: Any, result_class: Any, handle: HandlePartition) -> list[Any]:
    """Return the results of all partitions of a request.

    There are none if the request has no group or no topics, or a topic without partitions.
    """
    if not request.group_id.strip() or not all(topic.partitions for topic in request.topics):
        return []
    return [
        result_class(
            topic_id=topic.topic_id,
            partitions=[handle(_key(request, topic, entry), entry) for entry in topic.partitions],
        )
        for topic in request.topics
    ]


def _key(request: Any, topic: Any, entry: Any) -> SharePartitionKey:
    # The codec decodes an id of zeros as None.
    topic_id = topic.topic_id or NO_TOPIC_ID
    return SharePartitionKey(request.group_id, topic_id, entry.partition)


def coordinator_refusal(
    context: RequestContext, cluster: Cluster, key: SharePartitionKey, operation: str
) -> Refusal | None:
    """Refuse a share partition that another broker coordinates; `operation` is for the message."""
    partition = cluster.share.log.partition(key)
    if partition is not None and partition.leader_id == context.broker_id:
        return None
    message = f"Unable to {operation}: {NOT_COORDINATOR_MESSAGE}"
    return Refusal(ErrorCode.NOT_COORDINATOR, message)


def partition_result(result_class: Any, key: SharePartitionKey, refusal: Refusal | None) -> Any:
    """Return the result of a partition that has nothing but its error."""
    return result_class(
        partition=key.partition_index,
        error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
        error_message=None if refusal is None else refusal.error_message,
    )
