"""What members say about the records they have acquired.

Sources: Kafka's `ShareAcknowledgementBatch`, `AcknowledgeType` and
`KafkaApis.validateAcknowledgementBatches`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from broker.share_groups.in_flight import RecordState
from broker.share_groups.offset_range import OffsetRange

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
"""Acknowledge types: a gap is an offset without a record for the application.

Renew (KIP-1222) lets the acquisition lock begin again.
"""

STATES = {
    GAP: RecordState.ARCHIVED,
    ACCEPT: RecordState.ACKNOWLEDGED,
    RELEASE: RecordState.AVAILABLE,
    REJECT: RecordState.ARCHIVED,
    RENEW: RecordState.ACQUIRED,
}
"""The state that a record gets by an acknowledge type."""


@dataclass(frozen=True, slots=True)
class AcknowledgementBatch(OffsetRange):
    """Consecutive offsets with one acknowledge type for all, or one for each."""

    acknowledge_types: tuple[int, ...]

    def type_of(self, offset: int) -> int:
        """Return the acknowledge type of an offset of the batch."""
        types = self.acknowledge_types
        return types[0] if len(types) == 1 else types[offset - self.first_offset]

    def state_of(self, offset: int) -> RecordState:
        """Return the state that an offset of the batch shall have."""
        return STATES[self.type_of(offset)]


def are_valid(batches: Iterable[AcknowledgementBatch], *, may_renew: bool) -> bool:
    """Return whether batches ascend, and have known types, one or as many as offsets.

    `may_renew` is whether the request says that it renews locks.
    """
    previous_last_offset = -1
    for batch in batches:
        types = batch.acknowledge_types
        if (
            batch.first_offset < previous_last_offset
            or not types
            or (len(types) > 1 and len(types) != len(batch))
            or not STATES.keys() >= set(types)
            or (RENEW in types and not may_renew)
        ):
            return False
        previous_last_offset = batch.last_offset
    return True
