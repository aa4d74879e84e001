"""ElectLeaders: v0-2.

Behaviour:
    - A preferred election (type 0, and all of v0) makes the first replica the leader, or any
      in-sync replica if the partition has no leader. PREFERRED_LEADER_NOT_AVAILABLE if there is
      none.
    - An unclean election (type 1) gives a partition without a leader any replica that is up.
      The log ends where its own does. ELIGIBLE_LEADERS_NOT_AVAILABLE if there is none.
    - ELECTION_NOT_NEEDED if the leader is right already. Another type gets INVALID_REQUEST for
      everything. An empty list has no errors, whatever the type and the timeout.
    - A null list means all partitions of all topics; the response then leaves out partitions that
      need no election.
    - The election waits behind mutations in the controller's queue (controller.mutation.time.us).
      After timeout_ms the response says REQUEST_TIMED_OUT; leaders are still elected later.
      With a timeout_ms that is not positive it says so at once, and no leader is elected.
    - Without ALTER on the cluster everything gets CLUSTER_AUTHORIZATION_FAILED.
"""

from broker.administration.election import ElectionType, elect_leader
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

_TopicResult = messages.ElectLeadersResponse.ReplicaElectionResult
_PartitionResult = _TopicResult.PartitionResult


@handles(ApiKey.ELECT_LEADERS, checks=(ALTER_CLUSTER,))
@may_pause
def handle_elect_leaders(
    context: RequestContext, request: "messages.ElectLeadersRequest", cluster: Cluster
) -> "messages.ElectLeadersResponse | PendingResponse":
    """Kafka's `ReplicationControlManager.electLeaders`."""
    version = context.api_version
    denial = refuse_cluster_operation(context, cluster, ALTER_CLUSTER)
    if denial is not None:
        return _respond(version, request, cluster, denial, context.now_ms)
    if request.topic_partitions == []:
        return messages.ElectLeadersResponse(
            version=version,
            throttle_time_ms=0,
            error_code=ErrorCode.NONE,
            replica_election_results=[],
        )
    election_type = _election_type(version, request)

    def elect(now_ms: int) -> "messages.ElectLeadersResponse":
        return _respond(version, request, cluster, election_type, now_ms)

    def time_out(now_ms: int) -> "messages.ElectLeadersResponse":
        return _respond(version, request, cluster, TIMED_OUT, now_ms)

    if is_over(request.timeout_ms):
        return time_out(context.now_ms)
    if isinstance(election_type, Refusal):
        return elect(context.now_ms)
    return cluster.controller_queue.submit_request(
        "electLeaders", context.now_ms, request.timeout_ms, finish=elect, timed_out=time_out
    )


@may_pause
def _respond(
    version: int,
    request: "messages.ElectLeadersRequest",
    cluster: Cluster,
    election_type: ElectionType | Refusal,
    now_ms: int,
) -> "messages.ElectLeadersResponse":
    """Elect leaders and return the response; a refusal fails the whole request."""
    topics = []
    for topic_name, partition_indexes in paced(_asked(request, cluster)):
        results = []
        for partition_index in paced(partition_indexes):
            if isinstance(election_type, Refusal):
                refusal: Refusal | None = election_type
            else:
                refusal = elect_leader(cluster, topic_name, partition_index, election_type, now_ms)
            if request.topic_partitions is None and _is_needless(refusal):
                continue
            results.append(_result(version, partition_index, refusal))
        topics.append(_TopicResult(version=version, topic=topic_name, partition_result=results))
    failure = election_type if isinstance(election_type, Refusal) else None
    return messages.ElectLeadersResponse(
        version=version,
        throttle_time_ms=0,
        error_code=failure.error_code if failure else ErrorCode.NONE,
        replica_election_results=[] if failure and request.topic_partitions is None else topics,
    )


def _election_type(version: int, request: "messages.ElectLeadersRequest") -> ElectionType | Refusal:
    if version == 0:
        return ElectionType.PREFERRED
    try:
        return ElectionType(request.election_type)
    except ValueError:
        message = f"Unknown election type {request.election_type}"
        return Refusal(ErrorCode.INVALID_REQUEST, message)


@may_pause
def _asked(
    request: "messages.ElectLeadersRequest", cluster: Cluster
) -> list[tuple[str, list[int]]]:
    if request.topic_partitions is None:
        return [(t.name, list(range(len(t.partitions)))) for t in paced(cluster.topics.all())]
    return [
        (topic_partition.topic, topic_partition.partitions)
        for topic_partition in paced(request.topic_partitions)
    ]


def _is_needless(refusal: Refusal | None) -> bool:
    return refusal is not None and refusal.error_code is ErrorCode.ELECTION_NOT_NEEDED


def _result(version: int, partition_index: int, refusal: Refusal | None) -> _PartitionResult:
    return _PartitionResult(
        version=version,
        partition_id=partition_index,
        error_code=refusal.error_code if refusal else ErrorCode.NONE,
        error_message=refusal.error_message if refusal else None,
    )
