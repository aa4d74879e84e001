from itertools import cycle

import pytest

from client.producer.accumulator import RecordAccumulator
from client.producer.actions import MetadataResponse
from client.producer.batch import Record, TopicPartition
from client.producer.delivery import BufferFullError, Delivery, RecordTooLargeError
from client.producer.topic_metadata import TopicMetadata
from tests.client.producer.driver import BROKERS, TOPIC, record, settings, topics


def metadata(leaders: tuple[int, ...] = (1, 1)) -> TopicMetadata:
    made = TopicMetadata(1_000)
    made.add_topic(TOPIC)
    made.on_response(MetadataResponse(BROKERS, topics(leaders)), 0, 10)
    return made


def accumulator(**changes: object) -> RecordAccumulator:
    return RecordAccumulator(settings(**changes), lambda: 0.0)


def add(one: RecordAccumulator, new_record: Record, now_ms: int, known: TopicMetadata) -> Delivery:
    delivery = Delivery()
    one.add(new_record, delivery, now_ms, one.reserve(new_record), known)
    return delivery


def test_records_wait_for_their_topic_in_the_order_of_sends() -> None:
    one = accumulator()
    unknown = TopicMetadata(1_000)
    for now_ms in (5, 6):
        add(one, record(b"%d" % now_ms), now_ms, unknown)
    assert unknown.requested_topics == (TOPIC,)
    assert not one.queues
    one.place_waiting(metadata())
    (batch,) = one.queues[TopicPartition(TOPIC, 0)]
    assert (batch.record_count, batch.created_ms) == (2, 5)
    assert not one.waiting


def test_a_record_for_an_unknown_partition_does_not_delay_others() -> None:
    one = accumulator()
    known = metadata()
    add(one, record(partition=9), 5, known)
    add(one, record(partition=1), 5, known)
    assert list(one.queues) == [TopicPartition(TOPIC, 1)]
    assert known.due_ms() is not None, "the topic may have grown"
    one.place_waiting(metadata((1,) * 10))
    assert TopicPartition(TOPIC, 9) in one.queues


def test_waiting_records_expire_oldest_first() -> None:
    one = accumulator()
    unknown = TopicMetadata(1_000)
    deliveries = [add(one, record(), now_ms, unknown) for now_ms in (5, 6, 7)]
    assert [entry[1] for entry in one.take_expired_waiting(6)] == deliveries[:2]
    assert [entry[1] for entry in one.take_waiting(TOPIC)] == deliveries[2:]
    assert one.take_waiting(TOPIC) == []


def test_buffer_memory_bounds_the_reserved_bytes() -> None:
    one = accumulator(buffer_memory=300)
    first = one.reserve(record())
    one.reserve(record())
    one.reserve(record())
    with pytest.raises(BufferFullError):
        one.reserve(record())
    assert one.bytes_reserved <= 300
    one.release(first)
    one.reserve(record())


@pytest.mark.parametrize("setting", ["max_request_size", "buffer_memory"])
def test_a_record_that_never_fits_is_refused(setting: str) -> None:
    one = accumulator(**{setting: 500})
    with pytest.raises(RecordTooLargeError):
        one.reserve(record(b"x" * 500))


def test_a_batch_lingers_until_it_is_full_linger_ms_has_passed_or_flush_is_called() -> None:
    one = accumulator(linger_ms=10, batch_size=100, buffer_memory=400)
    known = metadata()
    add(one, record(), 5, known)
    (batch,) = one.queues[TopicPartition(TOPIC, 0)]
    assert one.is_lingering(batch, 14)
    assert not one.is_lingering(batch, 15)
    one.flush(4)
    assert one.is_lingering(batch, 14)
    one.flush(5)
    assert not one.is_lingering(batch, 14)


def test_no_batch_lingers_while_a_send_waits_for_memory() -> None:
    one = accumulator(linger_ms=10, buffer_memory=200)
    add(one, record(), 5, metadata())
    (batch,) = one.queues[TopicPartition(TOPIC, 0)]
    with pytest.raises(BufferFullError):
        one.reserve(record(b"x" * 90))
    assert not one.is_lingering(batch, 6)
    one.release(10)
    assert one.is_lingering(batch, 6)


def test_a_full_batch_is_closed_and_keyless_records_go_to_another_partition() -> None:
    draws = cycle([0.0, 0.9])
    one = RecordAccumulator(settings(batch_size=80), lambda: next(draws))
    known = metadata()
    for now_ms in range(9):
        add(one, record(b"x", partition=None), now_ms, known)
    counts = {
        place.partition: [queued.record_count for queued in queue]
        for place, queue in one.queues.items()
    }
    assert sum(sum(count) for count in counts.values()) == 9
    assert set(counts) == {0, 1}


def test_a_partition_moves_to_the_end_of_the_queue_after_a_send() -> None:
    one = accumulator(batch_size=1)
    known = metadata()
    for _ in range(2):
        for partition in (0, 1):
            add(one, record(partition=partition), 5, known)
    one.pop(one.queues[TopicPartition(TOPIC, 0)][0])
    assert [place.partition for place in one.queues] == [1, 0]


def test_the_halves_of_a_queued_batch_keep_its_place() -> None:
    one = accumulator()
    known = metadata()
    for _ in range(3):
        add(one, record(), 5, known)
    (batch,) = one.queues[TopicPartition(TOPIC, 0)]
    first = one.split_queued(batch)
    assert [queued.record_count for queued in one.queues[TopicPartition(TOPIC, 0)]] == [1, 2]
    assert one.queues[TopicPartition(TOPIC, 0)][0] is first
    one.pop(first)
    one.put_back([first])
    assert one.queues[TopicPartition(TOPIC, 0)][0] is first
    one.remove(first)
    assert one.expired(5) == one.queues[TopicPartition(TOPIC, 0)]
    assert one.expired(4) == []
