"""DescribeProducers: v0.

Behaviour:
    - Lists the producers of a partition in ascending order of ids: id, epoch, last sequence number,
      and largest timestamp of the last batch; of transactional producers also the epoch of the
      coordinator that wrote the last marker, and the first offset of an open transaction.
    - Every replica serves the request, not the leader alone, as in Kafka. A broker without the
      partition says NOT_LEADER_OR_FOLLOWER; a missing partition gets UNKNOWN_TOPIC_OR_PARTITION.
      Partitions of an invalid topic name get INVALID_TOPIC_EXCEPTION, those of a topic that the
      client may not read TOPIC_AUTHORIZATION_FAILED.
    - Topics and partitions come in request order.

Gaps:
    - Followers know at once what the leader knows: replicas share the log.
"""

from broker.authorization.checks import READ_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition, topic_name_problem
from broker.errors import UNKNOWN_PARTITION, Refusal
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced, paced_elements

_Topic = messages.DescribeProducersResponse.TopicResponse
_Partition = _Topic.PartitionResponse
_Producer = _Partition.ProducerState


@handles(ApiKey.DESCRIBE_PRODUCERS, checks=(READ_TOPIC,))
@may_pause
def handle_describe_producers(
    context: RequestContext, request: "messages.DescribeProducersRequest", cluster: Cluster
) -> "messages.DescribeProducersResponse":
    """Kafka's `KafkaApis.handleDescribeProducersRequest` and `Partition.activeProducerState`."""
    version = context.api_version
    return messages.DescribeProducersResponse(
        version=version,
        throttle_time_ms=0,
        topics=[_describe_topic(context, cluster, topic) for topic in paced(request.topics)],
    )


@may_pause
def _describe_topic(
    context: RequestContext,
    cluster: Cluster,
    request: "messages.DescribeProducersRequest.TopicRequest",
) -> _Topic:
    # One message for all partitions: it has the name, which may be long.
    refusal = _topic_refusal(context, cluster, request.name)
    return _Topic(
        version=context.api_version,
        name=request.name,
        partitions=[
            _describe(context, cluster, request.name, refusal, index)
            for index in paced(request.partition_indexes)
        ],
    )


def _topic_refusal(context: RequestContext, cluster: Cluster, topic_name: str) -> Refusal | None:
    problem = topic_name_problem(topic_name)
    if problem is not None:
        return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    if not is_allowed(context, cluster, READ_TOPIC, topic_name):
        return READ_TOPIC.refusal
    return UNKNOWN_PARTITION if cluster.topics.get(topic_name) is None else None


@may_pause
def _describe(
    context: RequestContext,
    cluster: Cluster,
    topic_name: str,
    refusal: Refusal | None,
    partition_index: int,
) -> _Partition:
    topic = cluster.topics.get(topic_name)
    partition = None if topic is None else topic.partition(partition_index)
    error_message = None
    if refusal is not None:
        error_code, error_message = refusal.error_code, refusal.message
    elif partition is None:
        error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif context.broker_id not in partition.replicas:
        error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    else:
        error_code = ErrorCode.NONE
    return _Partition(
        version=context.api_version,
        partition_index=partition_index,
        error_code=error_code,
        error_message=error_message,
        active_producers=(
            _active_producers(partition, context.api_version)
            if partition is not None and error_code == ErrorCode.NONE
            else []
        ),
    )


@may_pause
def _active_producers(partition: Partition, version: int) -> list[_Producer]:
    return [
        _Producer(
            version=version,
            producer_id=row.producer_id,
            producer_epoch=row.producer_epoch,
            last_sequence=row.last_sequence,
            last_timestamp=row.last_timestamp,
            coordinator_epoch=row.coordinator_epoch,
            current_txn_start_offset=row.current_txn_start_offset,
        )
        for row in paced_elements(partition.producers.describe())
    ]
