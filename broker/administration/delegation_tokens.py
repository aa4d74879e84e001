"""Delegation tokens (KIP-48): who may ask for them; nobody gets one, since they are disabled.

Source: Kafka's `KafkaApis.allowTokenRequests` and `DelegationTokenControlManager`.
"""

from broker.request.context import RequestContext
from broker.request.session import ANONYMOUS
from protocol.errors import ErrorCode

NO_TIMESTAMP = -1
"""The timestamps of a response to a connection that may not ask for tokens."""

USER_TYPE = "User"
"""The only type of principals."""


def is_allowed(context: RequestContext) -> bool:
    """Return whether the connection may ask for tokens: it is authenticated, by SASL or by TLS."""
    return context.session.is_sasl or context.principal != ANONYMOUS


def refusal_of(context: RequestContext) -> tuple[ErrorCode, int]:
    """Return the error of a request, and the timestamps of its response.

    A broker without `delegation.token.secret.key` has no tokens.
    """
    if not is_allowed(context):
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, NO_TIMESTAMP
    return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, 0
