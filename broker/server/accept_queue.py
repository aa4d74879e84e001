"""KIP-612: the connections that wait until a broker accepts them (`max.connection.creation.rate`).

The rate of the broker counts all its listeners. A listener may have one of its own as well.

Source: `ConnectionQuotas.waitForConnectionSlot` of Kafka's acceptor. It records a connection, waits
for at most a window, and then takes the next one from the backlog of the listening socket.
"""

from collections import OrderedDict
from typing import Protocol

from broker.cluster.cluster import Cluster
from broker.config.listener_values import own_texts
from broker.timers import Timer
from quotas.connection_rate import AcceptRate

_KEY = "max.connection.creation.rate"
_UNLIMITED = (1 << 31) - 1


class NewConnection(Protocol):
    """A connection, as far as the queue needs it."""

    def accept(self, now_ms: int) -> None:
        """Go on: the broker accepts the connection."""
        ...


class AcceptQueue:
    """The connections that one listener of a broker has not accepted yet, oldest first.

    The oldest is recorded in the rates and waits for a timer. The others wait for it.
    """

    __slots__ = ("_broker_id", "_cluster", "_listener_name", "_own_rate", "_timer", "_waiting")

    def __init__(self, cluster: Cluster, broker_id: int, listener_name: str) -> None:
        self._cluster = cluster
        self._broker_id = broker_id
        self._listener_name = listener_name
        self._own_rate = AcceptRate(
            cluster.config["quota.window.num"], cluster.config["quota.window.size.seconds"]
        )
        self._waiting: OrderedDict[NewConnection, None] = OrderedDict()
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def join(self, connection: NewConnection, now_ms: int) -> str | None:
        """Accept a new connection now or in its turn; return why to close it instead, or None."""
        waiting = self._waiting
        if not waiting:
            wait_ms = self._record(now_ms)
            if not wait_ms:
                connection.accept(now_ms)
                return None
            self._wait(now_ms + wait_ms)
        else:
            # The oldest has left Kafka's backlog.
            backlog_size = self._cluster.config["socket.listen.backlog.size"]
            if len(waiting) > backlog_size:
                return f"socket.listen.backlog.size ({backlog_size}) reached"
        waiting[connection] = None
        return None

    def leave(self, connection: NewConnection, now_ms: int) -> None:
        """Remove a connection that is lost, if it waits; it does not count."""
        is_oldest = next(iter(self._waiting), None) is connection
        self._waiting.pop(connection, None)
        if is_oldest:
            self._cluster.timers.cancel(self._timer)
            self.undo(now_ms)
            self._go_on(now_ms)

    def undo(self, now_ms: int) -> None:
        """Forget a connection that was recorded: it is refused, or its client is gone."""
        self._cluster.quotas.brokers[self._broker_id].accept_rate.undo(now_ms)
        self._own_rate.undo(now_ms)

    def clear(self) -> None:
        """Forget all connections; they are closed."""
        self._waiting.clear()
        self._own_rate.clear()
        self._cluster.timers.cancel(self._timer)
        self._timer = None

    def _record(self, now_ms: int) -> int:
        """Record a connection; return its wait in ms at the limits of now."""
        config = self._cluster.config.for_broker(self._broker_id)
        accept_rate = self._cluster.quotas.brokers[self._broker_id].accept_rate
        own = own_texts(self._cluster.config, self._broker_id, self._listener_name)
        own_wait_ms = self._own_rate.record(int(own.get(_KEY, _UNLIMITED)), now_ms)
        return max(accept_rate.record(config[_KEY], now_ms), own_wait_ms)

    def _wait(self, due_ms: int) -> None:
        self._timer = self._cluster.timers.schedule(due_ms, self._accept_oldest)

    def _accept_oldest(self, now_ms: int) -> None:
        self._accept_next(now_ms)
        self._go_on(now_ms)

    def _accept_next(self, now_ms: int) -> None:
        connection, _ = self._waiting.popitem(last=False)
        connection.accept(now_ms)

    def _go_on(self, now_ms: int) -> None:
        """Accept connections until one has to wait."""
        self._timer = None
        while self._waiting:
            wait_ms = self._record(now_ms)
            if wait_ms:
                self._wait(now_ms + wait_ms)
                return
            self._accept_next(now_ms)
