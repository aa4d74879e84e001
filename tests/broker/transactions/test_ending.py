"""EndTxn: the table of states, epochs and outcomes in both versions of the protocol."""

import pytest

from broker.transactions.ending import end_transaction
from broker.transactions.transaction import Transaction, TransactionState
from protocol.errors import ErrorCode

NOW_MS = 1_700_000_000_000
EPOCH = 5
FENCED, INVALID = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE
NONE, BUSY = ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS


def in_state(state: TransactionState) -> Transaction:
    return Transaction(
        "tx", 1, 60_000, NOW_MS, producer_epoch=EPOCH, state=state, transaction_version=2
    )


def end(transaction: Transaction, epoch: int, *, commit: bool, version: int) -> ErrorCode:
    return end_transaction(
        transaction,
        1,
        epoch,
        is_commit=commit,
        transaction_version=version,
        new_producer_id=lambda: 2,
        now_ms=NOW_MS,
    ).error_code


@pytest.mark.parametrize(
    ("state", "abort_retry", "abort", "commit_retry", "commit"),
    [
        (TransactionState.EMPTY, FENCED, NONE, FENCED, INVALID),
        (TransactionState.COMPLETE_ABORT, NONE, NONE, INVALID, INVALID),
        (TransactionState.COMPLETE_COMMIT, INVALID, NONE, NONE, INVALID),
        (TransactionState.ONGOING, FENCED, NONE, FENCED, NONE),
        (TransactionState.PREPARE_ABORT, BUSY, FENCED, INVALID, FENCED),
        (TransactionState.PREPARE_COMMIT, INVALID, FENCED, BUSY, FENCED),
    ],
)
def test_version_2(
    state: TransactionState,
    abort_retry: ErrorCode,
    abort: ErrorCode,
    commit_retry: ErrorCode,
    commit: ErrorCode,
) -> None:
    found = [
        end(in_state(state), epoch, commit=is_commit, version=2)
        for is_commit in (False, True)
        for epoch in (EPOCH - 1, EPOCH)
    ]
    assert found == [abort_retry, abort, commit_retry, commit]
    for epoch in (EPOCH - 2, EPOCH + 1):
        assert end(in_state(state), epoch, commit=False, version=2) is FENCED


@pytest.mark.parametrize(
    ("state", "abort", "commit"),
    [
        (TransactionState.EMPTY, INVALID, INVALID),
        (TransactionState.COMPLETE_ABORT, NONE, INVALID),
        (TransactionState.COMPLETE_COMMIT, INVALID, NONE),
        (TransactionState.ONGOING, NONE, NONE),
        (TransactionState.PREPARE_ABORT, BUSY, INVALID),
        (TransactionState.PREPARE_COMMIT, INVALID, BUSY),
    ],
)
@pytest.mark.parametrize("version", [0, 1])
def test_versions_before_2(
    version: int, state: TransactionState, abort: ErrorCode, commit: ErrorCode
) -> None:
    assert end(in_state(state), EPOCH, commit=False, version=version) is abort
    assert end(in_state(state), EPOCH, commit=True, version=version) is commit
    for epoch in (EPOCH - 1, EPOCH + 1):
        assert end(in_state(state), epoch, commit=True, version=version) is FENCED


def test_the_epoch_is_bumped_in_version_2_only() -> None:
    for version, epoch in ((1, EPOCH), (2, EPOCH + 1)):
        transaction = in_state(TransactionState.ONGOING)
        end(transaction, EPOCH, commit=True, version=version)
        assert transaction.producer_epoch == epoch


def test_an_unknown_producer_id_is_refused() -> None:
    for version in (1, 2):
        result = end_transaction(
            in_state(TransactionState.ONGOING),
            9,
            EPOCH,
            is_commit=True,
            transaction_version=version,
            new_producer_id=lambda: 2,
            now_ms=NOW_MS,
        )
        assert result.error_code is ErrorCode.INVALID_PRODUCER_ID_MAPPING
