"""The session of a connection: its listener, principal and authentication."""

from typing import Any, Protocol

from broker.request.client_software import ClientSoftware
from broker.security.sasl import Exchange
from broker.security.tokens import TokenValidator
from protocol.produce import PartitionResult

ANONYMOUS = "ANONYMOUS"
NEVER_MS = (1 << 63) - 1
REAUTHENTICATION_INTERVAL_MS = 1000


class ProducerIds(Protocol):
    """The producer ids that a connection has used (KIP-936)."""

    def is_known(self, producer_id: int, now_ms: int) -> bool:
        """Whether a batch of this id is admitted without a look at the quota."""
        ...

    def refuse(self, context: Any, partition: Any, header: Any) -> PartitionResult | None:
        """Return the error of a batch whose producer id may not be new, or None."""
        ...


class Session:
    """The session of one client, which lasts as long as its connection.

    From `limited_from_ms` on, only the APIs of authentication are served. It is 0 before a client
    of a SASL listener is authenticated, and `NEVER_MS` on other listeners. A token or
    `connections.max.reauth.ms` sets it to the end of the session. `client_software` is the name and
    version of ApiVersions v3+; None if the client sent none. `client_port` is None without a
    socket. `producer_ids` are those it has used, if users have a quota of them (KIP-936).
    `shadow_muted_until_ms`: when a mute by quotas in shadow mode would have ended.
    `takes_raw_tokens`: after a SaslHandshake v0 the next frames are SASL tokens without headers.
    `tokens` checks those of OAUTHBEARER; None is for unsecured ones. `is_token_authenticated`: the
    client used a delegation token.
    """

    __slots__ = (
        "_reauthentication_began_ms",
        "client_port",
        "client_software",
        "exchange",
        "is_authenticated",
        "is_sasl",
        "is_token_authenticated",
        "limited_from_ms",
        "listener",
        "mechanism",
        "principal",
        "producer_ids",
        "shadow_muted_until_ms",
        "takes_raw_tokens",
        "tokens",
    )

    def __init__(
        self,
        listener: str = "PLAINTEXT",
        *,
        is_sasl: bool = False,
        principal: str = ANONYMOUS,
        tokens: TokenValidator | None = None,
        client_port: int | None = None,
    ) -> None:
        self.listener = listener
        self.is_sasl = is_sasl
        self.principal = principal
        self.is_authenticated = not is_sasl
        self.is_token_authenticated = False
        self.limited_from_ms: int = 0 if is_sasl else NEVER_MS
        self.mechanism: str | None = None
        self.exchange: Exchange | None = None
        self.client_port = client_port
        self.client_software: ClientSoftware | None = None
        self.producer_ids: ProducerIds | None = None
        self.shadow_muted_until_ms = 0
        self.takes_raw_tokens = False
        self.tokens = tokens
        self._reauthentication_began_ms: int | None = None

    def may_reauthenticate(self, now_ms: int) -> bool:
        """Whether a handshake of an authenticated client begins an exchange.

        Source: `KafkaChannel.maybeBeginServerReauthentication`.
        """
        began_ms = self._reauthentication_began_ms
        is_early = began_ms is not None and now_ms - began_ms < REAUTHENTICATION_INTERVAL_MS
        return self.limited_from_ms != NEVER_MS and not is_early

    def begin(
        self, mechanism: str, exchange: Exchange, now_ms: int, *, takes_raw_tokens: bool
    ) -> None:
        """Start an exchange; until it ends, only the APIs of authentication are served."""
        if self.is_authenticated:
            self._reauthentication_began_ms = now_ms
        self.mechanism = mechanism
        self.exchange = exchange
        self.takes_raw_tokens = takes_raw_tokens
        self.limited_from_ms = 0

    def authenticate(
        self, principal: str, ends_at_ms: int | None, *, by_delegation_token: bool = False
    ) -> None:
        """Set the principal that the exchange has proved; `ends_at_ms` is None for no end."""
        self.principal = principal
        self.is_token_authenticated = by_delegation_token
        self.producer_ids = None
        self.is_authenticated = True
        self.exchange = None
        self.takes_raw_tokens = False
        self.limited_from_ms = NEVER_MS if ends_at_ms is None else ends_at_ms


class Peer(Protocol):
    """A connection, as the dispatcher and the journal see it.

    A client's connection has a positive id, that of another broker of the cluster a negative one.
    """

    broker_id: int
    connection_id: int
    client_host: str
    session: Session
