"""Compaction keeps the last record of every key, at its offset, and bounds all others."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cluster import compaction
from broker.cluster.compaction import Compaction
from broker.cluster.partition_log import PartitionLog
from protocol.batch_builder import uncompressed_batch
from protocol.coordinator_records import CoordinatorRecord
from protocol.records import Record, read_records

DAY_MS = 86_400_000


class CompactedLog:
    """A log, its compaction, and what was appended."""

    def __init__(self) -> None:
        self.log = PartitionLog()
        self.compaction = Compaction()
        self.appended: list[tuple[bytes, bytes | None]] = []

    def append(self, *records: CoordinatorRecord, now_ms: int = 0) -> None:
        base_offset = self.log.log_end_offset
        batch = uncompressed_batch(records, base_offset, 3, now_ms)
        self.log.append(batch, len(records), now_ms, 3)
        self.compaction.add(base_offset, records, now_ms)
        self.appended += records

    def compact(self, now_ms: int = 0) -> None:
        self.compaction.compact(self.log, now_ms, DAY_MS)

    def records(self) -> list[Record]:
        """Return what a consumer reads that fetches one batch after the other."""
        found: list[Record] = []
        position = self.log.log_start_offset
        while position < self.log.log_end_offset:
            (batch,) = self.log.read(position, 1, at_least_one=True)
            batch_records = list(read_records(batch))
            found += [record for record in batch_records if record.offset >= position]
            position = max(batch_records[-1].offset, position) + 1
        return found


def numbered(keys: list[bytes]) -> list[CoordinatorRecord]:
    numbers = count()
    return [(key, b"%d" % next(numbers)) for key in keys]


@given(
    st.lists(st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), min_size=1), min_size=1),
    st.sets(st.integers(0, 20)),
)
def test_a_replay_after_compaction_ends_in_the_same_state(
    batches: list[list[bytes]], compacted_after: set[int]
) -> None:
    log = CompactedLog()
    for number, keys in enumerate(batches):
        log.append(*((key, b"%d %d" % (number, index)) for index, key in enumerate(keys)))
        if number in compacted_after:
            log.compact()
    log.compact()

    records = log.records()
    assert {record.key: record.value for record in records} == dict(log.appended)
    assert all(log.appended[record.offset] == (record.key, record.value) for record in records)
    assert records[-1].offset + 1 == log.log.log_end_offset == len(log.appended)
    assert log.log.log_start_offset == 0
    # A batch is left as it is if most of it is live, and the newest one always is.
    assert len(records) <= 2 * len(dict(log.appended)) + len(batches[-1])
    assert log.log.size_bytes == sum(map(len, log.log.rewind()))


def test_compaction_is_due_when_more_records_are_stale_than_the_bound() -> None:
    log = CompactedLog()
    for number in range(compaction.STALE_RECORDS_MIN + 1):
        log.append((b"key", b"%d" % number))
        assert not log.compaction.is_due()
    log.append((b"key", b"last"))
    assert log.compaction.is_due()
    log.compact()
    assert not log.compaction.is_due()
    assert [record.value for record in log.records()] == [b"last"]


def test_a_rewritten_batch_keeps_offsets_timestamps_and_epoch() -> None:
    log = CompactedLog()
    log.append(*numbered([b"a", b"b", b"a", b"c"]), now_ms=5)
    log.append((b"b", b"x"), (b"c", b"y"), now_ms=6)
    log.compact()
    assert [(r.offset, r.timestamp, r.key, r.value) for r in log.records()] == [
        (2, 5, b"a", b"2"),
        (4, 6, b"b", b"x"),
        (5, 6, b"c", b"y"),
    ]
    assert log.log.epoch_of(2) == 3


def test_the_deletion_of_a_key_is_kept_for_delete_retention_ms() -> None:
    log = CompactedLog()
    log.append((b"gone", b"1"))
    log.append((b"gone", None), now_ms=10)
    log.append((b"other", b"2"), now_ms=10)
    log.compact(now_ms=DAY_MS + 9)
    assert [(record.key, record.value) for record in log.records()] == [
        (b"gone", None),
        (b"other", b"2"),
    ]
    log.compact(now_ms=DAY_MS + 10)
    assert [record.key for record in log.records()] == [b"other"]


def test_only_the_newest_deletions_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "TOMBSTONES_MAX", 2)
    log = CompactedLog()
    for name in b"abcde":
        log.append((bytes((name,)), None))
    assert log.compaction.is_due()
    log.compact()
    assert [record.key for record in log.records()] == [b"d", b"e"]
    log.append((b"d", b"back"))
    log.compact()
    assert [(record.key, record.value) for record in log.records()] == [
        (b"e", None),
        (b"d", b"back"),
    ]
