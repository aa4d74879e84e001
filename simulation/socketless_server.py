"""The broker's server without sockets: its transports are those of a simulated network.

`broker.server.server` runs unchanged. What it logs elsewhere, because a bug must not end it, is
reported here.
"""

from collections.abc import Callable
from traceback import format_exception
from typing import TYPE_CHECKING, cast

from broker.addresses import Address
from broker.clock import Clock
from broker.cluster.brokers import Availability, Broker
from broker.cluster.cluster import Cluster
from broker.dispatch.dispatcher import Dispatcher
from broker.dispatch.turns import Turns
from broker.request.context import RequestContext
from broker.server.client_protocol import ClientProtocol
from broker.server.listener_security import PLAINTEXT, ListenerSecurity
from broker.server.server import Server
from broker.server.timer_driver import TimerDriver
from broker.timers import Timers
from simulation.network import Link, ServerTransport
from simulation.timeline import SocketAddress

if TYPE_CHECKING:
    import asyncio

PORT = 9092
_HOST = "broker-"


class ReportingTimerDriver(TimerDriver):
    """Reports an error that the server's own driver logs."""

    def __init__(
        self, timers: Timers, clock: Clock, turns: Turns, report: Callable[[str], None]
    ) -> None:
        super().__init__(timers, clock, turns)
        self._report = report

    def is_dead_after(self, timer: object) -> bool:
        """Return whether an alarm of the loop would find nothing to do, then or ever."""
        return timer is self._alarm and self._timers.is_idle

    def _note_failure(self, error: Exception) -> None:
        self._report(f"a timer failed: {''.join(format_exception(error))}")


class SocketlessServer(Server):
    """A server whose brokers have the addresses `broker-1:9092`, `broker-2:9092` and so on."""

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        loop: "asyncio.AbstractEventLoop",
        report: Callable[[str], None],
        now_ns: Callable[[], int],
    ) -> None:
        """Call `report` for bugs; `now_ns` measures the time of handlers."""
        super().__init__(cluster, clock)
        self._report = report
        self._loop = loop
        self.dispatcher = Dispatcher(cluster, self._report_bug, now_ns=now_ns)
        self.take_turns(self.dispatcher.turns)
        for broker in cluster.brokers.values():
            broker.host, broker.port = f"{_HOST}{broker.node_id}", PORT

    def take_turns(self, turns: Turns) -> None:
        """Have requests and timers use these turns."""
        self.dispatcher.turns = turns
        self.cluster.run_in_turns = turns.run_work
        driver = ReportingTimerDriver(self.cluster.timers, self.clock, turns, self._report)
        self.timer_driver = self.reporting_driver = driver
        self.timer_driver.loop = self._loop

    async def open(self, broker: Broker) -> None:
        """Give a broker that joins its address."""
        broker.host, broker.port = f"{_HOST}{broker.node_id}", PORT
        broker.endpoints["PLAINTEXT"] = Address(broker.host, broker.port)

    async def move_ports(self) -> None:
        """Refuse to move.

        Raises:
            ValueError: always.
        """
        raise ValueError("simulated brokers keep their addresses")

    def accept(self, link: Link, address: SocketAddress) -> ServerTransport | None:
        """Accept a client, or refuse it as if the broker's process had ended."""
        number = address.host.removeprefix(_HOST)
        broker = self.cluster.brokers.get(int(number)) if number.isdecimal() else None
        if broker is None or address.port != PORT or broker.availability is Availability.DOWN:
            return None
        protocol = self.new_protocol(broker.node_id, self.security())
        transport = ServerTransport(link, protocol)
        link.arrive(transport)
        protocol.connection_made(cast("asyncio.BaseTransport", transport))
        return transport

    def security(self) -> ListenerSecurity:
        """Return the security of the listener at the address of each broker."""
        return PLAINTEXT

    def new_protocol(self, node_id: int, security: ListenerSecurity) -> ClientProtocol:
        """Return the shell of a new connection."""
        return ClientProtocol(self, node_id, security)

    def _report_bug(self, error: BaseException, context: RequestContext) -> None:
        text = "".join(format_exception(error))
        self._report(f"internal error, API {context.api_key} v{context.api_version}: {text}")
