import pytest

from broker.cluster.discarding_log import DiscardingLog
from broker.cluster.transaction_index import AbortedTransaction
from tests.batches import filled_batch


@pytest.fixture
def freed() -> list[int]:
    return []


@pytest.fixture
def log(freed: list[int]) -> DiscardingLog:
    return DiscardingLog(freed.append)


def test_offsets_grow_and_nothing_is_stored(log: DiscardingLog, freed: list[int]) -> None:
    for offset in (0, 3, 6):
        log.append(filled_batch(offset, 3, size_bytes=70), 3, 0)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (9, 9, 9)
    assert (log.size_bytes, log.batch_count, log.segment_bytes) == (0, 0, 0)
    assert freed == [70, 70, 70]
    assert log.read(9, 1000, at_least_one=True) == []
    assert log.readable_bytes(9, 1000) == 0


def test_it_begins_at_a_high_watermark_that_is_held(log: DiscardingLog) -> None:
    log.append(filled_batch(0, 2), 2, 0)
    log.is_high_watermark_held = True
    log.append(filled_batch(2, 2), 2, 0)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (2, 2, 4)
    assert log.read(2, 1000, at_least_one=True) == []
    log.high_watermark = 4
    assert log.log_start_offset == 4


def test_leader_epochs_are_known(log: DiscardingLog) -> None:
    log.append(filled_batch(0, 2), 2, 0)
    log.append(filled_batch(2, 2), 2, 4)
    assert log.epoch_starts == ((0, 0), (4, 2))


def test_aborted_transactions_are_forgotten(log: DiscardingLog) -> None:
    log.append(filled_batch(0, 2), 2, 0)
    for first in range(2, 100):
        log.append(filled_batch(first, 1), 1, 0)
        log.transaction_index.append(AbortedTransaction(7, first, first, first))
    assert len(log.transaction_index) <= 2


def test_delete_records_and_a_snapshot_change_nothing(log: DiscardingLog) -> None:
    log.begin_at(40)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (40, 40, 40)
    log.advance_start(40)
    assert log.take_all() == []
    assert log.drop_at_least(100, 100) == 0
    assert log.log_start_offset == 40
