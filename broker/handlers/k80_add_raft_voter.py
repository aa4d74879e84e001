"""AddRaftVoter: v0-1.

Behaviour:
    - Voters are fixed, as in a Kafka cluster with kraft.version 0, the default: a valid request
      gets UNSUPPORTED_VERSION.
    - Errors before that: CLUSTER_AUTHORIZATION_FAILED without ALTER on the cluster,
      INCONSISTENT_CLUSTER_ID, and INVALID_REQUEST for a voter without an id or a directory id, or
      without an address of the controllers listener.
    - v1 says whether the response waits for the commit. No voter is ever added, so it makes no
      difference.
"""

from broker.addresses import Address
from broker.administration.quorum import (
    check_cluster_id,
    controller_listener_name,
    endpoints_text,
)
from broker.authorization.checks import ALTER_CLUSTER
from broker.cluster.cluster import Cluster
from broker.errors import Refusal
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause


@handles(ApiKey.ADD_RAFT_VOTER, checks=(ALTER_CLUSTER,))
@may_pause
def handle_add_raft_voter(
    context: RequestContext, request: "messages.AddRaftVoterRequest", cluster: Cluster
) -> "messages.AddRaftVoterResponse":
    """Kafka's `KafkaRaftClient.handleAddVoterRequest`."""
    if not is_allowed(context, cluster, ALTER_CLUSTER):
        refusal = ALTER_CLUSTER.refusal
    else:
        refusal = check_cluster_id(cluster, request.cluster_id) or _refuse(request, cluster)
    return messages.AddRaftVoterResponse(
        version=context.api_version,
        throttle_time_ms=0,
        error_code=refusal.error_code,
        error_message=refusal.error_message,
    )


@may_pause
def _refuse(request: "messages.AddRaftVoterRequest", cluster: Cluster) -> Refusal:
    # The decoder returns None for a directory id of zeros.
    if request.voter_id < 0 or request.voter_directory_id is None:
        return Refusal(ErrorCode.INVALID_REQUEST, "Add voter request didn't include a valid voter")
    addresses = [(item.name, Address(item.host, item.port)) for item in request.listeners]
    listener_name = controller_listener_name(cluster)
    if listener_name not in {name.upper() for name, _address in addresses}:
        return Refusal(
            ErrorCode.INVALID_REQUEST,
            f"Add voter request didn't include the endpoint ({endpoints_text(addresses)}) for the"
            f" default listener ListenerName({listener_name})",
        )
    return Refusal(
        ErrorCode.UNSUPPORTED_VERSION,
        "Cluster doesn't support adding voter because the kraft.version feature is 0",
    )
