"""Records that a share group delivers no more, and which go to its dead letter queue (KIP-1191).

Sources: Kafka's `ShareGroupDLQRecordParameter` and `ShareGroupDLQManager`, with its messages.
"""

from collections.abc import Callable
from dataclasses import dataclass

from broker.share_groups.offset_range import OffsetRange

REJECTED = "Offset rejected by client."
DELIVERED_TOO_OFTEN = "Offset delivery count exceeded the threshold."


@dataclass(frozen=True, slots=True)
class DeadLetters(OffsetRange):
    """Consecutive offsets, how often they were delivered, and why they are not any more."""

    delivery_count: int
    reason: str

    def is_continued_by(self, other: "DeadLetters") -> bool:
        """Return whether others follow at once, and differ in nothing else."""
        return (self.last_offset + 1, self.delivery_count, self.reason) == (
            other.first_offset,
            other.delivery_count,
            other.reason,
        )


SendDeadLetters = Callable[[DeadLetters, int], None]
"""`send(dead_letters, now_ms)` writes them to the queue, and has them archived then."""
