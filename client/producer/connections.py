"""Connections as the core sees them: which are up, what is out on them, when they may be used."""

from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum

from client.producer.actions import Call, ProduceCall
from client.producer.backoff import backoff_ms
from client.producer.settings import ProducerSettings


class State(Enum):
    """Of a connection."""

    DOWN = "down"
    CONNECTING = "connecting"
    UP = "up"


class Node:
    """One broker's connection."""

    __slots__ = (
        "calls",
        "connect_by_ms",
        "connect_failures",
        "mute_until_ms",
        "produce_count",
        "retry_at_ms",
        "state",
    )

    def __init__(self) -> None:
        self.state = State.DOWN
        self.calls: deque[tuple[Call, int]] = deque()
        """What waits for a response, oldest first, each with the time it was sent."""
        self.produce_count = 0
        self.connect_failures = 0
        self.connect_by_ms = 0
        self.retry_at_ms = 0
        self.mute_until_ms = 0

    def is_usable(self, now_ms: int) -> bool:
        """Whether something can be sent now: the connection is up, and not throttled (KIP-219)."""
        return self.state is State.UP and now_ms >= self.mute_until_ms


class Nodes:
    """All connections by node id; those of the bootstrap servers have negative ids."""

    def __init__(self, settings: ProducerSettings, random: Callable[[], float]) -> None:
        self._settings = settings
        self._random = random
        self._nodes: dict[int, Node] = {}

    def __getitem__(self, node_id: int) -> Node:
        node = self._nodes.get(node_id)
        if node is None:
            node = self._nodes[node_id] = Node()
        return node

    def items(self) -> Iterable[tuple[int, Node]]:
        """Every connection that ever was wanted."""
        return self._nodes.items()

    def may_connect(self, node_id: int, now_ms: int) -> bool:
        """Whether the connection is down, and not since too short a time."""
        node = self[node_id]
        return node.state is State.DOWN and now_ms >= node.retry_at_ms

    def connecting(self, node_id: int, now_ms: int) -> None:
        """A connection is being opened."""
        node = self[node_id]
        node.state = State.CONNECTING
        node.connect_by_ms = now_ms + self._settings.connection_setup_timeout_ms

    def connected(self, node_id: int) -> None:
        """It is open."""
        node = self[node_id]
        node.state = State.UP
        node.connect_failures = 0

    def sent(self, node_id: int, call: Call, now_ms: int) -> None:
        """A request that will be answered went out."""
        node = self[node_id]
        node.calls.append((call, now_ms))
        node.produce_count += isinstance(call, ProduceCall)

    def responded(self, node_id: int, throttle_time_ms: int, now_ms: int) -> Call:
        """The oldest request was answered; returns it."""
        node = self[node_id]
        call, _ = node.calls.popleft()
        node.produce_count -= isinstance(call, ProduceCall)
        if throttle_time_ms > 0:
            node.mute_until_ms = max(node.mute_until_ms, now_ms + throttle_time_ms)
        return call

    def lost(self, node_id: int, now_ms: int) -> list[Call]:
        """The connection is gone; returns what nobody will answer any more, oldest first."""
        node = self[node_id]
        calls = [call for call, _ in node.calls]
        node.calls.clear()
        node.produce_count = 0
        node.state = State.DOWN
        node.connect_failures += 1
        node.retry_at_ms = now_ms + backoff_ms(
            self._settings.reconnect_backoff_ms,
            self._settings.reconnect_backoff_max_ms,
            node.connect_failures,
            self._random,
        )
        return calls

    def overdue(self, now_ms: int) -> list[int]:
        """Nodes whose oldest request, or whose connecting, has taken too long."""
        return [
            node_id
            for node_id, node in self._nodes.items()
            if (due_ms := self._due_ms(node)) is not None and now_ms >= due_ms
        ]

    def _due_ms(self, node: Node) -> int | None:
        if node.state is State.CONNECTING:
            return node.connect_by_ms
        if node.calls:
            return node.calls[0][1] + self._settings.request_timeout_ms
        return None

    def next_due_ms(self) -> list[int]:
        """When `overdue` will have something to tell, for every node."""
        return [due for node in self._nodes.values() if (due := self._due_ms(node)) is not None]

    def least_loaded(self, candidates: Iterable[int], now_ms: int) -> int | None:
        """The usable node with the fewest requests out, or None."""
        usable = [each for each in candidates if self[each].is_usable(now_ms)]
        return min(usable, key=lambda each: len(self[each].calls), default=None)
