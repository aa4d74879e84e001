"""The asyncio server: listeners and connections.

Every listener belongs to one broker of the cluster.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count, islice
from typing import TYPE_CHECKING

from broker.administration.periodic_elections import start_periodic_elections
from broker.clock import Clock
from broker.cluster.background_tasks import start_background_tasks
from broker.cluster.broker_membership import add_broker, new_broker
from broker.cluster.brokers import Availability, Broker
from broker.cluster.cluster import Cluster
from broker.dispatch.dispatcher import Dispatcher
from broker.log import log
from broker.request.context import RequestContext
from broker.request.encoding import BugReporter
from broker.server.accept_queue import AcceptQueue
from broker.server.broker_listeners import BrokerListeners
from broker.server.client_protocol import ClientProtocol
from broker.server.connection_counts import ConnectionCounts
from broker.server.idle_connections import start_idle_check
from broker.server.listener_certificates import ListenerCertificates
from broker.server.listener_security import PLAINTEXT, ListenerSecurity
from broker.server.timer_driver import TimerDriver

if TYPE_CHECKING:
    from pathlib import Path

    from broker.faults.rule import FaultRule
    from broker.security.tokens import TokenValidator
    from broker.server.token_provider import TokenProviders

CONNECTIONS_KEY = "max.connections"

STOP_TURNS_MAX = 200
STOP_TURN_S = 0.005
"""A stop checks 200 times, every 5 ms, whether clients have taken their last responses."""


def log_bug(error: BaseException, context: RequestContext) -> None:
    """Log an exception of our own code."""
    log.error(
        "request failed",
        api_key=context.api_key,
        api_version=context.api_version,
        client_id=context.client_id,
        exc_info=error,
    )


class Server:
    """All listeners and connections of a cluster, and what runs its timers."""

    def __init__(self, cluster: Cluster, clock: Clock, report_bug: BugReporter = log_bug) -> None:
        """`report_bug` receives what a handler raised, and the request."""
        self.cluster = cluster
        self.clock = clock
        self.dispatcher = self._new_dispatcher(report_bug)
        self.first_faults: tuple[FaultRule, ...] = ()
        """The fault rules that a reset adds again."""
        self.connections_max = sys.maxsize
        """Connections for which the process has files; more are closed with a log line."""
        self.connection_ids: Iterator[int] = count(1)
        self.listeners = BrokerListeners(self._port_index, self._new_protocol)
        self.certificates = ListenerCertificates(cluster, self.listeners)
        self._token_providers: TokenProviders | None = None
        cluster.certificates = self.certificates
        self.refused_operation: Callable[[str], str | None] = lambda _operation_id: None
        """Returns why an operation of the admin port is refused here, or None."""
        self.reset_count = 0
        self.reset_count_of_new = 0
        """The `reset_count` that belongs to the connections that are accepted now."""
        self.ca_path: Path | None = None
        """The file of the authority of certificates that were made for the listeners."""
        self.files = ExitStack()
        """Deletes the files that were written for this server, when it stops."""
        self._joining = asyncio.Lock()
        # In the order of their start, so that an outage closes them in the same order in every run.
        self._protocols: dict[ClientProtocol, None] = {}
        self._accept_queues: dict[tuple[int, str], AcceptQueue] = {}
        self._counts = ConnectionCounts()
        self._held_bytes: dict[ClientProtocol, int] = {}
        """Bytes of requests and responses of the connections that are not read from now."""
        self._held_bytes_total = 0
        self._without_room: dict[ClientProtocol, None] = {}
        """Connections whose request is not read to its end, because too many wait; oldest first."""
        self.timer_driver = TimerDriver(cluster.timers, clock, self.dispatcher.turns)
        self._loop: asyncio.AbstractEventLoop | None = None

    def _new_dispatcher(self, report_bug: BugReporter) -> Dispatcher:
        return Dispatcher(self.cluster, report_bug)

    def _new_protocol(self, broker_id: int, security: ListenerSecurity) -> ClientProtocol:
        return ClientProtocol(self, broker_id, security)

    def _port_index(self, broker_id: int) -> int:
        """Return the place of a broker in the order of the ports."""
        return broker_id - self.cluster.first_node_ids[0]

    @property
    def bootstrap_ids(self) -> tuple[int, ...]:
        """The brokers whose addresses clients are given at first."""
        return tuple(self.cluster.brokers)

    async def listen(
        self,
        broker: Broker,
        host: str,
        port: int,
        listener_security: ListenerSecurity = PLAINTEXT,
    ) -> int:
        """Accept connections for a broker; return the port (chosen by the system for 0).

        Raises:
            ListenError: the address cannot be bound.
        """
        self._loop = self.timer_driver.loop = asyncio.get_running_loop()
        return await self.listeners.listen(broker.node_id, host, port, listener_security)

    async def token_validator(self, listener_name: str) -> "TokenValidator":
        """Return what checks the tokens of OAUTHBEARER on a listener, from the start on.

        Raises:
            ConfigError: a setting is missing or invalid, or the provider's keys cannot be read.
        """
        from broker.security import token_settings  # noqa: PLC0415 - see ADR 24
        from broker.server.token_provider import TokenProviders  # noqa: PLC0415

        config, broker_id = self.cluster.config, self.cluster.first_node_ids[0]
        signed = token_settings.signed_token_settings(config, listener_name, broker_id)
        if signed is None:
            return token_settings.unsecured_tokens(config, listener_name, broker_id)
        if self._token_providers is None:
            self._token_providers = TokenProviders(self.cluster.timers)
        return signed.validator(await self._token_providers.keys(signed.provider))

    async def open(self, broker: Broker) -> None:
        """Bind a broker's listeners, and set its addresses and its rack.

        Raises:
            ListenError: an address cannot be bound.
        """
        self._loop = self.timer_driver.loop = asyncio.get_running_loop()
        await self.listeners.open(broker)
        broker.rack = self.cluster.config.for_broker(broker.node_id)["broker.rack"] or None

    async def move_ports(self) -> None:
        """Listen on new ports, and refuse connections on the old ones; a `reset` has to follow.

        Raises:
            ListenError: an address cannot be bound; nothing has changed then.
            ValueError: a port is not the system's choice.
        """
        async with self._joining:
            known = self.cluster.brokers | self.cluster.decommissioned
            await self.listeners.move(known[node_id] for node_id in self.cluster.first_node_ids)

    async def add_broker(self, node_id: int | None = None, rack: str | None = None) -> Broker:
        """Add a broker on new ports; see `broker_membership.add_broker`.

        Raises:
            ValueError: the node id is taken, or the cluster has its maximum number of brokers.
            ListenError: an address cannot be bound.
        """
        async with self._joining:
            broker = new_broker(self.cluster, node_id)
            if not broker.endpoints:
                await self.open(broker)
            broker.rack = rack or broker.rack
            add_broker(self.cluster, broker, self.clock.now_ms())
            return broker

    def start(self) -> None:
        """Start the background tasks and the alarm of the timers, also without a listener."""
        now_ms = self.clock.now_ms()
        if self._loop is None:
            self._loop = self.timer_driver.loop = asyncio.get_running_loop()
        self.timer_driver.start()
        self.dispatcher.turns.call_later = self._loop.call_later
        self.dispatcher.turns.on_room = self._give_room
        self.cluster.on_availability_change = self._apply_availability
        self.cluster.on_config_change = self._apply_limits
        start_background_tasks(self.cluster, now_ms)
        start_periodic_elections(self.cluster, now_ms)
        start_idle_check(self.cluster, self._protocols, now_ms)
        if self._token_providers is not None:
            self._token_providers.start(now_ms)

    def reset(self) -> None:
        """Reset the cluster to its start; connections are closed, ports stay.

        Added brokers are removed, decommissioned ones return.
        """
        self.reset_count += 1
        self.listeners.drop_waiting()
        # asyncio accepts a socket one turn before it asks for the protocol.
        if self._loop is not None:
            self._loop.call_soon(self._accept_after_reset)
        self._accept_queues.clear()
        for protocol in self.protocols:
            protocol.dismiss()
        now_ms = self.clock.now_ms()
        self.dispatcher.turns.clear()
        self.dispatcher.journal.clear()
        self.dispatcher.acknowledgements.clear()
        self.dispatcher.faults.reset()
        self.cluster.reset()
        self.certificates.reset()
        start_background_tasks(self.cluster, now_ms)
        start_periodic_elections(self.cluster, now_ms)
        self.dispatcher.faults.add_all(self.first_faults, now_ms)
        added = self.listeners.broker_ids - set(self.cluster.brokers)
        self.listeners.end(*added)
        start_idle_check(self.cluster, self._protocols, self.clock.now_ms())
        if self._token_providers is not None:
            self._token_providers.start(now_ms)

    def _accept_after_reset(self) -> None:
        self.reset_count_of_new = self.reset_count

    async def stop(self) -> None:
        """Stop accepting connections, send pending responses, and close all connections."""
        if self._token_providers is not None:
            self._token_providers.stop()
        self.files.close()
        await self.listeners.close()
        self.timer_driver.stop()
        now_ms = self.clock.now_ms()
        self.dispatcher.turns.close()
        for queue in self._accept_queues.values():
            queue.clear()
        for protocol in list(self._protocols):
            if protocol.connection is not None:
                protocol.connection.force_complete(now_ms)
        self.timer_driver.resume_ready()
        for protocol in list(self._protocols):
            protocol.finish()
        for _ in range(STOP_TURNS_MAX):
            if not self._protocols:
                break
            await asyncio.sleep(STOP_TURN_S)

    # Connections ---------------------------------------------------------------------------

    @property
    def protocols(self) -> tuple[ClientProtocol, ...]:
        """All current connections."""
        return tuple(self._protocols)

    def add(self, protocol: ClientProtocol) -> str | None:
        """Count a new socket; return why it must be closed, or None."""
        if protocol.reset_count != self.reset_count:
            return "the cluster was reset"
        if len(self._protocols) >= self.connections_max:
            return f"the limit of open files leaves room for {self.connections_max} connections"
        self._protocols[protocol] = None
        return None

    def accept_queue(self, broker_id: int, listener_name: str) -> AcceptQueue:
        """Return the connections that wait until a listener of a broker accepts them."""
        name = (broker_id, listener_name)
        queue = self._accept_queues.get(name)
        if queue is None:
            queue = AcceptQueue(self.cluster, *name, lambda queue: self._has_place(name, queue))
            self._accept_queues[name] = queue
        return queue

    def _has_place(self, name: tuple[int, str], queue: AcceptQueue) -> bool:
        return self._counts.has_place(
            *name,
            self.cluster.config.for_broker(name[0])[CONNECTIONS_KEY],
            queue.own_limit(CONNECTIONS_KEY),
            is_protected=queue.is_protected,
        )

    def admit(self, protocol: ClientProtocol, host: str) -> str | None:
        """Count a connection that a broker accepts; return why it must be closed, or None."""
        config = self.cluster.config.for_broker(protocol.broker_id)
        refusal = self._counts.admit(protocol, host, config)
        if refusal is None:
            self._close_excess(protocol.broker_id)
        return refusal

    def _close_excess(self, broker_id: int) -> None:
        """Close the connections beyond `max.connections` that were not used for longest.

        There are some after a connection of another broker, and after the limit was lowered.
        """
        connections_max: int = self.cluster.config.for_broker(broker_id)[CONNECTIONS_KEY]
        count = self._counts.excess(broker_id, connections_max)
        if not count:
            return
        closable = (
            protocol
            for protocol in self._protocols
            if protocol.broker_id == broker_id
            and self._counts.has(protocol)
            and not self.accept_queue(broker_id, protocol.listener_name).is_protected
        )
        for protocol in sorted(closable, key=lambda protocol: protocol.last_active_ms)[:count]:
            self._counts.forget(protocol)
            protocol.cut(f"{CONNECTIONS_KEY} ({connections_max}) exceeded")

    def _apply_limits(self) -> None:
        """Adopt a change of the limits of connections."""
        for broker_id in self.cluster.brokers:
            self._close_excess(broker_id)
        self._use_places()

    def _use_places(self) -> None:
        """Accept connections that wait, as far as there are places."""
        for (broker_id, _), queue in list(self._accept_queues.items()):
            if broker_id in self.cluster.brokers:
                queue.use_place(self.clock.now_ms())

    def forget(self, protocol: ClientProtocol) -> None:
        """Stop counting a connection that is closed."""
        self._protocols.pop(protocol, None)
        self._without_room.pop(protocol, None)
        self.note_held(protocol, 0)
        self._counts.forget(protocol)
        if self._accept_queues:
            self._use_places()

    def note_held(self, protocol: ClientProtocol, byte_count: int) -> None:
        """Count what is held for a connection; close those that hold most if it is too much."""
        held = self._held_bytes
        self._held_bytes_total += byte_count - held.pop(protocol, 0)
        if byte_count:
            held[protocol] = byte_count
        bytes_max: int = self.cluster.config["connections.held.bytes.max"]
        while self._held_bytes_total > bytes_max:
            worst = max(held, key=held.__getitem__)
            self._held_bytes_total -= held.pop(worst)
            reason = f"connections.held.bytes.max ({bytes_max}) reached"
            assert self._loop is not None
            self._loop.call_soon(worst.cut, reason)

    def wait_for_room(self, protocol: ClientProtocol) -> None:
        """Go on reading from a connection when fewer requests wait for their turns."""
        self._without_room[protocol] = None

    def _give_room(self) -> None:
        """Read from the connection that waits longest, or from all when no request waits."""
        count = 1 if self.dispatcher.turns else len(self._without_room)
        for protocol in list(islice(self._without_room, count)):
            del self._without_room[protocol]
            protocol.update_reading()

    def _apply_availability(self, broker: Broker) -> None:
        if broker.is_out_of_memory:
            log.warning("broker stopped", broker=broker.node_id, reason="broker.max.producer.ids")
        if broker.availability is Availability.DOWN:
            for (broker_id, _), queue in self._accept_queues.items():
                if broker_id == broker.node_id:
                    queue.clear()
        elif self.listeners.is_refusing(broker.node_id):
            self.certificates.restart(broker.node_id)
        self.listeners.apply_availability(broker)
        for protocol in self.protocols:
            if protocol.broker_id == broker.node_id:
                protocol.apply_availability()

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> None:
        """Call a function after `delay_s` of the event loop's clock, at once for 0."""
        if delay_s and self._loop is not None:
            self._loop.call_later(delay_s, callback)
        else:
            callback()
