"""RemoveRaftVoter: v0.

Behaviour:
    - Voters are fixed, as in a Kafka cluster with kraft.version 0, the default: a valid request
      gets UNSUPPORTED_VERSION.
    - Errors before that: CLUSTER_AUTHORIZATION_FAILED without ALTER on the cluster,
      INCONSISTENT_CLUSTER_ID, and INVALID_REQUEST for a voter without an id or a directory id.
"""

from broker.administration.quorum import check_cluster_id
from broker.authorization.checks import ALTER_CLUSTER
from broker.cluster.cluster import Cluster
from broker.errors import Refusal
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode


@handles(ApiKey.REMOVE_RAFT_VOTER, checks=(ALTER_CLUSTER,))
def handle_remove_raft_voter(
    context: RequestContext, request: "messages.RemoveRaftVoterRequest", cluster: Cluster
) -> "messages.RemoveRaftVoterResponse":
    """Kafka's `KafkaRaftClient.handleRemoveVoterRequest`."""
    if not is_allowed(context, cluster, ALTER_CLUSTER):
        refusal = ALTER_CLUSTER.refusal
    else:
        refusal = check_cluster_id(cluster, request.cluster_id) or _refuse(request)
    return messages.RemoveRaftVoterResponse(
        version=context.api_version,
        throttle_time_ms=0,
        error_code=refusal.error_code,
        error_message=refusal.error_message,
    )


def _refuse(request: "messages.RemoveRaftVoterRequest") -> Refusal:
    # The decoder returns None for a directory id of zeros.
    if request.voter_id < 0 or request.voter_directory_id is None:
        return Refusal(
            ErrorCode.INVALID_REQUEST, "Remove voter request didn't include a valid voter"
        )
    return Refusal(
        ErrorCode.UNSUPPORTED_VERSION,
        "Cluster doesn't support removing voter because the kraft.version feature is 0",
    )
