"""One transactional id: fields after each transition."""

import pytest

from broker.transactions.transaction import TRANSITIONS, Transaction, TransactionState

NOW_MS = 1_700_000_000_000


def ongoing() -> Transaction:
    transaction = Transaction("tx", 7, 60_000, NOW_MS)
    transaction.begin_epoch(0, -1, 60_000, NOW_MS)
    transaction.add({("t", 0): None}, 2, NOW_MS + 1)
    return transaction


def test_a_transaction_begins_with_its_first_partition() -> None:
    transaction = ongoing()
    assert (transaction.state, transaction.start_ms) == (TransactionState.ONGOING, NOW_MS + 1)
    transaction.add({("t", 1): None}, 2, NOW_MS + 5)
    assert (list(transaction.partitions), transaction.start_ms) == (
        [("t", 0), ("t", 1)],
        NOW_MS + 1,
    )


def test_states_follow_each_other_as_kafka_says() -> None:
    transaction = ongoing()
    with pytest.raises(AssertionError):
        transaction.begin_epoch(1, 0, 60_000, NOW_MS)
    transaction.prepare(TransactionState.PREPARE_COMMIT, 2, NOW_MS)
    with pytest.raises(AssertionError):
        transaction.add({}, 2, NOW_MS)
    with pytest.raises(AssertionError):
        transaction.complete(NOW_MS)  # a partition has no marker yet
    transaction.partitions.clear()
    transaction.complete(NOW_MS)
    assert transaction.state is TransactionState.COMPLETE_COMMIT
    assert TransactionState.DEAD not in TRANSITIONS
