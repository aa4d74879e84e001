"""The connections that wait until a broker accepts them.

They wait for the rate of new connections (KIP-612, `max.connection.creation.rate`), and then for a
place among those that are accepted (KIP-402, `max.connections`). Both limits of the broker count
all its listeners, but do not hold for the one of other brokers. A listener may have limits of its
own as well.

Source: `ConnectionQuotas.waitForConnectionSlot` of Kafka's acceptor. It records a connection, waits
for at most a window and until there is a place, and then takes the next one from the backlog of the
listening socket.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from broker.cluster.cluster import Cluster
from broker.config.listener_values import inter_broker_listener, own_texts
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

    The oldest is recorded in the rates and waits for a timer or for a place. The others wait for
    it. `has_place` says whether the broker may have one more connection.
    """

    __slots__ = (
        "_broker_id",
        "_cluster",
        "_has_place",
        "_listener_name",
        "_own_rate",
        "_timer",
        "_waiting",
    )

    def __init__(
        self,
        cluster: Cluster,
        broker_id: int,
        listener_name: str,
        has_place: Callable[["AcceptQueue"], bool],
    ) -> None:
        self._cluster = cluster
        self._broker_id = broker_id
        self._listener_name = listener_name
        self._has_place = has_place
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
            if wait_ms:
                self._wait(now_ms + wait_ms)
            elif self._has_place(self):
                connection.accept(now_ms)
                return None
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
            self._timer = None
            self.undo(now_ms)
            self._go_on(now_ms)

    def undo(self, now_ms: int) -> None:
        """Forget a connection that was recorded: it is refused, or its client is gone."""
        if not self.is_protected:
            self._cluster.quotas.brokers[self._broker_id].accept_rate.undo(now_ms)
        self._own_rate.undo(now_ms)

    def use_place(self, now_ms: int) -> None:
        """Accept connections that wait for a place, as far as there are places now."""
        if self._waiting and self._timer is None and self._has_place(self):
            self._accept_next(now_ms)
            self._go_on(now_ms)

    @property
    def is_protected(self) -> bool:
        """Whether the limits of the broker do not hold for it: other brokers connect to it."""
        endpoints = self._cluster.brokers[self._broker_id].endpoints
        values = self._cluster.config.for_broker(self._broker_id)
        return (
            len(endpoints) > 1
            and inter_broker_listener(values).upper() == self._listener_name.upper()
        )

    def own_limit(self, name: str) -> int | None:
        """Return the value of a key for this listener alone, or None."""
        text = own_texts(self._cluster.config, self._broker_id, self._listener_name).get(name)
        return None if text is None else int(text)

    def clear(self) -> None:
        """Forget all connections; they are closed."""
        self._waiting.clear()
        self._own_rate.clear()
        self._cluster.timers.cancel(self._timer)
        self._timer = None

    def _record(self, now_ms: int) -> int:
        """Record a connection; return its wait in ms at the limits of now."""
        own_max = self.own_limit(_KEY)
        own_wait_ms = self._own_rate.record(_UNLIMITED if own_max is None else own_max, now_ms)
        if self.is_protected:
            return own_wait_ms
        config = self._cluster.config.for_broker(self._broker_id)
        accept_rate = self._cluster.quotas.brokers[self._broker_id].accept_rate
        return max(accept_rate.record(config[_KEY], now_ms), own_wait_ms)

    def _wait(self, due_ms: int) -> None:
        self._timer = self._cluster.timers.schedule(due_ms, self._accept_oldest)

    def _accept_oldest(self, now_ms: int) -> None:
        self._timer = None
        self.use_place(now_ms)

    def _accept_next(self, now_ms: int) -> None:
        connection, _ = self._waiting.popitem(last=False)
        connection.accept(now_ms)

    def _go_on(self, now_ms: int) -> None:
        """Accept connections until one has to wait."""
        while self._waiting:
            wait_ms = self._record(now_ms)
            if wait_ms:
                self._wait(now_ms + wait_ms)
                return
            if not self._has_place(self):
                return
            self._accept_next(now_ms)
