"""Compaction keeps the last record of every key, at its offset, and bounds all others."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cluster import batch_filter, compaction
from broker.cluster.compaction import Compaction
from broker.cluster.partition_log import PartitionLog
from broker.cluster.transaction_index import AbortedTransaction
from protocol.batch_builder import uncompressed_batch
from protocol.control_records import ControlRecordType, encode_end_txn_batch
from protocol.coordinator_records import CoordinatorRecord
from protocol.records import (
    CONTROL_FLAG,
    TRANSACTIONAL_FLAG,
    Record,
    read_header,
    read_records,
)

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
        self.log.append(batch, len(records), 3)
        self.compaction.add(base_offset, records, now_ms)
        self.appended += records

    def compact(self, now_ms: int = 0) -> None:
        self.compaction.compact(self.log, now_ms, DAY_MS)

    def steps(self, now_ms: int = 0) -> Iterator[None]:
        return self.compaction.steps(self.log, now_ms, DAY_MS)

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


class TransactionalLog(CompactedLog):
    """A compacted log with the batches of two producers, whose transactions end by markers."""

    def __init__(self) -> None:
        super().__init__()
        self.open: dict[int, list[int]] = {}
        self.by_offset: dict[int, CoordinatorRecord] = {}

    def append(self, *records: CoordinatorRecord, now_ms: int = 0) -> None:
        for delta, record in enumerate(records):
            self.by_offset[self.log.log_end_offset + delta] = record
        super().append(*records, now_ms=now_ms)

    def append_transactional(self, producer_id: int, *records: CoordinatorRecord) -> None:
        base_offset = self.log.log_end_offset
        batch = uncompressed_batch(records, base_offset, 3, 0, (producer_id, 0))
        self.log.append(batch, len(records), 3)
        self.compaction.add_transactional(producer_id, base_offset, records)
        offsets = self.open.setdefault(producer_id, [])
        for delta, record in enumerate(records):
            offsets.append(base_offset + delta)
            self.by_offset[base_offset + delta] = record

    def end(self, producer_id: int, *, is_commit: bool) -> None:
        offset = self.log.log_end_offset
        marker = encode_end_txn_batch(
            ControlRecordType.COMMIT if is_commit else ControlRecordType.ABORT,
            producer_id=producer_id,
            producer_epoch=0,
            coordinator_epoch=0,
            timestamp_ms=0,
            base_offset=offset,
            leader_epoch=3,
        )
        self.log.append(marker, 1, 3)
        offsets = self.open.pop(producer_id, [])
        self.compaction.end_transaction(producer_id, offset, 0, is_commit=is_commit)
        if not is_commit and offsets:
            aborted = AbortedTransaction(producer_id, offsets[0], offset, offset)
            self.log.transaction_index.append(aborted)
            for aborted_offset in offsets:
                del self.by_offset[aborted_offset]

    def committed(self) -> dict[int, CoordinatorRecord]:
        """Return what a read_committed consumer reads, by offset; no transaction is open."""
        aborted = list(self.log.transaction_index.overlapping(0, self.log.log_end_offset))
        found: dict[int, CoordinatorRecord] = {}
        for batch in self.log.rewind():
            header = read_header(batch, 0)
            if header.attributes & CONTROL_FLAG or any(
                header.producer_id == ended.producer_id
                and ended.first_offset <= header.base_offset <= ended.last_offset
                for ended in aborted
            ):
                continue
            for record in read_records(batch):
                found[record.offset] = (record.key or b"", record.value)
        return found


_KEYS = st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), min_size=1, max_size=4)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.sampled_from([-1, 1, 2]), _KEYS),
            st.tuples(st.sampled_from(["commit", "abort"]), st.sampled_from([1, 2]), st.none()),
            st.tuples(st.just("compact"), st.none(), st.none()),
        ),
        max_size=30,
    ),
    st.booleans(),
)
def test_committed_records_survive_compaction_and_aborted_ones_do_not(
    steps: list[Any], takes_steps: bool
) -> None:
    """With `takes_steps` one step of a compaction comes after each action."""
    with pytest.MonkeyPatch.context() as patch:
        if takes_steps:
            patch.setattr(compaction, "BATCHES_PER_STEP", 1)
            patch.setattr(compaction, "RECORDS_PER_STEP", 1)
            patch.setattr(batch_filter, "RECORDS_PER_STEP", 1)
        _check_committed_records(steps)


def _check_committed_records(steps: list[Any]) -> None:
    log = TransactionalLog()
    numbers = count()
    running: Iterator[None] = iter(())

    def records(keys: list[bytes]) -> list[CoordinatorRecord]:
        return [(key, b"%d" % next(numbers)) for key in keys]

    for action, producer_id, keys in steps:
        if action == "compact":
            if not log.compaction.is_running:
                running = log.steps()
        elif action != "append":
            log.end(producer_id, is_commit=action == "commit")
        elif producer_id < 0:
            log.append(*records(keys))
        else:
            log.append_transactional(producer_id, *records(keys))
        next(running, None)
    for _ in running:
        pass
    log.compact()
    kept = {record.offset for batch in log.log.rewind() for record in read_records(batch)}
    assert kept.issuperset(offset for offsets in log.open.values() for offset in offsets)
    for producer_id in tuple(log.open):
        log.end(producer_id, is_commit=False)
    log.append((b"end", b""))
    log.compact()

    assert log.log.size_bytes == sum(map(len, log.log.rewind()))
    stored = sum(read_header(batch, 0).records_count for batch in log.log.rewind())
    assert log.compaction._record_count == stored
    found = log.committed()
    assert found.items() <= log.by_offset.items()
    assert dict(found[offset] for offset in sorted(found)) == dict(
        log.by_offset[offset] for offset in sorted(log.by_offset)
    )
    assert len(log.log.transaction_index) == 0
    # Each live batch has at most one marker, and fewer stale records than live ones.
    assert log.log.batch_count <= 2 * 5


def test_a_rewritten_batch_of_a_transaction_keeps_its_producer() -> None:
    log = TransactionalLog()
    log.append_transactional(1, (b"a", b"1"), (b"b", b"2"), (b"c", b"3"))
    log.end(1, is_commit=True)
    log.append((b"a", b"4"), (b"b", b"5"))
    log.compact()
    rewritten, marker, _newest = log.log.rewind()
    header = read_header(rewritten, 0)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (1, 0, -1)
    assert header.attributes & TRANSACTIONAL_FLAG
    assert [record.offset for record in read_records(rewritten)] == [2]
    assert read_header(marker, 0).attributes & CONTROL_FLAG
    log.append((b"c", b"6"))
    log.compact()
    assert all(not read_header(b, 0).attributes for b in log.log.rewind())


def test_the_deletion_of_a_key_that_is_written_again_between_two_steps_is_not_forgotten_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compaction, "BATCHES_PER_STEP", 1)
    log = CompactedLog()
    log.append((b"a", None), (b"b", None))
    steps = log.steps(now_ms=DAY_MS)
    next(steps)
    log.append((b"a", b"1"), (b"b", None), now_ms=1)
    for _ in steps:
        pass
    log.compact()
    assert [(record.key, record.value) for record in log.records()] == [(b"a", b"1"), (b"b", None)]


def test_a_compaction_of_many_batches_or_records_takes_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compaction, "BATCHES_PER_STEP", 10)
    monkeypatch.setattr(compaction, "RECORDS_PER_STEP", 5)
    monkeypatch.setattr(batch_filter, "RECORDS_PER_STEP", 5)
    log = CompactedLog()
    for _ in range(100):
        log.append((b"key", b"value"))
    assert len(list(log.steps())) >= 2 * (100 // 10) - 2  # looks at each, then frees each
    many = CompactedLog()
    many.append(*numbered([b"%d" % number for number in range(100)]))
    many.append(*numbered([b"%d" % number for number in range(60)]))
    assert len(list(many.steps())) >= (100 + 40) // 5
    assert len(many.records()) == 100


def test_a_log_whose_batches_were_deleted_between_two_steps_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compaction, "BATCHES_PER_STEP", 1)
    log = CompactedLog()
    for name in b"aab":
        log.append((bytes((name,)), b""))
    steps = log.steps()
    next(steps)
    log.log.take_all()
    for _ in steps:
        pass
    assert log.log.batch_count == log.log.size_bytes == 0
    log.append((b"c", b"1"))
    log.compact()
    assert [record.key for record in log.records()] == [b"c"]
