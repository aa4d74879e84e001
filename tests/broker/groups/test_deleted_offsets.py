"""Many deleted offsets get their records in short steps, and never behind a new commit."""

from typing import Any

from broker.groups.deleted_offsets import RECORDS_PER_STEP, DeletedOffsets
from broker.groups.group_records import offset_key
from broker.groups.transactional_offsets import OffsetKey
from broker.timers import Timers
from protocol.coordinator_records import CoordinatorRecord
from protocol.errors import ErrorCode

COUNT = 4 * RECORDS_PER_STEP


class Deletions:
    """Deleted offsets of groups, and the keys of the records of each batch."""

    def __init__(self) -> None:
        self.timers = Timers()
        self.batches: list[list[bytes]] = []
        self.committed: set[OffsetKey] = set()
        self.deleted = DeletedOffsets(self.timers, self._append, self.committed.__contains__)

    def _append(
        self, _group_id: str, records: list[CoordinatorRecord], _now_ms: int, **_: Any
    ) -> ErrorCode:
        assert all(value is None for _key, value in records)
        self.batches.append([key for key, _value in records])
        return ErrorCode.NONE

    def run(self) -> int:
        """Run all timers; return at what time the last one ran."""
        now_ms = 0
        while (due_ms := self.timers.next_due_ms()) is not None:
            assert due_ms == now_ms + 1
            now_ms = due_ms
            self.timers.run_due(now_ms)
        return now_ms


def test_few_records_are_written_at_once() -> None:
    found = Deletions()
    found.deleted.delete([("g", {"t": range(3), "u": [1]}), ("h", {})], 0)
    keys = [("t", 0), ("t", 1), ("t", 2), ("u", 1)]
    assert found.batches == [[offset_key("g", *key) for key in keys]]
    assert found.run() == 0


def test_records_of_one_large_group_or_of_many_groups_are_written_in_steps() -> None:
    for groups in (1, COUNT // 4):
        found = Deletions()
        indexes = range(COUNT // groups)
        found.deleted.delete([(f"g{n}", {"t": indexes}) for n in range(groups)], 0)
        assert sum(map(len, found.batches)) <= RECORDS_PER_STEP
        steps = found.run()
        assert steps >= 3
        written = [key for batch in found.batches for key in batch]
        assert len(written) == COUNT
        assert set(written) == {
            offset_key(f"g{n}", "t", index) for n in range(groups) for index in indexes
        }


def test_an_offset_that_is_committed_again_is_not_deleted_behind_it() -> None:
    found = Deletions()
    found.deleted.delete([("g", {"t": range(COUNT)})], 0)
    found.committed.add(("g", "t", 7))
    found.deleted.write_before([("g", "t", 8), ("g", "t", COUNT)], 0)
    assert found.batches == [[offset_key("g", "t", 8)]]
    found.run()
    written = [key for batch in found.batches for key in batch]
    assert len(written) == COUNT - 1
    assert offset_key("g", "t", 7) not in written


def test_nothing_is_written_after_the_log_was_deleted() -> None:
    found = Deletions()
    found.deleted.delete([("g", {"t": range(COUNT)})], 0)
    found.deleted.clear()
    found.run()
    assert not found.batches
