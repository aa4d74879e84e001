from client.producer.partitioner import StickyPartitioner


def test_keyless_records_stay_together_until_their_batch_is_closed() -> None:
    draws = iter([0.0, 0.99, 0.5])
    partitioner = StickyPartitioner(lambda: next(draws))
    assert [partitioner.partition("t", [4, 5, 6]) for _ in range(3)] == [4, 4, 4]
    partitioner.batch_closed("t", 5)  # of records with a key
    assert partitioner.partition("t", [4, 5, 6]) == 4
    partitioner.batch_closed("t", 4)
    assert partitioner.partition("t", [4, 5, 6]) == 6
    assert partitioner.partition("other", [4, 5, 6]) == 5
