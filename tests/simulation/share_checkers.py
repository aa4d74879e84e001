"""Checkers of the promises of share groups (KIP-932). Each yields violations."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from tests.simulation.history import Place
from tests.simulation.share_history import (
    Acknowledgement,
    AcknowledgeType,
    DeadLetter,
    Delivery,
    ShareHistory,
)

RecordKey = tuple[str, Place, int]
"""Group, partition and offset."""


@dataclass(slots=True)
class RecordHistory:
    """What happened to one record in one group."""

    deliveries: list[Delivery] = field(default_factory=list)
    acknowledgements: list[Acknowledgement] = field(default_factory=list)


TOO_OFTEN = "Offset delivery count exceeded the threshold."
REJECTED = "Offset rejected by client."

ShareChecker = Callable[[ShareHistory, dict[RecordKey, RecordHistory]], Iterator[str]]


def by_record(history: ShareHistory) -> dict[RecordKey, RecordHistory]:
    """Return the history of each record that was delivered."""
    found: dict[RecordKey, RecordHistory] = defaultdict(RecordHistory)
    for delivery in sorted(history.deliveries, key=lambda delivery: delivery.written_ms):
        for offset in range(delivery.first_offset, delivery.last_offset + 1):
            found[delivery.group, delivery.place, offset].deliveries.append(delivery)
    for acknowledgement in history.acknowledgements:
        delivery = acknowledgement.delivery
        key = delivery.group, delivery.place, acknowledgement.offset
        found[key].acknowledgements.append(acknowledgement)
    return found


def one_holder(history: ShareHistory, records: dict[RecordKey, RecordHistory]) -> Iterator[str]:
    """An acquired record has one holder until it is released or its lock expires."""
    for key, record in records.items():
        ordered = record.deliveries
        for first, second in pairwise(ordered):
            begin_ms = min(first.sent_ms, second.sent_ms)
            end_ms = max(first.written_ms, second.written_ms)
            if not _may_be_released(history, record, (first, second), begin_ms, end_ms):
                yield f"{key}: {first}, and then {second}"
        for acknowledgement in record.acknowledgements:
            for delivery in ordered:
                if _is_of_another(history, record, acknowledgement, delivery):
                    yield f"{key}: {acknowledgement} is taken, while it is held by {delivery}"


def _may_be_released(
    history: ShareHistory,
    record: RecordHistory,
    deliveries: tuple[Delivery, ...],
    begin_ms: int,
    end_ms: int,
) -> bool:
    """Return whether anything in a time may have ended the acquisitions of some deliveries."""
    if end_ms - begin_ms >= history.lock_ms:
        return True
    members = {delivery.member for delivery in deliveries}
    times_ms = [
        *history.leader_changes.get(deliveries[0].place, ()),
        *(time_ms for member in members for time_ms in history.session_ends_of(member)),
        *(
            acknowledgement.sent_ms
            for acknowledgement in record.acknowledgements
            if acknowledgement.type is AcknowledgeType.RELEASE
        ),
    ]
    return any(begin_ms <= time_ms <= end_ms for time_ms in times_ms)


def _is_of_another(
    history: ShareHistory,
    record: RecordHistory,
    acknowledgement: Acknowledgement,
    delivery: Delivery,
) -> bool:
    """Return whether a member acknowledged a record that another one certainly had then.

    An acknowledgement is that of a member, not of a delivery: one of an earlier delivery to the
    same member counts for the later one, too, unless it was refused, or answered before the later
    delivery was requested. A leader does not refuse what is finished already.
    """
    written_ms = acknowledgement.written_ms
    if (
        written_ms is None
        or acknowledgement.is_refused
        or delivery.member == acknowledgement.delivery.member
        or delivery.written_ms >= acknowledgement.sent_ms
    ):
        return False
    is_finished = any(
        other is not acknowledgement
        and other.type is not AcknowledgeType.RENEW
        and not other.is_refused
        and other.sent_ms <= written_ms
        and (other.written_ms is None or other.written_ms >= delivery.sent_ms)
        for other in record.acknowledgements
        if other.delivery.sent_ms >= delivery.sent_ms or other.delivery.member == delivery.member
    )
    return not is_finished and not _may_be_released(
        history, record, (delivery,), delivery.sent_ms, written_ms
    )


def renewed_locks(history: ShareHistory, records: dict[RecordKey, RecordHistory]) -> Iterator[str]:
    """A record whose lock was renewed is not delivered again before the new lock ends (KIP-1222).

    The lock was renewed between the request and its response.
    """
    for key, record in records.items():
        for renewal in record.acknowledgements:
            written_ms = renewal.written_ms
            is_renewed = renewal.type is AcknowledgeType.RENEW and not renewal.is_refused
            if not is_renewed or written_ms is None:
                continue
            for later in record.deliveries:
                if later.sent_ms >= written_ms and not _may_be_released(
                    history, record, (renewal.delivery,), renewal.sent_ms, later.written_ms
                ):
                    yield f"{key}: {renewal}, and then {later}"


def deliveries(history: ShareHistory, records: dict[RecordKey, RecordHistory]) -> Iterator[str]:
    """A record is delivered at most so often, and never again once it is accepted or rejected."""
    for key, record in records.items():
        for delivery in record.deliveries:
            if not 1 <= delivery.delivery_count <= history.delivery_count_max:
                yield f"{key}: {delivery}, of at most {history.delivery_count_max}"
        for acknowledgement in record.acknowledgements:
            written_ms = acknowledgement.written_ms
            if written_ms is None or acknowledgement.is_refused or not acknowledgement.is_final:
                continue
            delivery = acknowledgement.delivery
            if _may_be_released(history, record, (delivery,), delivery.sent_ms, written_ms):
                # The record may be archived already; a leader does not refuse that.
                continue
            again = [later for later in record.deliveries if later.sent_ms > written_ms]
            if again:
                yield f"{key}: {acknowledgement}, and then {again[0]}"


def ranges(history: ShareHistory, _records: dict[RecordKey, RecordHistory]) -> Iterator[str]:
    """The acquired ranges of a response ascend, none is empty, and its records have them all."""
    yield from history.broken_ranges


def record_limits(history: ShareHistory, _records: dict[RecordKey, RecordHistory]) -> Iterator[str]:
    """A member with a record limit gets no more records than it asks for (KIP-1206)."""
    yield from history.broken_limits


def none_lost(history: ShareHistory, records: dict[RecordKey, RecordHistory]) -> Iterator[str]:
    """A record is accepted or rejected, or it had its last delivery: none is lost.

    A delivery whose response is lost counts, too.
    """
    yield from history.unsettled
    for (group, place), end in history.ends.items():
        lost_count = history.lost_fetches[group]
        for offset in range(end):
            if history.is_aborted_for(group, place, offset):
                continue
            record = records.get((group, place, offset), RecordHistory())
            count = max((delivery.delivery_count for delivery in record.deliveries), default=0)
            is_finished = any(
                acknowledgement.is_final and not acknowledgement.is_refused
                for acknowledgement in record.acknowledgements
            )
            if not is_finished and count + lost_count < history.delivery_count_max:
                yield (
                    f"{group} {place} at {offset}: delivered {count} times, and never accepted or"
                    f" rejected; {lost_count} responses were lost"
                )


def committed_only(history: ShareHistory, records: dict[RecordKey, RecordHistory]) -> Iterator[str]:
    """A group with read_committed gets no record before its transaction was committed."""
    for (group, place, offset), record in records.items():
        end = history.transaction_ends.get((place, offset))
        if group not in history.reads_committed or end is None:
            continue
        for delivery in record.deliveries:
            if not end.is_commit or end.time_ms is None or delivery.written_ms < end.time_ms:
                yield f"{offset}: {delivery}, whose transaction ended with {end}"


def lags(history: ShareHistory, _records: dict[RecordKey, RecordHistory]) -> Iterator[str]:
    """The lag of a group is never negative, and 0 when all records are finished (KIP-1226)."""
    yield from history.broken_lags


def dead_letters(history: ShareHistory, records: dict[RecordKey, RecordHistory]) -> Iterator[str]:
    """What a group with a dead letter queue does not accept is there once (KIP-1191).

    A leader that loads a share partition again may write what the former leader has written.
    """
    yield from history.broken_dead_letters
    found: dict[RecordKey, list[DeadLetter]] = defaultdict(list)
    for dead in history.dead_letters:
        found[dead.group, dead.place, dead.offset].append(dead)
    for key, copies in found.items():
        record = records.get(key, RecordHistory())
        for dead in copies:
            problem = _dead_letter_problem(history, record, dead)
            if problem is not None:
                yield f"{dead}: {problem}"
        count_max = _writers_max(history, key, record)
        if len(copies) > count_max:
            yield f"{copies[0]} is there {len(copies)} times instead of {count_max} times at most"
    for (group, place), end in history.ends.items():
        for offset in range(end if group in history.queued else 0):
            key = group, place, offset
            is_accepted = key in records and any(
                acknowledgement.type is AcknowledgeType.ACCEPT and not acknowledgement.is_refused
                for acknowledgement in records[key].acknowledgements
            )
            is_expected = not is_accepted and not history.is_aborted_for(group, place, offset)
            if is_expected and key not in found:
                yield f"{key} is neither accepted nor a dead letter"


def _writers_max(history: ShareHistory, key: RecordKey, record: RecordHistory) -> int:
    """Return how many leaders may have written a dead letter: as many as loaded its partition.

    The one that delivered it first may have been loaded before, the others since.
    """
    loads_ms = history.loads.get(key[:2], [])
    if not record.deliveries or history.lost_fetches[key[0]]:
        return len(loads_ms)
    first_ms = record.deliveries[0].sent_ms
    return min(len(loads_ms), 1 + sum(time_ms >= first_ms for time_ms in loads_ms))


def _is_loaded_again(history: ShareHistory, dead: DeadLetter, time_ms: int) -> bool:
    """Return whether a former leader may have given the record up before a time.

    If it could not store that, the next leader delivers the record once more, as in Kafka.
    """
    loads_ms = history.loads.get((dead.group, dead.place), [])
    return sum(load_ms <= time_ms for load_ms in loads_ms) > 1


def _dead_letter_problem(
    history: ShareHistory, record: RecordHistory, dead: DeadLetter
) -> str | None:
    if dead.group not in history.queued:
        return "the group has no queue"
    counts = {delivery.delivery_count for delivery in record.deliveries}
    if dead.delivery_count not in counts and not history.lost_fetches[dead.group]:
        return f"it was delivered {sorted(counts)} times"
    is_last = dead.delivery_count == history.delivery_count_max
    for acknowledgement in record.acknowledgements:
        written_ms, delivery = acknowledgement.written_ms, acknowledgement.delivery
        if (
            acknowledgement.type is AcknowledgeType.ACCEPT
            and written_ms is not None
            and not acknowledgement.is_refused
            and not _may_be_released(history, record, (delivery,), delivery.sent_ms, written_ms)
            and not (dead.message == TOO_OFTEN and _is_loaded_again(history, dead, written_ms))
        ):
            return f"it was accepted: {acknowledgement}"
    is_rejected = any(
        acknowledgement.type is AcknowledgeType.REJECT and not acknowledgement.is_refused
        for acknowledgement in record.acknowledgements
    )
    is_right = {TOO_OFTEN: is_last, REJECTED: is_rejected}.get(dead.message, False)
    return None if is_right else "that is not the reason"


CHECKERS: tuple[ShareChecker, ...] = (
    one_holder,
    renewed_locks,
    deliveries,
    ranges,
    record_limits,
    none_lost,
    committed_only,
    dead_letters,
    lags,
)
