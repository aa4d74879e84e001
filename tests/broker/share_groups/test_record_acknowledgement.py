"""Acknowledgements of records in flight; `test_share_partition` has most of the cases."""

from broker.share_groups.acknowledgement import ACCEPT, RELEASE, RENEW, AcknowledgementBatch
from broker.share_groups.in_flight import InFlightBatch, InFlightState, RecordState
from broker.share_groups.in_flight_records import InFlightRecords
from broker.share_groups.offset_range import OffsetRange
from broker.share_groups.record_acknowledgement import acknowledge_records
from broker.share_groups.share_rules import ShareRules
from broker.share_groups.state_changes import StateChanges
from protocol.errors import ErrorCode

RULES = ShareRules(record_locks_max=100, delivery_count_max=5)


def acquired(*ranges: tuple[int, int]) -> InFlightRecords:
    records = InFlightRecords()
    for first, last in ranges:
        state = InFlightState(RecordState.ACQUIRED, 1, "m", 9)
        records.add(InFlightBatch(OffsetRange(first, last), state))
    return records


def test_offsets_before_the_start_are_ignored() -> None:
    records, changes = acquired((0, 3)), StateChanges()
    batch = AcknowledgementBatch(0, 3, (ACCEPT,))

    assert acknowledge_records(records, "m", [batch], changes, start_offset=2, rules=RULES) is None

    assert [(b.first_offset, b.delivery_state) for b in changes.state_batches()] == [(2, 2), (3, 2)]


def test_one_batch_covers_several_in_flight() -> None:
    records, changes = acquired((0, 1), (2, 5)), StateChanges()
    batch = AcknowledgementBatch(0, 5, (RELEASE,))

    acknowledge_records(records, "m", [batch], changes, start_offset=0, rules=RULES)

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
            rules=RULES,
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


def renew(records: InFlightRecords, batch: AcknowledgementBatch, rules: ShareRules) -> str | None:
    changes = StateChanges()
    refusal = acknowledge_records(
        records, "m", [batch], changes, start_offset=0, rules=rules, renewed_until_ms=20
    )
    changes.undo()
    return None if refusal is None else refusal.message


def test_renewed_locks_begin_again_whatever_becomes_of_the_rest() -> None:
    records = acquired((0, 1), (2, 3))

    assert renew(records, AcknowledgementBatch(0, 1, (RENEW,)), RULES) is None
    assert renew(records, AcknowledgementBatch(2, 3, (ACCEPT, RENEW)), RULES) is None

    assert [state.lock_expires_ms for _batch, state in records.acquired_states()] == [20, 9, 20]


def test_a_group_may_renew_no_locks() -> None:
    rules = ShareRules(record_locks_max=100, delivery_count_max=5, can_renew=False)

    assert renew(acquired((0, 1)), AcknowledgementBatch(0, 1, (RENEW,)), rules) == (
        "Renewing acquisition locks is not enabled for the group."
    )
