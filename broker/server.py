"""The asyncio shell: sockets and the alarm clock of the timers. No decisions about messages.

Every listener belongs to one broker of the cluster. A read goes into the connection's core, and its
effects come out: write, perhaps close. The only clock reads of a request happen here.
"""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

import structlog

from broker.cluster import Reach
from broker.connection import Connection
from broker.dispatch import Dispatcher
from broker.effects import Effects
from broker.entrance import PLAINTEXT, Entrance
from broker.listener import Listener

if TYPE_CHECKING:
    from broker.clock import Clock
    from broker.cluster import Broker, Cluster
    from broker.context import RequestContext
    from broker.timers import Timer

STOP_TURNS_MAX = 200
STOP_TURN_S = 0.005
"""How long a stop waits for the clients to take their last answers: 200 looks, 5 ms apart."""

LAST_ANSWER_S = 0.2
"""Time between a last answer and the end: a client that finds both at once may see the end alone.

kafka-python does, and would never learn that its password was wrong.
"""

BUFFERED_BYTES_HIGH = 1024 * 1024
"""What a client may send ahead while it waits for an answer, before we stop reading from it."""

log = structlog.get_logger("mock_kafka")


class ClientProtocol(asyncio.Protocol):
    """One client's socket around its `Connection`."""

    __slots__ = (
        "_entrance",
        "_is_paused",
        "_is_write_paused",
        "_mute",
        "_server",
        "_transport",
        "_withheld",
        "broker_id",
        "close_reason",
        "connection",
        "is_cut_off",
        "last_active_ms",
        "peer",
    )

    def __init__(self, server: "Server", broker_id: int, entrance: "Entrance") -> None:
        self._server = server
        self._entrance = entrance
        self.broker_id = broker_id
        self._transport: Any = None
        self._is_paused = False
        self._is_write_paused = False
        self.is_cut_off = False
        self._withheld: list[Effects] = []
        self._mute: Timer | None = None
        self.connection: Connection | None = None
        self.close_reason = "client disconnected"
        self.last_active_ms = 0
        self.peer = "?"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        self._transport = transport
        peer = transport.get_extra_info("peername")
        host = str(peer[0]) if peer else "?"
        self.peer = f"{host}:{peer[1]}" if peer else "?"
        server = self._server
        self.last_active_ms = server.clock.now_ms()
        refusal = server.admit(self, host)
        if refusal is not None:
            self._close(refusal)
            return
        connections = server.cluster.quotas.brokers[self.broker_id].connections
        throttle_time_ms = connections.record(host, self.last_active_ms)
        if throttle_time_ms:
            # As Kafka does: closed at once, it would be back at once.
            self._mute = server.cluster.timers.schedule(
                self.last_active_ms + throttle_time_ms,
                lambda _now_ms: self._close("connection_creation_rate exceeded"),
            )
            return
        fault = server.cluster.faults.judge_connection(self.broker_id, self.last_active_ms)
        if fault is not None and fault.is_refused:
            self._close(f"fault {fault.description}")
        elif fault is not None and fault.delay_ms:
            self._is_paused = True
            self._transport.pause_reading()
            self._mute = server.cluster.timers.schedule(
                self.last_active_ms + fault.delay_ms, lambda _now_ms: self._enter(host)
            )
        else:
            self._enter(host)

    def _enter(self, host: str) -> None:
        """Let the client in, whose requests are read from now on."""
        server = self._server
        session = self._entrance.new_session(self._transport)
        if session is None:
            self._close("no rule of ssl.principal.mapping.rules matches its certificate")
            return
        self.connection = Connection(
            server.dispatcher,
            broker_id=self.broker_id,
            connection_id=next(server.connection_ids),
            client_host=host,
            frame_bytes_max=server.cluster.config["socket.request.max.bytes"],
            on_ready=lambda: server.make_ready(self),
            session=session,
        )
        self.follow_reach()
        self._pause_or_resume_reading()

    def follow_reach(self) -> None:
        """Be cut, fall silent or go on, as its broker is stopped, cut off or started."""
        reach = self._server.cluster.brokers[self.broker_id].reach
        if reach is Reach.REFUSES:
            self.cut("broker stopped")
        elif self.is_cut_off != (reach is Reach.SILENT):
            self.is_cut_off = reach is Reach.SILENT
            withheld, self._withheld = self._withheld, []
            for effects in withheld:
                self._perform(effects)
            self._pause_or_resume_reading()
            if not self.is_cut_off:
                self._server.make_ready(self)

    def data_received(self, data: bytes) -> None:
        """Bytes have come in."""
        connection = self.connection
        if connection is None:
            return
        now_ms = self._server.clock.now_ms()
        self.last_active_ms = now_ms
        if self._is_write_paused or self.is_cut_off:
            connection.hold(data)
        else:
            self._perform(connection.receive(data, now_ms))

    def resume_connection(self, now_ms: int) -> None:
        """Go on with what waits: a parked answer has come, or it is this client's turn again."""
        if self.connection is not None and not self._is_write_paused and not self.is_cut_off:
            self._perform(self.connection.resume(now_ms))

    def _perform(self, effects: Effects) -> None:
        if self.is_cut_off:
            # Of the request that cut its own broker off: the answer goes nowhere for now.
            self._withheld.append(effects)
            return
        write, close_reason, has_more, muted_until_ms = effects
        if write:
            self._transport.write(write)
        if close_reason is not None:
            self._close(close_reason, after_s=LAST_ANSWER_S if write else 0)
            return
        if muted_until_ms:
            timers = self._server.cluster.timers
            self._mute = timers.schedule(muted_until_ms, self.resume_connection)
        if has_more and not self._is_write_paused:
            self._server.make_ready(self)
        if self._is_paused or (self.connection is not None and self.connection.is_behind):
            self._pause_or_resume_reading()

    def _pause_or_resume_reading(self) -> None:
        """Let a client that sends ahead, or doesn't read, fill its socket and not our memory."""
        connection = self.connection
        if connection is None or self._transport.is_closing():
            return
        wanted = (
            self._is_write_paused
            or self.is_cut_off
            or (connection.is_behind and connection.buffered_bytes > BUFFERED_BYTES_HIGH)
        )
        if wanted != self._is_paused:
            self._is_paused = wanted
            if wanted:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def pause_writing(self) -> None:
        """The client doesn't read its answers: make no more of them."""
        self._is_write_paused = True
        self._pause_or_resume_reading()

    def resume_writing(self) -> None:
        """The client reads again."""
        self._is_write_paused = False
        self._server.make_ready(self)

    def connection_lost(self, _exc: Exception | None) -> None:
        """The socket is closed, by whichever side."""
        self._server.cluster.timers.cancel(self._mute)
        if self.connection is not None:
            self.connection.lose()
            now_ms = self._server.clock.now_ms()
            self._server.cluster.journal.disconnected(self.connection, self.close_reason, now_ms)
        self._server.forget(self)

    def finish(self) -> None:
        """Close once everything that was answered has been sent."""
        self._transport.close()

    def cut(self, reason: str) -> None:
        """End the connection at once; what wasn't sent yet is lost."""
        self._close(reason)
        self._transport.abort()

    def dismiss(self) -> None:
        """End the connection and everything that is under way for it; nobody is told."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.lose()
        self._transport.abort()

    def close_idle(self, idle_ms: int) -> None:
        """Close a connection that has been silent for too long, or let go of one closed long ago.

        A client that doesn't read would keep its last answers in our memory for good.
        """
        if self._transport.is_closing():
            self._transport.abort()
        else:
            self._close(f"idle for {idle_ms} ms")

    def _close(self, reason: str, after_s: float = 0) -> None:
        if not self._transport.is_closing():
            log.info("connection closed", peer=self.peer, broker=self.broker_id, reason=reason)
            self.close_reason = reason
            self._server.call_later(after_s, self._transport.close)


class Server:
    """All listeners of a cluster, their connections, and the timer that drives the rest."""

    def __init__(self, cluster: "Cluster", clock: "Clock") -> None:
        self.cluster = cluster
        self.clock = clock
        self.dispatcher = Dispatcher(cluster, self._report_bug)
        self.connection_ids = count(1)
        # In the order they came: an outage cuts them in the same order in every run.
        self._protocols: dict[ClientProtocol, None] = {}
        self._connections_by_host: dict[str, int] = {}
        self._host_of: dict[ClientProtocol, str] = {}
        self._listeners: list[Listener] = []
        self._ready: list[ClientProtocol] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def listen(
        self, broker: "Broker", host: str, port: int, entrance: Entrance = PLAINTEXT
    ) -> int:
        """Accept connections for a broker; returns the port, which matters when 0 was asked for.

        Raises:
            OSError: the address cannot be bound.
        """
        self._loop = asyncio.get_running_loop()
        listener = Listener(
            broker.node_id, lambda: ClientProtocol(self, broker.node_id, entrance), entrance.tls
        )
        bound_port = await listener.open(host, port)
        self._listeners.append(listener)
        return bound_port

    def start(self) -> None:
        """Start the regular work and the alarm clock."""
        now_ms = self.clock.now_ms()
        self.cluster.timers.on_earlier = self._set_alarm
        self.cluster.on_reach_change = self._follow_reach
        self.cluster.start(now_ms)
        self._schedule_idle_check(now_ms)

    def reset(self) -> None:
        """Put the cluster back to its start; connections are cut, ports stay."""
        for protocol in self.protocols:
            protocol.dismiss()
        self.cluster.reset(self.clock.now_ms())
        self._schedule_idle_check(self.clock.now_ms())

    async def stop(self) -> None:
        """Stop accepting, let what was answered reach the clients, and close."""
        for listener in self._listeners:
            await listener.close()
        if self._alarm is not None:
            self._alarm.cancel()
        self.cluster.timers.on_earlier = None
        now_ms = self.clock.now_ms()
        for protocol in list(self._protocols):
            if protocol.connection is not None:
                protocol.connection.hurry(now_ms)
        self._drain_ready()
        for protocol in list(self._protocols):
            protocol.finish()
        for _ in range(STOP_TURNS_MAX):
            if not self._protocols:
                break
            await asyncio.sleep(STOP_TURN_S)

    # Connections ---------------------------------------------------------------------------

    @property
    def protocols(self) -> tuple[ClientProtocol, ...]:
        """Every connection there is now."""
        return tuple(self._protocols)

    def admit(self, protocol: ClientProtocol, host: str) -> str | None:
        """Count a new connection; returns why it may not stay, or None."""
        config = self.cluster.config.for_broker(protocol.broker_id)
        from_host = self._connections_by_host.get(host, 0)
        if len(self._protocols) >= config["max.connections"]:
            return f"max.connections ({config['max.connections']}) reached"
        if from_host >= config["max.connections.per.ip"]:
            return f"max.connections.per.ip ({config['max.connections.per.ip']}) reached"
        self._protocols[protocol] = None
        self._connections_by_host[host] = from_host + 1
        self._host_of[protocol] = host
        return None

    def forget(self, protocol: ClientProtocol) -> None:
        """Give up the place of a connection that is gone."""
        self._protocols.pop(protocol, None)
        host = self._host_of.pop(protocol, None)
        if host is not None:
            self._connections_by_host[host] -= 1
            if not self._connections_by_host[host]:
                del self._connections_by_host[host]

    def make_ready(self, protocol: ClientProtocol) -> None:
        """Have a connection go on once the request being handled now is done."""
        if not self._ready and self._loop is not None:
            self._loop.call_soon(self._drain_ready)
        self._ready.append(protocol)

    def _follow_reach(self, broker: "Broker") -> None:
        if broker.is_out_of_memory:
            log.warning("broker stopped", broker=broker.node_id, reason="broker.max.producer.ids")
        for listener in self._listeners:
            if listener.broker_id == broker.node_id:
                if broker.reach is Reach.REFUSES:
                    listener.refuse()
                else:
                    listener.accept_again()
        for protocol in self.protocols:
            if protocol.broker_id == broker.node_id:
                protocol.follow_reach()

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> None:
        """Have something done, at once for 0, by the loop's own clock."""
        if delay_s and self._loop is not None:
            self._loop.call_later(delay_s, callback)
        else:
            callback()

    def _drain_ready(self) -> None:
        """Give each a turn; who still has more to do comes after the sockets' turn."""
        batch, self._ready = self._ready, []
        now_ms = self.clock.now_ms()
        for protocol in batch:
            protocol.resume_connection(now_ms)

    def _schedule_idle_check(self, now_ms: int) -> None:
        idle_ms_max = self.cluster.config["connections.max.idle.ms"]
        if idle_ms_max > 0:
            self.cluster.timers.schedule(now_ms + max(1, idle_ms_max // 8), self._check_idle)

    def _check_idle(self, now_ms: int) -> None:
        idle_ms_max = self.cluster.config["connections.max.idle.ms"]
        for protocol in list(self._protocols):
            connection = protocol.connection
            idle_ms = now_ms - protocol.last_active_ms
            is_waiting = protocol.is_cut_off or (connection is not None and connection.is_waiting)
            if idle_ms >= idle_ms_max and not is_waiting:
                protocol.close_idle(idle_ms)
        self._schedule_idle_check(now_ms)

    # Timers --------------------------------------------------------------------------------

    def advance(self, duration_ms: int) -> int:
        """Move the clock on; returns the new time.

        Everything that becomes due is done before this returns, each at the time it is due, and the
        answers that it brings are written. What clients send meanwhile comes after.
        """
        clock, timers = self.clock, self.cluster.timers
        target_ms = clock.now_ms() + duration_ms
        while (due_ms := timers.next_due_ms()) is not None and due_ms <= target_ms:
            clock.move_to(due_ms)
            self._run_due()
            self._settle()
        clock.move_to(target_ms)
        self.reset_alarm()
        return clock.now_ms()

    def reset_alarm(self) -> None:
        """Set the alarm anew: the clock was moved, or goes at another pace."""
        next_due_ms = self.cluster.timers.next_due_ms()
        if next_due_ms is not None:
            self._set_alarm(next_due_ms)

    def _set_alarm(self, due_ms: int) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        assert self._loop is not None
        delay_s = self.clock.wait_s(due_ms - self.clock.now_ms())
        if delay_s is not None:
            self._alarm = self._loop.call_later(delay_s, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._run_due()
        self.reset_alarm()

    def _run_due(self) -> None:
        try:
            self.cluster.timers.run_due(self.clock.now_ms())
        except Exception:  # a bug in one timer must not stop the others
            log.exception("timer failed")

    def _settle(self) -> None:
        while self._ready:
            self._drain_ready()

    def _report_bug(self, error: BaseException, context: "RequestContext") -> None:
        log.error(
            "request failed",
            api_key=context.api_key,
            api_version=context.api_version,
            client_id=context.client_id,
            exc_info=error,
        )
