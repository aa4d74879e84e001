"""DescribeUserScramCredentials: v0.

Behaviour:
    - Lists the mechanisms and iterations of the requested users with SCRAM credentials. Null and an
      empty list mean all users. Users come in the order of Kafka's hash map.
    - A user without a credential gets RESOURCE_NOT_FOUND, a user that occurs twice
      DUPLICATE_RESOURCE.
    - Without DESCRIBE on the cluster the error is CLUSTER_AUTHORIZATION_FAILED, also of a result
      without a name for each requested user.
    - Users of `sasl.users` have both mechanisms with 4096 iterations.
"""

from collections import Counter

from broker.administration.scram_credentials import MECHANISMS_BY_CODE
from broker.authorization.checks import DESCRIBE_CLUSTER
from broker.cluster.cluster import Cluster
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.hash_order import in_hash_order, string_hash
from protocol.pacing import may_pause, paced

_Result = messages.DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult


@handles(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, checks=(DESCRIBE_CLUSTER,))
@may_pause
def handle_describe_user_scram_credentials(
    context: RequestContext,
    request: "messages.DescribeUserScramCredentialsRequest",
    cluster: Cluster,
) -> "messages.DescribeUserScramCredentialsResponse":
    """Kafka's `ScramImage.describe`."""
    if not is_allowed(context, cluster, DESCRIBE_CLUSTER):
        error_code = DESCRIBE_CLUSTER.error_code
        return messages.DescribeUserScramCredentialsResponse(
            version=context.api_version,
            throttle_time_ms=0,
            error_code=error_code,
            error_message=None,
            results=[
                _Result(user="", error_code=error_code, error_message=None, credential_infos=[])
                for _user in paced(request.users or ())
            ],
        )
    names = [user.name for user in paced(request.users or ())] or cluster.credentials.scram_users()
    counts = Counter(names)
    return messages.DescribeUserScramCredentialsResponse(
        version=context.api_version,
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        error_message="",
        results=[
            _describe(cluster, name, counts[name])
            for name in paced(in_hash_order(counts, string_hash))
        ],
    )


def _describe(cluster: Cluster, name: str, times: int) -> _Result:
    if times > 1:
        return _failed(
            name,
            ErrorCode.DUPLICATE_RESOURCE,
            "Cannot describe SCRAM credentials for the same user twice in a single request:"
            f" {name}",
        )
    infos = [
        _Result.CredentialInfo(mechanism=code, iterations=iterations)
        for code, mechanism in MECHANISMS_BY_CODE.items()
        if (iterations := cluster.credentials.scram_iterations(name, mechanism)) is not None
    ]
    if not infos:
        return _failed(
            name,
            ErrorCode.RESOURCE_NOT_FOUND,
            f"Attempt to describe a user credential that does not exist: {name}",
        )
    return _Result(user=name, error_code=ErrorCode.NONE, error_message="", credential_infos=infos)


def _failed(name: str, error_code: ErrorCode, message: str) -> _Result:
    return _Result(user=name, error_code=error_code, error_message=message, credential_infos=[])
