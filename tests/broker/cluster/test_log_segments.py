"""Segments that are computed later are those that Kafka begins when it appends."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.cluster import log_segments
from broker.cluster.log_segments import DEFAULT_SETTINGS, LogSegments, SegmentSettings
from broker.cluster.offset_by_time import FoundOffset, first_record_from, latest_record
from broker.cluster.partition_log import PartitionLog
from broker.cluster.producer_rules import new_producers
from broker.cluster.topics import Partition
from broker.config.broker_config import BrokerConfig
from broker.config.topic_config import TopicConfig
from tests.batches import filled_batch
from tests.broker.cluster_builder import NOW_MS
from tests.examples import examples


@dataclass
class KafkaSegment:
    """One `LogSegment` with the fields that it decides with."""

    base_offset: int
    created_ms: int
    modified_ms: int
    created_with: SegmentSettings
    size: int = 0
    first_timestamp: int | None = None
    max_timestamp: int = -1
    since_entry: int = 0
    offset_entries: list[int] = field(default_factory=list)
    time_entries: list[int] = field(default_factory=list)
    records: list[tuple[int, int]] = field(default_factory=list)
    """Timestamp and offset."""

    @property
    def largest_timestamp(self) -> int:
        return self.max_timestamp if self.max_timestamp >= 0 else self.modified_ms


@dataclass
class KafkaLog:
    """Appends and deletes as `UnifiedLog` does, with all segments at hand."""

    segments: list[KafkaSegment] = field(default_factory=list)
    log_start_offset: int = 0
    log_end_offset: int = 0
    emptied_ms: int | None = None

    def append(self, size: int, timestamp: int, now_ms: int, used: SegmentSettings) -> None:
        if not self.segments or self._should_roll(size, timestamp, now_ms, used):
            created_ms = now_ms
            if not self.segments and self.emptied_ms is not None:
                created_ms = self.emptied_ms  # Kafka has an empty segment since then
            self.segments.append(KafkaSegment(self.log_end_offset, created_ms, now_ms, used))
        segment = self.segments[-1]
        if segment.size == 0:
            segment.first_timestamp = timestamp
        segment.max_timestamp = max(segment.max_timestamp, timestamp)
        if segment.since_entry > segment.created_with.index_interval_bytes:
            segment.offset_entries.append(self.log_end_offset)
            if segment.max_timestamp > (segment.time_entries or [-1])[-1]:
                segment.time_entries.append(segment.max_timestamp)
            segment.since_entry = 0
        segment.since_entry += size
        segment.size += size
        segment.modified_ms = now_ms
        segment.records.append((timestamp, self.log_end_offset))
        self.log_end_offset += 1

    def _should_roll(self, size: int, timestamp: int, now_ms: int, used: SegmentSettings) -> bool:
        segment = self.segments[-1]
        first = segment.first_timestamp
        assert first is not None
        waited_ms = timestamp - first if first >= 0 else now_ms - segment.created_ms
        return (
            segment.size > used.segment_bytes - size
            or waited_ms > used.segment_ms
            or len(segment.offset_entries) >= segment.created_with.index_entries_max
            or len(segment.time_entries) >= segment.created_with.time_entries_max
        )

    def clean(self, retention_bytes: int, retention_ms: int, now_ms: int) -> None:
        has_any = bool(self.segments)
        while len(self.segments) > 1 and self.segments[1].base_offset <= self.log_start_offset:
            del self.segments[0]
        excess = sum(segment.size for segment in self.segments) - retention_bytes
        while retention_bytes >= 0 and self.segments and excess - self.segments[0].size >= 0:
            excess -= self.segments[0].size
            self._delete_oldest()
        while retention_ms >= 0 and self.segments:
            segment = self.segments[0]
            if now_ms - segment.largest_timestamp <= retention_ms:
                break
            self._delete_oldest()
        if has_any and not self.segments:
            self.emptied_ms = now_ms

    def _delete_oldest(self) -> None:
        del self.segments[0]
        end = self.segments[0].base_offset if self.segments else self.log_end_offset
        self.log_start_offset = max(self.log_start_offset, end)

    def first_from(self, timestamp: int) -> FoundOffset:
        for segment in self.segments:
            if segment.largest_timestamp >= timestamp:
                for found, offset in segment.records:
                    if found >= timestamp and offset >= self.log_start_offset:
                        return FoundOffset(offset, found, 0)
                break
        return FoundOffset()

    def latest(self) -> FoundOffset:
        if not self.segments:
            return FoundOffset()
        segment = max(self.segments, key=lambda segment: segment.max_timestamp)
        return next(
            FoundOffset(offset, found, 0)
            for found, offset in segment.records
            if found == segment.max_timestamp
        )

    @property
    def bytes_by_segment(self) -> list[tuple[int, int]]:
        return [(segment.base_offset, segment.size) for segment in self.segments]


SETTINGS = (
    DEFAULT_SETTINGS._replace(segment_bytes=400, segment_ms=50),
    DEFAULT_SETTINGS._replace(segment_bytes=1000, segment_ms=10_000),
)
SMALL_INDEX = DEFAULT_SETTINGS._replace(
    segment_bytes=2000,
    segment_ms=10_000,
    index_entries_max=4,
    time_entries_max=3,
    index_interval_bytes=100,
    can_fill_index=True,
)
appends = st.tuples(
    st.just("append"),
    st.integers(1, 12),
    st.integers(61, 200),
    st.sampled_from((-40, -3, -1, 0, 1, 1, 30, 200)),
)
operations = st.one_of(
    appends,
    appends,
    st.tuples(st.just("settings"), st.sampled_from((0, 1))),
    st.tuples(st.just("extend"), st.sampled_from((1, 3, 1000))),
    st.tuples(st.just("delete records"), st.floats(0, 1)),
    st.tuples(st.just("free memory"), st.integers(1, 1000)),
    st.tuples(
        st.just("retention"), st.sampled_from((-1, 0, 300, 900)), st.sampled_from((-1, 0, 100))
    ),
)


def make_partition(log: PartitionLog) -> Partition:
    producers = new_producers(BrokerConfig.from_overrides({}), 1)
    return Partition("t", 0, (1,), (1,), 1, producers, log=log)


class Both:
    """The log that computes segments later, and the one that has them at once."""

    def __init__(self, choices: tuple[SegmentSettings, SegmentSettings]) -> None:
        self.log, self.kafka = PartitionLog(), KafkaLog()
        self.choices = choices
        self.used = choices[0]
        self.now_ms = NOW_MS
        self.timestamp = NOW_MS
        self.has_freed_memory = False

    def append(self, count: int, size: int, step_ms: int) -> None:
        for _ in range(count):
            self.now_ms += 1
            self.timestamp += step_ms
            timestamp = -1 if step_ms == -1 else self.timestamp
            batch = filled_batch(self.log.log_end_offset, 1, timestamp, size)
            self.log.append(batch, 1, 0)
            self.log.appended_ms = self.now_ms
            self.kafka.append(size, timestamp, self.now_ms, self.used)
            if timestamp < 0:  # exact only when looked at after each append
                self.extend(1000)

    def extend(self, batches_max: int) -> None:
        while self.log.extend_segments(self.used, batches_max):
            pass

    def change_settings(self, choice: int) -> None:
        self.log.end_segment_settings(self.used)
        self.used = self.choices[choice]

    def delete_records(self, share: float) -> None:
        offset = round(share * self.log.log_end_offset)
        self.log.advance_start(offset, self.used)
        self.kafka.log_start_offset = max(self.kafka.log_start_offset, offset)

    def free_memory(self, byte_count: int) -> None:
        self.has_freed_memory = True
        self.log.drop_at_least(byte_count, 5, self.used)
        self.kafka.log_start_offset = self.log.log_start_offset

    def apply_retention(self, retention_bytes: int, retention_ms: int) -> None:
        self.extend(3)
        segments = self.log.segments
        assert segments is not None
        retention = retention_bytes, retention_ms, self.now_ms
        while True:
            log = self.log
            count = segments.count_deletable(log.log_start_offset, log.high_watermark, *retention)
            if not count:
                break
            log.delete_segments(count, 2, self.now_ms)
        self.kafka.clean(retention_bytes, retention_ms, self.now_ms)

    def check(self) -> None:
        self.extend(1000)
        segments = self.log.segments
        assert segments is not None
        found = [(segment.base_offset, segment.size_bytes) for segment in segments.segments]
        assert found == self.kafka.bytes_by_segment
        assert self.log.log_start_offset == self.kafka.log_start_offset
        assert self.log.segment_bytes == sum(size for _, size in found)
        if not self.has_freed_memory:  # Kafka has no such bound
            self.check_times()

    def check_times(self) -> None:
        assert latest_record(self.log) == self.kafka.latest()
        partition = make_partition(self.log)
        for timestamp in range(NOW_MS - 50, NOW_MS + 300, 7):
            found = first_record_from(partition, timestamp, self.used)
            assert found == self.kafka.first_from(timestamp)


SMALL_INDEXES = (SMALL_INDEX, SMALL_INDEX._replace(index_entries_max=2))


@settings(max_examples=examples(300))
@given(st.sampled_from((SETTINGS, SMALL_INDEXES)), st.lists(operations, max_size=25))
def test_segments_are_those_of_kafka(
    choices: tuple[SegmentSettings, SegmentSettings], done: list[tuple[str, object]]
) -> None:
    both = Both(choices)
    does = {
        "append": both.append,
        "settings": both.change_settings,
        "extend": both.extend,
        "delete records": both.delete_records,
        "free memory": both.free_memory,
        "retention": both.apply_retention,
    }
    for name, *arguments in done:
        does[name](*arguments)  # type: ignore[operator]
    both.check()


@pytest.mark.parametrize("sizes", [[61], [100, 61, 300], [390, 61]])
def test_many_batches_are_added_together(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    def ends() -> list[int]:
        segments = LogSegments()
        batches = [
            filled_batch(offset, 1, NOW_MS + offset, sizes[offset % len(sizes)])
            for offset in range(600)
        ]
        segments.extend(batches, SETTINGS[1], NOW_MS)
        return [segment.base_offset for segment in segments.segments]

    together = ends()
    monkeypatch.setattr(log_segments, "BATCHES_PER_RUN", 1)
    assert together == ends()
    assert len(together) > 30


def test_an_offset_is_at_most_two_billion_behind_the_base_offset() -> None:
    segments = LogSegments()
    batches = [filled_batch(offset) for offset in (5, 5 + 2**31 - 1, 5 + 2**31)]
    segments.extend(batches, DEFAULT_SETTINGS, NOW_MS)
    assert [segment.base_offset for segment in segments.segments] == [5, 5 + 2**31]


def test_a_jitter_is_taken_off_the_time_of_a_segment() -> None:
    used = DEFAULT_SETTINGS._replace(segment_ms=1000, jitter_ms=900)
    lengths = set()
    for base_offset in range(0, 50_000, 1000):
        segments = LogSegments()
        batches = [filled_batch(base_offset + ms, 1, NOW_MS + ms) for ms in range(1000)]
        segments.extend(batches, used, NOW_MS)
        ends = [segment.base_offset for segment in segments.segments]
        lengths.add((ends[1] if len(ends) > 1 else base_offset + 1000) - base_offset)
    assert all(100 < length <= 1001 for length in lengths)
    assert len(lengths) > 30


def configured(**overrides: str) -> SegmentSettings:
    values = {name.replace("_", "."): value for name, value in overrides.items()}
    return SegmentSettings.of(TopicConfig(BrokerConfig.from_overrides({}), values))


def test_the_settings_are_those_of_the_topic() -> None:
    assert configured() == DEFAULT_SETTINGS
    changed = configured(segment_bytes="2097152", segment_ms="9", segment_jitter_ms="7")
    assert changed[:3] == (2_097_152, 9, 7)
    # Kafka takes no more off than there is.
    assert configured(segment_ms="9", segment_jitter_ms="70").jitter_ms == 9
    small = configured(segment_index_bytes="240", index_interval_bytes="10")
    assert small[3:] == (30, 19, 10, True)


def test_a_compacted_topic_ends_segments_that_have_to_be_compacted() -> None:
    lag = {"max_compaction_lag_ms": "50"}
    assert configured(cleanup_policy="compact", **lag).segment_ms == 50
    assert configured(**lag).segment_ms == DEFAULT_SETTINGS.segment_ms
