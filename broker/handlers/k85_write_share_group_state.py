"""WriteShareGroupState: v0-1.

Behaviour:
    - Adds state batches to share partitions, and moves their start offset and delivery complete
      count.
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
from broker.config.api_versions import release_of
from broker.errors import INVALID_REQUEST_MESSAGE, Refusal
from broker.request.context import RequestContext
from broker.routes import handles
from broker.share_groups.in_flight import StateBatch
from broker.share_groups.share_state import SharePartitionKey
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced
from protocol.releases import Release

BATCHES_COME_LAST_SINCE: Release = (4, 2)
"""First release that looks at the state batches only if nothing else is wrong."""

OPERATION = "write share group state"
_Response = messages.WriteShareGroupStateResponse
_TopicResult = _Response.WriteStateResult
_Result = _TopicResult.PartitionResult
_INVALID = Refusal(ErrorCode.INVALID_REQUEST, INVALID_REQUEST_MESSAGE)


@handles(ApiKey.WRITE_SHARE_GROUP_STATE, checks=(CLUSTER_ACTION_CLUSTER,))
@may_pause
def handle_write_share_group_state(
    context: RequestContext, request: "messages.WriteShareGroupStateRequest", cluster: Cluster
) -> "messages.WriteShareGroupStateResponse":
    """Kafka's `KafkaApis.handleWriteShareGroupStateRequest`."""

    def handle(
        key: SharePartitionKey,
        entry: "messages.WriteShareGroupStateRequest.WriteStateData.PartitionData",
    ) -> _Result:
        batches = _state_batches(entry)
        refusal = coordinator_refusal(context, cluster, key, OPERATION)
        if refusal is None:
            refusal = _write(cluster, key, entry, batches, context)
        return partition_result(_Result, key, refusal)

    return _Response(
        results=results_by_topic(context, cluster, request, _TopicResult, _Result, handle)
    )


@may_pause
def _state_batches(
    entry: "messages.WriteShareGroupStateRequest.WriteStateData.PartitionData",
) -> list[StateBatch] | None:
    """Return the states of a partition; None if one is of no offset."""
    try:
        return [
            StateBatch(
                batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count
            )
            for batch in paced(entry.state_batches)
        ]
    except ValueError:
        return None


def _write(
    cluster: Cluster,
    key: SharePartitionKey,
    entry: "messages.WriteShareGroupStateRequest.WriteStateData.PartitionData",
    batches: list[StateBatch] | None,
    context: RequestContext,
) -> Refusal | None:
    if batches is None:
        if release_of(cluster.shared_config) < BATCHES_COME_LAST_SINCE:
            return _INVALID
        states = cluster.share.states
        return states.write_refusal(key, entry.state_epoch, entry.leader_epoch) or _INVALID
    return cluster.share.states.write(
        key,
        state_epoch=entry.state_epoch,
        leader_epoch=entry.leader_epoch,
        start_offset=entry.start_offset,
        state_batches=batches,
        finished_count=entry.delivery_complete_count,
        now_ms=context.now_ms,
    )
