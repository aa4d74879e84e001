from client.producer.batch import Batch, Record, TopicPartition
from client.producer.delivery import Delivery
from client.producer.idempotence import EPOCH_MAX, Idempotence

PLACE = TopicPartition("orders", 0)
INT_MAX = 2**31 - 1


def batch(count: int = 1, place: TopicPartition = PLACE) -> Batch:
    made = Batch(place, 0, 0, "none", 10_000)
    for _ in range(count):
        made.append(Record(place.topic, b"", None, place.partition, (), 0), Delivery())
    return made


def idempotence(window: int | None = None, epoch: int = 0) -> Idempotence:
    made = Idempotence()
    made.on_producer_id(7, epoch, window)
    return made


def numbered(idempotence: Idempotence, *counts: int) -> list[Batch]:
    batches = [batch(count) for count in counts]
    for new_batch in batches:
        idempotence.assign_sequence(new_batch)
    return batches


def begun(window: int | None = None) -> Idempotence:
    """Store a first batch of one record."""
    made = idempotence(window)
    (first,) = numbered(made, 1)
    sequences = made.of(first)
    assert sequences is not None
    sequences.ack(first)
    return made


def test_the_first_batch_of_an_epoch_is_sent_alone() -> None:
    """Otherwise its retry could be taken for a duplicate although it was never stored."""
    one = idempotence()
    (first,) = numbered(one, 1)
    assert not one.may_send(batch())
    sequences = one.of(first)
    assert sequences is not None
    sequences.ack(first)
    assert one.may_send(batch())
    one.on_unknown_producer_id(numbered(one, 1)[0])
    one.resolve()
    assert one.epoch == 1
    assert not one.may_send(batch())


def test_nothing_is_sent_without_a_producer_id() -> None:
    assert not Idempotence().may_send(batch())


def test_sequence_numbers_are_consecutive_and_wrap_around() -> None:
    one = idempotence()
    assert [numbered_batch.base_sequence for numbered_batch in numbered(one, 2, 3, 1)] == [0, 2, 5]
    last = numbered(one, 1)[0]
    sequences = one.of(last)
    assert sequences is not None
    sequences.next_sequence = INT_MAX
    assert [numbered_batch.base_sequence for numbered_batch in numbered(one, 2, 1)] == [INT_MAX, 1]


def test_the_window_starts_at_the_oldest_undecided_sequence_number() -> None:
    one = begun(window=5)
    first, second = numbered(one, 2, 2)
    assert one.may_send(batch(1))
    assert not one.may_send(batch(2))
    sequences = one.of(first)
    assert sequences is not None
    sequences.ack(second)
    assert not one.may_send(batch(2)), "the first one is undecided still"
    sequences.ack(first)
    assert one.may_send(batch(5))


def test_a_retry_waits_until_earlier_batches_are_decided() -> None:
    one = idempotence()
    first, second = numbered(one, 1, 1)
    assert not one.may_send(second)
    sequences = one.of(first)
    assert sequences is not None
    sequences.ack(first)
    assert one.may_send(second)


def test_out_of_order_after_an_undecided_batch_is_not_a_gap() -> None:
    one = idempotence()
    first, second = numbered(one, 1, 1)
    one.on_out_of_order(second)
    assert one.resolve() == []
    assert one.epoch == 0
    one.on_out_of_order(first)
    assert one.resolve() == []
    assert [
        (numbered_batch.producer_epoch, numbered_batch.base_sequence)
        for numbered_batch in (first, second)
    ] == [
        (1, 0),
        (1, 1),
    ]


def test_an_unresolved_batch_blocks_new_ones_until_later_batches_are_stored() -> None:
    one = begun()
    lost, following = numbered(one, 1, 1)
    lost.no_response = 1
    sequences = one.of(lost)
    assert sequences is not None
    sequences.give_up(lost)
    assert not one.may_send(batch())
    assert one.resolve() == []
    assert one.may_send(following)
    sequences.ack(following)
    assert one.resolve() == []
    assert one.epoch == 0
    assert one.may_send(batch())


def test_an_unresolved_last_batch_starts_a_new_epoch() -> None:
    one = idempotence()
    (lost,) = numbered(one, 3)
    lost.no_response = 1
    sequences = one.of(lost)
    assert sequences is not None
    sequences.give_up(lost)
    one.resolve()
    (following,) = numbered(one, 1)
    assert (following.producer_epoch, following.base_sequence) == (1, 0)


def test_the_batch_after_an_expired_one_gets_new_sequence_numbers_in_the_next_epoch() -> None:
    """As in Kafka's SenderTest: the second batch gets error 45 and is sent in epoch 1."""
    one = idempotence()
    expired, following = numbered(one, 1, 1)
    expired.no_response = 1
    sequences = one.of(expired)
    assert sequences is not None
    sequences.give_up(expired)
    one.on_out_of_order(following)
    assert one.resolve() == []
    assert (following.producer_epoch, following.base_sequence) == (1, 0)


def test_a_batch_with_a_lost_response_is_never_renumbered() -> None:
    one = idempotence()
    refused, doubtful, fresh = numbered(one, 1, 1, 1)
    doubtful.no_response = 1
    sequences = one.of(refused)
    assert sequences is not None
    sequences.give_up(refused)
    assert one.resolve() == [doubtful]
    assert (fresh.producer_epoch, fresh.base_sequence) == (1, 0)


def test_a_gap_stays_open_while_requests_of_the_partition_are_in_flight() -> None:
    one = idempotence()
    refused, out = numbered(one, 1, 1)
    out.is_on_wire = True
    sequences = one.of(refused)
    assert sequences is not None
    sequences.give_up(refused)
    one.resolve()
    assert one.epoch == 0
    assert not one.may_send(batch())
    out.is_on_wire = False
    one.resolve()
    assert out.producer_epoch == one.epoch == 1


def test_gaps_of_several_partitions_need_one_new_epoch() -> None:
    one = idempotence()
    for partition in range(3):
        first = batch(1, TopicPartition("orders", partition))
        one.assign_sequence(first)
        one.on_unknown_producer_id(first)
    one.resolve()
    assert one.epoch == 1


def test_another_partition_changes_to_the_new_epoch_when_its_batches_are_decided() -> None:
    one = idempotence()
    gone = batch(1, TopicPartition("orders", 1))
    one.assign_sequence(gone)
    (undecided,) = numbered(one, 1)
    one.on_unknown_producer_id(gone)
    one.resolve()
    assert not one.may_send(batch())
    sequences = one.of(undecided)
    assert sequences is not None
    sequences.ack(undecided)
    (following,) = numbered(one, 1)
    assert (following.producer_epoch, following.base_sequence) == (1, 0)


def test_after_the_last_epoch_the_producer_requests_a_new_id() -> None:
    one = idempotence(epoch=EPOCH_MAX)
    (again,) = numbered(one, 1)
    one.on_unknown_producer_id(again)
    one.resolve()
    assert not one.is_ready
    assert not one.may_send(again)
    one.on_producer_id(8, 0, None)
    assert one.may_send(again)
    one.assign_sequence(again)
    assert (again.producer_id, again.producer_epoch, again.base_sequence) == (8, 0, 0)
