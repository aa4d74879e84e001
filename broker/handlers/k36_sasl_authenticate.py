"""SaslAuthenticate: v0-2.

Behaviour:
    - Carries the tokens of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and OAUTHBEARER after
      SaslHandshake v1. With SCRAM's extension `tokenauth=true` the name is a delegation token's
      (KIP-48); its owner is the principal. Without a handshake the connection closes. On a
      listener without SASL, and after an authentication: ILLEGAL_SASL_STATE.
    - Wrong credentials get SASL_AUTHENTICATION_FAILED after
      `connection.failed.authentication.delay.ms`, then the connection closes.
    - From v1 the response has the session lifetime: the rest of a token's or
      `connections.max.reauth.ms`, the shorter one; 0 means no end. After it only a
      re-authentication is served (KIP-368), which must keep the principal.
    - OAUTHBEARER accepts unsecured tokens, as Kafka does by default: a client may claim any name.
      With Kafka's OAuthBearerValidatorCallbackHandler tokens must be signed by a provider
      (KIP-768), whose keys come from a file or from an HTTP endpoint of this machine. A bad token
      gets an error in JSON, and the connection closes when the client has acknowledged it.
"""

from broker.cluster.cluster import Cluster
from broker.pending_response import PendingResponse
from broker.request.authentication import Failure, Progress, take_token
from broker.request.context import RequestContext
from broker.responses import Close
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode


@handles(ApiKey.SASL_AUTHENTICATE)
def handle_sasl_authenticate(
    context: RequestContext, request: "messages.SaslAuthenticateRequest", cluster: Cluster
) -> "messages.SaslAuthenticateResponse | Close | PendingResponse":
    """Kafka's `SaslServerAuthenticator.handleSaslToken`."""
    session = context.session
    if session.exchange is None and session.is_authenticated:
        message = "SaslAuthenticate request received after successful authentication"
        return _response(context, ErrorCode.ILLEGAL_SASL_STATE, message)
    if session.exchange is None:
        return Close("SaslAuthenticate without SaslHandshake")
    token, broker_id = bytes(request.auth_bytes), context.broker_id
    result = take_token(session, token, cluster, broker_id, context.now_ms)
    match result:
        case Progress(token, lifetime_ms):
            return _response(context, auth_bytes=token, session_lifetime_ms=lifetime_ms)
        case Failure(message):
            response = _response(context, ErrorCode.SASL_AUTHENTICATION_FAILED, message)
            return result.pending(cluster, context.now_ms, response)


def _response(
    context: RequestContext,
    error_code: ErrorCode = ErrorCode.NONE,
    error_message: str = "",
    *,
    auth_bytes: bytes = b"",
    session_lifetime_ms: int = 0,
) -> "messages.SaslAuthenticateResponse":
    return messages.SaslAuthenticateResponse(
        version=context.api_version,
        error_code=error_code,
        error_message=error_message,
        auth_bytes=auth_bytes,
        session_lifetime_ms=session_lifetime_ms,
    )
