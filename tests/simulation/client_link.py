"""One connection of a client: `client.protocol_codec` around a link of the network."""

from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Any

from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from client.errors import ClientError
from client.handshake import Handshake
from client.protocol_codec import FinalizedFeatures, ProtocolCodec
from client.resources import Address
from client.security import SaslSettings
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.framing import SIZE_BYTES
from simulation.network import Network
from tests.broker.cluster_builder import make_cluster
from tests.simulation.history import History, Throttle

OnResponse = Callable[[Any, "Responded"], None]
FORGETFUL = 4
"""One of four links never authenticates again; the broker must close it."""
IMPOSTOR = 5
"""One of five links authenticates again as another user; the broker must refuse that."""


OTHER_USER = "impostor"


def password_of(user: str) -> str:
    """Return the password of a user."""
    return f"password-of-{user}"


@cache
def known_versions(transaction_version: int = 2) -> Any:
    """Return an ApiVersions response for clients that keep it from an earlier connection."""
    wire = ProtocolCodec("versions")
    cluster = make_cluster(1)
    cluster.features.apply({"transaction.version": transaction_version})

    def never(*_: Any) -> None:
        raise AssertionError

    connection = Connection(
        Dispatcher(cluster, never),
        broker_id=1,
        connection_id=1,
        client_host="",
        frame_bytes_max=1 << 20,
        on_ready=never,
    )
    wire.feed(connection.receive(wire.api_versions_request(), 0).write)
    return wire.next_response()


@cache
def _informed_codec(transaction_version: int) -> ProtocolCodec:
    wire = ProtocolCodec("versions")
    wire.on_api_versions(known_versions(transaction_version))
    return wire


class Responded:
    """When a request was sent and when its response was written, from the network."""

    __slots__ = ("handled_ms", "request", "sent_ms", "session_end_ms", "size_bytes")

    def __init__(
        self, request: Any, sent_ms: int, size_bytes: int, session_end_ms: int | None = None
    ) -> None:
        self.request = request
        self.sent_ms = sent_ms
        self.size_bytes = size_bytes
        """As a quota counts them: without the size in front of the frame."""
        self.session_end_ms = session_end_ms
        """When the session ends in which it was sent; None if it has no end."""
        self.handled_ms = 0


