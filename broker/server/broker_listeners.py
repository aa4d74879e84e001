"""The listening sockets of all brokers of a cluster."""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Container, Iterable
from functools import partial

from broker.addresses import Address
from broker.cluster.brokers import Availability, Broker
from broker.server.listener import Listener, ListenError
from broker.server.listener_security import PLAINTEXT, ListenerSecurity
from broker.server.listener_settings import ListenerPlan

LEFT_MAX = 64
"""Ports that were left and are kept bound, so that nobody else listens there soon; newest ones."""


class BrokerListeners:
    """Listen for brokers, at the addresses of `plans`."""

    def __init__(
        self,
        index_of: Callable[[int], int],
        new_protocol: Callable[[int, ListenerSecurity], asyncio.BaseProtocol],
    ) -> None:
        """`new_protocol` returns the protocol of a connection to a broker, by its node id.

        `index_of` returns the place of a broker in the order of the ports, also by its node id.
        """
        self.plans: list[tuple[ListenerPlan, ListenerSecurity]] = []
        """The listeners of every broker and their security."""
        self._tls: dict[tuple[int, str], ssl.SSLContext] = {}
        """The contexts that have replaced those of the plans, by node id and listener."""
        self._index_of = index_of
        self._new_protocol = new_protocol
        self._listeners: list[Listener] = []
        self._left: deque[Listener] = deque()
        self.refusing: Container[int] = ()
        """Brokers, by node id, that refuse connections although they are not down."""

    @property
    def broker_ids(self) -> set[int]:
        """The node ids of the brokers that have listeners."""
        return {listener.broker_id for listener in self._listeners}

    async def listen(
        self, broker_id: int, host: str, port: int, security: ListenerSecurity = PLAINTEXT
    ) -> int:
        """Accept connections for a broker; return the port (chosen by the system for 0).

        Raises:
            ListenError: the address cannot be bound.
        """
        listener = self._new_listener(broker_id, security)
        bound_port = await listener.open(host, port)
        self._listeners.append(listener)
        return bound_port

    def _new_listener(self, broker_id: int, security: ListenerSecurity) -> Listener:
        new_protocol = partial(self._new_protocol, broker_id, security)
        tls = self._tls.get((broker_id, security.name), security.tls)
        return Listener(broker_id, new_protocol, tls, security.name)

    def use_tls(self, broker_id: int, listener_name: str, tls: ssl.SSLContext) -> None:
        """Have new connections of one listener of a broker use another TLS context."""
        self._tls[broker_id, listener_name] = tls
        for listener in self._listeners:
            if (listener.broker_id, listener.name) == (broker_id, listener_name):
                listener.use_tls(tls)

    async def open(self, broker: Broker) -> None:
        """Bind a broker's listeners, and set its addresses.

        Raises:
            ListenError: an address cannot be bound; then it has no listener.
        """
        self._set_addresses(broker, await self._bind(broker))

    def open_soon(self, broker: Broker) -> None:
        """Do what `open` does without a wait: connections are accepted in a moment.

        Raises:
            ListenError: an address cannot be bound; then it has no listener.
        """
        index, ports = self._index_of(broker.node_id), {}
        opened: list[Listener] = []
        try:
            for plan, security in self.plans:
                bound = plan.bound_by(index)
                opened.append(self._new_listener(broker.node_id, security))
                ports[plan.name] = opened[-1].open_soon(bound.host, bound.port)
        except ListenError:
            for listener in opened:
                listener.end()
            raise
        self._listeners += opened
        self._set_addresses(broker, ports)

    async def move(self, brokers: Iterable[Broker]) -> None:
        """Listen on new ports for these brokers, and refuse connections on all others.

        An address that `Broker.advertise` has set stays.

        Raises:
            ListenError: an address cannot be bound; nothing has changed then.
            ValueError: a port is not the system's choice.
        """
        fixed = [f"{plan.name} has {plan.bound.port}" for plan, _ in self.plans if plan.bound.port]
        if fixed:
            raise ValueError(f"new ports need listeners with port 0; {', '.join(fixed)}")
        left, self._listeners = self._listeners, []
        try:
            ports = [(broker, await self._bind(broker)) for broker in brokers]
        except BaseException:  # also of a caller that is cancelled
            self.end(*self.broker_ids)
            self._listeners = left
            raise
        for broker, ports_of_broker in ports:
            self._set_addresses(broker, ports_of_broker)
        for listener in left:
            listener.refuse()
        self._left += left
        while len(self._left) > LEFT_MAX:
            self._left.popleft().end()

    async def _bind(self, broker: Broker) -> dict[str, int]:
        """Return the ports of a broker's new listeners, by their names."""
        index = self._index_of(broker.node_id)
        ports = {}
        try:
            for plan, security in self.plans:
                bound = plan.bound_by(index)
                ports[plan.name] = await self.listen(
                    broker.node_id, bound.host, bound.port, security
                )
        except ListenError:
            self.end(broker.node_id)
            raise
        return ports

    def _set_addresses(self, broker: Broker, ports: dict[str, int]) -> None:
        index = self._index_of(broker.node_id)
        for plan, _ in self.plans:
            name, host = plan.name, plan.bound_by(index).host
            advertised = plan.advertised_by(index)
            old_port = int(broker.bound.get(name, ":0").rpartition(":")[2])
            planned = Address(advertised.host, advertised.port or old_port)
            if broker.endpoints.get(name, planned) == planned:
                broker.endpoints[name] = Address(advertised.host, advertised.port or ports[name])
            broker.bound[name] = str(Address(host, ports[name]))
        first = next(iter(broker.endpoints.values()))
        broker.host, broker.port = first.host, first.port

    def drop_waiting(self) -> None:
        """Close the connections that no event loop has accepted yet."""
        for listener in self._listeners:
            listener.drop_waiting()

    def is_refusing(self, broker_id: int) -> bool:
        """Return whether a listener of a broker refuses connections, because it is down."""
        return any(
            listener.broker_id == broker_id and not listener.accepts for listener in self._listeners
        )

    def apply_availability(self, broker: Broker) -> None:
        """Refuse connections to a broker that is down, and accept those to another."""
        is_down = broker.availability is Availability.DOWN or broker.node_id in self.refusing
        for listener in self._listeners:
            if listener.broker_id == broker.node_id:
                if is_down:
                    listener.refuse()
                else:
                    listener.accept_again()

    def end(self, *node_ids: int) -> None:
        """Stop listening for these brokers, for good."""
        for listener in self._listeners:
            if listener.broker_id in node_ids:
                listener.end()
        self._listeners = [
            listener for listener in self._listeners if listener.broker_id not in node_ids
        ]

    async def close(self) -> None:
        """Stop listening for good."""
        for listener in (*self._listeners, *self._left):
            await listener.close()
