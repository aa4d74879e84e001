"""CreateDelegationToken: v1-3.

Behaviour:
    - Creates a token for the connection's user or, from v3, for another owner. It lives for
      `max_lifetime_ms`, at most `delegation.token.max.lifetime.ms`, and must be renewed within
      `delegation.token.expiry.time.ms`.
    - A connection that is not authenticated, or by a token, gets
      DELEGATION_TOKEN_REQUEST_NOT_ALLOWED. Without `delegation.token.secret.key` others get
      DELEGATION_TOKEN_AUTH_DISABLED.
    - A renewer that is no user gets INVALID_PRINCIPAL_TYPE, an owner without a type
      UNKNOWN_SERVER_ERROR.
    - With an authorizer a token of another owner needs CREATE_TOKENS on that user
      (DELEGATION_TOKEN_AUTHORIZATION_FAILED).
"""

from broker.administration.delegation_tokens import (
    NO_TIMESTAMP,
    may_ask,
    may_create_for,
    refusal_of,
    requester_of,
)
from broker.authorization.checks import CREATE_TOKENS_USER
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.request.session import ANONYMOUS
from broker.routes import handles
from broker.security.delegation_tokens import USER_TYPE, Principal
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

OWNER_VERSION_MIN = 3


@handles(ApiKey.CREATE_DELEGATION_TOKEN, checks=(CREATE_TOKENS_USER,))
@may_pause
def handle_create_delegation_token(
    context: RequestContext, request: "messages.CreateDelegationTokenRequest", cluster: Cluster
) -> "messages.CreateDelegationTokenResponse":
    """Kafka's `KafkaApis.handleCreateTokenRequest`."""
    owner = requester = requester_of(context)
    refusal = refusal_of(context, cluster.delegation_tokens)
    renewers = tuple(
        Principal(renewer.principal_type, renewer.principal_name)
        for renewer in paced(request.renewers)
    )
    if may_ask(context) and any(renewer.type != USER_TYPE for renewer in paced(renewers)):
        refusal = ErrorCode.INVALID_PRINCIPAL_TYPE, NO_TIMESTAMP
    if context.api_version >= OWNER_VERSION_MIN and request.owner_principal_name:
        if request.owner_principal_type is not None:
            owner = Principal(request.owner_principal_type, request.owner_principal_name)
            if may_ask(context) and not may_create_for(context, cluster, owner):
                refusal = CREATE_TOKENS_USER.error_code, NO_TIMESTAMP
        else:
            owner = requester = Principal(USER_TYPE, ANONYMOUS)
            refusal = ErrorCode.UNKNOWN_SERVER_ERROR, NO_TIMESTAMP
    if refusal is not None:
        error_code, timestamp_ms = refusal
        return _response(
            context,
            requester,
            owner,
            error_code=error_code,
            issue_timestamp_ms=timestamp_ms,
            expiry_timestamp_ms=timestamp_ms,
            max_timestamp_ms=timestamp_ms,
        )
    token = cluster.delegation_tokens.create(
        requester, owner, renewers, request.max_lifetime_ms, context.now_ms
    )
    return _response(
        context,
        requester,
        owner,
        issue_timestamp_ms=token.issue_timestamp_ms,
        expiry_timestamp_ms=token.expiry_timestamp_ms,
        max_timestamp_ms=token.max_timestamp_ms,
        token_id=token.token_id,
        hmac=token.hmac,
    )


def _response(
    context: RequestContext,
    requester: Principal,
    owner: Principal,
    *,
    error_code: ErrorCode = ErrorCode.NONE,
    token_id: str = "",
    hmac: bytes = b"",
    **timestamps: int,
) -> "messages.CreateDelegationTokenResponse":
    return messages.CreateDelegationTokenResponse(
        version=context.api_version,
        error_code=error_code,
        principal_type=owner.type,
        principal_name=owner.name,
        token_requester_principal_type=requester.type,
        token_requester_principal_name=requester.name,
        token_id=token_id,
        hmac=hmac,
        throttle_time_ms=0,
        **timestamps,
    )
