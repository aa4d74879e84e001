"""A copy of the entries of producers stays as it was."""

from tests.producer_state.counting_partition import NOW_MS, Partition, both_rules


@both_rules
def test_a_copy_keeps_what_was_known(batches: int) -> None:
    partition = Partition(batches)
    for producer_id in range(100):
        partition.send(0, producer_id=producer_id)
    before = list(partition.producers.entries())
    copied = partition.producers.copied()

    for producer_id in range(50, 150):
        partition.send(1 if producer_id < 100 else 0, producer_id=producer_id)
    list(partition.producers.expire_in_steps(NOW_MS + 10_000, 1))

    assert list(copied.entries()) == before
    assert [copied.entry(producer_id) for producer_id in range(100)] == [kept for _, kept in before]
    assert copied.entry(149) is None
    assert list(partition.producers.entries()) != before


@both_rules
def test_a_copy_of_no_producers_is_empty(batches: int) -> None:
    assert list(Partition(batches).producers.copied().entries()) == []
