"""What members say about the records they have acquired.

Sources: Kafka's `ShareAcknowledgementBatch`, `AcknowledgeType` and
`KafkaApis.validateAcknowledgementBatches`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from broker.share_groups.in_flight import RecordState
from broker.share_groups.offset_range import OffsetRange

GAP, ACCEPT, RELEASE, REJECT = range(4)
"""Acknowledge types: a gap is an offset without a record for the application."""

STATES = {
    GAP: RecordState.ARCHIVED,
    ACCEPT: RecordState.ACKNOWLEDGED,
    RELEASE: RecordState.AVAILABLE,
    REJECT: RecordState.ARCHIVED,
}
"""The state that a record gets by an acknowledge type."""


@dataclass(frozen=True, slots=True)
class AcknowledgementBatch(OffsetRange):
    """Consecutive offsets with one acknowledge type for all, or one for each."""

    acknowledge_types: tuple[int, ...]

    def state_of(self, offset: int) -> RecordState:
        """Return the state that an offset of the batch shall have."""
        types = self.acknowledge_types
        return STATES[types[0] if len(types) == 1 else types[offset - self.first_offset]]


def are_valid(batches: Iterable[AcknowledgementBatch]) -> bool:
    """Return whether batches ascend, and have known types, one or as many as offsets."""
    previous_last_offset = -1
    for batch in batches:
        types = batch.acknowledge_types
        if (
            batch.first_offset < previous_last_offset
            or not types
            or (len(types) > 1 and len(types) != len(batch))
            or not STATES.keys() >= set(types)
        ):
            return False
        previous_last_offset = batch.last_offset
    return True
