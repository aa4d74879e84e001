"""The brokers of a world: the real cluster, dispatcher, connections and server without sockets.

`broker.server.server` runs unchanged. Its transports are `network.ServerTransport`; its loop is the
world's schedule. A link names the user of its client.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import broker.faults.injector
import broker.handlers  # noqa: F401 - declares all APIs
from broker.clock import ClockMode
from broker.cluster.brokers import Broker
from broker.cluster.cluster import Cluster
from broker.config.broker_config import BrokerConfig
from broker.request.session import Session
from broker.routes import ROUTES
from broker.server.client_protocol import ClientProtocol
from broker.server.listener_security import ListenerSecurity
from simulation.socketless_server import SocketlessServer
from tests.simulation.pauses import Pauses, PausingTurns
from tests.simulation.virtual_time import Schedule

if TYPE_CHECKING:
    import asyncio


# A module that is imported in a world would keep constants that `Pauses` has changed there.
for _route in ROUTES.values():
    _route.load()

HOSTILE_HOST = "hostile"
"""The address of clients that may send anything."""
HANDLING_NS = 100_000
"""The handling time of each request: a real stopwatch would make runs differ."""


class SimulatedClock:
    """The time of the brokers: that of the schedule, unless the clock was moved forward."""

    mode = ClockMode.REAL
    factor = 1.0

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._offset_ms = 0

    def now_ms(self) -> int:
        """Return the time of the current event at the brokers."""
        return self._schedule.time_ms + self._offset_ms

    def wait_s(self, delay_ms: int) -> float | None:
        """Return `delay_ms` in seconds."""
        return delay_ms / 1000

    def move_to(self, time_ms: int) -> None:
        """Set the clock forward; a time that has passed changes nothing."""
        self._offset_ms = max(self._offset_ms, time_ms - self._schedule.time_ms)


class KnownUser(ListenerSecurity):
    """A listener whose users are those that the network names."""

    def new_session(self, transport: Any) -> Session:
        """Return a session of the user that the link names."""
        return Session("PLAINTEXT", is_sasl=False, principal=transport.get_extra_info("principal"))


class PasswordsOnly(ListenerSecurity):
    """A listener whose clients authenticate with SASL."""

    def new_session(self, transport: Any) -> Session:
        """Return a session that has to be authenticated."""
        return Session("SASL_PLAINTEXT", is_sasl=True)


KNOWN_USER, PASSWORDS_ONLY = KnownUser(), PasswordsOnly()


class SimulatedProtocol(ClientProtocol):
    """The shell of one connection; it reports the reason of its end to the world."""

    __slots__ = ()

    def _close(self, reason: str, after_s: float = 0) -> None:
        cast("SimulatedServer", self._server).on_close(self, reason)
        super()._close(reason, after_s)


class SimulatedServer(SocketlessServer):
    """The server without sockets."""

    def __init__(
        self,
        cluster: Cluster,
        schedule: Schedule,
        report: Callable[[str], None],
        trace: Callable[[str], None],
        pauses: Pauses,
    ) -> None:
        """Call `report` for internal errors and `trace` for other events."""
        ticks = iter(range(0, 1 << 62, HANDLING_NS))
        super().__init__(
            cluster,
            SimulatedClock(schedule),
            cast("asyncio.AbstractEventLoop", schedule),
            report,
            lambda: next(ticks),
        )
        self._trace = trace
        self.has_sasl = False
        self.on_availability: Callable[[Broker], None] = lambda _broker: None
        """Called when a broker stops or begins to serve its connections."""
        bytes_max = self.dispatcher.turns.response_bytes_max
        self.take_turns(PausingTurns(bytes_max, lambda: next(ticks), pauses))
        self.pauses = pauses

    def security(self) -> ListenerSecurity:
        """Return the security of the listener: with SASL or without."""
        return PASSWORDS_ONLY if self.has_sasl else KNOWN_USER

    def new_protocol(self, node_id: int, security: ListenerSecurity) -> ClientProtocol:
        """Return the shell of a new connection."""
        return SimulatedProtocol(self, node_id, security)

    def on_close(self, protocol: ClientProtocol, reason: str) -> None:
        """Handle a connection that the shell closes.

        Only a hostile client sends undecodable requests.
        """
        self._trace(f"broker {protocol.broker_id} closes {protocol.peer}: {reason}")
        is_hostile = protocol.peer.startswith(HOSTILE_HOST)
        if reason.startswith("undecodable") and not is_hostile:
            self._report(f"a client was not understood: {reason}")

    def _apply_availability(self, broker: Broker) -> None:
        self.on_availability(broker)
        super()._apply_availability(broker)


def make_server(
    schedule: Schedule,
    random: Random,
    broker_count: int,
    overrides: Mapping[str, str],
    report: Callable[[str], None],
    trace: Callable[[str], None],
    pauses: Pauses,
) -> SimulatedServer:
    """Return a started cluster of brokers 1..n, named `broker-1`..`broker-n`."""
    cluster = Cluster(
        BrokerConfig.from_overrides(dict(overrides)),
        broker_count,
        cluster_id="simulated",
        new_uuid=lambda: UUID(int=random.getrandbits(128), version=4),
    )
    server = SimulatedServer(cluster, schedule, report, trace, pauses)
    server.start()
    return server
