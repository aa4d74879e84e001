"""SaslAuthenticate: v0-2.

Behaviour:
    Carries the tokens of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and OAUTHBEARER after a SaslHandshake
    v1. Wrong credentials get SASL_AUTHENTICATION_FAILED after
    `connection.failed.authentication.delay.ms`, then the connection ends. From v1 the time that the
    session may last is told: what is left of a token or `connections.max.reauth.ms`, the shorter
    one, 0 for no end. After its end only a re-authentication is answered (KIP-368), and that may
    not change the principal. Without a handshake the connection ends; on a listener without SASL:
    ILLEGAL_SASL_STATE.

Gaps:
    OAUTHBEARER takes unsecured tokens only, as Kafka does without further configuration: anyone may
    claim to be anybody. There are no delegation tokens.
"""

from typing import Any

from broker.cluster.cluster import Cluster
from broker.request.authentication import Failure, Progress, take_token
from broker.request.context import RequestContext
from broker.responses import Close
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode


@handles(ApiKey.SASL_AUTHENTICATE, versions=(0, 2))
def handle_sasl_authenticate(context: RequestContext, request: Any, cluster: Cluster) -> Any:
    """Kafka's `SaslServerAuthenticator.handleSaslToken`."""
    session = context.session
    if not session.is_sasl:
        message = "SaslAuthenticate request received after successful authentication"
        return _response(context, ErrorCode.ILLEGAL_SASL_STATE, message)
    if session.exchange is None:
        return Close("SaslAuthenticate without SaslHandshake")
    result = take_token(session, bytes(request.auth_bytes), cluster, context.now_ms)
    match result:
        case Progress(token, lifetime_ms):
            return _response(context, auth_bytes=token, session_lifetime_ms=lifetime_ms)
        case Failure(message):
            response = _response(context, ErrorCode.SASL_AUTHENTICATION_FAILED, message)
            return result.pending(cluster, context.now_ms, response)


def _response(
    context: RequestContext,
    error_code: ErrorCode = ErrorCode.NONE,
    error_message: str | None = None,
    *,
    auth_bytes: bytes = b"",
    session_lifetime_ms: int = 0,
) -> Any:
    return messages.SaslAuthenticateResponse(
        version=context.api_version,
        error_code=error_code,
        error_message=error_message,
        auth_bytes=auth_bytes,
        session_lifetime_ms=session_lifetime_ms,
    )
