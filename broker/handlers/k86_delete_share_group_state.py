"""DeleteShareGroupState: v0.

Behaviour:
    - Deletes the state of share partitions; one that has none is no error.
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
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.pacing import may_pause

OPERATION = "delete share group state"
_Response = messages.DeleteShareGroupStateResponse
_TopicResult = _Response.DeleteStateResult
_Result = _TopicResult.PartitionResult


@handles(ApiKey.DELETE_SHARE_GROUP_STATE, checks=(CLUSTER_ACTION_CLUSTER,))
@may_pause
def handle_delete_share_group_state(
    context: RequestContext, request: "messages.DeleteShareGroupStateRequest", cluster: Cluster
) -> "messages.DeleteShareGroupStateResponse":
    """Kafka's `KafkaApis.handleDeleteShareGroupStateRequest`."""

    def handle(
        key: SharePartitionKey,
        entry: "messages.DeleteShareGroupStateRequest.DeleteStateData.PartitionData",
    ) -> _Result:
        refusal = coordinator_refusal(context, cluster, key, OPERATION)
        if refusal is None:
            refusal = cluster.share.states.delete(key, context.now_ms)
        return partition_result(_Result, key, refusal)

    return _Response(
        results=results_by_topic(context, cluster, request, _TopicResult, _Result, handle)
    )
