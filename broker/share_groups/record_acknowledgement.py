"""Apply acknowledgements to the records in flight.

Sources: Kafka's `SharePartition.acknowledge`, `acknowledgePerOffsetBatchRecords` and
`acknowledgeCompleteBatch`, with their messages.
"""

from collections.abc import Sequence

from broker.errors import Refusal
from broker.share_groups.acknowledgement import REJECT, AcknowledgementBatch
from broker.share_groups.in_flight import NO_MEMBER, InFlightBatch, InFlightState, RecordState
from broker.share_groups.in_flight_records import InFlightRecords
from broker.share_groups.share_rules import ShareRules
from broker.share_groups.state_changes import StateChanges
from protocol.errors import ErrorCode


def acknowledge_records(
    records: InFlightRecords,
    member_id: str,
    batches: Sequence[AcknowledgementBatch],
    changes: StateChanges,
    *,
    start_offset: int,
    rules: ShareRules,
    renewed_until_ms: int = 0,
) -> Refusal | None:
    """Change the records that a member acknowledges; the first error ends it.

    After an error the caller takes `changes` back. Locks that were renewed are none of them.
    Offsets before `start_offset` are ignored.
    """
    for batch in batches:
        if batch.last_offset < start_offset:
            continue
        known = _known_batches(records, batch, start_offset)
        if isinstance(known, Refusal):
            return known
        for in_flight in known:
            refusal = _check_and_split(in_flight, member_id, batch, start_offset)
            if refusal is not None:
                return refusal
            refusal = _acknowledge_states(
                in_flight,
                member_id,
                batch,
                changes,
                first_offset=max(batch.first_offset, start_offset),
                rules=rules,
                renewed_until_ms=renewed_until_ms,
            )
            if refusal is not None:
                return refusal
    return None


def _acknowledge_states(
    in_flight: InFlightBatch,
    member_id: str,
    batch: AcknowledgementBatch,
    changes: StateChanges,
    *,
    first_offset: int,
    rules: ShareRules,
    renewed_until_ms: int,
) -> Refusal | None:
    """Change what an acknowledgement covers of a batch in flight, from an offset on."""
    is_part = in_flight.batch_state is None
    for first, last, state in in_flight.states():
        if is_part and first < first_offset:
            continue
        if is_part and first > batch.last_offset:
            break
        refusal = _state_problem(state, member_id, rules)
        if refusal is not None:
            return refusal
        offset = first if is_part else batch.first_offset
        new_state, is_rejected = batch.state_of(offset), batch.type_of(offset) == REJECT
        if new_state is RecordState.ACQUIRED:
            if not rules.can_renew:
                message = "Renewing acquisition locks is not enabled for the group."
                return _invalid_state(message)
            state.lock_expires_ms = renewed_until_ms
            continue
        changes.begin(first, last, state, is_rejected=is_rejected)
        if new_state is RecordState.AVAILABLE:
            state.make_available(rules.delivery_count_max, rules.dead_state)
        else:
            state.finish(rules.dead_state if is_rejected else new_state)
    return None


def _known_batches(
    records: InFlightRecords, batch: AcknowledgementBatch, start_offset: int
) -> list[InFlightBatch] | Refusal:
    """Return the batches in flight that an acknowledgement covers."""
    first = records.floor(batch.first_offset)
    if first is None and batch.first_offset < start_offset <= batch.last_offset:
        first = records.floor(start_offset)
    if first is None:
        return _invalid_state(
            "Batch record not found. The request batch offsets are not found in the cache."
        )
    known = records.between(first.first_offset, batch.last_offset)
    if known[-1].last_offset < batch.first_offset:
        return Refusal(
            ErrorCode.INVALID_REQUEST,
            "Batch record not found. The first offset in request is past acquired records.",
        )
    if known[-1].last_offset < batch.last_offset:
        return Refusal(
            ErrorCode.INVALID_REQUEST,
            "Batch record not found. The last offset in request is past acquired records.",
        )
    first_offset = max(batch.first_offset, start_offset)
    return [in_flight for in_flight in known if in_flight.last_offset >= first_offset]


def _check_and_split(
    in_flight: InFlightBatch, member_id: str, batch: AcknowledgementBatch, start_offset: int
) -> Refusal | None:
    """Split a batch whose records will have different states; refuse that of another member."""
    state = in_flight.batch_state
    if state is None:
        return None
    if state.member_id != member_id:
        return _invalid_state(
            "The batch cannot be acknowledged. The batch is not in the acquired state."
            if state.member_id == NO_MEMBER
            else "Member is not the owner of batch record"
        )
    if (
        len(batch.acknowledge_types) > 1
        or not in_flight.is_within(batch.first_offset, batch.last_offset)
        or in_flight.first_offset < start_offset
    ):
        in_flight.split()
    return None


def _state_problem(state: InFlightState, member_id: str, rules: ShareRules) -> Refusal | None:
    if state.state is not RecordState.ACQUIRED:
        what = "offset" if rules.isolates_bad_records else "batch"
        return _invalid_state(f"The {what} cannot be acknowledged. The offset is not acquired.")
    if state.member_id != member_id:
        return _invalid_state("Member is not the owner of offset")
    return None


def _invalid_state(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_RECORD_STATE, message)
