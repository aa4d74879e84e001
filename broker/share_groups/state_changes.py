"""Changes of records in flight, which are stored together or taken back together."""

from broker.share_groups.in_flight import InFlightState, RecordState, StateBatch


class StateChanges:
    """Changed states, which are stored together or taken back together."""

    __slots__ = ("_changed",)

    def __init__(self) -> None:
        self._changed: list[tuple[int, int, InFlightState, InFlightState]] = []

    def __bool__(self) -> bool:
        return bool(self._changed)

    def begin(self, first_offset: int, last_offset: int, state: InFlightState) -> None:
        """Note a state before it changes."""
        self._changed.append((first_offset, last_offset, state, state.copy()))

    @property
    def has_available(self) -> bool:
        """Whether records are available now that were not before."""
        return any(
            state.state is RecordState.AVAILABLE for _first, _last, state, _before in self._changed
        )

    def undo(self) -> None:
        """Take all changes back."""
        for _first, _last, state, before in reversed(self._changed):
            state.restore(before)

    def state_batches(self) -> list[StateBatch]:
        """Return the states after the change."""
        return [
            StateBatch(first, last, int(state.state), state.delivery_count)
            for first, last, state, _before in self._changed
        ]
