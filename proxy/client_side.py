"""The socket of one client of the proxy: its bytes go to the broker behind it, and back.

While nobody looks at requests they are passed on as they come. Otherwise they take the path of our
broker's requests (`proxy/forwarding.py`), one after the other. The change to that waits for the
responses to what was passed on before, so that responses keep their order.
"""

from typing import TYPE_CHECKING, Protocol

from broker.server.client_protocol import ClientProtocol, ConnectionOwner
from broker.server.listener_security import ListenerSecurity
from proxy.authentication import Authentication
from proxy.exchange import EndError, Exchange
from proxy.forwarding import ForwardingDispatcher, Upstream
from proxy.mirror import MirrorCluster
from proxy.upstream_side import BUFFERED_BYTES_HIGH, UpstreamSide

if TYPE_CHECKING:
    import asyncio


class ProxyOwner(ConnectionOwner, Protocol):
    """The server of the proxy, as far as a connection needs it."""

    forwarding: ForwardingDispatcher
    mirror: MirrorCluster

    def new_exchange(self, listener: str, authentication: Authentication) -> Exchange:
        """Return what a new connection to a listener sends and expects."""
        ...

    def connect(self, client: "ClientSide") -> "asyncio.Task[None]":
        """Begin to connect to the broker of a client's port; report to the client."""
        ...


