"""A log is cleaned when somebody asks for it, with what was its active segment."""

from collections.abc import Callable

import pytest

from broker.cluster.cleaning import cleaning_steps, compact_now
from broker.cluster.log_cleaning import LogCleaning
from tests.broker.cluster.cleaned_topic import HOUR_MS, CleanedTopic
from tests.broker.interleaving import once, run_with_pauses


def compacted(log: CleanedTopic) -> LogCleaning | None:
    return compact_now(log.cluster, log.topic, log.partition, log.now_ms)


def test_the_active_segment_is_cleaned_too_and_the_next_record_begins_another() -> None:
    log = CleanedTopic(min_cleanable_dirty_ratio="1.0")
    for value in (b"1", b"2", b"3"):
        log.append((b"k", value))
    cleaning = compacted(log)
    assert cleaning is not None
    assert (cleaning.is_done, cleaning.removed_count, cleaning.end_offset) == (True, 2, 3)
    assert log.seen() == [(2, b"k")]
    assert log.cluster.log_bytes == sum(map(len, log.batches()))
    log.append((b"k", b"4"))
    log.partition.log.extend_segments(log.topic.segment_settings, 100)
    segments = log.partition.log.segments
    assert segments is not None
    assert [segment.base_offset for segment in segments.segments] == [0, 3]
    assert not segments.is_rolled
    assert log.seen() == [(2, b"k"), (3, b"k")]
    compacted(log)
    assert log.seen() == [(3, b"k")]


def test_a_log_that_is_clean_loses_tombstones_whose_time_is_over() -> None:
    log = CleanedTopic(delete_retention_ms=str(HOUR_MS))
    log.append((b"k", None))
    log.append((b"l", b"last"))
    assert compacted(log) is not None
    assert log.seen() == [(0, b"k"), (1, b"l")]
    log.now_ms += HOUR_MS
    cleaning = compacted(log)
    assert cleaning is not None
    assert cleaning.removed_count == 1
    assert log.seen() == [(1, b"l")]


def test_young_records_and_open_transactions_stay() -> None:
    log = CleanedTopic(min_compaction_lag_ms=str(HOUR_MS))
    log.append((b"k", b"1"), (b"k", b"2"))
    assert compacted(log) is None
    log.now_ms += HOUR_MS + 1
    log.append((b"k", b"3"), producer=(7, 0, 0), is_transactional=True)
    log.now_ms += HOUR_MS + 1
    cleaning = compacted(log)
    assert cleaning is not None
    assert cleaning.end_offset == 2
    log.end_transaction(7, is_commit=True)
    log.now_ms += HOUR_MS + 1
    assert compacted(log) is not None
    assert log.seen() == [(2, b"k")]


@pytest.mark.parametrize(("release", "left_count"), [("4.3", 2), ("4.4", 1)])
def test_the_end_of_the_cleaned_part_stays_without_records_until_kafka_4_4(
    release: str, left_count: int
) -> None:
    log = CleanedTopic(release, min_compaction_lag_ms=str(HOUR_MS))
    log.append((None, b"goes"))
    assert compacted(log) is None  # the next record begins a segment
    log.now_ms += HOUR_MS + 1
    log.append((b"k", b"young"))
    cleaning = compacted(log)
    assert cleaning is not None
    assert (cleaning.removed_count, cleaning.end_offset) == (1, 1)
    assert len(log.batches()) == left_count
    assert log.seen() == [(1, b"k")]
    log.now_ms += HOUR_MS + 1
    log.append((None, b"the last one"))
    log.now_ms += HOUR_MS + 1
    assert compacted(log) is not None
    assert [len(batch) for batch in log.batches()][-1] == 61


def test_an_empty_log_and_one_that_is_not_compacted_stay_as_they_are() -> None:
    assert compacted(CleanedTopic()) is None
    log = CleanedTopic(cleanup_policy="delete")
    log.append((b"k", b"1"), (b"k", b"2"))
    assert compacted(log) is None
    assert log.seen() == [(0, b"k"), (1, b"k")]


def _append(log: CleanedTopic) -> None:
    log.append((b"k", b"new"))


def _delete(log: CleanedTopic) -> None:
    log.cluster.delete_records_before(log.partition, 200, log.now_ms)


def _clean(log: CleanedTopic) -> None:
    for _ in cleaning_steps(log.cluster, log.topic, log.partition, log.now_ms, is_asked_for=True):
        pass


@pytest.mark.parametrize("other", [_append, _delete, _clean])
def test_what_happens_in_a_pause_is_no_harm(other: Callable[[CleanedTopic], None]) -> None:
    log = CleanedTopic()
    for number in range(600):
        log.append((b"%d" % (number % 300), b"value"))
    cleaning = run_with_pauses(lambda: compacted(log), once(lambda: other(log)))
    assert cleaning is not None
    assert cleaning.is_done
    expected = [(number, b"%d" % (number % 300)) for number in range(300, 600)]
    assert log.seen()[:300] == expected
    assert log.cluster.log_bytes == sum(map(len, log.batches()))


def test_the_log_cleaner_changes_nothing_if_another_cleaning_has_begun_since() -> None:
    log = CleanedTopic()
    for number in range(600):
        log.append((b"%d" % (number % 2), b"value"))
    log.fill()
    steps = cleaning_steps(log.cluster, log.topic, log.partition, log.now_ms)
    next(steps)
    assert compacted(log) is not None
    left = log.batches()
    for _ in steps:
        pass
    assert log.batches() == left
    assert log.cluster.log_bytes == sum(map(len, left))
