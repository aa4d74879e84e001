"""Checkers of the promises in a world, from what clients saw. Each yields violations."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from tests.simulation.broker_checkers import BROKER_CHECKERS, WINDOW_SECONDS, Checker
from tests.simulation.history import (
    Commit,
    CommittedRead,
    History,
    Mutation,
    Place,
    SentRecord,
)

TICK_MS = 10
NO_OFFSET = -1
ACKS_ALL = -1
MUTATION_BURST_SECONDS = 11
"""controller.quota.window.num times controller.quota.window.size.seconds."""


def records(history: History) -> Iterator[str]:
    """Acknowledged records are stored once, in order and at the offset of the response.

    Failed records are stored at most once, and not at all if the producer reported that.
    """
    positions: dict[bytes, list[int]] = defaultdict(list)
    for place, log in history.log.items():
        for seen in log:
            positions[seen.value].append(seen.offset)
        yield from _in_order(history, place)
    known = set()
    for sent in history.sent:
        known.add(sent.value)
        yield from _stored_right(history, sent, positions.get(sent.value, []))
    for value in positions:
        if value not in known:
            yield f"nobody sent {value!r}"


def _in_order(history: History, place: Place) -> Iterator[str]:
    """Offsets ascend, and so do the record numbers of an idempotent producer.

    For a producer that may store a record twice, the first copies of acknowledged records ascend: a
    record that it gave up may arrive late, over a connection that it has closed.
    """
    delivered = {
        sent.value: sent.delivered.offset for sent in history.sent if sent.delivered is not None
    }
    latest: dict[str, int] = {}
    last_offset = NO_OFFSET
    stored: set[bytes] = set()
    for seen in history.log[place]:
        if seen.offset <= last_offset:
            yield f"{place}: offset {seen.offset} follows {last_offset}"
        last_offset = seen.offset
        producer, _, rest = seen.value.decode().partition(" ")
        facts = history.producers[producer]
        if place[0] in history.deleted_topics:
            # A recreated topic of this name has no producer state.
            continue
        # The copy that was acknowledged may have been deleted with the records before it.
        is_again = seen.value in stored or delivered.get(seen.value, NO_OFFSET) != seen.offset
        stored.add(seen.value)
        if not facts.is_ordered or (not facts.is_idempotent and is_again):
            continue
        number = int(rest.rpartition(" ")[2])
        before = latest.get(producer, -1)
        if number < before:
            yield f"{place}: {seen.value!r} is stored behind number {before} of its producer"
        latest[producer] = number


def _stored_right(history: History, sent: SentRecord, offsets: list[int]) -> Iterator[str]:
    facts = history.producers[sent.producer]
    name = sent.value.decode()
    if sent.outcome is None:
        yield f"{name}: its producer never reported an outcome"
        return
    if len(offsets) > 1 and facts.is_idempotent:
        yield f"{name}: stored at {offsets}"
    may_be_gone = sent.place[0] in history.deleted_topics
    delivered = sent.delivered
    if delivered is None:
        if offsets and not getattr(sent.outcome, "is_possibly_stored", False):
            yield f"{name}: stored at {offsets}, though surely not, says {sent.outcome}"
    elif facts.acks != 0 and not may_be_gone:
        start = history.log_starts.get(sent.place, 0)
        is_dropped = delivered.offset < start if delivered.has_offset else start > 0
        is_dropped |= _was_lost(history, sent.place, facts.acks, delivered.offset)
        if not offsets and not is_dropped:
            yield f"{name}: acknowledged at {delivered.offset}, and nowhere"
        elif (
            offsets and delivered.has_offset and not is_dropped and delivered.offset not in offsets
        ):
            yield f"{name}: acknowledged at {delivered.offset}, but stored at {offsets}"


def _was_lost(history: History, place: Place, acks: int, offset: int) -> bool:
    """Return whether an election may have lost an acknowledged record; -1 for any offset.

    A clean one loses only what is not committed: no record with acks=all.
    """
    return (history.elects_unclean or acks != ACKS_ALL) and any(
        offset < 0 or cut.offset <= offset < cut.end_offset for cut in history.cuts.get(place, ())
    )


def reads(history: History) -> Iterator[str]:
    """Consumers read the stored records, at the same offsets.

    After an unclean election others may be there.
    """
    if not history.elects_unclean:
        yield from history.rewritten
    for place, seen in history.seen.items():
        final = {record.offset: record.value for record in history.log.get(place, [])}
        start = history.log_starts.get(place, 0)
        for offset, (value, _) in seen.items():
            if _was_lost(history, place, ACKS_ALL, offset):
                continue
            if offset >= start and final.get(offset) != value:
                yield f"{place} offset {offset}: seen as {value!r}, stored {final.get(offset)!r}"


def deadlines(history: History) -> Iterator[str]:
    """Each record has an outcome within delivery_timeout_ms and a tick (KIP-91)."""
    for sent in history.sent:
        timeout_ms = history.producers[sent.producer].delivery_timeout_ms
        took_ms = sent.resolved_ms - sent.sent_ms
        if sent.outcome is not None and took_ms > timeout_ms + TICK_MS:
            yield f"{sent.value.decode()}: took {took_ms} ms of {timeout_ms}"


def assignments(history: History) -> Iterator[str]:
    """Members of one generation never share a partition."""
    owners: dict[tuple[str, int, Place], str] = {}
    for assignment in history.assignments:
        for place in assignment.places:
            key = assignment.group, assignment.generation, place
            other = owners.setdefault(key, assignment.member)
            if other != assignment.member:
                yield (
                    f"{assignment.group} generation {assignment.generation}:"
                    f" {place} belongs to {other} and to {assignment.member}"
                )


def commits(history: History) -> Iterator[str]:
    """OffsetFetch returns the last committed offset: none is lost, and no older one returns."""
    by_place: dict[tuple[str, Place], list[Commit]] = defaultdict(list)
    for commit in history.commits:
        if not commit.is_refused:
            by_place[commit.group, commit.place].append(commit)
    for read in history.committed_reads:
        possible = by_place[read.group, read.place]
        if read.offset == NO_OFFSET:
            older = [
                candidate for candidate in possible if _is_known_before(candidate, read.sent_ms)
            ]
            if older and read.place[0] not in history.deleted_topics:
                yield f"{read.group} {read.place}: nothing is committed, after {older[-1]}"
        elif not any(_may_be_read(candidate, read, possible) for candidate in possible):
            yield f"{read.group} {read.place}: {read} has no commit that could be the last"


def _is_known_before(commit: Commit, time_ms: int) -> bool:
    return commit.response_ms is not None and commit.response_ms < time_ms


def _may_be_read(commit: Commit, read: CommittedRead, others: Iterable[Commit]) -> bool:
    """Return whether a read may return this commit: it was sent, and none is certainly newer."""
    if commit.offset != read.offset or commit.sent_ms > read.response_ms:
        return False
    return not any(
        _is_known_before(other, read.sent_ms)
        and (_is_known_before(commit, other.sent_ms) or other.generation > commit.generation)
        for other in others
    )


def mutation_quota(history: History) -> Iterator[str]:
    """At most B + R * t partitions are created and deleted before the last request (KIP-599).

    A client that waits for its throttle time is not refused again.
    """
    for user in sorted({mutation.user for mutation in history.mutations}):
        mine = [mutation for mutation in history.mutations if mutation.user == user]
        changes = [
            quota_change
            for quota_change in history.quota_changes
            if quota_change.user == user and quota_change.key == "controller_mutation_rate"
        ]
        if not changes or any(change.value is None for change in changes):
            continue
        rate = max(change.value or 0 for change in changes)
        start_ms = min(change.sent_ms for change in changes)
        admitted = [
            mutation for mutation in mine if mutation.is_admitted and mutation.sent_ms >= start_ms
        ]
        yield from _beyond_bucket(history, user, admitted, rate)
        if len(changes) == 1:
            for mutation in mine:
                if mutation.must_be_admitted and not mutation.is_admitted:
                    yield f"{user}: waited for its throttle time, and is refused again: {mutation}"


def _beyond_bucket(
    history: History, user: str, admitted: list[Mutation], rate: float
) -> Iterator[str]:
    for first, begin in enumerate(admitted):
        count = 0
        for later in admitted[first:]:
            # The last request may overdraw the bucket, so it counts only for later ones.
            allowed = rate * (
                MUTATION_BURST_SECONDS + history.broker_ms(begin.sent_ms, later.response_ms) / 1000
            )
            if count > allowed:
                yield f"{user}: {count} partitions since {begin}, {allowed} allowed, then {later}"
                return
            count += later.partition_count


def producer_id_quota(history: History) -> Iterator[str]:
    """New producer ids of a user on a broker are at most Q + t * Q / T (KIP-936).

    A broker loses its known ids when it is restarted.
    """
    changes = [
        quota_change
        for quota_change in history.quota_changes
        if quota_change.key == "producer_ids_rate"
    ]
    lifted = {change.user for change in changes if change.value is None}
    rates = {change.user: (change.value, change.sent_ms) for change in changes}
    rates = {user: rate for user, rate in rates.items() if user not in lifted}
    first_seen: dict[tuple[str, int, int], dict[int, tuple[int, int]]] = defaultdict(dict)
    for produced in history.produced:
        if (
            produced.user in rates
            and produced.is_admitted
            and produced.sent_ms >= rates[produced.user][1]
        ):
            stops = [
                stopped_ms
                for node_id, stopped_ms in history.stops
                if node_id == produced.node_id and stopped_ms <= produced.handled_ms
            ]
            # An earlier attempt without a response may have been admitted.
            begin_ms = stops[-1] if stops else 0
            attempts_ms = history.id_attempts[produced.node_id, produced.producer_id]
            sent_ms = min(time_ms for time_ms in attempts_ms if time_ms >= begin_ms)
            first_seen[produced.user, produced.node_id, len(stops)].setdefault(
                produced.producer_id, (sent_ms, produced.handled_ms)
            )
    for (user, node_id, _), ids in first_seen.items():
        quota = rates[user][0]
        assert quota is not None
        # The times are bounds: the id was admitted between its request and its response.
        times = list(ids.values())
        for begin_ms in {sent_ms for sent_ms, _ in times}:
            for end_ms in {handled_ms for _, handled_ms in times}:
                if end_ms < begin_ms:
                    continue
                within = sum(begin_ms <= sent and handled <= end_ms for sent, handled in times)
                took_ms = history.broker_ms(begin_ms, end_ms)
                allowed = quota + took_ms * quota / (WINDOW_SECONDS * 1000)
                if within > allowed:
                    yield (
                        f"{user} on broker {node_id}: {within} producer ids in"
                        f" {end_ms - begin_ms} ms, {allowed} allowed"
                    )
                    return


def muting(history: History) -> Iterator[str]:
    """A throttled connection gets no response for the throttle time (KIP-219)."""
    for throttle in history.throttles:
        is_early = throttle.next_written_ms < throttle.written_ms + throttle.throttle_time_ms
        is_shortened = any(
            throttle.written_ms <= moved_ms <= throttle.next_written_ms
            for moved_ms, _ in history.clock_shifts
        )
        if is_early and not is_shortened:
            yield f"link {throttle.link} was answered too early: {throttle}"


def internal_errors(history: History) -> Iterator[str]:
    """There are no internal errors."""
    yield from history.internal_errors


def memory(history: History) -> Iterator[str]:
    """Memory keeps its bounds, and nothing remains at the end."""
    yield from history.memory


def audit(history: History) -> Iterator[str]:
    """The broker's own audit of its acknowledgements has no findings but lost batches."""
    yield from history.audit


def losses(history: History) -> Iterator[str]:
    """The audit says that an election lost a batch only if a replica led that was not in sync."""
    for found in history.lost_by_elections:
        elected_ms = history.out_of_sync_elections.get((found.topic, found.partition), ())
        if found.time_ms is None or all(time_ms < found.time_ms for time_ms in elected_ms):
            yield f"no election can have lost it: {found}"


CHECKERS: dict[str, Checker] = {
    checker.__name__: checker
    for checker in (
        records,
        reads,
        deadlines,
        assignments,
        commits,
        mutation_quota,
        producer_id_quota,
        muting,
        internal_errors,
        memory,
        audit,
        losses,
        *BROKER_CHECKERS,
    )
}


def check(history: History) -> list[str]:
    """Return all violations, each with the name of its checker."""
    found = [
        f"{name}: {violation}"
        for name, checker in CHECKERS.items()
        for violation in checker(history)
    ]
    counts = Counter(violation.partition(":")[0] for violation in found)
    shown: list[str] = []
    for name in counts:
        mine = [violation for violation in found if violation.startswith(f"{name}:")]
        shown += mine[:3]
        if len(mine) > 3:
            shown.append(f"{name}: and {len(mine) - 3} more")
    return shown
