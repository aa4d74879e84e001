"""WriteTxnMarkers: v1-2.

Behaviour:
    - Writes markers that end the transactions of producer ids, whatever their coordinator knows.
      Kafka's brokers send it, and tools that abort a hanging transaction (`kafka-transactions.sh
      abort`).
    - In a partition of `__consumer_offsets` it commits or drops the pending offsets of the
      producer.
    - The response has each producer id once, with the partitions of all its markers; a marker
      without partitions is left out.
    - A marker with the producer id -1 or the epoch -1 cannot be written. If it names a partition of
      this broker, all partitions get UNKNOWN_SERVER_ERROR, and later markers are not written. For a
      partition of `__consumer_offsets` it is the error of that partition only.
    - All partitions get CLUSTER_AUTHORIZATION_FAILED without permission to alter the cluster, or
      for cluster actions.
    - Errors of a partition: UNKNOWN_TOPIC_OR_PARTITION (not on this broker),
      NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, INVALID_PRODUCER_EPOCH (older than the
      producer's), TRANSACTION_COORDINATOR_FENCED (a coordinator epoch older than that of the last
      marker).
    - v2 has the version of the transaction (KIP-1228). From 2 on a marker with the epoch of the
      open transaction gets INVALID_PRODUCER_EPOCH, too: the end of a transaction has a newer one.
      With -1 it gets UNKNOWN_SERVER_ERROR.
"""

from collections.abc import Mapping

from broker.authorization.checks import ALTER_CLUSTER, CLUSTER_ACTION_CLUSTER
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition, Topic
from broker.cluster.transactions import OFFSETS_TOPIC, append_marker
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from broker.transactions.marker import Marker
from broker.transactions.transaction import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

UNKNOWN_TRANSACTION_VERSION = -1
"""Kafka's `RecordBatch.TV_UNKNOWN`, which is for replicas only."""

_MarkerResult = messages.WriteTxnMarkersResponse.WritableTxnMarkerResult
_TopicResult = _MarkerResult.WritableTxnMarkerTopicResult
_PartitionResult = _TopicResult.WritableTxnMarkerPartitionResult


@handles(ApiKey.WRITE_TXN_MARKERS, checks=(ALTER_CLUSTER, CLUSTER_ACTION_CLUSTER))
@may_pause
def handle_write_txn_markers(
    context: RequestContext, request: "messages.WriteTxnMarkersRequest", cluster: Cluster
) -> "messages.WriteTxnMarkersResponse":
    """Kafka's `KafkaApis.handleWriteTxnMarkersRequest`."""
    may_write = is_allowed(context, cluster, ALTER_CLUSTER, is_noted=False)
    if not may_write and not is_allowed(context, cluster, CLUSTER_ACTION_CLUSTER):
        return _response(context.api_version, _failed(request, CLUSTER_ACTION_CLUSTER.error_code))
    results: dict[int, dict[TopicPartition, ErrorCode]] = {}
    for requested in paced(request.markers):
        marker = Marker(
            requested.producer_id,
            requested.producer_epoch,
            requested.coordinator_epoch,
            requested.transaction_result,
            requested.transaction_version,
        )
        is_writable = marker.producer_id != NO_PRODUCER_ID and (
            marker.producer_epoch != NO_PRODUCER_EPOCH
        )
        partitions = _partitions(requested)
        if not is_writable and any(
            _needs_append(context, cluster, named) for named in paced(partitions)
        ):
            return _response(context.api_version, _failed(request, ErrorCode.UNKNOWN_SERVER_ERROR))
        for partition in paced(partitions):
            error_code = _write(context, cluster, partition, marker, is_writable=is_writable)
            results.setdefault(marker.producer_id, {})[partition] = error_code
    return _response(context.api_version, results)


@may_pause
def _partitions(
    marker: "messages.WriteTxnMarkersRequest.WritableTxnMarker",
) -> list[TopicPartition]:
    """Return the partitions of a marker, each once."""
    return list(
        dict.fromkeys(
            (topic.name, index)
            for topic in paced(marker.topics)
            for index in paced(topic.partition_indexes)
        )
    )


def _find(
    context: RequestContext, cluster: Cluster, partition: TopicPartition
) -> tuple[Topic, Partition] | None:
    """Return a partition of which this broker has a replica."""
    name, index = partition
    topic = cluster.topics.get(name)
    found = None if topic is None else topic.partition(index)
    if topic is None or found is None or context.broker_id not in found.replicas:
        return None
    return topic, found


def _needs_append(context: RequestContext, cluster: Cluster, partition: TopicPartition) -> bool:
    return partition[0] != OFFSETS_TOPIC and _find(context, cluster, partition) is not None


@may_pause
def _write(
    context: RequestContext,
    cluster: Cluster,
    topic_partition: TopicPartition,
    marker: Marker,
    *,
    is_writable: bool,
) -> ErrorCode:
    found = _find(context, cluster, topic_partition)
    if found is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topic, partition = found
    if partition.leader_id != context.broker_id:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if not is_writable or marker.transaction_version == UNKNOWN_TRANSACTION_VERSION:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return append_marker(cluster, topic, partition, marker, context.now_ms)


@may_pause
def _failed(
    request: "messages.WriteTxnMarkersRequest", error_code: ErrorCode
) -> dict[int, dict[TopicPartition, ErrorCode]]:
    """Return an error for all partitions; of markers with the same producer id the last counts."""
    return {
        marker.producer_id: dict.fromkeys(_partitions(marker), error_code)
        for marker in paced(request.markers)
    }


@may_pause
def _response(
    version: int, results: Mapping[int, Mapping[TopicPartition, ErrorCode]]
) -> messages.WriteTxnMarkersResponse:
    return messages.WriteTxnMarkersResponse(
        version=version,
        markers=[
            _MarkerResult(version=version, producer_id=producer_id, topics=_topics(version, errors))
            for producer_id, errors in paced(results.items())
        ],
    )


@may_pause
def _topics(version: int, errors: Mapping[TopicPartition, ErrorCode]) -> list[_TopicResult]:
    by_topic: dict[str, list[_PartitionResult]] = {}
    for (name, index), error_code in paced(errors.items()):
        by_topic.setdefault(name, []).append(
            _PartitionResult(version=version, partition_index=index, error_code=error_code)
        )
    return [
        _TopicResult(version=version, name=name, partitions=partitions)
        for name, partitions in paced(by_topic.items())
    ]
