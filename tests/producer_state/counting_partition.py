"""A partition for tests: a log that only counts records, and its producer state."""

import pytest

from producer_state.producer_state_manager import ProducerStateManager
from producer_state.rules import Append, Batch, Decision
from protocol.errors import ErrorCode

WINDOW = 10_000_000
NOW_MS = 1_700_000_000_000
PRODUCER = 1

both_rules = pytest.mark.parametrize("batches", [5, 1], ids=["kafka", "kip-758"])


class Partition:
    """A log that only counts records, and the state of its producers."""

    def __init__(self, batches: int, window: int = WINDOW) -> None:
        self.producers = ProducerStateManager(batches=batches, window=window)
        self.end_offset = 0

    def send(
        self,
        sequence: int,
        count: int = 1,
        *,
        producer_id: int = PRODUCER,
        epoch: int = 0,
        timestamp_ms: int = NOW_MS,
        is_transactional: bool = False,
    ) -> Decision:
        """Check a batch, and append it if that is the decision."""
        decision = self.producers.check(
            producer_id, epoch, sequence, count - 1, is_transactional=is_transactional
        )
        if isinstance(decision, Append):
            self.replicate(
                sequence,
                count,
                producer_id=producer_id,
                epoch=epoch,
                timestamp_ms=timestamp_ms,
                is_transactional=is_transactional,
            )
        return decision

    def replicate(
        self,
        sequence: int,
        count: int = 1,
        *,
        producer_id: int = PRODUCER,
        epoch: int = 0,
        timestamp_ms: int = NOW_MS,
        is_transactional: bool = False,
    ) -> None:
        """Apply a batch without a check."""
        self.producers.apply(
            producer_id,
            epoch,
            sequence,
            count - 1,
            self.end_offset,
            timestamp_ms,
            is_transactional=is_transactional,
        )
        self.end_offset += count

    def mark(
        self, epoch: int, coordinator_epoch: int = 0, *, timestamp_ms: int = NOW_MS
    ) -> ErrorCode:
        """Check a transaction marker, and write it if it is valid."""
        error_code = self.producers.check_marker(PRODUCER, epoch, coordinator_epoch)
        if error_code == ErrorCode.NONE:
            self.producers.apply_marker(PRODUCER, epoch, coordinator_epoch, timestamp_ms)
            self.end_offset += 1
        return error_code

    def newest_batch(self) -> Batch:
        entry = self.producers.entry(PRODUCER)
        assert entry is not None
        return entry.batches[0]
