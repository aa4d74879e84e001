"""DescribeDelegationToken: v1-3.

Behaviour:
    - Returns the tokens that one of `owners` owns, requested or may renew; all tokens for null. A
      token that has expired is returned until `delegation.token.expiry.check.interval.ms` is over.
    - A connection that is not authenticated, or by a token, gets
      DELEGATION_TOKEN_REQUEST_NOT_ALLOWED. Without `delegation.token.secret.key` others get
      DELEGATION_TOKEN_AUTH_DISABLED.
    - With an authorizer a token that the client neither owns, requested nor may renew needs
      DESCRIBE on the token or DESCRIBE_TOKENS on its owner; it is left out otherwise. Without an
      authorizer any user may describe all tokens, with their HMACs.
"""

from broker.administration.delegation_tokens import may_describe, refusal_of
from broker.authorization.checks import DESCRIBE_DELEGATION_TOKEN, DESCRIBE_TOKENS_USER
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.routes import handles
from broker.security.delegation_tokens import DelegationToken, Principal
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_Token = messages.DescribeDelegationTokenResponse.DescribedDelegationToken


@handles(
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    checks=(
        DESCRIBE_DELEGATION_TOKEN,
        DESCRIBE_TOKENS_USER,
    ),
)
@may_pause
def handle_describe_delegation_token(
    context: RequestContext, request: "messages.DescribeDelegationTokenRequest", cluster: Cluster
) -> "messages.DescribeDelegationTokenResponse":
    """Kafka's `KafkaApis.handleDescribeTokensRequest`."""
    refusal = refusal_of(context, cluster.delegation_tokens)
    owners = None
    if request.owners is not None:
        owners = {
            Principal(owner.principal_type, owner.principal_name) for owner in paced(request.owners)
        }
    tokens = [] if refusal else cluster.delegation_tokens.described(owners)
    return messages.DescribeDelegationTokenResponse(
        version=context.api_version,
        error_code=ErrorCode.NONE if refusal is None else refusal[0],
        tokens=[
            _described(token) for token in paced(tokens) if may_describe(context, cluster, token)
        ],
        throttle_time_ms=0,
    )


@may_pause
def _described(token: DelegationToken) -> _Token:
    renewer_type = _Token.DescribedDelegationTokenRenewer
    return _Token(
        principal_type=token.owner.type,
        principal_name=token.owner.name,
        token_requester_principal_type=token.requester.type,
        token_requester_principal_name=token.requester.name,
        issue_timestamp=token.issue_timestamp_ms,
        expiry_timestamp=token.expiry_timestamp_ms,
        max_timestamp=token.max_timestamp_ms,
        token_id=token.token_id,
        hmac=token.hmac,
        renewers=[
            renewer_type(principal_type=renewer.type, principal_name=renewer.name)
            for renewer in paced(token.renewers)
        ],
    )
