"""One client's socket: pass received bytes to the `Connection` and carry out its output.

The only clock reads of a request happen here.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from broker.clock import Clock
from broker.cluster.brokers import Availability
from broker.cluster.cluster import Cluster
from broker.config.listener_values import started_value
from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.log import log
from broker.responses import WAITING, CloseManner, ConnectionOutput, new_output
from broker.server.accept_queue import AcceptQueue
from broker.server.connection_end import end_as
from broker.server.listener_security import ListenerSecurity
from broker.server.timer_driver import TimerDriver
from broker.timers import Timer
from protocol.framing import UNEXPECTED_TLS

LAST_RESPONSE_S = 0.2
"""Delay between a last response and the close, so that the client can read the response.

Without it kafka-python misses the error of a wrong password.
"""

BUFFERED_BYTES_HIGH = 1024 * 1024
"""Bytes that a client may send ahead before the broker stops reading from it."""

EARLY_BYTES_HIGH = 16 * 1024
"""The same before the broker accepts the connection.

It reads then to notice a client that leaves.
"""


class ConnectionOwner(Protocol):
    """The server, as far as a connection needs it."""

    cluster: Cluster
    clock: Clock
    dispatcher: Dispatcher
    connection_ids: Iterator[int]
    reset_count_of_new: int
    timer_driver: TimerDriver

    def add(self, protocol: "ClientProtocol") -> str | None:
        """Count a new socket. Return why it must be closed, or None."""
        ...

    def accept_queue(self, broker_id: int, listener_name: str) -> AcceptQueue:
        """Return the connections that wait until a listener of a broker accepts them."""
        ...

    def admit(self, protocol: "ClientProtocol", host: str) -> str | None:
        """Count a connection that a broker accepts. Return why it must be closed, or None."""
        ...

    def forget(self, protocol: "ClientProtocol") -> None:
        """Stop counting a connection that is closed."""
        ...

    def note_held(self, protocol: "ClientProtocol", byte_count: int) -> None:
        """Count the bytes that the broker holds for a client that it does not read from."""
        ...

    def wait_for_room(self, protocol: "ClientProtocol") -> None:
        """Call `update_reading` when fewer requests wait for their turns."""
        ...

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> None:
        """Call a function after `delay_s` of the event loop's clock, at once for 0."""
        ...


