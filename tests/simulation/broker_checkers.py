"""Checkers of what brokers promise to any client, whatever its library does."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator

from tests.simulation.history import (
    Alteration,
    Deletion,
    Fetched,
    History,
    LeaderChange,
    Metered,
    Place,
    ProduceSeen,
    Served,
    StoredBatch,
)
from tests.simulation.virtual_time import START_MS

Checker = Callable[[History], Iterator[str]]

ACKS_ALL = -1
HIGH_WATERMARK = -1
NO_EPOCH = -1
SEQUENCE_COUNT = 1 << 31
WINDOW_SECONDS = 2
"""producer.id.quota.window.size.seconds of every world."""
LAYER_COUNT = 4
"""producer.id.quota.cache.layer.count of every world, its default."""
QUOTA_WINDOWS = 3
"""quota.window.num of every world; a window is quota.window.size.seconds, one second."""
SLACK_MS = 20


def sequences(history: History) -> Iterator[str]:
    """In a partition the batches of a producer's epoch follow each other without gap or repeat.

    Its epochs never fall. This is so for every client library, whatever its retries do.
    """
    for place, batches in history.batches.items():
        latest: dict[int, StoredBatch] = {}
        for batch in batches:
            if batch.producer_id < 0:
                continue
            before = latest.get(batch.producer_id)
            latest[batch.producer_id] = batch
            if before is None or batch.producer_epoch > before.producer_epoch:
                continue
            expected = (before.base_sequence + before.record_count) % SEQUENCE_COUNT
            if batch.producer_epoch < before.producer_epoch or batch.base_sequence != expected:
                yield f"{place}: {batch} follows {before}"


def leaders(history: History) -> Iterator[str]:
    """Only the leader of a partition serves Produce and Fetch, in the epoch of the request."""
    for served in history.served:
        changes = history.leaders.get(served.place)
        if changes is not None and not _did_lead(changes, served):
            yield f"{served} was not by the leader: {changes}"


def _did_lead(changes: list[LeaderChange], served: Served) -> bool:
    """Return whether the broker led at any time between the request and the response."""
    first = max(0, bisect_right(changes, served.sent_ms, key=lambda change: change.time_ms) - 1)
    # At the time of the request several changes may have happened, in any order with it.
    while first > 0 and changes[first].time_ms == served.sent_ms:
        first -= 1
    return any(
        change.leader_id == served.node_id
        and served.leader_epoch in {NO_EPOCH, change.leader_epoch}
        for change in changes[first:]
        if change.time_ms <= served.handled_ms
    )


def metadata(history: History) -> Iterator[str]:
    """A leader is in sync and a replica; its epoch rises; acks=-1 needs min.insync.replicas."""
    yield from history.metadata


def availability(history: History) -> Iterator[str]:
    """A broker that is stopped or isolated responds to nobody."""
    yield from history.availability


def waits(history: History) -> Iterator[str]:
    """Without faults a Fetch that waits gets a record as soon as it is stored."""
    calm_ms = history.calm_from_ms
    if calm_ms is None:
        return
    late_ms = history.calm_delay_ms + SLACK_MS
    stored: dict[Place, list[tuple[int, int]]] = defaultdict(list)
    for sent in history.sent:
        delivered = sent.delivered
        if delivered is not None and delivered.has_offset and sent.sent_ms > calm_ms:
            stored[sent.place].append((delivered.offset, sent.resolved_ms))
    for fetched in history.fetched:
        if fetched.sent_ms > calm_ms:
            yield from _answered_late(fetched, stored, late_ms)


def fetch_sessions(history: History) -> Iterator[str]:
    """A response has all partitions with records to read, and no others than its session (KIP-227).

    Records count that all in-sync replicas had before the request was sent: those that only the
    leader has acknowledged cannot be read while a follower lags.
    """
    yield from history.fetch_sessions
    latest: dict[Place, list[tuple[int, int]]] = defaultdict(list)
    for sent in history.sent:
        delivered, facts = sent.delivered, history.producers[sent.producer]
        if delivered is not None and delivered.has_offset and facts.acks == ACKS_ALL:
            latest[sent.place].append((delivered.offset, sent.resolved_ms))
    for fetched in history.fetched:
        for place, fetch_offset in fetched.offsets.items():
            if place in fetched.named:
                continue
            for offset, stored_ms in latest[place]:
                if offset >= fetch_offset and stored_ms < fetched.sent_ms:
                    yield f"{place}: offset {offset}, of {stored_ms}, is missing in {fetched}"
                    break


def _answered_late(
    fetched: Fetched, stored: dict[Place, list[tuple[int, int]]], late_ms: int
) -> Iterator[str]:
    for place, fetch_offset in fetched.offsets.items():
        for offset, stored_ms in stored.get(place, ()):
            known_ms = max(stored_ms, fetched.sent_ms) + late_ms
            if offset >= fetch_offset and fetched.handled_ms > known_ms:
                yield (
                    f"{place}: offset {offset} was stored at {stored_ms},"
                    f" and the response is of {fetched.handled_ms}: {fetched}"
                )


def generations(history: History) -> Iterator[str]:
    """A coordinator accepts nothing of an old generation after members know the next one."""
    yield from history.late_commits
    for accepted in history.accepted:
        for generation, known_ms in history.generations.get(accepted.group, {}).items():
            if generation > accepted.generation and known_ms < accepted.sent_ms:
                yield f"{accepted}, though generation {generation} began before {known_ms}"
                break


def duplicates(history: History) -> Iterator[str]:
    """A batch that arrives again is stored no more, and the response has its first offset."""
    yield from history.duplicates


def sessions(history: History) -> Iterator[str]:
    """A member that sends its heartbeats in time stays in its group."""
    yield from history.sessions


def deletions(history: History) -> Iterator[str]:
    """DeleteRecords deletes the records before its offset, and no others."""
    by_place: dict[Place, list[Deletion]] = defaultdict(list)
    for deletion in history.deletions:
        by_place[deletion.place].append(deletion)
        low_watermark = deletion.low_watermark
        if low_watermark is not None and low_watermark < deletion.offset:
            yield f"{deletion}: the records before the offset are not deleted"
    for place, start in history.log_starts.items():
        if place[0] in history.deleted_topics:
            continue
        mine = by_place[place]
        acknowledged = [
            deletion.low_watermark for deletion in mine if deletion.low_watermark is not None
        ]
        if acknowledged and start < max(acknowledged):
            yield f"{place}: starts at {start} again, after {mine}"
        has_unknown = any(
            deletion.offset == HIGH_WATERMARK and deletion.low_watermark is None
            for deletion in mine
        )
        allowed = max((*acknowledged, *(deletion.offset for deletion in mine)), default=0)
        if start > allowed and not has_unknown and not history.has_retention:
            yield f"{place}: starts at {start}, though nobody deleted it: {mine}"


def configs(history: History) -> Iterator[str]:
    """Of each key a topic has the value that was set last, whatever is done to other keys."""
    by_key: dict[tuple[str, str], list[Alteration]] = defaultdict(list)
    for alteration in history.alterations:
        if not alteration.is_refused:
            by_key[alteration.topic, alteration.key].append(alteration)
    for seen in history.configs:
        for (topic, key), alterations in by_key.items():
            done = [one for one in alterations if _is_known_before(one, seen.time_ms)]
            if topic != seen.topic or not done:
                continue
            possible = {
                one.value
                for one in alterations
                if one.sent_ms <= seen.time_ms and not _is_replaced(one, done)
            }
            value = seen.values.get(key)
            if value not in possible:
                yield f"{topic}: {key} was {value} at {seen.time_ms}, after {done[-1]}"


def _is_known_before(one: Alteration, time_ms: int) -> bool:
    return one.response_ms is not None and one.response_ms < time_ms


def _is_replaced(one: Alteration, done: list[Alteration]) -> bool:
    """Return whether a later alteration has certainly replaced this one."""
    return not one.was_repeated and any(_is_known_before(one, later.sent_ms) for later in done)


def byte_rate(history: History) -> Iterator[str]:
    """A client that sends more than its quota in the windows of a quota is throttled.

    Two windows of one second are always counted. The rate is measured over at most four seconds,
    since the oldest of three samples begins up to a second before them.
    """
    changes = [change for change in history.quota_changes if change.key == "producer_byte_rate"]
    if len(changes) != 1 or changes[0].value is None or changes[0].sent_ms != START_MS:
        # Nobody knows from when on a quota applies that a client sets.
        return
    quota = changes[0]
    by_broker: dict[int, list[Metered]] = defaultdict(list)
    for metered in history.metered:
        if metered.user == quota.user:
            by_broker[metered.node_id].append(metered)
    certain_ms = (QUOTA_WINDOWS - 1) * 1000
    for requests in by_broker.values():
        requests.sort(key=lambda seen: seen.handled_ms)
        for number, last in enumerate(requests):
            if last.throttle_time_ms:
                continue
            byte_count = sum(
                metered.byte_count
                for metered in requests[: number + 1]
                if history.broker_ms(metered.sent_ms, last.handled_ms) < certain_ms
                and (metered.handled_ms < last.sent_ms or metered is last)
            )
            if byte_count > (quota.value or 0) * (QUOTA_WINDOWS + 1):
                yield f"{quota.user} sent {byte_count} bytes and is not throttled: {last}"
                return


def known_producer_ids(history: History) -> Iterator[str]:
    """A broker refuses no producer id that was used within the last window (KIP-936).

    It remembers an id for at least the window less the part that one layer of its filter takes.
    Batches behind a refused one are refused as well, so only the first refusal of an id counts.
    """
    known_ms = WINDOW_SECONDS * 1000 * (LAYER_COUNT - 1) // LAYER_COUNT
    changes = [
        change for change in history.quota_changes_of("writer") if change.key == "producer_ids_rate"
    ]
    if len(changes) != 1:
        return
    admitted: dict[tuple[int, int], list[ProduceSeen]] = defaultdict(list)
    refused: set[tuple[int, int]] = set()
    for produced in sorted(history.produced, key=lambda seen: seen.handled_ms):
        if produced.sent_ms < changes[0].sent_ms:
            continue
        key = produced.node_id, produced.producer_id
        if produced.is_admitted:
            admitted[key].append(produced)
        elif produced.is_refused_by_quota and key not in refused:
            refused.add(key)
            for earlier in admitted[key]:
                is_before = earlier.handled_ms < produced.sent_ms
                age_ms = history.broker_ms(earlier.sent_ms, produced.handled_ms)
                if is_before and age_ms < known_ms and not _was_stopped(history, earlier, produced):
                    yield f"{produced} is refused, though known: {earlier}"
                    break


def _was_stopped(history: History, earlier: ProduceSeen, later: ProduceSeen) -> bool:
    """Return whether the broker stopped in between: it forgets its ids then."""
    return any(
        node_id == later.node_id and earlier.sent_ms <= stopped_ms <= later.handled_ms
        for node_id, stopped_ms in history.stops
    )


def authentication(history: History) -> Iterator[str]:
    """After the end of its session a client is served no more (KIP-368)."""
    yield from history.authentication


def protocol(history: History) -> Iterator[str]:
    """Clients can read all responses, which come in the order of their requests."""
    yield from history.protocol


def timers(history: History) -> Iterator[str]:
    """No timer is late, wherever the clock was moved to."""
    yield from history.timers


BROKER_CHECKERS: tuple[Checker, ...] = (
    sequences,
    leaders,
    metadata,
    availability,
    waits,
    fetch_sessions,
    duplicates,
    generations,
    sessions,
    deletions,
    configs,
    byte_rate,
    known_producer_ids,
    authentication,
    protocol,
    timers,
)
