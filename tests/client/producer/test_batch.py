from client.producer.batch import Batch, Record, TopicPartition, insert_by_age
from client.producer.delivery import Delivered, Delivery
from protocol.records import read_records

PLACE = TopicPartition("orders", 0)


def batch(number: int, count: int = 1, bytes_max: int = 10_000) -> tuple[Batch, list[Delivery]]:
    made = Batch(PLACE, number, 1_000, "none", bytes_max)
    deliveries = [Delivery() for _ in range(count)]
    for index, delivery in enumerate(deliveries):
        value = b"%d" % index
        assert made.append(Record("orders", value, b"k", 0, (("h", None),), 100 + index), delivery)
    return made, deliveries


def test_a_batch_accepts_any_first_record_and_no_record_when_full() -> None:
    made, _ = batch(1, 1, bytes_max=1)
    assert not made.append(Record("orders", b"", None, 0, (), 0), Delivery())
    assert made.record_count == 1


def test_each_record_gets_its_offset_and_its_own_or_the_brokers_timestamp() -> None:
    made, deliveries = batch(1, 2)
    made.succeed(7, -1)
    assert [delivery.outcome for delivery in deliveries] == [
        Delivered("orders", 0, 7, 100),
        Delivered("orders", 0, 8, 101),
    ]
    made, deliveries = batch(1, 2)
    made.succeed(-1, 555)
    assert [delivery.outcome for delivery in deliveries] == [Delivered("orders", 0, -1, 555)] * 2


def test_halves_have_the_records_memory_and_sequences_of_the_batch() -> None:
    original, deliveries = batch(4, 5)
    original.close()
    original.producer_id, original.producer_epoch, original.base_sequence = 9, 1, 2**31 - 1
    original.bytes_reserved = 11
    first, second = original.halves("none")
    assert (first.record_count, second.record_count) == (2, 3)
    assert (first.base_sequence, second.base_sequence) == (2**31 - 1, 1)
    assert first.end_sequence == second.base_sequence
    assert second.end_sequence == original.end_sequence == 4
    assert first.bytes_reserved + second.bytes_reserved == 11
    assert first.created_ms == second.created_ms == original.created_ms
    values = [
        read_record.value for part in (first, second) for read_record in read_records(part.payload)
    ]
    assert values == [b"0", b"1", b"2", b"3", b"4"]
    second.succeed(40, -1)
    assert deliveries[2].outcome == Delivered("orders", 0, 40, 102)
    assert deliveries[0].outcome is None


def test_a_batch_is_put_back_before_younger_ones() -> None:
    queue = [batch(2)[0], batch(5)[0]]
    parts = [batch(4)[0], batch(4)[0]]
    insert_by_age(queue, parts)
    insert_by_age(queue, [batch(1)[0]])
    assert [queued.number for queued in queue] == [1, 2, 4, 4, 5]
    assert queue[2:4] == parts
