"""Wait for new records, without polling (Kafka's `DelayedFetch`)."""

from collections.abc import Callable  # noqa: TC003 - plain imports show the layers
from functools import partial

from broker.cluster.fetch_sessions import CachedPartition, SentPartition
from broker.cluster.partition_log import PartitionLog
from broker.fetch.fetch_response import Fetch, respond
from broker.fetch.partition_read import ReadResult, WaitingBytes, find_partition, read_partitions
from broker.pending_response import PendingResponse
from protocol.pacing import current_turn, paced_elements


def read_or_wait(fetch: Fetch) -> object:
    """Return the response, or a `PendingResponse` if there are too few bytes to read."""
    result = _read(fetch)
    if not fetch.known or fetch.max_wait_ms <= 0 or result.is_final:
        return respond(fetch, result.partitions, fetch.context.now_ms)
    return _wait(fetch, result.partitions)


def respond_again(fetch: Fetch, now_ms: int) -> object:
    """Read again after a wait, and return the response.

    Partitions may have moved or been deleted since then: they are checked again.
    """
    return respond(fetch, _read(fetch).partitions, now_ms)


def _read(fetch: Fetch) -> ReadResult:
    omit_unchanged = fetch.session.session is not None
    return read_partitions(fetch.cluster, fetch.params, fetch.known, omit_unchanged=omit_unchanged)


def _wait(fetch: Fetch, read: list[SentPartition]) -> PendingResponse:
    """Wait for new records or the end of `max_wait_ms`; `read` is too little."""
    context, cluster, known = fetch.context, fetch.cluster, fetch.known
    timers = cluster.timers
    waiting_bytes = WaitingBytes(cluster, fetch.params, read)
    waits: list[tuple[PartitionLog, Callable[[int], None]]] = []
    is_due = False

    def forget() -> None:
        timers.cancel(deadline)
        for log, waiter in waits:
            log.leave(waiter)
        waits.clear()  # they refer to this function: reference counting frees the request

    def finish(now_ms: int) -> None:
        forget()
        fetch.in_turns(lambda: read_again(now_ms))

    def read_again(now_ms: int) -> None:
        pending.complete(respond_again(fetch, now_ms))

    def look_again(cached: CachedPartition, now_ms: int) -> None:
        nonlocal is_due
        if not is_due and waiting_bytes.is_enough_with(cached):
            # Respond after the request that woke this one, with all records that it appended.
            is_due = True
            timers.schedule(now_ms, finish)

    pending = PendingResponse(on_cancel=forget, on_force_complete=finish)
    deadline = timers.schedule(context.now_ms + fetch.max_wait_ms, finish)
    for cached in known:
        partition = find_partition(cluster, cached)
        if partition is not None:
            waiter = partial(look_again, cached)
            waits.append((partition.log, waiter))
            partition.log.wait(waiter)
    turn = current_turn()
    if turn is not None and turn.is_long:
        # The read may have paused: nobody woke this request for what came then.
        for cached in paced_elements(known):
            if not pending.is_done:
                look_again(cached, context.now_ms)
    return pending
