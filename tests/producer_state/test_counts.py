"""Producer ids and bytes of several partitions."""

from producer_state.counts import Counts, count
from tests.producer_state.counting_partition import Partition


def test_counts_are_added_up_over_partitions() -> None:
    first, second = Partition(1), Partition(1)
    for producer_id in range(3):
        first.send(0, producer_id=producer_id)
    second.send(0)

    counts = count([first.producers, second.producers])

    assert counts == Counts(4, first.producers.bytes_held() + second.producers.bytes_held())
    assert count([]) == Counts(0, 0)
