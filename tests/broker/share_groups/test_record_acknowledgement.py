"""Acknowledgements of records in flight; `test_share_partition` has most of the cases."""

from broker.share_groups.acknowledgement import ACCEPT, RELEASE, AcknowledgementBatch
from broker.share_groups.in_flight import InFlightBatch, InFlightState, RecordState
from broker.share_groups.in_flight_records import InFlightRecords
from broker.share_groups.offset_range import OffsetRange
from broker.share_groups.record_acknowledgement import acknowledge_records
from broker.share_groups.state_changes import StateChanges
from protocol.errors import ErrorCode


def acquired(*ranges: tuple[int, int]) -> InFlightRecords:
    records = InFlightRecords()
    for first, last in ranges:
        state = InFlightState(RecordState.ACQUIRED, 1, "m", 9)
        records.add(InFlightBatch(OffsetRange(first, last), state))
    return records


def test_offsets_before_the_start_are_ignored() -> None:
    records, changes = acquired((0, 3)), StateChanges()
    batch = AcknowledgementBatch(0, 3, (ACCEPT,))

    assert (
        acknowledge_records(records, "m", [batch], changes, start_offset=2, delivery_count_max=5)
        is None
    )

    assert [(b.first_offset, b.delivery_state) for b in changes.state_batches()] == [(2, 2), (3, 2)]


def test_one_batch_covers_several_in_flight() -> None:
    records, changes = acquired((0, 1), (2, 5)), StateChanges()
    batch = AcknowledgementBatch(0, 5, (RELEASE,))

    acknowledge_records(records, "m", [batch], changes, start_offset=0, delivery_count_max=5)

    assert [(b.first_offset, b.last_offset, b.delivery_state) for b in changes.state_batches()] == [
        (0, 1, 0),
        (2, 5, 0),
    ]


def test_the_message_says_why_a_record_is_refused() -> None:
    records = acquired((4, 5))

    def message(first: int, last: int, member_id: str = "m") -> str | None:
        refusal = acknowledge_records(
            records,
            member_id,
            [AcknowledgementBatch(first, last, (ACCEPT,))],
            StateChanges(),
            start_offset=0,
            delivery_count_max=5,
        )
        assert refusal is not None
        assert refusal.error_code in {ErrorCode.INVALID_RECORD_STATE, ErrorCode.INVALID_REQUEST}
        return refusal.message

    assert message(0, 1) == (
        "Batch record not found. The request batch offsets are not found in the cache."
    )
    assert message(6, 7) == (
        "Batch record not found. The first offset in request is past acquired records."
    )
    assert message(4, 7) == (
        "Batch record not found. The last offset in request is past acquired records."
    )
    assert message(4, 5, "other") == "Member is not the owner of batch record"
