"""The requests that take turns: which may begin, which has the next turn, and how many bytes wait.

A request is due some time after it arrived, the longer the more it asks for, and the next turn goes
to the one that is due first. So a small request passes large ones that came before it, but not all
that come later.
"""

import heapq
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from broker.pending_response import PendingResponse
from broker.responses import DispatchResult

if TYPE_CHECKING:
    from greenlet import greenlet

STARTED_MAX = 64
"""Requests between two turns that hold little; with more, new ones wait before they begin."""

HEAVY_STARTED_MAX = 4
"""Heavy requests between two turns: each holds what it has decoded of its elements."""

NS_PER_BYTE = 15_000
"""How much later a request is due for each byte of its frame: a second for 64 KiB."""

LIGHT_BYTES = 32
"""Bytes of a Produce request that take as long as one byte of another: most are only copied."""


class TurnRequest:
    """One request that takes turns."""

    __slots__ = (
        "due_ns",
        "frame_bytes",
        "is_cancelled",
        "is_done",
        "is_heavy",
        "pending",
        "respond",
        "result",
        "waited_ns",
        "worker",
    )

    def __init__(
        self, respond: Callable[[], DispatchResult], frame_bytes: int, *, is_heavy: bool
    ) -> None:
        self.respond: Callable[[], DispatchResult] | None = respond
        self.frame_bytes = frame_bytes
        self.is_heavy = is_heavy
        """Whether its elements are decoded before they are handled."""
        self.result: DispatchResult = None
        self.pending: PendingResponse | None = None
        """What its connection waits for, from the end of its first turn on."""
        self.due_ns = 0
        self.is_cancelled = False
        self.is_done = False
        self.waited_ns = 0
        """How long it has waited for its turns since it began."""
        self.worker: greenlet | None = None
        """Where it runs once it has begun."""


class TurnQueue:
    """The requests of one cluster that are between two turns, or have not begun."""

    def __init__(self, frame_bytes_max: int) -> None:
        """`frame_bytes_max` bounds the bytes of all requests together; -1 is no bound."""
        self._frame_bytes_max = frame_bytes_max
        self._frame_bytes = 0
        self._requests: dict[TurnRequest, None] = {}
        """All of them, oldest first."""
        self._started: list[TurnRequest] = []
        self._heavy_count = 0
        """Heavy ones among those that have begun."""
        self._number = 0
        # By is_heavy: when it is due, a number that decides between equals, and the request.
        self._waiting: tuple[list[tuple[int, int, TurnRequest]], ...] = ([], [])

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[TurnRequest]:
        """Iterate over all requests, oldest first."""
        return iter(self._requests)

    def __contains__(self, request: TurnRequest) -> bool:
        return request in self._requests

    @property
    def is_full(self) -> bool:
        """Whether so many bytes wait that no more large requests should be read."""
        return 0 <= self._frame_bytes_max <= self._frame_bytes

    def may_begin(self, *, is_heavy: bool) -> bool:
        """Return whether one more request of this kind may begin now."""
        if is_heavy:
            return self._heavy_count < HEAVY_STARTED_MAX
        return len(self._started) - self._heavy_count < STARTED_MAX

    def add(self, request: TurnRequest, now_ns: int) -> None:
        """Add a request that has had its first turn, or may not begin yet."""
        weight = request.frame_bytes if request.is_heavy else request.frame_bytes // LIGHT_BYTES
        request.due_ns = now_ns + weight * NS_PER_BYTE
        self._requests[request] = None
        self._frame_bytes += request.frame_bytes
        if request.worker is None:
            self._number += 1
            entry = request.due_ns, self._number, request
            heapq.heappush(self._waiting[request.is_heavy], entry)
        else:
            self._start(request)

    def next_request(self) -> TurnRequest | None:
        """Return the request that has the next turn; one that has not begun begins."""
        due = min(self._started, key=lambda request: request.due_ns, default=None)
        for heap in self._waiting:
            while heap and heap[0][2] not in self._requests:
                heapq.heappop(heap)
            if not heap or not self.may_begin(is_heavy=heap[0][2].is_heavy):
                continue
            if due is None or heap[0][0] < due.due_ns:
                due = heap[0][2]
        if due is not None and due.worker is None:
            heapq.heappop(self._waiting[due.is_heavy])
            self._start(due)
        return due

    def _start(self, request: TurnRequest) -> None:
        self._started.append(request)
        self._heavy_count += request.is_heavy

    def remove(self, request: TurnRequest) -> None:
        """Forget a request that is done, or whose client is gone before it has begun."""
        del self._requests[request]
        self._frame_bytes -= request.frame_bytes
        if request in self._started:
            self._started.remove(request)
            self._heavy_count -= request.is_heavy

    def clear(self) -> list[TurnRequest]:
        """Forget all requests; return them, oldest first."""
        found = list(self._requests)
        for request in found:
            self.remove(request)
        return found
