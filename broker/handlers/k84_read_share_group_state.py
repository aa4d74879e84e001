"""ReadShareGroupState: v0.

Behaviour:
    - Returns start offset and state batches of share partitions to the leader of an epoch, after
      which no older leader may write.
    - Each partition has its own error: NOT_COORDINATOR (another broker leads its partition of
      `__share_group_state`), INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION, FENCED_LEADER_EPOCH,
      FENCED_STATE_EPOCH, COORDINATOR_NOT_AVAILABLE. Without permission for cluster actions it is
      CLUSTER_AUTHORIZATION_FAILED. A request without a group, or with a topic without partitions,
      has no results.
"""

from dataclasses import asdict

from broker.administration.share_state_requests import (
    coordinator_refusal,
    partition_result,
    results_by_topic,
)
from broker.authorization.checks import CLUSTER_ACTION_CLUSTER
from broker.cluster.cluster import Cluster
from broker.errors import Refusal
from broker.request.context import RequestContext
from broker.routes import handles
from broker.share_groups.share_state import SharePartitionKey
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.pacing import may_pause, paced

OPERATION = "read share group state"
_Response = messages.ReadShareGroupStateResponse
_TopicResult = _Response.ReadStateResult
_Result = _TopicResult.PartitionResult


@handles(ApiKey.READ_SHARE_GROUP_STATE, checks=(CLUSTER_ACTION_CLUSTER,))
@may_pause
def handle_read_share_group_state(
    context: RequestContext, request: "messages.ReadShareGroupStateRequest", cluster: Cluster
) -> "messages.ReadShareGroupStateResponse":
    """Kafka's `KafkaApis.handleReadShareGroupStateRequest`."""

    def handle(
        key: SharePartitionKey,
        entry: "messages.ReadShareGroupStateRequest.ReadStateData.PartitionData",
    ) -> _Result:
        refusal = coordinator_refusal(context, cluster, key, OPERATION)
        if refusal is not None:
            return partition_result(_Result, key, refusal)
        state = cluster.share.states.read(key, entry.leader_epoch, context.now_ms)
        if isinstance(state, Refusal):
            return partition_result(_Result, key, state)
        return _Result(
            partition=key.partition_index,
            state_epoch=state.state_epoch,
            start_offset=state.start_offset,
            state_batches=[
                _Result.StateBatch(**asdict(batch)) for batch in paced(state.state_batches)
            ],
        )

    return _Response(
        results=results_by_topic(context, cluster, request, _TopicResult, _Result, handle)
    )
