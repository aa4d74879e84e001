"""InitializeShareGroupState: v0.

Behaviour:
    - Begins the state of share partitions, with a start offset or -1. The leaders of partitions are
      inside this process and send no such requests; a client may.
    - Each partition has its own error: NOT_COORDINATOR (another broker leads its partition of
      `__share_group_state`), INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION, FENCED_LEADER_EPOCH,
      FENCED_STATE_EPOCH, COORDINATOR_NOT_AVAILABLE. Without permission for cluster actions it is
      CLUSTER_AUTHORIZATION_FAILED. A request without a group has no results.
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
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.pacing import may_pause

OPERATION = "initialize share group state"
_Response = messages.InitializeShareGroupStateResponse
_TopicResult = _Response.InitializeStateResult
_Result = _TopicResult.PartitionResult


@handles(ApiKey.INITIALIZE_SHARE_GROUP_STATE, checks=(CLUSTER_ACTION_CLUSTER,))
@may_pause
def handle_initialize_share_group_state(
    context: RequestContext, request: "messages.InitializeShareGroupStateRequest", cluster: Cluster
) -> "messages.InitializeShareGroupStateResponse":
    """Kafka's `KafkaApis.handleInitializeShareGroupStateRequest`."""

    def handle(
        key: SharePartitionKey,
        entry: "messages.InitializeShareGroupStateRequest.InitializeStateData.PartitionData",
    ) -> _Result:
        refusal = coordinator_refusal(context, cluster, key, OPERATION)
        if refusal is None:
            refusal = cluster.share.states.initialize(
                key, entry.state_epoch, entry.start_offset, context.now_ms
            )
        return partition_result(_Result, key, refusal)

    results = results_by_topic(
        context, cluster, request, _TopicResult, _Result, handle, skips_empty_topics=True
    )
    return _Response(results=results)
