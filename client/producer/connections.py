"""The core's view of its connections: state, requests in flight, and when they may be used."""

from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum

from client.producer.actions import ProduceRequest, Request
from client.producer.backoff import backoff_ms
from client.producer.settings import ProducerSettings


class State(Enum):
    """The state of a connection."""

    DOWN = "down"
    CONNECTING = "connecting"
    UP = "up"


class Node:
    """One broker's connection."""

    __slots__ = (
        "connect_by_ms",
        "connect_failures",
        "mute_until_ms",
        "produce_count",
        "requests",
        "retry_at_ms",
        "state",
    )

    def __init__(self) -> None:
        self.state = State.DOWN
        self.requests: deque[tuple[Request, int]] = deque()
        """Requests in flight, oldest first, each with the time it was sent."""
        self.produce_count = 0
        self.connect_failures = 0
        self.connect_by_ms = 0
        self.retry_at_ms = 0
        self.mute_until_ms = 0

    def is_usable(self, now_ms: int) -> bool:
        """Return whether the connection is up and not throttled (KIP-219)."""
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
        """Return every connection with its node id."""
        return self._nodes.items()

    def may_connect(self, node_id: int, now_ms: int) -> bool:
        """Return whether the connection is down and its reconnect backoff is over."""
        node = self[node_id]
        return node.state is State.DOWN and now_ms >= node.retry_at_ms

    def connecting(self, node_id: int, now_ms: int) -> None:
        """Note that a connection is being opened."""
        node = self[node_id]
        node.state = State.CONNECTING
        node.connect_by_ms = now_ms + self._settings.connection_setup_timeout_ms

    def connected(self, node_id: int) -> None:
        """Note that a connection is open."""
        node = self[node_id]
        node.state = State.UP
        node.connect_failures = 0

    def sent(self, node_id: int, request: Request, now_ms: int) -> None:
        """Note that a request was sent that gets a response."""
        node = self[node_id]
        node.requests.append((request, now_ms))
        node.produce_count += isinstance(request, ProduceRequest)

    def responded(self, node_id: int, throttle_time_ms: int, now_ms: int) -> Request:
        """Take the oldest request, whose response has arrived, off the connection."""
        node = self[node_id]
        request, _ = node.requests.popleft()
        node.produce_count -= isinstance(request, ProduceRequest)
        if throttle_time_ms > 0:
            node.mute_until_ms = max(node.mute_until_ms, now_ms + throttle_time_ms)
        return request

    def lost(self, node_id: int, now_ms: int) -> list[Request]:
        """Note that a connection is lost; return its requests in flight, oldest first."""
        node = self[node_id]
        requests = [request for request, _ in node.requests]
        node.requests.clear()
        node.produce_count = 0
        node.state = State.DOWN
        node.connect_failures += 1
        node.retry_at_ms = now_ms + backoff_ms(
            self._settings.reconnect_backoff_ms,
            self._settings.reconnect_backoff_max_ms,
            node.connect_failures,
            self._random,
        )
        return requests

    def overdue(self, now_ms: int) -> list[int]:
        """Return the nodes whose oldest request or connection attempt has timed out."""
        return [
            node_id
            for node_id, node in self._nodes.items()
            if (due_ms := self._due_ms(node)) is not None and now_ms >= due_ms
        ]

    def _due_ms(self, node: Node) -> int | None:
        if node.state is State.CONNECTING:
            return node.connect_by_ms
        if node.requests:
            return node.requests[0][1] + self._settings.request_timeout_ms
        return None

    def next_due_ms(self) -> list[int]:
        """Return when each node's request or connection attempt times out."""
        return [due for node in self._nodes.values() if (due := self._due_ms(node)) is not None]

    def least_loaded(self, candidates: Iterable[int], now_ms: int) -> int | None:
        """Return the usable node with the fewest requests in flight, or None."""
        usable = [candidate for candidate in candidates if self[candidate].is_usable(now_ms)]
        return min(usable, key=lambda node_id: len(self[node_id].requests), default=None)