class ClientSide(ClientProtocol):
    """One client's socket, its `Connection` for requests that are looked at, and its broker's."""

    __slots__ = (
        "_connecting",
        "_dispatcher",
        "_exchange",
        "_is_behind",
        "_is_holding",
        "_is_passing",
        "_is_upstream_full",
        "_owner",
        "_traffic",
        "_upstream",
    )

    def __init__(
        self, server: ProxyOwner, broker_id: int, listener_security: ListenerSecurity
    ) -> None:
        super().__init__(server, broker_id, listener_security)
        self._owner = server
        self._dispatcher = server.forwarding
        self._traffic = server.mirror.traffic
        self._exchange: Exchange | None = None
        self._upstream: UpstreamSide | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._is_passing = True
        """Whether what the client has sent last was passed on."""
        self._is_holding = True
        """Whether requests wait for the connection, or for the responses to earlier ones."""
        self._is_upstream_full = False
        self._is_behind = False
        """Whether too many requests wait for responses."""

    def _enter(self, now_ms: int) -> None:
        self.is_blocked = True
        self._transport.set_write_buffer_limits(BUFFERED_BYTES_HIGH)
        super()._enter(now_ms)
        if self.connection is not None:
            authentication = Authentication(self._note_user)
            self._exchange = self._owner.new_exchange(self.listener_name, authentication)
            self._connecting = self._owner.connect(self)

    def _note_user(self, name: str) -> None:
        if self.connection is not None:
            self.connection.session.principal = name

    # The broker's side ---------------------------------------------------------------------------

    def upstream_opened(self, upstream: UpstreamSide) -> None:
        """Send what the client has sent so far."""
        connection, exchange = self.connection, self._exchange
        if connection is None or exchange is None or self._transport.is_closing():
            upstream.transport.abort()
            return
        self._upstream, self._connecting = upstream, None
        self._traffic.connection_count += 1
        self._traffic.connections_total += 1
        write = upstream.transport.write
        self._dispatcher.upstreams[connection.connection_id] = Upstream(exchange, write)
        self._is_passing = not connection.buffered_bytes
        self._hold(is_holding=False)

    def _hold(self, *, is_holding: bool) -> None:
        """Have requests wait, or no more."""
        self._is_holding = is_holding
        self._update_blocked()
        if not is_holding:
            self._timer_driver.make_ready(self)

    def upstream_failed(self, reason: str) -> None:
        """Close the client's connection: there is none to its broker."""
        self._close(reason)

    def upstream_received(self, data: bytes) -> None:
        """Take bytes of the broker, and write the client's."""
        exchange = self._exchange
        if exchange is None:
            return
        self._traffic.response_bytes += len(data)
        try:
            out = exchange.take_responses(data)
        except EndError as error:
            self._close(str(error))
            return
        for part in out:
            self._transport.write(part)
        if self._is_behind and not exchange.is_full:
            self._is_behind = False
            self._update_blocked()
        if self._is_holding and exchange.is_idle:
            self._hold(is_holding=False)

    def upstream_lost(self, error: Exception | None) -> None:
        """Close the client's connection: the broker has closed the other one."""
        self._close(
            f"lost the connection to the broker behind the proxy: {error or 'it closed it'}"
        )

    def upstream_blocks(self, *, is_blocked: bool) -> None:
        """Stop or go on reading from the client: the broker does not read."""
        self._is_upstream_full = is_blocked
        self._update_blocked()

    def _update_blocked(self) -> None:
        self.is_blocked = self._is_holding or self._is_upstream_full or self._is_behind
        self.update_reading()

    # The client's side ---------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Pass received bytes on, or have somebody look at them."""
        self._traffic.request_bytes += len(data)
        upstream, exchange = self._upstream, self._exchange
        if upstream is None or exchange is None:
            if self.connection is not None:
                self.connection.hold(data)
            else:
                super().data_received(data)
            return
        if self._is_passing and not self._dispatcher.looks:
            self.last_active_ms = self._server.clock.now_ms()
            try:
                out = exchange.pass_requests(data)
            except EndError as error:
                self._close(str(error))
                return
            if out:
                upstream.transport.write(out)
            if exchange.is_full and not self._is_behind:
                self._is_behind = True
                self._update_blocked()
            if not exchange.meets_looked_at:
                return
            data = b""
        self._look_at(data, upstream, exchange)

    def _look_at(self, data: bytes, upstream: UpstreamSide, exchange: Exchange) -> None:
        connection = self.connection
        assert connection is not None
        if self._is_passing:
            rest, data = exchange.finish_request(data)
            if rest:
                upstream.transport.write(rest)
            if not data:
                return
            self._is_passing = False
            if not exchange.is_idle:
                # Their responses come first, so that responses keep the order of requests.
                connection.hold(data)
                self._hold(is_holding=True)
                return
        super().data_received(data)
        self._pass_again()

    def _pass_again(self) -> None:
        """Pass requests on again if nothing is left of those that were looked at."""
        connection = self.connection
        if (
            connection is not None
            and not connection.is_behind
            and not connection.buffered_bytes
            and not self._dispatcher.looks
        ):
            self._is_passing = True

    def resume_connection(self, now_ms: int) -> None:
        """See `ClientProtocol`; requests that are held for those before them stay."""
        if self._upstream is None or self._is_passing or self._is_holding:
            return
        super().resume_connection(now_ms)
        self._pass_again()

    def update_reading(self) -> None:
        """Stop or go on reading from both sides, to bound memory."""
        super().update_reading()
        upstream = self._upstream
        if upstream is not None and not upstream.transport.is_closing():
            if self._is_write_paused or self.is_isolated:
                upstream.transport.pause_reading()
            else:
                upstream.transport.resume_reading()

    def resume_writing(self) -> None:
        """Continue: the client reads again."""
        super().resume_writing()
        self.update_reading()

    @property
    def is_waiting(self) -> bool:
        """Whether the client waits for its broker."""
        return super().is_waiting or (self._exchange is not None and self._exchange.is_waiting)

    def connection_lost(self, exc: Exception | None) -> None:
        """Close the connection to the broker, after the client's."""
        if self._connecting is not None:
            self._connecting.cancel()
        if self.connection is not None:
            self._dispatcher.upstreams.pop(self.connection.connection_id, None)
            for note in self._dispatcher.on_closed:
                note(self.connection.connection_id)
        self._exchange = None
        if self._upstream is not None:
            self._traffic.connection_count -= 1
            self._upstream.transport.close()
        super().connection_lost(exc)
