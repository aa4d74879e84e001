"""Transactions in one partition: what is open, and what must be verified before the append."""

import pytest

from producer_state.producer_state_manager import ProducerStateManager
from producer_state.rules import APPEND, NO_OFFSET, OUT_OF_ORDER, OUTSIDE_TRANSACTION, STALE_EPOCH
from producer_state.transactions import PartitionTransactions

NOW_MS = 1_700_000_000_000
A, B = 1, 2


@pytest.fixture(params=[1, 5], ids=["kip-758", "kafka"])
def producers(request: pytest.FixtureRequest) -> ProducerStateManager:
    return ProducerStateManager(batches=request.param, window=100)


def verify(
    producers: ProducerStateManager, epoch: int, sequence: int, *, version_2: bool = False
) -> object:
    return producers.begin_verification(A, epoch, sequence, NOW_MS, supports_epoch_bump=version_2)


def send(producers: ProducerStateManager, epoch: int, sequence: int, offset: int) -> None:
    assert producers.check(A, epoch, sequence, 0, is_transactional=True) is APPEND
    producers.apply(A, epoch, sequence, 0, offset, NOW_MS, is_transactional=True)


def test_the_oldest_open_transaction_bounds_the_stable_offset() -> None:
    """Kafka's vector: A begins at 99, B at 105; A ends at 109, B at 112."""
    transactions = PartitionTransactions()
    assert transactions.first_unstable_offset == NO_OFFSET
    transactions.note_batch(A, 99, NOW_MS, is_transactional=True)
    transactions.note_batch(B, 105, NOW_MS, is_transactional=True)
    transactions.note_batch(A, 106, NOW_MS, is_transactional=True)
    assert transactions.first_unstable_offset == 99
    assert transactions.end(A, 0, 0, NOW_MS) == 99
    assert transactions.first_unstable_offset == 105
    assert transactions.end(B, 0, 0, NOW_MS) == 105
    assert transactions.first_unstable_offset == NO_OFFSET
    assert transactions.end(B, 0, 0, NOW_MS) == NO_OFFSET


def test_only_the_first_batch_of_a_transaction_is_verified(
    producers: ProducerStateManager,
) -> None:
    assert verify(producers, 0, 0) is True
    send(producers, 0, 0, 10)
    assert verify(producers, 0, 1) is False
    assert producers.apply_marker(A, 0, 0, NOW_MS) == 10
    assert verify(producers, 0, 1) is True
    assert verify(producers, -1, 1) == STALE_EPOCH


def test_a_batch_behind_an_unverified_one_waits(producers: ProducerStateManager) -> None:
    """Kafka's vector: the lowest sequence number is 0, so a batch with 4 is out of order."""
    verify(producers, 0, 4)
    verify(producers, 0, 0)
    assert producers.check(A, 0, 4, 0, is_transactional=True) == OUT_OF_ORDER
    send(producers, 0, 0, 10)
    assert producers.check(A, 0, 4, 0, is_transactional=True) == OUT_OF_ORDER
    send(producers, 0, 1, 11)


def test_a_new_epoch_begins_its_own_order(producers: ProducerStateManager) -> None:
    verify(producers, 0, 5)
    verify(producers, 1, 7)
    assert producers.check(A, 1, 7, 0, is_transactional=True) is APPEND
    assert producers.check(A, 1, 8, 0, is_transactional=True) == OUT_OF_ORDER


@pytest.mark.parametrize("version_2", [True, False])
def test_an_unknown_producer_of_version_2_begins_with_0(
    producers: ProducerStateManager,
    version_2: bool,
) -> None:
    verify(producers, 0, 3, version_2=version_2)
    decision = producers.check(A, 0, 3, 0, is_transactional=True)
    assert decision == (OUT_OF_ORDER if version_2 else APPEND)


def test_a_batch_outside_the_open_transaction_is_refused(
    producers: ProducerStateManager,
) -> None:
    verify(producers, 0, 0)
    send(producers, 0, 0, 10)
    assert producers.check(A, 0, 1, 0) == OUTSIDE_TRANSACTION


def test_a_marker_keeps_the_verification_of_the_next_transaction_in_version_2() -> None:
    for version_2 in (True, False):
        transactions = PartitionTransactions()
        transactions.begin_verification(A, 1, 0, NOW_MS, supports_epoch_bump=version_2)
        transactions.end(A, 1, 0, NOW_MS)
        assert transactions.is_out_of_order(A, 1, has_batches=True) is version_2


def test_verifications_expire(producers: ProducerStateManager) -> None:
    verify(producers, 0, 0)
    sum(producers.expire_in_steps(NOW_MS + 99, 100))
    assert producers.check(A, 0, 4, 0, is_transactional=True) == OUT_OF_ORDER
    sum(producers.expire_in_steps(NOW_MS + 100, 100))
    assert producers.check(A, 0, 4, 0, is_transactional=True) is APPEND


def test_an_open_transaction_does_not_expire(producers: ProducerStateManager) -> None:
    verify(producers, 0, 0)
    send(producers, 0, 0, 10)
    assert sum(producers.expire_in_steps(NOW_MS + 10**9, 100)) == 0
    producers.apply_marker(A, 0, 0, NOW_MS)
    assert sum(producers.expire_in_steps(NOW_MS + 10**9, 100)) == 1


def test_batches_of_a_coordinator_open_a_transaction_and_all_begin_with_sequence_0(
    producers: ProducerStateManager,
) -> None:
    for base_offset in (7, 9):
        producers.apply(A, 3, 0, 1, base_offset, NOW_MS, is_transactional=True)
    (described,) = producers.describe()
    assert described.last_sequence == 1
    assert producers.first_unstable_offset == 7
    assert verify(producers, 3, -1) is False
    assert verify(producers, 2, -1) == STALE_EPOCH
    assert producers.apply_marker(A, 3, 0, NOW_MS) == 7
