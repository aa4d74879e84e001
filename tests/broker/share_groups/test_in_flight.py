"""The state of records in flight."""

from broker.share_groups.in_flight import NO_MEMBER, InFlightBatch, InFlightState, RecordState
from broker.share_groups.offset_range import OffsetRange


def test_an_acquired_record_becomes_available_until_its_last_delivery() -> None:
    state = InFlightState(RecordState.AVAILABLE, 0)
    state.acquire("m", 100)
    assert (state.state, state.member_id, state.lock_expires_ms) == (RecordState.ACQUIRED, "m", 100)

    state.make_available(2)
    assert (state.state, state.delivery_count) == (RecordState.AVAILABLE, 1)
    state.acquire("m", 100)
    state.make_available(2)
    assert (state.state, state.delivery_count) == (RecordState.ARCHIVED, 2)
    assert (state.member_id, state.lock_expires_ms) == (NO_MEMBER, 0)


def test_a_delivery_is_taken_back() -> None:
    state = InFlightState(RecordState.AVAILABLE, 4)
    state.acquire("m", 100)

    state.take_back()

    assert (state.state, state.delivery_count) == (RecordState.AVAILABLE, 4)


def test_a_changed_state_is_restored() -> None:
    state = InFlightState(RecordState.ACQUIRED, 1, "m", 9)
    before = state.copy()
    state.finish(RecordState.ACKNOWLEDGED)

    state.restore(before)

    assert (state.state, state.delivery_count) == (RecordState.ACQUIRED, 1)
    assert (state.member_id, state.lock_expires_ms) == ("m", 9)


def test_a_batch_has_one_state_until_it_is_split() -> None:
    batch = InFlightBatch(OffsetRange(3, 5), InFlightState(RecordState.ACQUIRED, 1, "m", 9))
    assert [(first, last) for first, last, _state in batch.states()] == [(3, 5)]

    batch.split()
    batch.split()

    assert [(first, last) for first, last, _state in batch.states()] == [(3, 3), (4, 4), (5, 5)]
    batch.state_at(4).finish(RecordState.ACKNOWLEDGED)
    assert batch.state_at(3).state is RecordState.ACQUIRED
    assert batch.contains(5)
    assert not batch.contains(6)
    assert batch.is_within(3, 5)
    assert not batch.is_within(4, 5)


def test_only_acknowledged_and_archived_records_are_final() -> None:
    assert [state.is_final for state in RecordState] == [False, False, True, False, True]
