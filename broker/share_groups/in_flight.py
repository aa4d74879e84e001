"""The records of a share partition that are in flight: their states, in batches or one by one.

Sources: Kafka's `SharePartition.InFlightBatch`, `InFlightState` and `RecordState`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from broker.share_groups.offset_range import OffsetRange

NO_MEMBER = ""
"""The holder of records that nobody has acquired."""


class RecordState(IntEnum):
    """The state of a record, numbered as in the requests among brokers.

    An archiving one is a dead letter that is not in the dead letter queue yet (KIP-1191).
    """

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    ARCHIVED = 4

    @property
    def is_final(self) -> bool:
        """Whether the record is never delivered again."""
        return self is RecordState.ACKNOWLEDGED or self is RecordState.ARCHIVED


@dataclass(frozen=True, slots=True)
class StateBatch(OffsetRange):
    """Consecutive offsets with the same state, as the share coordinator stores them."""

    delivery_state: int
    delivery_count: int


@dataclass(slots=True, eq=False)
class InFlightState:
    """The state of one record or of a batch of them.

    `lock_expires_ms` is when the acquisition lock ends; 0 unless the records are acquired.
    """

    state: RecordState
    delivery_count: int
    member_id: str = NO_MEMBER
    lock_expires_ms: int = 0

    def copy(self) -> "InFlightState":
        """Return another state with the same values."""
        return InFlightState(self.state, self.delivery_count, self.member_id, self.lock_expires_ms)

    def restore(self, before: "InFlightState") -> None:
        """Take back changes: become what `copy` returned before them."""
        self.state = before.state
        self.delivery_count = before.delivery_count
        self.member_id = before.member_id
        self.lock_expires_ms = before.lock_expires_ms

    def acquire(self, member_id: str, lock_expires_ms: int) -> None:
        """Deliver available records to a member."""
        self.state = RecordState.ACQUIRED
        self.delivery_count += 1
        self.member_id = member_id
        self.lock_expires_ms = lock_expires_ms

    def finish(self, state: RecordState) -> None:
        """End the acquisition with a state in which the record is not delivered."""
        self.state = state
        self.member_id = NO_MEMBER
        self.lock_expires_ms = 0

    def make_available(
        self, delivery_count_max: int, state_after_last: RecordState = RecordState.ARCHIVED
    ) -> None:
        """End the acquisition: deliver the records again, or not after the last delivery."""
        is_last = self.delivery_count >= delivery_count_max
        self.finish(state_after_last if is_last else RecordState.AVAILABLE)

    def take_back(self) -> None:
        """End the acquisition as if the records had never been delivered."""
        self.finish(RecordState.AVAILABLE)
        self.delivery_count -= 1


class InFlightBatch:
    """Consecutive offsets that were acquired together.

    All of them have the state `batch_state`, until a part of them changes. From then on each
    offset has its own in `offset_states`, and `batch_state` is None.
    """

    __slots__ = ("batch_state", "first_offset", "last_offset", "offset_states")

    def __init__(self, offsets: OffsetRange, state: InFlightState) -> None:
        self.first_offset = offsets.first_offset
        self.last_offset = offsets.last_offset
        self.batch_state: InFlightState | None = state
        self.offset_states: dict[int, InFlightState] = {}

    def split(self) -> None:
        """Give each offset its own state."""
        state = self.batch_state
        if state is None:
            return
        self.offset_states = {
            offset: state.copy() for offset in range(self.first_offset, self.last_offset + 1)
        }
        self.batch_state = None

    def keep_until(self, last_offset: int) -> None:
        """Split the batch, and make the records after an offset as if they were never delivered."""
        self.split()
        for offset, state in self.offset_states.items():
            if offset > last_offset:
                state.take_back()

    def __len__(self) -> int:
        return self.last_offset - self.first_offset + 1

    def is_within(self, first_offset: int, last_offset: int) -> bool:
        """Whether all of its offsets are in a range."""
        return first_offset <= self.first_offset and self.last_offset <= last_offset

    def contains(self, offset: int) -> bool:
        """Whether an offset is within the batch."""
        return self.first_offset <= offset <= self.last_offset

    def state_at(self, offset: int) -> InFlightState:
        """Return the state of one of its offsets."""
        return self.batch_state or self.offset_states[offset]

    def states(self) -> Iterator[tuple[int, int, InFlightState]]:
        """Yield first offset, last offset and state, ascending; once for a batch that is whole."""
        if self.batch_state is not None:
            yield self.first_offset, self.last_offset, self.batch_state
            return
        for offset, state in self.offset_states.items():
            yield offset, offset, state
