import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.administration.epoch_end import UNDEFINED, epoch_end_offset
from broker.cluster.topics import Partition
from tests.batches import filled_batch
from tests.broker.cluster_builder import make_cluster


def partition_with(*epochs: int, current_epoch: int) -> Partition:
    """Append one batch of two records for every given epoch."""
    partition = make_cluster().create_topic("a", [(1,)], {}).partitions[0]
    for epoch in epochs:
        partition.log.append(filled_batch(partition.log.log_end_offset, 2), 2, epoch)
    partition.leader_epoch = current_epoch
    return partition


@pytest.mark.parametrize(
    ("leader_epoch", "end"),
    [
        (-1, UNDEFINED),
        (0, (0, 4)),
        (1, (0, 4)),
        (2, (2, 6)),
        (3, (2, 6)),
        (4, (4, 8)),
        (5, (-1, -1)),
    ],
)
def test_an_epoch_ends_at_the_start_of_the_next(leader_epoch: int, end: tuple[int, int]) -> None:
    partition = partition_with(0, 0, 2, 4, current_epoch=4)

    assert epoch_end_offset(partition, leader_epoch) == end


def test_the_current_epoch_ends_at_the_logs_end_even_without_a_record() -> None:
    partition = partition_with(0, current_epoch=3)

    assert epoch_end_offset(partition, 3) == (3, 2)
    assert epoch_end_offset(partition, 2) == (0, 2)
    assert epoch_end_offset(partition, 4) == UNDEFINED


def test_an_empty_log_is_in_its_leaders_epoch() -> None:
    partition = partition_with(current_epoch=2)

    assert epoch_end_offset(partition, 2) == (2, 0)
    assert epoch_end_offset(partition, 0) == (0, 0)


def test_an_epoch_whose_records_are_deleted_ends_at_the_log_start_offset() -> None:
    partition = partition_with(0, 2, 3, current_epoch=3)
    partition.log.advance_start(4)

    assert epoch_end_offset(partition, 0) == (0, 4)
    assert epoch_end_offset(partition, 2) == (2, 4)
    assert epoch_end_offset(partition, 3) == (3, 6)


@given(st.lists(st.integers(0, 6), max_size=12).map(sorted), st.integers(0, 3), st.integers(0, 24))
def test_every_epoch_ends_after_its_last_record(
    epochs: list[int], later: int, start_offset: int
) -> None:
    current_epoch = max(epochs, default=0) + later
    partition = partition_with(*epochs, current_epoch=current_epoch)
    log = partition.log
    log.advance_start(min(start_offset, log.log_end_offset))

    for requested_epoch in range(current_epoch + 1):
        epoch, end_offset = epoch_end_offset(partition, requested_epoch)
        written_up_to = [
            2 * n + 2 for n, written in enumerate(epochs) if written <= requested_epoch
        ]
        expected = max(written_up_to, default=0)
        if requested_epoch == current_epoch:
            expected = log.log_end_offset
        assert end_offset == max(expected, log.log_start_offset)
        assert epoch <= requested_epoch
