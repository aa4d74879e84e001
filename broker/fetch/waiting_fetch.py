"""A Fetch or ShareFetch that waits for records, without polling.

Sources: Kafka's `DelayedFetch` and `DelayedShareFetch`.
"""

from collections.abc import Callable
from functools import partial

from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import CachedPartition
from broker.cluster.partition_log import PartitionLog
from broker.fetch.partition_read import WaitingBytes
from broker.pending_response import PendingResponse
from protocol.pacing import InTurns, may_pause, paced_elements, paced_range

Look = Callable[[WaitingBytes], bool]
"""Counts what one partition has; returns whether the request may complete: bytes, or an error."""

Respond = Callable[[int, Callable[[object], None]], object]
"""Is called with `now_ms` and with what takes the response; it raises nothing."""


class WaitingFetch:
    """A request that waits until there is enough to read, or for the end of `max_wait_ms`.

    A change of one partition costs one look at it. If there seems to be enough then, the request
    reads again. If it has `is_ready`, that is asked first: with a share group, another member may
    have acquired the records. What has changed until then is looked at again if it is not ready.
    """

    __slots__ = (
        "_changed",
        "_deadline",
        "_in_turns",
        "_is_ready",
        "_new_count",
        "_respond",
        "_timers",
        "_waits",
        "found",
        "is_due",
        "is_over",
        "pending",
    )

    def __init__(
        self,
        cluster: Cluster,
        deadline_ms: int,
        new_count: Callable[[], WaitingBytes],
        respond: Respond,
        in_turns: InTurns,
        is_ready: Callable[[], bool] | None = None,
    ) -> None:
        """`new_count` returns what the request has found, which is too little."""
        self._timers = cluster.timers
        self._new_count = new_count
        self._respond = respond
        self._in_turns = in_turns
        self._is_ready = is_ready
        self.found = new_count()
        """What is known to be there to read."""
        self._waits: list[WaitingPartition] = []
        self._changed: dict[Look, None] = {}
        """What has changed since a look at all partitions was planned."""
        self.is_due = self.is_over = False
        """Whether it is going to read again soon, and whether it waits no longer."""
        self.pending = PendingResponse(on_cancel=self._cancel, on_force_complete=self._finish)
        self._deadline = self._timers.schedule(deadline_ms, self._finish)

    def watch(self, wait: "WaitingPartition") -> None:
        """Have a partition call this request when it changes."""
        self._waits.append(wait)
        wait.join()

    @may_pause
    def look_again(self, look: Look, now_ms: int) -> None:
        """Respond soon, if a partition has changed in such a way."""
        if self.is_over:
            return
        if self.is_due:
            if self._is_ready is not None:
                self._changed[look] = None
            return
        try:
            is_enough = look(self.found)
        except Exception:  # noqa: BLE001 - the response has it; the caller is another request
            is_enough = True
        if is_enough:
            self.plan_response(now_ms)

    @may_pause
    def plan_response(self, now_ms: int) -> None:
        """Read after the request that woke this one, with all records that it appended."""
        if not self.is_due and not self.is_over:
            self.is_due = True
            # All that one read wakes respond right after it, without a timer each.
            self._timers.call_soon(now_ms, self._finish if self._is_ready is None else self._check)

    @may_pause
    def _check(self, now_ms: int) -> None:
        if not self.is_over:
            self._in_turns(partial(self._attempt, partial(self._look_at_all, now_ms)))

    @may_pause
    def _attempt(self, work: Callable[[], object]) -> None:
        """Do some work; after a bug the client gets no response, and this waits no longer."""
        self.pending.attempt(work)
        if self.pending.is_done:
            self._cancel()

    @may_pause
    def _look_at_all(self, now_ms: int) -> None:
        self._changed.clear()
        assert self._is_ready is not None
        if self._is_ready():
            self._finish(now_ms)
            return
        found = self._new_count()
        for wait in paced_elements(tuple(self._waits)):
            wait.is_enough(found)
        self.found = found
        if self.is_over:  # during a pause
            return
        self.is_due = False
        for look in paced_elements(tuple(self._changed)):
            self.look_again(look, now_ms)

    @may_pause
    def _cancel(self) -> None:
        """Wait no longer: the client is gone, or has its response."""
        self._finish(None)

    @may_pause
    def _finish(self, now_ms: int | None) -> None:
        """Leave the partitions, in turns, and then respond; with None there is no response."""
        if not self.is_over:
            self.is_over = True
            self._timers.cancel(self._deadline)
            self._in_turns(partial(self._leave, now_ms))

    @may_pause
    def _leave(self, now_ms: int | None) -> None:
        waits = self._waits
        # They refer to this object: reference counting frees the request.
        for _ in paced_range(len(waits)):
            waits.pop().leave()
        self._changed.clear()
        if now_ms is not None:
            self._respond(now_ms, self.pending.complete)


class WaitingPartition:
    """The waiter of one partition: a request may have very many, so it is a small object."""

    __slots__ = ("_cached", "_fetch", "_log")

    def __init__(self, fetch: WaitingFetch, cached: CachedPartition, log: PartitionLog) -> None:
        self._fetch = fetch
        self._cached = cached
        self._log = log

    def join(self) -> None:
        """Have the partition call this object when it changes."""
        self._log.wait(self)

    def leave(self) -> None:
        """Have it called no more."""
        self._log.leave(self)

    @may_pause
    def __call__(self, now_ms: int) -> None:
        """Look at the partition again: it has changed."""
        self._fetch.look_again(self.is_enough, now_ms)

    def is_enough(self, found: WaitingBytes) -> bool:
        """See `Look`."""
        return found.is_enough_with(self._cached)
