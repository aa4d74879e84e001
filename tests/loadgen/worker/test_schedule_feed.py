"""The schedule is read a bounded number of batches ahead."""

import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from loadgen.worker.schedule_feed import ScheduleFeed


def batch(*times_us: int) -> pa.RecordBatch:
    columns = [pa.array(times_us, pa.int64())] * 4
    return pa.record_batch(columns, ["event_id", "t_us", "client", "salt"])


def test_no_more_batches_are_read_than_the_look_ahead() -> None:
    read: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(1000):
            read.append(number)
            yield batch(number)

    feed = ScheduleFeed(batches(), look_ahead=3)
    feed.fill()
    assert len(read) <= 4  # one more waits for room
    for number in range(1000):
        due = feed.wait_for_next()
        assert due is not None
        assert list(due.times_us) == [number]
        assert len(read) <= number + 6
    assert feed.wait_for_next() is None
    assert feed.is_finished
    feed.stop()


def test_a_batch_that_comes_late_is_announced() -> None:
    go_on, announced = threading.Event(), threading.Event()

    def batches() -> Iterator[pa.RecordBatch]:
        yield batch(1)
        go_on.wait(10)
        yield batch()
        yield batch(2, 3)

    feed = ScheduleFeed(batches(), look_ahead=1)
    feed.fill()
    feed.on_ready = announced.set
    assert feed.next() is not None
    assert feed.next() is None
    assert not feed.is_finished
    go_on.set()
    assert announced.wait(10)
    due = feed.wait_for_next()
    assert due is not None
    assert list(due.times_us) == [2, 3]
    feed.stop()


def test_a_feed_stops_before_the_end() -> None:
    feed = ScheduleFeed(batch(number) for number in range(10**9))
    feed.fill()
    feed.stop()
    assert not feed._thread.is_alive()


def test_what_reading_raises_is_raised_where_the_batch_is_used() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield batch(1)
        raise ValueError("the executor was lost")

    feed = ScheduleFeed(batches())
    with pytest.raises(ValueError, match="the executor was lost"):
        feed.fill()
    feed.stop()
