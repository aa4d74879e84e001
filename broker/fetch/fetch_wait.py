"""Wait for new records, without polling (Kafka's `DelayedFetch`)."""

from collections.abc import Callable
from functools import partial

from broker.cluster.fetch_sessions import CachedPartition
from broker.fetch.fetch_response import Fetch, respond
from broker.fetch.partition_read import (
    ManyBatchesError,
    ReadResult,
    WaitingBytes,
    find_partition,
    read_partitions,
)
from broker.fetch.waiting_fetch import WaitingFetch, WaitingPartition
from broker.pending_response import Failed, PendingResponse
from protocol.pacing import current_turn, may_pause, paced_elements


@may_pause
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


@may_pause
def _respond_later(fetch: Fetch, pending: PendingResponse) -> None:
    response = _read_or_wait(fetch)
    if not isinstance(response, PendingResponse):
        pending.complete(response)
    elif pending.is_done:  # the client has disconnected during a pause
        response.cancel()
    else:  # its batches were deleted during a pause
        pending.follow(response)
        response.attach(pending.complete)


@may_pause
def _read_or_wait(fetch: Fetch) -> object:
    partitions, is_final = _read(fetch)
    if is_final or fetch.max_wait_ms <= 0 or not fetch.known:
        return respond(fetch, partitions, fetch.context.now_ms)
    waiting = WaitingFetch(
        fetch.cluster,
        fetch.context.now_ms + fetch.max_wait_ms,
        partial(WaitingBytes, fetch.cluster, fetch.params, partitions),
        partial(respond_again, fetch),
        fetch.in_turns,
    )
    _watch(fetch, waiting)
    return waiting.pending


@may_pause
def _watch(fetch: Fetch, waiting: WaitingFetch) -> None:
    """Have all partitions call the request when they change."""
    for cached in paced_elements(fetch.known):
        if waiting.is_over:  # during a pause
            return
        partition = find_partition(fetch.cluster, cached)
        if partition is not None:
            waiting.watch(WaitingPartition(waiting, cached, partition.log))
    turn = current_turn()
    # There may be enough beyond the batches that fit into the response. A read that paused has
    # not seen what came then, and nobody woke this request for it.
    if waiting.found.has_any or (turn is not None and turn.is_long):
        for cached in paced_elements(_to_look_at(fetch)):
            if waiting.is_due or waiting.is_over:
                return
            waiting.look_again(
                partial(WaitingBytes.is_enough_with, cached=cached), fetch.context.now_ms
            )


@may_pause
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


@may_pause
def _read(fetch: Fetch) -> ReadResult:
    is_in_session = fetch.session.session is not None
    known = fetch.known if fetch.logs is None else _to_look_at(fetch)
    return read_partitions(fetch.cluster, fetch.params, known, is_in_session=is_in_session)


@may_pause
def _to_look_at(fetch: Fetch) -> list[CachedPartition]:
    """Return the partitions without those that have not changed, as far as this is known."""
    session, logs = fetch.session.session, fetch.logs
    if session is None or logs is None or not logs.is_good(session, fetch.cluster):
        return fetch.known
    return logs.changed(fetch.known)
