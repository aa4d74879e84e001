"""The connections that each broker has accepted, and the limits on their number.

A connection waits for a place among those of its broker (`max.connections`) and of its listener
(`listener.name.NAME.max.connections`). One beyond the limit of its address is closed.

Source: Kafka's `ConnectionQuotas`, of which each broker has its own.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

from broker.config.ip_limits import IP_LIMITS_KEY
from broker.server.limited_addresses import limits_by_address


class Accepted(Protocol):
    """A connection, as far as it is counted."""

    @property
    def broker_id(self) -> int:
        """The broker that it is connected to."""
        ...

    @property
    def listener_name(self) -> str:
        """The listener that it came through."""
        ...


class ConnectionCounts:
    """How many connections each broker has, in all, by listener and by address."""

    def __init__(self) -> None:
        self._host_of: dict[Accepted, str] = {}
        self._by_broker: Counter[int] = Counter()
        self._by_listener: Counter[tuple[int, str]] = Counter()
        self._by_host: Counter[tuple[int, str]] = Counter()

    def has_place(
        self,
        broker_id: int,
        listener_name: str,
        connections_max: int,
        listener_max: int | None,
        *,
        is_protected: bool,
    ) -> bool:
        """Return whether a listener of a broker may accept one more connection.

        Args:
            broker_id: the broker, which accepts `connections_max` in all.
            listener_name: its listener, which accepts `listener_max`, or None without an own limit.
            connections_max: as above.
            listener_max: as above.
            is_protected: whether the limit of the broker does not hold for this listener.
        """
        if listener_max is not None and self._by_listener[broker_id, listener_name] >= listener_max:
            return False
        return is_protected or self._by_broker[broker_id] < connections_max

    def excess(self, broker_id: int, connections_max: int) -> int:
        """Return how many connections a broker has beyond its limit, at least 0."""
        return max(0, self._by_broker[broker_id] - connections_max)

    def admit(self, connection: Accepted, host: str, values: Mapping[str, Any]) -> str | None:
        """Count a connection from a host; return why it must be closed instead, or None.

        `values` are those of its broker.
        """
        broker_id, name = connection.broker_id, connection.listener_name
        own_max = limits_by_address(values[IP_LIMITS_KEY]).get(host)
        key = "max.connections.per.ip" if own_max is None else IP_LIMITS_KEY
        host_max = values[key] if own_max is None else own_max
        if self._by_host[broker_id, host] >= host_max:
            return f"{key} ({host_max}) reached"
        self._host_of[connection] = host
        self._by_broker[broker_id] += 1
        self._by_listener[broker_id, name] += 1
        self._by_host[broker_id, host] += 1
        return None

    def has(self, connection: Accepted) -> bool:
        """Return whether a connection is counted."""
        return connection in self._host_of

    def forget(self, connection: Accepted) -> None:
        """Stop counting a connection that is closed, if it was counted."""
        host = self._host_of.pop(connection, None)
        if host is None:
            return
        broker_id = connection.broker_id
        self._by_broker[broker_id] -= 1
        self._by_listener[broker_id, connection.listener_name] -= 1
        self._by_host[broker_id, host] -= 1
        if not self._by_host[broker_id, host]:
            del self._by_host[broker_id, host]
