"""Delegation tokens (KIP-48): who may ask for them, and the error of the others.

Source: Kafka's `KafkaApis.allowTokenRequests`.
"""

from broker.request.context import RequestContext
from broker.request.session import ANONYMOUS
from broker.security.delegation_tokens import DelegationTokens, Principal
from protocol.errors import ErrorCode

NO_TIMESTAMP = -1
"""The timestamps of a response to a connection that may not ask for tokens."""

USER_TYPE = "User"
"""The type of all principals that authenticate."""


def requester_of(context: RequestContext) -> Principal:
    """Return the principal of the connection."""
    return Principal(USER_TYPE, context.principal)


def is_allowed(context: RequestContext) -> bool:
    """Return whether the connection may ask for tokens.

    It is authenticated, by SASL or by TLS, and not by a token.
    """
    session = context.session
    if session.is_token_authenticated:
        return False
    return session.is_sasl or context.principal != ANONYMOUS


def refusal_of(context: RequestContext, tokens: DelegationTokens) -> tuple[ErrorCode, int] | None:
    """Return the error of a request and the timestamps of its response; None to serve it."""
    if not is_allowed(context):
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, NO_TIMESTAMP
    if not tokens.is_enabled:
        return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, 0
    return None
