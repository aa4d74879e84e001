"""WriteTxnMarkers: v1.

Behaviour:
    - Writes markers that end the transactions of producer ids, whatever their coordinator knows.
      Kafka's brokers send it, and tools that abort a hanging transaction (`kafka-transactions.sh
      abort`).
    - In a partition of `__consumer_offsets` it commits or drops the pending offsets of the
      producer.
    - A negative producer id or epoch gets UNKNOWN_SERVER_ERROR for the whole request.
    - Errors of a partition: UNKNOWN_TOPIC_OR_PARTITION (not on this broker),
      NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, INVALID_PRODUCER_EPOCH (older than the
      producer's), TRANSACTION_COORDINATOR_FENCED (a coordinator epoch older than that of the last
      marker).

Gaps:
    - Version 2, which Kafka 4.1 lacks, is not served.
"""

from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.transactions import Marker, append_marker
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

_MarkerResult = messages.WriteTxnMarkersResponse.WritableTxnMarkerResult
_TopicResult = _MarkerResult.WritableTxnMarkerTopicResult
_PartitionResult = _TopicResult.WritableTxnMarkerPartitionResult


@handles(ApiKey.WRITE_TXN_MARKERS, versions=(1, 1))
def handle_write_txn_markers(context: RequestContext, request: Any, cluster: Cluster) -> Any:
    """Kafka's `KafkaApis.handleWriteTxnMarkersRequest`."""
    version = context.api_version
    is_invalid = any(
        marker.producer_id < 0 or marker.producer_epoch < 0 for marker in request.markers
    )
    return messages.WriteTxnMarkersResponse(
        version=version,
        markers=[
            _MarkerResult(
                version=version,
                producer_id=marker.producer_id,
                topics=[
                    _TopicResult(
                        version=version,
                        name=topic.name,
                        partitions=[
                            _PartitionResult(
                                version=version,
                                partition_index=index,
                                error_code=ErrorCode.UNKNOWN_SERVER_ERROR
                                if is_invalid
                                else _write(
                                    context,
                                    cluster,
                                    topic.name,
                                    index,
                                    Marker(
                                        marker.producer_id,
                                        marker.producer_epoch,
                                        marker.coordinator_epoch,
                                        marker.transaction_result,
                                    ),
                                ),
                            )
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ],
    )


def _write(
    context: RequestContext, cluster: Cluster, topic_name: str, index: int, marker: Marker
) -> ErrorCode:
    topic = cluster.topics.get(topic_name)
    partition = None if topic is None else topic.partition(index)
    if topic is None or partition is None or context.broker_id not in partition.replicas:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if partition.leader_id != context.broker_id:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return append_marker(cluster, topic, partition, marker, context.now_ms)
