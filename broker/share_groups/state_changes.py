"""Changes of records in flight, which are stored together or taken back together."""

from dataclasses import replace

from broker.share_groups.dead_letters import DELIVERED_TOO_OFTEN, REJECTED, DeadLetters
from broker.share_groups.in_flight import InFlightState, RecordState, StateBatch


class StateChanges:
    """Changed states, which are stored together or taken back together."""

    __slots__ = ("_changed", "_rejected")

    def __init__(self) -> None:
        self._changed: list[tuple[int, int, InFlightState, InFlightState]] = []
        self._rejected: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._changed)

    def begin(
        self,
        first_offset: int,
        last_offset: int,
        state: InFlightState,
        *,
        is_rejected: bool = False,
    ) -> None:
        """Note a state before it changes, perhaps because its member rejects the records."""
        if is_rejected:
            self._rejected.add(first_offset)
        self._changed.append((first_offset, last_offset, state, state.copy()))

    @property
    def has_available(self) -> bool:
        """Whether records are available now that were not before."""
        return any(
            state.state is RecordState.AVAILABLE for _first, _last, state, _before in self._changed
        )

    def finished_count(self, start_offset: int) -> int:
        """Return how many offsets from `start_offset` on the changes finish."""
        return sum(
            last - max(first, start_offset) + 1
            for first, last, state, before in self._changed
            if last >= start_offset and state.state.is_final and not before.state.is_final
        )

    def dead_letters(self) -> list[DeadLetters]:
        """Return the records that go to the dead letter queue now, neighbours together."""
        found: list[DeadLetters] = []
        for first, last, state, _before in self._changed:
            if state.state is not RecordState.ARCHIVING:
                continue
            reason = REJECTED if first in self._rejected else DELIVERED_TOO_OFTEN
            dead = DeadLetters(first, last, state.delivery_count, reason)
            if found and found[-1].is_continued_by(dead):
                found[-1] = replace(found[-1], last_offset=last)
            else:
                found.append(dead)
        return found

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
