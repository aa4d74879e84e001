"""SaslHandshake: v0-1.

Behaviour:
    - Chooses one of `sasl.enabled.mechanisms`. After v1 the tokens come in SaslAuthenticate, after
      v0 as bare frames.
    - A mechanism that is not enabled gets UNSUPPORTED_SASL_MECHANISM with the list of those that
      are, and the connection closes. On a listener without SASL: ILLEGAL_SASL_STATE. In the middle
      of an authentication: ILLEGAL_SASL_STATE, and the connection closes.
    - On an authenticated connection whose session has an end it begins a re-authentication, with
      the same mechanism. No other request is served until that is complete (KIP-368). If the
      session has no end, or the last re-authentication began less than 1 s ago: ILLEGAL_SASL_STATE.
"""

from broker.cluster.cluster import Cluster
from broker.config.listener_values import started_value
from broker.request.context import RequestContext
from broker.responses import Close
from broker.routes import handles
from broker.security.jaas import plain_users
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode


@handles(ApiKey.SASL_HANDSHAKE)
def handle_sasl_handshake(
    context: RequestContext, request: "messages.SaslHandshakeRequest", cluster: Cluster
) -> "messages.SaslHandshakeResponse | Close":
    """Kafka's `SaslServerAuthenticator.handleHandshakeRequest`."""
    session = context.session
    if session.is_authenticated and not session.may_reauthenticate(context.now_ms):
        return _response(context, ErrorCode.ILLEGAL_SASL_STATE, ())
    config, broker_id, listener = cluster.config, context.broker_id, session.listener
    enabled = started_value(config, broker_id, listener, "sasl.enabled.mechanisms")
    if request.mechanism not in enabled:
        return Close(
            "the client chose a SASL mechanism that is not enabled",
            _response(context, ErrorCode.UNSUPPORTED_SASL_MECHANISM, enabled),
        )
    if session.is_authenticated and request.mechanism != session.mechanism:
        # Kafka closes the connection with the next request, without a response.
        return Close(
            "the client chose another SASL mechanism for its re-authentication",
            _response(context, ErrorCode.NONE, enabled),
        )
    session.begin(
        request.mechanism,
        cluster.credentials.new_exchange(
            request.mechanism, plain_users(config, listener, broker_id), session.tokens
        ),
        context.now_ms,
        takes_raw_tokens=context.api_version == 0,
    )
    return _response(context, ErrorCode.NONE, enabled)


def _response(
    context: RequestContext, error_code: ErrorCode, mechanisms: tuple[str, ...]
) -> "messages.SaslHandshakeResponse":
    return messages.SaslHandshakeResponse(
        version=context.api_version, error_code=error_code, mechanisms=list(mechanisms)
    )
