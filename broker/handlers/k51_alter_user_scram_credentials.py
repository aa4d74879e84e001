"""AlterUserScramCredentials: v0.

Behaviour:
    - Sets and deletes SCRAM credentials for all brokers. A change applies from the next
      authentication on.
    - Errors: UNACCEPTABLE_CREDENTIAL (an empty name, fewer than 4096 or more than 16384
      iterations), UNSUPPORTED_SASL_MECHANISM, DUPLICATE_RESOURCE (a user that occurs twice,
      whatever the mechanisms), RESOURCE_NOT_FOUND (the deletion of a missing credential).
    - One result per user. A user with an error is not changed at all. Deletions come first, then
      the credentials that were set, then errors, each in the order of Kafka's hash maps.
    - Without ALTER on the cluster every user gets CLUSTER_AUTHORIZATION_FAILED, sorted by name.

Gaps:
    - A deleted user of `sasl.users` can still authenticate with PLAIN, and is back after a restart.
"""

from broker.administration.scram_credentials import Deletion, Upsertion, alter_credentials
from broker.authorization.checks import ALTER_CLUSTER
from broker.cluster.cluster import Cluster
from broker.request.cluster_operation import refuse_cluster_operation
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_Result = messages.AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult


@handles(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, checks=(ALTER_CLUSTER,))
@may_pause
def handle_alter_user_scram_credentials(
    context: RequestContext, request: "messages.AlterUserScramCredentialsRequest", cluster: Cluster
) -> "messages.AlterUserScramCredentialsResponse":
    """Kafka's `ScramControlManager.alterCredentials`."""
    deletions = [
        Deletion(deletion.name, deletion.mechanism) for deletion in paced(request.deletions)
    ]
    upsertions = [
        Upsertion(
            upsertion.name,
            upsertion.mechanism,
            upsertion.iterations,
            bytes(upsertion.salt),
            bytes(upsertion.salted_password),
        )
        for upsertion in paced(request.upsertions)
    ]
    denial = refuse_cluster_operation(context, cluster, ALTER_CLUSTER)
    if denial is None:
        refusals = alter_credentials(cluster.credentials, deletions, upsertions)
    else:
        names = {deletion.name for deletion in deletions} | {item.name for item in upsertions}
        refusals = dict.fromkeys(sorted(names), denial)
    return messages.AlterUserScramCredentialsResponse(
        version=context.api_version,
        throttle_time_ms=0,
        results=[
            _Result(
                user=name,
                error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
                error_message=None if refusal is None else refusal.error_message,
            )
            for name, refusal in paced(refusals.items())
        ],
    )
