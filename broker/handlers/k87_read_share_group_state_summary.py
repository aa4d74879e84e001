"""ReadShareGroupStateSummary: v0-1.

Behaviour:
    - Returns start offset, delivery complete count and epochs of share partitions; offset and count
      are -1 without a state.
    - Each partition has its own error: NOT_COORDINATOR (another broker leads its partition of
      `__share_group_state`), INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION, FENCED_LEADER_EPOCH,
      FENCED_STATE_EPOCH, COORDINATOR_NOT_AVAILABLE. Without permission for cluster actions it is
      CLUSTER_AUTHORIZATION_FAILED. A request without a group, or with a topic without partitions,
      has no results.
"""

from broker.administration.share_state_requests import (
    coordinator_refusal,
    partition_result,
    results_by_topic,
)
from broker.authorization.checks import CLUSTER_ACTION_CLUSTER
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.routes import handles
from broker.share_groups.share_state import SharePartitionKey
from broker.share_groups.state_batches import NO_OFFSET
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.pacing import may_pause

OPERATION = "read share group state summary"
_Response = messages.ReadShareGroupStateSummaryResponse
_TopicResult = _Response.ReadStateSummaryResult
_Result = _TopicResult.PartitionResult


@handles(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, checks=(CLUSTER_ACTION_CLUSTER,))
@may_pause
def handle_read_share_group_state_summary(
    context: RequestContext, request: "messages.ReadShareGroupStateSummaryRequest", cluster: Cluster
) -> "messages.ReadShareGroupStateSummaryResponse":
    """Kafka's `KafkaApis.handleReadShareGroupStateSummaryRequest`."""

    def handle(
        key: SharePartitionKey,
        entry: "messages.ReadShareGroupStateSummaryRequest.ReadStateSummaryData.PartitionData",
    ) -> _Result:
        refusal = coordinator_refusal(context, cluster, key, OPERATION)
        if refusal is None:
            refusal = cluster.share.states.partition_refusal(key)
        if refusal is not None:
            return partition_result(_Result, key, refusal)
        state = cluster.share.states.get(key)
        if state is None:
            return _Result(partition=key.partition_index, start_offset=NO_OFFSET)
        return _Result(
            partition=key.partition_index,
            state_epoch=state.state_epoch,
            leader_epoch=state.leader_epoch,
            start_offset=state.start_offset,
            delivery_complete_count=state.finished_count,
        )

    return _Response(
        results=results_by_topic(context, cluster, request, _TopicResult, _Result, handle)
    )
