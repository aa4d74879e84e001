"""Wait for new records, without polling (Kafka's `DelayedFetch`)."""

from collections.abc import Callable
from functools import partial

from broker.cluster.fetch_sessions import CachedPartition, SentPartition
from broker.cluster.partition_log import PartitionLog
from broker.fetch.fetch_response import Fetch, respond
from broker.fetch.partition_read import (
    ManyBatchesError,
    ReadResult,
    WaitingBytes,
    find_partition,
    read_partitions,
)
from broker.pending_response import Failed, PendingResponse
from protocol.pacing import current_turn, paced_elements, paced_range


def read_or_wait(fetch: Fetch) -> object:
    """Return the response, or a `PendingResponse` if there are too few bytes to read.

    With very many batches the request takes turns, and the response may be pending as well.
    """
    try:
        return _read_or_wait(fetch)
    except ManyBatchesError:
        fetch.lengthen()
    pending = PendingResponse()
    fetch.in_turns(partial(pending.attempt, partial(_respond_later, fetch, pending)))
    return pending.response if pending.is_done else pending


def _respond_later(fetch: Fetch, pending: PendingResponse) -> None:
    response = _read_or_wait(fetch)
    if isinstance(response, PendingResponse):  # its batches were deleted during a pause
        pending.follow(response)
        response.attach(pending.complete)
    else:
        pending.complete(response)


def _read_or_wait(fetch: Fetch) -> object:
    result = _read(fetch)
    if not fetch.known or fetch.max_wait_ms <= 0 or result.is_final:
        return respond(fetch, result.partitions, fetch.context.now_ms)
    waiting = _WaitingFetch(fetch, result.partitions)
    waiting.watch()
    return waiting.pending


def respond_again(fetch: Fetch, now_ms: int, deliver: Callable[[object], None]) -> None:
    """Read again after a wait, and deliver the response: now, or later if it takes turns.

    Partitions may have moved or been deleted since then: they are checked again. What this raises
    is delivered as `Failed`.
    """
    try:
        response = respond(fetch, _read(fetch).partitions, now_ms)
    except ManyBatchesError:
        fetch.lengthen()
        fetch.in_turns(partial(respond_again, fetch, now_ms, deliver))
        return
    except Exception as error:  # noqa: BLE001 - the dispatcher reports it
        response = Failed(error)
    deliver(response)


def _read(fetch: Fetch) -> ReadResult:
    is_in_session = fetch.session.session is not None
    return read_partitions(
        fetch.cluster, fetch.params, _to_look_at(fetch), omit_unchanged=is_in_session
    )


def _to_look_at(fetch: Fetch) -> list[CachedPartition]:
    """Return the partitions without those that have not changed, as far as this is known."""
    session, logs = fetch.session.session, fetch.logs
    if session is None or logs is None or not logs.is_good(session, fetch.cluster):
        return fetch.known
    return logs.changed(fetch.known)


class _WaitingFetch:
    """A request that waits for new records or the end of `max_wait_ms`."""

    __slots__ = ("_bytes", "_deadline", "_fetch", "_is_due", "_is_over", "_waits", "pending")

    def __init__(self, fetch: Fetch, read: list[SentPartition]) -> None:
        """`read` is what the request has found, which is too little."""
        self._fetch = fetch
        self._bytes = WaitingBytes(fetch.cluster, fetch.params, read)
        self._waits: list[_WaitingPartition] = []
        self._is_due = self._is_over = False
        self.pending = PendingResponse(on_cancel=self._cancel, on_force_complete=self._finish)
        self._deadline = fetch.cluster.timers.schedule(
            fetch.context.now_ms + fetch.max_wait_ms, self._finish
        )

    def watch(self) -> None:
        """Have all partitions call this request when they change."""
        cluster = self._fetch.cluster
        for cached in paced_elements(self._fetch.known):
            if self._is_over:  # during a pause
                return
            partition = find_partition(cluster, cached)
            if partition is not None:
                wait = _WaitingPartition(self, cached, partition.log)
                self._waits.append(wait)
                partition.log.wait(wait)
        turn = current_turn()
        # There may be enough beyond the batches that fit into the response. A read that paused has
        # not seen what came then, and nobody woke this request for it.
        if self._bytes.has_any or (turn is not None and turn.is_long):
            now_ms = self._fetch.context.now_ms
            for cached in paced_elements(_to_look_at(self._fetch)):
                if self._is_due or self._is_over:
                    return
                self.look_again(cached, now_ms)

    def look_again(self, cached: CachedPartition, now_ms: int) -> None:
        """Respond soon, if this partition has changed in such a way."""
        if self._is_due or self._is_over:
            return
        try:
            is_enough = self._bytes.is_enough_with(cached)
        except Exception:  # noqa: BLE001 - the response has it; the caller is another request
            is_enough = True
        if is_enough:
            # Respond after the request that woke this one, with all records that it appended.
            self._is_due = True
            self._fetch.cluster.timers.schedule(now_ms, self._finish)

    def _end(self, work: Callable[[], object]) -> None:
        """Wait no longer: leave the partitions, and then do some work, in turns."""
        if not self._is_over:
            self._is_over = True
            self._fetch.cluster.timers.cancel(self._deadline)
            self._fetch.in_turns(partial(self._leave, work))

    def _leave(self, work: Callable[[], object]) -> None:
        waits = self._waits
        # They refer to this object: reference counting frees the request.
        for _ in paced_range(len(waits)):
            wait = waits.pop()
            wait.log.leave(wait)
        work()

    def _cancel(self) -> None:
        self._end(_nothing)

    def _finish(self, now_ms: int) -> None:
        self._end(partial(respond_again, self._fetch, now_ms, self.pending.complete))


def _nothing() -> None:
    """Do nothing more: the client is gone."""


class _WaitingPartition:
    """The waiter of one partition: a request may have very many, so it is a small object."""

    __slots__ = ("_cached", "_fetch", "log")

    def __init__(self, fetch: _WaitingFetch, cached: CachedPartition, log: PartitionLog) -> None:
        self._fetch = fetch
        self._cached = cached
        self.log = log

    def __call__(self, now_ms: int) -> None:
        """Look at the partition again: it has changed."""
        self._fetch.look_again(self._cached, now_ms)
