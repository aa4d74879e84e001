"""AlterPartitionReassignments: v0-1.

Behaviour:
    - Moves partitions to other brokers, one by one in request order. Replicas share one log, so a
      move completes at once, unless a target broker is down. Then ListPartitionReassignments shows
      it until the broker is up, another move replaces it, or null replicas cancel it
      (NO_REASSIGNMENT_IN_PROGRESS if there is none).
    - Unknown brokers, duplicate brokers and empty lists get INVALID_REPLICA_ASSIGNMENT. With
      allow_replication_factor_change=false (v1) another number of replicas gets
      INVALID_REPLICATION_FACTOR.
    - Moves wait behind mutations in the controller's queue (controller.mutation.time.us). After
      timeout_ms the response says REQUEST_TIMED_OUT; the moves still happen later. With a
      timeout_ms that is not positive REQUEST_TIMED_OUT is the error of the response too, and
      nothing moves.
    - Without ALTER on the cluster CLUSTER_AUTHORIZATION_FAILED is the error of the response and of
      each partition.

Gaps:
    - Cancelling a move never needs an unclean election here. It is refused where Kafka would need
      one and may not hold it.
"""

from collections.abc import Callable
from typing import TypeAlias

from broker.administration.reassignment import cancel_reassignment, start_reassignment
from broker.authorization.checks import ALTER_CLUSTER
from broker.cluster.cluster import Cluster
from broker.cluster.controller_queue import TIMED_OUT, is_over
from broker.errors import Refusal
from broker.pending_response import PendingResponse
from broker.request.cluster_operation import refuse_cluster_operation
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_TopicResult = messages.AlterPartitionReassignmentsResponse.ReassignableTopicResponse
_PartitionResult = _TopicResult.ReassignablePartitionResponse
_Partition: TypeAlias = (
    "messages.AlterPartitionReassignmentsRequest.ReassignableTopic.ReassignablePartition"
)


@handles(ApiKey.ALTER_PARTITION_REASSIGNMENTS, checks=(ALTER_CLUSTER,))
@may_pause
def handle_alter_partition_reassignments(
    context: RequestContext,
    request: "messages.AlterPartitionReassignmentsRequest",
    cluster: Cluster,
) -> "messages.AlterPartitionReassignmentsResponse | PendingResponse":
    """Kafka's `ReplicationControlManager.alterPartitionReassignments`."""

    def alter(now_ms: int) -> "messages.AlterPartitionReassignmentsResponse":
        return _respond(
            context,
            request,
            lambda topic_name, part, may_change: _alter(
                topic_name, part, cluster, now_ms, may_change=may_change
            ),
        )

    def time_out(_now_ms: int) -> "messages.AlterPartitionReassignmentsResponse":
        return _respond(context, request, lambda *_: TIMED_OUT)

    denial = refuse_cluster_operation(context, cluster, ALTER_CLUSTER)
    if denial is not None:
        return _respond(context, request, lambda *_: denial, denial)
    if is_over(request.timeout_ms) and request.topics:
        return _respond(context, request, lambda *_: TIMED_OUT, TIMED_OUT)
    return cluster.controller_queue.submit_request(
        "alterPartitionReassignments",
        context.now_ms,
        request.timeout_ms,
        finish=alter,
        timed_out=time_out,
    )


@may_pause
def _respond(
    context: RequestContext,
    request: "messages.AlterPartitionReassignmentsRequest",
    alter: Callable[[str, _Partition, bool], Refusal | None],
    failure: Refusal | None = None,
) -> "messages.AlterPartitionReassignmentsResponse":
    """Alter each partition and return the response."""
    version = context.api_version
    may_change = version == 0 or request.allow_replication_factor_change
    topics = []
    for topic in paced(request.topics):
        results = []
        for part in paced(topic.partitions):
            refusal = alter(topic.name, part, may_change)
            results.append(
                _PartitionResult(
                    version=version,
                    partition_index=part.partition_index,
                    error_code=refusal.error_code if refusal else ErrorCode.NONE,
                    error_message=refusal.error_message if refusal else None,
                )
            )
        topics.append(_TopicResult(version=version, name=topic.name, partitions=results))
    return messages.AlterPartitionReassignmentsResponse(
        version=version,
        throttle_time_ms=0,
        # Kafka's controller sets this and the message only if it has work; these are the defaults.
        allow_replication_factor_change=may_change or not request.topics or failure is not None,
        error_code=failure.error_code if failure else ErrorCode.NONE,
        error_message=failure.error_message if failure else None if request.topics else "",
        responses=topics,
    )


@may_pause
def _alter(
    topic_name: str,
    request: _Partition,
    cluster: Cluster,
    now_ms: int,
    *,
    may_change: bool,
) -> Refusal | None:
    if request.replicas is None:
        return cancel_reassignment(cluster, topic_name, request.partition_index, now_ms)
    return start_reassignment(
        cluster,
        topic_name,
        request.partition_index,
        request.replicas,
        now_ms,
        may_change_replication_factor=may_change,
    )
