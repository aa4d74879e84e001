"""Delegation tokens (KIP-48): who may ask for them, and the error of the others.

Sources: Kafka's `KafkaApis.allowTokenRequests`, `handleCreateTokenRequest` and
`handleDescribeTokensRequest`.
"""

from broker.authorization.checks import (
    CREATE_TOKENS_USER,
    DESCRIBE_DELEGATION_TOKEN,
    DESCRIBE_TOKENS_USER,
)
from broker.cluster.cluster import Cluster
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.request.session import ANONYMOUS
from broker.security.delegation_tokens import (
    USER_TYPE,
    DelegationToken,
    DelegationTokens,
    Principal,
)
from protocol.errors import ErrorCode

NO_TIMESTAMP = -1
"""The timestamps of a response to a connection that may not ask for tokens."""


def requester_of(context: RequestContext) -> Principal:
    """Return the principal of the connection."""
    return Principal(USER_TYPE, context.principal)


def may_ask(context: RequestContext) -> bool:
    """Return whether the connection may ask for tokens.

    It is authenticated, by SASL or by TLS, and not by a token.
    """
    session = context.session
    if session.is_token_authenticated:
        return False
    return session.is_sasl or context.principal != ANONYMOUS


def refusal_of(context: RequestContext, tokens: DelegationTokens) -> tuple[ErrorCode, int] | None:
    """Return the error of a request and the timestamps of its response; None to serve it."""
    if not may_ask(context):
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, NO_TIMESTAMP
    if not tokens.is_enabled:
        return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, 0
    return None


def may_create_for(context: RequestContext, cluster: Cluster, owner: Principal) -> bool:
    """Return whether the connection may create tokens of an owner: its own, or those of others."""
    return owner == requester_of(context) or is_allowed(
        context, cluster, CREATE_TOKENS_USER, _text(owner)
    )


def may_describe(context: RequestContext, cluster: Cluster, token: DelegationToken) -> bool:
    """Return whether the connection may describe a token: its own, or one of others."""
    return (
        token.concerns(requester_of(context))
        or is_allowed(context, cluster, DESCRIBE_DELEGATION_TOKEN, token.token_id)
        or is_allowed(context, cluster, DESCRIBE_TOKENS_USER, _text(token.owner))
    )


def _text(principal: Principal) -> str:
    return f"{principal.type}:{principal.name}"
