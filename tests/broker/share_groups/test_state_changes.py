"""Changes that are stored or taken back."""

from broker.share_groups.in_flight import InFlightState, RecordState, StateBatch
from broker.share_groups.state_changes import StateChanges


def test_changes_are_taken_back_or_described() -> None:
    state = InFlightState(RecordState.ACQUIRED, 2, "m", 9)
    changes = StateChanges()
    assert not changes
    changes.begin(4, 6, state)
    state.make_available(5)

    assert changes
    assert changes.has_available
    assert changes.state_batches() == [StateBatch(4, 6, 0, 2)]
    assert changes.finished_count(0) == 0
    state.finish(RecordState.ARCHIVED)
    assert [changes.finished_count(start) for start in (0, 5, 7)] == [3, 2, 0]
    changes.undo()
    assert (state.state, state.member_id) == (RecordState.ACQUIRED, "m")
    assert not changes.has_available
