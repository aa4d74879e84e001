"""OffsetForLeaderEpoch: v2-4.

Behaviour:
    - Returns the largest leader epoch in the log up to the requested one, and its end offset. The
      current epoch ends at the log end offset. A future epoch gives -1 and -1.
    - Leader and current epoch are checked as for Fetch.
    - Consumers and debugging clients get the same response, since every appended record is
      committed.
    - Without permission for cluster actions, topics that the client may not describe come last
      (TOPIC_AUTHORIZATION_FAILED).
"""

from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from broker.administration.epoch_end import UNDEFINED, epoch_end_offset
from broker.authorization.checks import CLUSTER_ACTION_CLUSTER_BY_TOPIC, DESCRIBE_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.leader_epoch import leader_epoch_error
from broker.request.authorization import is_allowed, partition_by_authorized
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

if TYPE_CHECKING:
    from collections.abc import Sequence

_Topic: TypeAlias = "messages.OffsetForLeaderEpochRequest.OffsetForLeaderTopic"
_TopicResult = messages.OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
_PartitionResult = _TopicResult.EpochEndOffset


@handles(ApiKey.OFFSET_FOR_LEADER_EPOCH, checks=(CLUSTER_ACTION_CLUSTER_BY_TOPIC, DESCRIBE_TOPIC))
@may_pause
def handle_offset_for_leader_epoch(
    context: RequestContext, request: "messages.OffsetForLeaderEpochRequest", cluster: Cluster
) -> "messages.OffsetForLeaderEpochResponse":
    """Kafka's `ReplicaManager.lastOffsetForLeaderEpoch`."""
    version = context.api_version
    allowed: Sequence[_Topic] = request.topics
    denied: Sequence[_Topic] = ()
    if not is_allowed(context, cluster, CLUSTER_ACTION_CLUSTER_BY_TOPIC, is_noted=False):
        allowed, denied = partition_by_authorized(
            context, cluster, DESCRIBE_TOPIC, allowed, attrgetter("topic")
        )
    topics = []
    for topic in paced(allowed):
        results = []
        for part in paced(topic.partitions):
            error_code, (leader_epoch, end_offset) = _look_up(context, topic.topic, part, cluster)
            results.append(
                _PartitionResult(
                    version=version,
                    error_code=error_code,
                    partition=part.partition,
                    leader_epoch=leader_epoch,
                    end_offset=end_offset,
                )
            )
        topics.append(_TopicResult(version=version, topic=topic.topic, partitions=results))
    for topic in paced(denied):
        results = [
            _PartitionResult(
                version=version, partition=part.partition, error_code=DESCRIBE_TOPIC.error_code
            )
            for part in paced(topic.partitions)
        ]
        topics.append(_TopicResult(version=version, topic=topic.topic, partitions=results))
    return messages.OffsetForLeaderEpochResponse(version=version, throttle_time_ms=0, topics=topics)


def _look_up(
    context: RequestContext,
    topic_name: str,
    request: "messages.OffsetForLeaderEpochRequest.OffsetForLeaderTopic.OffsetForLeaderPartition",
    cluster: Cluster,
) -> tuple[ErrorCode, tuple[int, int]]:
    topic = cluster.topics.get(topic_name)
    partition = None if topic is None else topic.partition(request.partition)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UNDEFINED
    error_code = leader_epoch_error(partition, context.broker_id, request.current_leader_epoch)
    if error_code != ErrorCode.NONE:
        return error_code, UNDEFINED
    return ErrorCode.NONE, epoch_end_offset(partition, request.leader_epoch)
