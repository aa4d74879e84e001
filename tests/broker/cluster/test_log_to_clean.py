"""A log is cleaned when it is dirty enough, and as far as Kafka cleans it."""

from broker.cluster.log_to_clean import CleaningSettings, log_to_clean, next_cleaning_ms
from tests.broker.cluster.cleaned_topic import BACKOFF_MS, CONFIG, FILL, HOUR_MS, CleanedTopic
from tests.broker.cluster_builder import NOW_MS


def test_a_log_is_cleaned_when_more_than_the_ratio_is_dirty() -> None:
    for ratio, is_cleaned in (("0.6", True), ("0.7", False)):
        topic = CleanedTopic(**{"min.cleanable.dirty.ratio": "0.01"})
        for number in range(3):
            topic.append((b"k%d" % number, FILL))
        topic.advance()
        for _ in range(4):
            topic.append((b"a", FILL))
        topic.cluster.alter_topic_config(topic.topic, CONFIG | {"min.cleanable.dirty.ratio": ratio})
        topic.advance()
        # Two of six records before the active segment are clean.
        assert [offset for offset, _key in topic.seen()] == (
            [0, 1, 2, 5, 6] if is_cleaned else [0, 1, 2, 3, 4, 5, 6]
        )


def test_a_dirty_log_is_cleaned_after_its_longest_lag() -> None:
    topic = CleanedTopic(
        **{"min.cleanable.dirty.ratio": "1", "max.compaction.lag.ms": str(HOUR_MS)}
    )
    topic.append((b"a", b"1"))
    topic.append((b"a", b"2"))
    topic.fill()
    topic.advance(HOUR_MS)
    assert len(topic.seen()) == 2
    topic.advance(BACKOFF_MS)
    assert topic.seen() == [(1, b"a")]


def test_a_segment_is_not_cleaned_before_its_shortest_lag() -> None:
    topic = CleanedTopic(**{"min.compaction.lag.ms": str(HOUR_MS)})
    topic.append((b"a", b"1"))
    topic.append((b"a", b"2"))
    topic.fill()
    topic.advance(HOUR_MS - BACKOFF_MS)
    assert len(topic.seen()) == 2
    topic.advance(BACKOFF_MS)
    assert topic.seen() == [(1, b"a")]


def test_nothing_from_an_open_transaction_on_is_cleaned() -> None:
    topic = CleanedTopic()
    topic.append((b"a", b"1"))
    topic.append((b"a", b"2"))
    topic.fill()
    topic.append((b"a", b"3"), producer=(7, 0, 0), is_transactional=True)
    topic.append((b"a", b"4"))
    topic.append((b"a", b"5"))
    topic.fill()
    topic.advance()
    assert [offset for offset, _key in topic.seen()] == [1, 5, 6, 7]
    topic.end_transaction(7, is_commit=True)
    topic.fill()
    topic.advance()
    assert [offset for offset, _key in topic.seen()] == [7]


def test_the_active_segment_is_not_cleaned() -> None:
    topic = CleanedTopic()
    topic.append((b"a", b"1"))
    topic.append((b"a", b"2"))
    topic.advance()
    assert topic.seen() == [(0, b"a"), (1, b"a")]


def test_the_next_time_is_the_first_one_at_which_a_log_is_cleaned() -> None:
    topic = CleanedTopic()
    log, now_ms = topic.partition.log, topic.now_ms
    topic.append((b"a", FILL), timestamp=now_ms)
    topic.append((b"a", FILL), timestamp=now_ms + 500)
    topic.fill(timestamp=now_ms)
    never = 2**63 - 1
    for lags, expected_ms in (
        ((7000, never, 0.1), now_ms + 7500),
        ((0, 7000, 1.0), now_ms + 7001),
        ((0, never, 1.0), now_ms + 500 + never + 1),
    ):
        settings = CleaningSettings(*lags, HOUR_MS)
        known_ms = next_cleaning_ms(topic.partition, settings)
        if log.segments is None:
            assert known_ms is not None
            assert known_ms < NOW_MS  # the batches are in no segment
            log.extend_segments(topic.topic.segment_settings, 100)
        time_ms = next_cleaning_ms(topic.partition, settings)
        assert time_ms is not None
        assert time_ms <= expected_ms
        assert log_to_clean(topic.partition, settings, time_ms) is not None
        assert log_to_clean(topic.partition, settings, time_ms - 1) is None