class ClientProtocol(asyncio.Protocol):
    """One client's socket around its `Connection`."""

    __slots__ = (
        "_acknowledgements",
        "_early",
        "_host",
        "_is_paused",
        "_is_write_paused",
        "_listener_security",
        "_mute",
        "_server",
        "_timer_driver",
        "_timers",
        "_transport",
        "_turns",
        "_withheld",
        "broker_id",
        "close_reason",
        "connection",
        "is_aborted",
        "is_blocked",
        "is_isolated",
        "last_active_ms",
        "peer",
        "reset_count",
    )

    def __init__(
        self, server: ConnectionOwner, broker_id: int, listener_security: ListenerSecurity
    ) -> None:
        self._server = server
        self._turns = server.dispatcher.turns
        self._timers = server.cluster.timers
        self._timer_driver = server.timer_driver
        self._acknowledgements = server.dispatcher.acknowledgements
        self._listener_security = listener_security
        self.broker_id = broker_id
        self._transport: Any = None
        self._is_paused = False
        self._is_write_paused = False
        self.is_isolated = False
        self.is_blocked = False  # whether nothing can be taken now, for a reason of a subclass
        self._withheld: list[ConnectionOutput] = []
        self._mute: Timer | None = None
        self.connection: Connection | None = None
        self.close_reason = "client disconnected"
        self.last_active_ms = 0
        self.is_aborted = False
        """Whether it is closed without waiting for its client."""
        self._host = "?"
        self.peer = "?"
        self._early: bytes | None = b""
        """What the client sends before the broker accepts the connection; None afterwards."""
        self.reset_count = server.reset_count_of_new
        """Resets of the server before the socket was accepted, which is before a TLS handshake."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the connection, have it wait, or close it if there are too many."""
        self._transport = transport
        peer = transport.get_extra_info("peername")
        if peer:
            self._host = str(peer[0])
            self.peer = f"{self._host}:{peer[1]}"
        server = self._server
        self.last_active_ms = now_ms = server.clock.now_ms()
        refusal = server.add(self)
        if refusal is None:
            refusal = server.accept_queue(self.broker_id, self.listener_name).join(self, now_ms)
        if refusal is not None:
            self._close(refusal)

    def accept(self, now_ms: int) -> None:
        """Accept the connection, unless a limit, the quota of its address or a fault refuses it."""
        server = self._server
        self.last_active_ms = now_ms
        quotas = server.cluster.quotas.brokers[self.broker_id]
        throttle_time_ms = quotas.connections.record(self._host, now_ms)
        if throttle_time_ms:
            server.accept_queue(self.broker_id, self.listener_name).undo(now_ms)
            self._early = None
            server.note_held(self, 0)
            # As in Kafka: a client that is disconnected at once reconnects at once.
            self._mute = server.cluster.timers.schedule(
                now_ms + throttle_time_ms,
                lambda _now_ms: self._close("connection_creation_rate exceeded"),
            )
            return
        refusal = server.admit(self, self._host)
        if refusal is not None:
            self._close(refusal)
            return
        fault = server.dispatcher.faults.evaluate_connection(self.broker_id, now_ms)
        if fault is not None:
            server.dispatcher.journal.arrived(
                self.broker_id,
                self.peer,
                is_refused=fault.is_refused,
                delay_ms=fault.delay_ms,
                fault=fault.description,
                time_ms=self.last_active_ms,
            )
        if fault is not None and fault.is_refused:
            self._close(f"fault {fault.description}")
        elif fault is not None and fault.delay_ms:
            # Read nothing until then.
            if not self._is_paused:
                self._is_paused = True
                self._transport.pause_reading()
            self._mute = server.cluster.timers.schedule(now_ms + fault.delay_ms, self._enter)
        else:
            self._enter(now_ms)

    def _enter(self, _now_ms: int) -> None:
        """Accept the client and read its requests from now on."""
        server, driver = self._server, self._timer_driver
        session = self._listener_security.new_session(self._transport)
        if session is None:
            self._close("no rule of ssl.principal.mapping.rules matches its certificate")
            return
        self.connection = Connection(
            server.dispatcher,
            broker_id=self.broker_id,
            connection_id=next(server.connection_ids),
            client_host=self._host,
            frame_bytes_max=server.cluster.config["socket.request.max.bytes"],
            sasl_bytes_max=started_value(
                server.cluster.config,
                self.broker_id,
                self.listener_name,
                "sasl.server.max.receive.size",
            ),
            on_ready=lambda: driver.make_ready(self),
            session=session,
            writes_parts=True,
        )
        self.apply_availability()
        early, self._early = self._early, None
        if early:
            self.connection.hold(early)
            driver.make_ready(self)
        self.update_reading()

    def apply_availability(self) -> None:
        """Close, pause or resume when the broker is stopped, isolated or started."""
        broker = self._server.cluster.brokers.get(self.broker_id)
        availability = Availability.DOWN if broker is None else broker.availability
        if availability is Availability.DOWN:
            self.cut("broker stopped")
        elif self.is_isolated != (availability is Availability.ISOLATED):
            self.is_isolated = availability is Availability.ISOLATED
            withheld, self._withheld = self._withheld, []
            for effects in withheld:
                self._perform(effects)
            self.update_reading()
            if not self.is_isolated:
                self._timer_driver.make_ready(self)

    def data_received(self, data: bytes) -> None:
        """Handle received bytes."""
        connection = self.connection
        if connection is None:
            self._hold_early(data)
            return
        now_ms = self._server.clock.now_ms()
        self.last_active_ms = now_ms
        self._turns.read_count += 1
        if self._is_write_paused or self.is_isolated:
            connection.hold(data)
            return
        # Handle the read, then have those respond that it wakes.
        driver = self._timer_driver
        driver.is_receiving = True
        try:
            output = connection.respond(data, now_ms)
            if not isinstance(output, bytes):
                if output is not WAITING or self._is_paused:
                    self._perform(output)
            elif self._is_paused or self._acknowledgements.is_enabled or self.is_isolated:
                self._perform(new_output((output, None, False, 0, ())))
            else:
                self._transport.write(output)  # nothing of `_perform` but the write
        finally:
            driver.is_receiving = False
            if self._timers.soon_calls:
                driver.ring_now(now_ms)

    def _hold_early(self, data: bytes) -> None:
        """Keep what comes before the broker accepts the connection; drop it if it does not."""
        if self._early is None:
            return
        self._early += data
        self._server.note_held(self, len(self._early))
        if len(self._early) > EARLY_BYTES_HIGH and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def resume_connection(self, now_ms: int) -> None:
        """Continue after a pending response is complete or other clients were served."""
        connection = self.connection
        if connection is None or self._is_write_paused or self.is_isolated:
            return
        if not self._is_paused and not self._acknowledgements.is_enabled:
            # Nothing of `_perform` but the write.
            response = connection.take_response()
            if response is not None:
                self.last_active_ms = now_ms
                self._transport.write(response)
                return
        effects = connection.resume(now_ms)
        if effects.write or effects.parts:
            self.last_active_ms = now_ms
        self._perform(effects)

    def _perform(self, effects: ConnectionOutput) -> None:
        if self.is_isolated:
            # The request itself isolated this broker: hold its response.
            self._withheld.append(effects)
            return
        write, close_reason, has_more, muted_until_ms, parts = effects
        if write or parts:
            if parts:
                self._write_parts(parts)
            else:
                self._transport.write(write)
            if self._acknowledgements.is_enabled and self.connection is not None:
                self._acknowledgements.written(self.connection.connection_id)
        connection = self.connection
        if close_reason is not None:
            if connection is not None and end_as(connection.close_manner, self._transport):
                self.close_reason = close_reason
                self.update_reading()
                return
            self._close(close_reason, after_s=LAST_RESPONSE_S if write or parts else 0)
            return
        if muted_until_ms:
            timers = self._server.cluster.timers
            self._mute = timers.schedule(muted_until_ms, self.resume_connection)
        if has_more and not self._is_write_paused:
            self._timer_driver.make_ready(self)
        # After a response without more requests it falls behind now at the earliest: the next read
        # finds that out, before much is buffered.
        may_be_behind = has_more or not (write or parts)
        if self._is_paused or (
            may_be_behind
            and connection is not None
            and (connection.buffered_bytes > BUFFERED_BYTES_HIGH or self._turns.is_full)
        ):
            self.update_reading()

    def _write_parts(self, parts: Sequence[bytes]) -> None:
        """Write a response in parts; a closing transport would keep them and never send them."""
        transport = self._transport
        if transport.is_closing():
            return
        transport.writelines(parts)
        # `writelines` of asyncio's loop in Python 3.12 and 3.13 does not compare the buffer with
        # its limits, so `pause_writing` would not be called. This sets the defaults and compares.
        transport.set_write_buffer_limits()

    def update_reading(self) -> None:
        """Stop or go on reading from a client, to bound memory.

        It stops for one that sends ahead, does not read, or sends a large request that would wait.
        """
        connection = self.connection
        if connection is None or self._transport.is_closing():
            return
        has_no_room = self._turns.is_full and connection.is_next_heavy
        if has_no_room:
            self._server.wait_for_room(self)
        is_paused = (
            has_no_room
            or connection.close_manner is CloseManner.STOP_READING
            or self._is_write_paused
            or self.is_isolated
            or self.is_blocked
            or (connection.is_behind and connection.buffered_bytes > BUFFERED_BYTES_HIGH)
        )
        if is_paused != self._is_paused:
            self._is_paused = is_paused
            if is_paused:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()
        self._server.note_held(self, self._held_bytes() if is_paused else 0)

    def _held_bytes(self) -> int:
        """Return the bytes of unread responses, and of requests that were not handled yet."""
        assert self.connection is not None
        unread_bytes: int = self._transport.get_write_buffer_size()
        return unread_bytes + self.connection.buffered_bytes

    def pause_writing(self) -> None:
        """Stop handling requests: the client does not read its responses."""
        self._is_write_paused = True
        self.update_reading()

    def resume_writing(self) -> None:
        """Continue: the client reads again."""
        self._is_write_paused = False
        self._timer_driver.make_ready(self)

    def connection_lost(self, _exc: Exception | None) -> None:
        """Clean up after the socket has closed."""
        self._server.cluster.timers.cancel(self._mute)
        if self._early is not None:
            queue = self._server.accept_queue(self.broker_id, self.listener_name)
            queue.leave(self, self._server.clock.now_ms())
        if self.connection is not None:
            self.connection.lose()
            now_ms = self._server.clock.now_ms()
            self._server.dispatcher.journal.disconnected(self.connection, self.close_reason, now_ms)
            self._acknowledgements.forget(self.connection.connection_id)
            self._server.cluster.client_instances.disconnect(self.connection.connection_id)
            self._server.cluster.coordinators.end_share_sessions(
                self.broker_id, self.connection.connection_id, now_ms
            )
            self.connection = None  # it refers to this object: reference counting frees both
        self._server.forget(self)

    @property
    def listener_name(self) -> str:
        """The listener on which the client is connected."""
        return self._listener_security.name

    @property
    def is_waiting(self) -> bool:
        """Whether the client waits for the broker: its connection is not idle then."""
        connection = self.connection
        if connection is None:
            return self._early is not None and not self._transport.is_closing()
        return self.is_isolated or connection.is_waiting

    def finish(self) -> None:
        """Close once all responses have been sent."""
        self._transport.close()

    def cut(self, reason: str) -> None:
        """Abort the connection at once; unsent bytes are lost."""
        self._close(reason)
        self._abort()

    def dismiss(self) -> None:
        """Abort the connection and cancel its pending responses."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.lose()
        self._transport.abort()

    def close_idle(self, idle_ms: int) -> None:
        """Close a connection that is idle for too long, or abort one whose close takes too long.

        A client that does not read would otherwise keep its last responses in memory for good.
        """
        if self._transport.is_closing():
            self._abort()
        else:
            self._close(f"idle for {idle_ms} ms")

    def _abort(self) -> None:
        self.is_aborted = True
        self._transport.abort()

    def _close(self, reason: str, after_s: float = 0) -> None:
        if not self._transport.is_closing():
            # A client that can never connect: Kafka warns of it, too.
            write_line = log.warning if reason == UNEXPECTED_TLS else log.info
            write_line("connection closed", peer=self.peer, broker=self.broker_id, reason=reason)
            self.close_reason = reason
            self._server.call_later(after_s, self._transport.close)
