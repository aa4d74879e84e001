"""Process one SASL token: build the response and update the session.

Source: Kafka's `SaslServerAuthenticator`.
"""

from dataclasses import dataclass

from broker.cluster.cluster import Cluster
from broker.config.listener_values import started_value
from broker.pending_response import PendingResponse
from broker.request.session import Session
from broker.responses import Close
from broker.security.sasl import (
    Authenticated,
    Challenge,
    Refused,
    invalid_credentials_message,
)
from protocol import messages


@dataclass(frozen=True, slots=True)
class Progress:
    """The token to send to the client; `lifetime_ms` limits the session, 0 means no limit."""

    token: bytes
    lifetime_ms: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """Authentication failed; the client gets the message, the log gets the mechanism."""

    message: str
    mechanism: str | None

    def pending(
        self,
        cluster: Cluster,
        now_ms: int,
        response: "messages.SaslAuthenticateResponse | None",
    ) -> PendingResponse:
        """Return the response; the delay slows down guessing. The connection closes after it."""
        close = Close(f"SASL authentication failed ({self.mechanism})", response)
        delay_ms = cluster.config["connection.failed.authentication.delay.ms"]
        timer = cluster.timers.schedule(now_ms + delay_ms, lambda _now_ms: pending.complete(close))

        def force_complete(_now_ms: int) -> None:
            cluster.timers.cancel(timer)
            pending.complete(close)

        pending = PendingResponse(
            on_cancel=lambda: cluster.timers.cancel(timer), on_force_complete=force_complete
        )
        return pending


def take_token(
    session: Session, token: bytes, cluster: Cluster, broker_id: int, now_ms: int
) -> Progress | Failure:
    """Process the next token of an exchange that a handshake with a broker has begun."""
    assert session.exchange is not None
    outcome = session.exchange.step(token, now_ms)
    match outcome:
        case Challenge(response):
            return Progress(response)
        case Refused(message):
            return Failure(
                message
                or invalid_credentials_message(
                    session.mechanism, is_again=session.is_authenticated
                ),
                session.mechanism,
            )
        case Authenticated(principal, response, expires_at_ms, by_delegation_token):
            if session.is_authenticated and principal != session.principal:
                return Failure(
                    "Cannot change principals during re-authentication from"
                    f" User.{session.principal}: User.{principal}",
                    session.mechanism,
                )
            max_reauth_ms = started_value(
                cluster.config,
                broker_id,
                session.listener,
                "connections.max.reauth.ms",
                session.mechanism or "",
            )
            lifetime_ms = _lifetime_ms(expires_at_ms, max_reauth_ms, now_ms)
            ends_at_ms = None if lifetime_ms is None else now_ms + lifetime_ms
            session.authenticate(principal, ends_at_ms, by_delegation_token=by_delegation_token)
            return Progress(response, lifetime_ms or 0)


def response_raw_token(
    session: Session, token: bytes, cluster: Cluster, broker_id: int, now_ms: int
) -> bytes | PendingResponse:
    """Return the response to a token after SaslHandshake v0: bytes without a header, or `Close`."""
    result = take_token(session, token, cluster, broker_id, now_ms)
    if isinstance(result, Failure):
        return result.pending(cluster, now_ms, None)
    return len(result.token).to_bytes(4, "big") + result.token


def _lifetime_ms(expires_at_ms: int | None, max_reauth_ms: int, now_ms: int) -> int | None:
    bounds = [max_reauth_ms] if max_reauth_ms > 0 else []
    if expires_at_ms is not None:
        bounds.append(max(0, expires_at_ms - now_ms))
    return min(bounds) if bounds else None
