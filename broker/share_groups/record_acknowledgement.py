"""Apply acknowledgements to the records in flight.

Sources: Kafka's `SharePartition.acknowledge`, `acknowledgePerOffsetBatchRecords` and
`acknowledgeCompleteBatch`, with their messages.
"""

from collections.abc import Sequence

from broker.errors import Refusal
from broker.share_groups.acknowledgement import AcknowledgementBatch
from broker.share_groups.in_flight import NO_MEMBER, InFlightBatch, InFlightState, RecordState
from broker.share_groups.in_flight_records import InFlightRecords
from broker.share_groups.state_changes import StateChanges
from protocol.errors import ErrorCode


def acknowledge_records(
    records: InFlightRecords,
    member_id: str,
    batches: Sequence[AcknowledgementBatch],
    changes: StateChanges,
    *,
    start_offset: int,
    delivery_count_max: int,
) -> Refusal | None:
    """Change the records that a member acknowledges; the first error ends it.

    After an error the caller takes `changes` back. Offsets before `start_offset` are ignored.
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
            for first_offset, last_offset, state in in_flight.states():
                is_part = in_flight.batch_state is None
                if is_part and not max(batch.first_offset, start_offset) <= first_offset:
                    continue
                if is_part and first_offset > batch.last_offset:
                    break
                refusal = _state_problem(state, member_id)
                if refusal is not None:
                    return refusal
                changes.begin(first_offset, last_offset, state)
                new_state = batch.state_of(first_offset if is_part else batch.first_offset)
                if new_state is RecordState.AVAILABLE:
                    state.make_available(delivery_count_max)
                else:
                    state.finish(new_state)
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


def _state_problem(state: InFlightState, member_id: str) -> Refusal | None:
    if state.state is not RecordState.ACQUIRED:
        return _invalid_state("The batch cannot be acknowledged. The offset is not acquired.")
    if state.member_id != member_id:
        return _invalid_state("Member is not the owner of offset")
    return None


def _invalid_state(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_RECORD_STATE, message)
