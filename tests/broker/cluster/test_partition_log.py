"""The log against a simple model: a list of batches with linear search."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from broker.cluster import partition_log
from broker.cluster.log_segments import DEFAULT_SETTINGS
from broker.cluster.partition_log import PartitionLog
from protocol import records
from tests.batches import filled_batch, make_batch
from tests.examples import examples

SMALL_SEGMENTS = DEFAULT_SETTINGS._replace(segment_bytes=150)


@dataclass(frozen=True)
class Kept:
    """A batch in the model."""

    base_offset: int
    offset_count: int
    max_timestamp: int
    leader_epoch: int
    data: bytes

    @property
    def end_offset(self) -> int:
        return self.base_offset + self.offset_count


class LogAgainstModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.log = PartitionLog()
        self.kept: list[Kept] = []
        self.ever: list[Kept] = []
        self.start_offset = 0
        self.end_offset = 0
        self.leader_epoch = 0

    @rule(
        sizes=st.lists(st.integers(61, 72), min_size=1, max_size=4),
        offset_count=st.integers(1, 5),
        max_timestamp=st.integers(-1, 9),
    )
    def append(self, sizes: list[int], offset_count: int, max_timestamp: int) -> None:
        for size in sizes:
            end_offset, filler = self.end_offset, len(self.ever) % 256
            data = filled_batch(end_offset, offset_count, max_timestamp, size, filler)
            batch = Kept(self.end_offset, offset_count, max_timestamp, self.leader_epoch, data)
            self.log.append(data, offset_count, self.leader_epoch)
            self.kept.append(batch)
            self.ever.append(batch)
            self.end_offset = batch.end_offset

    @rule(by=st.integers(1, 3))
    def change_leader(self, by: int) -> None:
        self.leader_epoch += by

    @rule(share=st.floats(0, 1))
    def advance_start(self, share: float) -> None:
        offset = round(share * self.end_offset)
        self.log.advance_start(offset)
        self.start_offset = max(self.start_offset, offset)
        self.kept = [batch for batch in self.kept if batch.end_offset > self.start_offset]

    @rule(segment_count=st.integers(0, 3), batches_max=st.sampled_from((0, 1, 3, 1000)))
    def delete_segments(self, segment_count: int, batches_max: int) -> None:
        self.log.extend_segments(SMALL_SEGMENTS, 1000)
        assert self.log.segments is not None
        count = min(segment_count, len(self.log.segments.segments))
        end_offset = self.log.segments.end_of(count)
        before = list(self.kept)
        while (
            self.kept
            and self.kept[0].base_offset < end_offset
            and len(before) - len(self.kept) < batches_max
        ):
            del self.kept[0]
        self.check_dropped(self.log.delete_segments(count, batches_max, 0), before)

    @rule(byte_count=st.integers(0, 400), batches_max=st.sampled_from((0, 1, 3, 1000)))
    def drop_at_least(self, byte_count: int, batches_max: int) -> None:
        before = list(self.kept)
        while (
            len(self.kept) > 1
            and len(before) - len(self.kept) < batches_max
            and sum(len(batch.data) for batch in before) - self.log_bytes < byte_count
        ):
            del self.kept[0]
        self.check_dropped(self.log.drop_at_least(byte_count, batches_max), before)

    @property
    def log_bytes(self) -> int:
        return sum(len(batch.data) for batch in self.kept)

    def check_dropped(self, dropped_bytes: int, before: list[Kept]) -> None:
        gone = before[: len(before) - len(self.kept)]
        assert dropped_bytes == sum(len(batch.data) for batch in gone)
        if gone:
            self.start_offset = max(self.start_offset, gone[-1].end_offset)

    @initialize()
    def start_empty(self) -> None:
        assert self.log.batch_count == 0

    @invariant()
    def offsets_and_sizes_agree(self) -> None:
        assert self.log.log_start_offset == self.start_offset
        assert self.log.log_end_offset == self.end_offset
        assert self.log.batch_count == len(self.kept)
        assert self.log.size_bytes == sum(len(batch.data) for batch in self.kept)

    @invariant()
    def reading_gives_whole_batches_from_the_one_with_the_offset(self) -> None:
        for offset in range(self.start_offset, self.end_offset):
            behind = [batch.data for batch in self.kept if batch.end_offset > offset]
            assert self.log.read(offset, 10**6, at_least_one=False) == behind
            for bytes_max in (0, 1, len(behind[0]), len(behind[0]) + 7):
                fitting = [
                    data
                    for index, data in enumerate(behind)
                    if sum(map(len, behind[: index + 1])) <= bytes_max
                ]
                assert self.log.read(offset, bytes_max, at_least_one=False) == fitting
                at_least_one = self.log.read(offset, bytes_max, at_least_one=True)
                assert at_least_one == (fitting or behind[:1])

    @invariant()
    def readable_bytes_are_those_behind_the_offset_up_to_a_bound(self) -> None:
        for offset in range(self.start_offset, self.end_offset + 1):
            behind = sum(len(batch.data) for batch in self.kept if batch.end_offset > offset)
            for bytes_max in (1, 10, 10**6):
                assert self.log.readable_bytes(offset, bytes_max) == min(behind, bytes_max)

    @invariant()
    def timestamps_find_the_batches_that_reach_them(self) -> None:
        for timestamp in range(-1, 11):
            found = [batch.data for batch in self.kept if batch.max_timestamp >= timestamp]
            assert list(self.log.batches_from_timestamp(timestamp)) == found
        for start, end in ((2, 5), (0, 3)):
            part = [
                batch.data
                for batch in self.kept
                if batch.end_offset > max(start, self.start_offset) and batch.base_offset < end
            ]
            assert list(self.log.batches_from_timestamp(-1, start, end)) == part
        latest = max(self.kept, key=lambda batch: batch.max_timestamp, default=None)
        assert self.log.batch_with_max_timestamp() == (latest and latest.data)

    @invariant()
    def every_offset_knows_its_leader_epoch(self) -> None:
        for batch in self.ever:
            for offset in range(batch.base_offset, batch.end_offset):
                assert self.log.epoch_of(offset) == batch.leader_epoch


TestLogAgainstModel = LogAgainstModel.TestCase
pytest.mark.slow(TestLogAgainstModel)
TestLogAgainstModel.settings = settings(
    max_examples=examples(60), stateful_step_count=20, deadline=None
)


def test_an_empty_log_has_no_batches_or_epochs() -> None:
    log = PartitionLog()

    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (0, 0, 0)
    assert log.read(0, 100, at_least_one=True) == []
    assert log.readable_bytes(0, 100) == 0
    assert log.epoch_of(0) == -1
    assert log.batch_with_max_timestamp() is None


def test_batches_are_stored_together_as_one_by_one() -> None:
    batches = [
        records.stamp(batch, 0, len(batch), 7 + 2 * number, 3)
        for number, batch in enumerate([make_batch(b"a", b"b")] * 3)
    ]
    one_by_one, together = PartitionLog(), PartitionLog()
    for log in (one_by_one, together):
        log.begin_at(5)
        log.append(records.stamp(batches[0], 0, len(batches[0]), 5, 2), 2, 2)
    for batch in batches:
        one_by_one.append(batch, 2, 3)

    size_bytes = together.extend(batches, 13, 3)

    assert size_bytes == sum(map(len, batches))
    for name in PartitionLog.__slots__:
        if name != "transaction_index":
            assert getattr(together, name) == getattr(one_by_one, name), name


def test_the_log_start_offset_never_decreases() -> None:
    log = PartitionLog()
    log.append(filled_batch(0, 4), 4, 0)
    log.advance_start(3)

    log.advance_start(1)

    assert log.log_start_offset == 3
    assert log.batch_count == 1


@pytest.mark.parametrize("leaves", [False, True])
def test_each_waiter_is_woken_once_even_if_one_leaves_during_the_wake(*, leaves: bool) -> None:
    log = PartitionLog()
    woken: list[tuple[str, int]] = []

    def first(now_ms: int) -> None:
        woken.append(("first", now_ms))
        if leaves:
            log.leave(first)

    log.wait(first)
    log.wait(lambda now_ms: woken.append(("second", now_ms)))

    log.wake(5)

    assert sorted(woken) == [("first", 5), ("second", 5)]
    assert len(log.waiters) == (1 if leaves else 2)


@given(
    st.lists(st.integers(61, 69), max_size=12),
    st.integers(0, 12),
    st.integers(0, 13),
    st.integers(-1, 500),
    st.booleans(),
)
def test_runs_of_batches_are_read_as_one_after_the_other(
    sizes: list[int], fetch_offset: int, end_offset: int, bytes_max: int, at_least_one: bool
) -> None:
    log = PartitionLog()
    batches = [
        filled_batch(number, size_bytes=size, filler=number) for number, size in enumerate(sizes)
    ]
    for batch in batches:
        log.append(batch, 1, 0)
    expected: list[bytes] = []
    left = bytes_max
    for number in range(fetch_offset, min(end_offset, len(sizes))):
        left -= sizes[number]
        if left < 0 and (expected or not at_least_one):
            break
        expected.append(batches[number])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition_log, "RUN_BATCHES", 2)
        found = log.read(fetch_offset, bytes_max, at_least_one=at_least_one, end_offset=end_offset)

    assert found == expected


def log_of(sizes: list[int]) -> PartitionLog:
    """Return a log of batches with a value of each size."""
    log = PartitionLog()
    for offset, size in enumerate(sizes):
        batch = make_batch(bytes(size))
        log.append(offset.to_bytes(8, "big") + batch[8:], 1, 0)
    return log


@given(
    st.lists(st.integers(0, 9), max_size=20),
    st.integers(0, 20),
    st.integers(0, 21),
    st.integers(-1, 1_000),
    st.booleans(),
)
def test_very_many_batches_are_read_in_runs(
    sizes: list[int], fetch_offset: int, end_offset: int, bytes_max: int, at_least_one: bool
) -> None:
    log = log_of(sizes)
    expected = log.read(fetch_offset, bytes_max, at_least_one=at_least_one, end_offset=end_offset)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition_log, "RUN_BATCHES", 2)
        patch.setattr(partition_log, "SHORT_BATCHES_MAX", 3)
        found = log.read(fetch_offset, bytes_max, at_least_one=at_least_one, end_offset=end_offset)

    assert found == expected


def test_a_read_in_runs_ends_at_batches_that_are_deleted_between_two_of_them() -> None:
    log = log_of([1] * 20)
    first_batches = list(log.rewind())[:4]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition_log, "RUN_BATCHES", 2)
        patch.setattr(partition_log, "SHORT_BATCHES_MAX", 3)
        runs = log.read_runs(0, 10**6, at_least_one=True)
        assert next(runs) == first_batches
        log.advance_start(7)
        assert list(runs) == []
