"""The requests that take turns: which may begin, which has the next turn, and how many bytes wait.

A request is due some time after it arrived, the longer the more it asks for, and the next turn goes
to the one that is due first. So a small request passes large ones that came before it, but not all
that come later. After a turn a request is due later by what it has used, so equal requests have
their turns one after the other. Light requests go before all others, which may take seconds; these
have every fifth turn in any case.
"""

import heapq
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import TYPE_CHECKING

from broker.pending_response import PendingResponse
from broker.responses import DispatchResult

if TYPE_CHECKING:
    from greenlet import greenlet


class TurnKind(IntEnum):
    """What a request holds between two turns, which limits how many are there at a time."""

    LIGHT = 0
    """Little: a Produce, a Fetch in a session, or a short request."""
    HEAVY = 1
    """What it has decoded of its elements."""
    READING = 2
    """The result of an operation of the admin port that changes nothing."""
    EXCLUSIVE = 3
    """The body of an operation of the admin port, or half of what it changes."""


STARTED_MAX = {
    TurnKind.LIGHT: 64,
    TurnKind.HEAVY: 4,
    TurnKind.READING: 16,
    TurnKind.EXCLUSIVE: 1,
}
"""Requests of a kind between two turns; with more, new ones wait before they begin."""

LIGHT_TURNS_MAX = 4
"""Turns that light requests have before one of the others, if there are any."""

_LIGHT_KINDS = (TurnKind.LIGHT,)
_OTHER_KINDS = TurnKind.HEAVY, TurnKind.READING, TurnKind.EXCLUSIVE

NS_PER_BYTE = 15_000
"""How much later a request is due for each byte of its frame: a second for 64 KiB."""

TURN_FACTOR = 10
"""How many times as long as it has worked a request lets others of its kind go first.

It has a turn in ten in any case, however many short ones arrive.
"""

LIGHT_BYTES = 32
"""Bytes of a Produce request that take as long as one byte of another: most are only copied."""


class TurnRequest:
    """One request that takes turns."""

    __slots__ = (
        "due_ns",
        "frame_bytes",
        "is_cancelled",
        "is_done",
        "kind",
        "pending",
        "respond",
        "result",
        "waited_ns",
        "worker",
    )

    def __init__(
        self, respond: Callable[[], DispatchResult], frame_bytes: int, kind: TurnKind
    ) -> None:
        self.respond: Callable[[], DispatchResult] | None = respond
        self.frame_bytes = frame_bytes
        self.kind = kind
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
        self._started_counts = dict.fromkeys(TurnKind, 0)
        self._light_turns = 0
        """Turns of light requests since the last one of another."""
        self._number = 0
        # When it is due, a number that decides between equals, and the request.
        self._waiting: dict[TurnKind, list[tuple[int, int, TurnRequest]]] = {
            kind: [] for kind in TurnKind
        }

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

    def may_begin(self, kind: TurnKind) -> bool:
        """Return whether one more request of this kind may begin now."""
        return self._started_counts[kind] < STARTED_MAX[kind]

    def add(self, request: TurnRequest, now_ns: int) -> None:
        """Add a request that has had its first turn, or may not begin yet."""
        is_light = request.kind is TurnKind.LIGHT
        weight = request.frame_bytes // (LIGHT_BYTES if is_light else 1)
        request.due_ns = now_ns + weight * NS_PER_BYTE
        self._requests[request] = None
        self._frame_bytes += request.frame_bytes
        if request.worker is None:
            self._number += 1
            entry = request.due_ns, self._number, request
            heapq.heappush(self._waiting[request.kind], entry)
        else:
            self._start(request)

    def next_request(self) -> TurnRequest | None:
        """Return the request that has the next turn; one that has not begun begins."""
        light, other = self._first_due(_LIGHT_KINDS), self._first_due(_OTHER_KINDS)
        is_light = light is not None and (other is None or self._light_turns < LIGHT_TURNS_MAX)
        due = light if is_light else other
        self._light_turns = self._light_turns + 1 if is_light else 0
        if due is not None and due.worker is None:
            heapq.heappop(self._waiting[due.kind])
            self._start(due)
        return due

    def _first_due(self, kinds: tuple[TurnKind, ...]) -> TurnRequest | None:
        """Return the request of these kinds that is due first, among those that may have a turn."""
        due = min(
            (request for request in self._started if request.kind in kinds),
            key=lambda request: request.due_ns,
            default=None,
        )
        for kind in kinds:
            heap = self._waiting[kind]
            while heap and heap[0][2] not in self._requests:
                heapq.heappop(heap)
            if not heap or not self.may_begin(kind):
                continue
            if due is None or heap[0][0] < due.due_ns:
                due = heap[0][2]
        return due

    def charge(self, request: TurnRequest, turn_ns: int, now_ns: int) -> None:
        """Let others go first, after a turn that took a request so long and has not ended it."""
        request.due_ns = max(request.due_ns, now_ns) + turn_ns * TURN_FACTOR

    def _start(self, request: TurnRequest) -> None:
        self._started.append(request)
        self._started_counts[request.kind] += 1

    def remove(self, request: TurnRequest) -> None:
        """Forget a request that is done, or whose client is gone before it has begun."""
        del self._requests[request]
        self._frame_bytes -= request.frame_bytes
        if request in self._started:
            self._started.remove(request)
            self._started_counts[request.kind] -= 1

    def clear(self) -> list[TurnRequest]:
        """Forget all requests; return them, oldest first."""
        found = list(self._requests)
        for request in found:
            self.remove(request)
        return found