class ClientLink:
    """Send requests in order; pass each response to the callback of its request."""

    def __init__(
        self,
        network: Network,
        history: History,
        *,
        user: str,
        client_id: str,
        says_hello: bool,
        versions_max: dict[ApiKey, int],
        on_open: Callable[[], None],
        on_lost: Callable[[str], None],
        transaction_version: int = 2,
    ) -> None:
        """With `says_hello` send ApiVersions first; `versions_max` are the client's versions.

        Without it the client knows that the cluster has this transaction version.
        """
        self._network = network
        self._history = history
        self._user = user
        self._client_id = client_id
        self._says_hello = says_hello
        self._transaction_version = transaction_version
        self._versions_max = versions_max
        self._on_open = on_open
        self._on_lost = on_lost
        self._wire = ProtocolCodec(client_id)
        sasl = SaslSettings("PLAIN", user, password_of(user)) if network.has_sasl else None
        self._handshake = Handshake(self._wire, sasl)
        # Requests that wait for the end of a re-authentication.
        self._postponed: list[Callable[[], None]] = []
        self._is_authenticating = False
        self._reauthenticate_ms: int | None = None
        self._session_end_ms: int | None = None
        self._waiting: deque[tuple[Responded, OnResponse]] = deque()
        self._throttled: tuple[str, int, int] | None = None
        self._muted_until_ms = 0
        self.is_ready = False
        self.is_gone = False

    def open(self, address: Address) -> None:
        """Connect."""
        self._node_id = int(address.host.removeprefix("broker-"))
        host = f"host-of-{self._user}"
        self._link = self._network.connect(self._user, host, address, self)

    @property
    def features(self) -> FinalizedFeatures:
        """The features that the broker announced."""
        return self._wire.features

    @property
    def in_flight_count(self) -> int:
        """The number of requests in flight."""
        return len(self._waiting) + len(self._postponed)

    @property
    def waiting_since_ms(self) -> int | None:
        """The time from which on the broker could respond to the oldest request, or None."""
        return max(self._waiting[0][0].sent_ms, self._muted_until_ms) if self._waiting else None

    def ask(
        self,
        request: Any,
        on_response: OnResponse,
        *,
        version_max: int | None = None,
        expects_response: bool = True,
    ) -> None:
        """Send a request, after the end of a re-authentication."""
        if self._reauthenticate_ms is not None and (
            self._network.schedule.time_ms >= self._reauthenticate_ms
        ):
            self._reauthenticate()
        if self._is_authenticating:
            self._postponed.append(
                lambda: self.ask(
                    request,
                    on_response,
                    version_max=version_max,
                    expects_response=expects_response,
                )
            )
            return
        spoken_max = self._versions_max.get(ApiKey(request.API_KEY))
        limits = [limit for limit in (version_max, spoken_max) if limit is not None]
        frame = self._wire.request(
            request, version_max=min(limits, default=None), expects_response=expects_response
        )
        if expects_response:
            responded = Responded(
                request,
                self._network.schedule.time_ms,
                len(frame) - SIZE_BYTES,
                self._session_end_ms,
            )
            self._waiting.append((responded, on_response))
        self._link.send_to_broker(frame)

    def _reauthenticate(self) -> None:
        """Begin a re-authentication; requests in flight get their responses first (KIP-368)."""
        self._network.trace(f"{self._client_id} authenticates again")
        self._reauthenticate_ms = None
        self._is_authenticating = True
        is_impostor = self._link.number % IMPOSTOR == 0
        user = OTHER_USER if is_impostor else self._user
        token = f"\0{user}\0{password_of(user)}".encode()
        later = messages.SaslAuthenticateRequest(auth_bytes=token)
        refusal = ErrorCode.SASL_AUTHENTICATION_FAILED if is_impostor else ErrorCode.NONE

        def authenticate(_response: Any, _responded: Responded) -> None:
            self._send_alone(later, self._on_authenticated, refusal)

        self._send_alone(messages.SaslHandshakeRequest(mechanism="PLAIN"), authenticate)

    def _send_alone(
        self, request: Any, on_response: OnResponse, expected: ErrorCode = ErrorCode.NONE
    ) -> None:
        """Send a request of an authentication; after a refusal the broker closes the link."""

        def take(response: Any, responded: Responded) -> None:
            if response.error_code != expected:
                self._history.authentication.append(f"{self._client_id} got {response}")
            if response.error_code == ErrorCode.NONE:
                on_response(response, responded)

        frame = self._wire.request(request)
        self._waiting.append((Responded(None, self._network.schedule.time_ms, len(frame)), take))
        self._link.send_to_broker(frame)

    @property
    def lost_ms(self) -> int | None:
        """When the broker has lost the connection, if it had one."""
        transport = self._link.transport
        return None if transport is None else transport.lost_ms

    def close(self, *, is_graceful: bool = False) -> None:
        """Close the connection without further callbacks, perhaps after all data was sent."""
        if not self.is_gone:
            self.is_gone = True
            self._link.close(is_graceful=is_graceful)

    def pause(self) -> None:
        """Stop taking responses."""
        self._link.down.pause()

    def resume(self) -> None:
        """Take responses again."""
        self._link.down.resume()

    # From the network ------------------------------------------------------------------------

    def on_open(self) -> None:
        """Handle the open connection."""
        if self.is_gone:
            return
        if self._says_hello or self._network.has_sasl:
            self._send_handshake(self._handshake.first_frame())
        else:
            self._wire.keep_versions_of(_informed_codec(self._transaction_version))
            self._be_ready()

    def _send_handshake(self, frame: bytes) -> None:
        responded = Responded(None, self._network.schedule.time_ms, len(frame))
        self._waiting.append((responded, self._on_handshake))
        self._link.send_to_broker(frame)

    def _on_handshake(self, response: Any, responded: Responded) -> None:
        frame = self._handshake.next_frame(response)
        if frame is not None:
            self._send_handshake(frame)
            return
        self._begin_session(response, responded)
        self._be_ready()

    def _begin_session(self, response: Any, responded: Responded) -> None:
        lifetime_ms = getattr(response, "session_lifetime_ms", 0)
        self._session_end_ms = responded.handled_ms + lifetime_ms if lifetime_ms else None
        if lifetime_ms and self._link.number % FORGETFUL:
            self._reauthenticate_ms = self._network.schedule.time_ms + lifetime_ms * 85 // 100

    def _on_authenticated(self, response: Any, responded: Responded) -> None:
        self._begin_session(response, responded)
        self._is_authenticating = False
        postponed, self._postponed = self._postponed, []
        for send in postponed:
            if not self.is_gone:
                send()

    def _be_ready(self) -> None:
        self.is_ready = True
        self._on_open()

    def on_bytes(self, data: bytes) -> None:
        """Take received bytes."""
        self._wire.feed(data)
        try:
            while not self.is_gone and (response := self._wire.next_response()) is not None:
                self._take(response)
        except ClientError as error:
            self._history.protocol.append(f"{self._client_id}: {error}")
            self._fail(str(error))

    def _take(self, response: Any) -> None:
        responded, on_response = self._waiting.popleft()
        transport = self._link.transport
        assert transport is not None
        responded.handled_ms = (
            transport.frame_times.popleft()
            if transport.frame_times
            else self._network.schedule.time_ms
        )
        history = self._history
        if history.is_out(self._node_id, responded.handled_ms):
            history.availability.append(
                f"broker {self._node_id} responded at {responded.handled_ms}: {response}"
            )
        end_ms = responded.session_end_ms
        if end_ms is not None and responded.sent_ms > end_ms:
            history.authentication.append(
                f"{self._client_id}, whose session ended at {end_ms}, sent at {responded.sent_ms}"
                f" and got {response}"
            )
        if self._throttled is not None:
            self._history.throttles.append(
                Throttle(self._link.number, *self._throttled, responded.handled_ms)
            )
        throttle_time_ms = getattr(response, "throttle_time_ms", 0) or 0
        self._muted_until_ms = self._network.schedule.time_ms + throttle_time_ms
        self._throttled = (
            (type(response).__name__, throttle_time_ms, responded.handled_ms)
            if throttle_time_ms
            else None
        )
        on_response(response, responded)

    def on_closed(self, reason: str) -> None:
        """Handle the end of the connection."""
        if not self.is_gone:
            self._fail(reason)

    def _fail(self, reason: str) -> None:
        self.close()
        self._on_lost(reason)
