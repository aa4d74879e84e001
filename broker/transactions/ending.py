"""The end of a transaction as its producer requests it, in both versions of the protocol.

Before transaction version 2 the end keeps the epoch: a repeated end of a complete transaction
succeeds, and an end without a transaction is refused. From version 2 on (KIP-890) every end bumps
the epoch, so a retry is one with the epoch before. An abort is then accepted without a transaction,
since the producer does not know whether its first batch arrived:

    state            abort, retry   abort          commit, retry   commit
    Empty            fenced         bump           fenced          invalid state
    CompleteAbort    none           bump           invalid state   invalid state
    CompleteCommit   invalid state  bump           none            invalid state

Sources: Kafka's `TransactionCoordinator.endTransaction` and `endTransactionWithTV1`.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from broker.transactions.transaction import (
    COMPLETE,
    EPOCH_BUMP_VERSION_MIN,
    LAST_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    PREPARED,
    Transaction,
    TransactionState,
)
from protocol.errors import ErrorCode


class EndResult(NamedTuple):
    """The result of an EndTxn; from version 2 on with the producer of the next transaction."""

    error_code: ErrorCode
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


_new_result: Callable[[tuple[ErrorCode, int, int]], EndResult]
_new_result = partial(tuple.__new__, EndResult)
"""Make a result in less time than the class takes."""
_INVALID_STATE = EndResult(ErrorCode.INVALID_TXN_STATE)


def end_transaction(
    transaction: Transaction,
    producer_id: int,
    producer_epoch: int,
    *,
    is_commit: bool,
    transaction_version: int,
    new_producer_id: Callable[[], int],
    now_ms: int,
    log_error: ErrorCode = ErrorCode.NONE,
) -> EndResult:
    """Prepare to end a transaction, or return why not.

    `log_error` is the error of the log: with one, nothing changes.
    """
    if transaction_version < EPOCH_BUMP_VERSION_MIN:
        return _end_with_same_epoch(
            transaction,
            producer_id,
            producer_epoch,
            is_commit=is_commit,
            now_ms=now_ms,
            log_error=log_error,
        )
    state, epoch = transaction.state, transaction.producer_epoch
    if (
        state is TransactionState.ONGOING
        and transaction.producer_id == producer_id
        and epoch == producer_epoch < LAST_EPOCH
        and log_error is ErrorCode.NONE
    ):  # most ends
        transaction.prepare(_prepared(is_commit=is_commit), transaction_version, now_ms)
        return _new_result((ErrorCode.NONE, producer_id, transaction.producer_epoch))
    # Only an end with the bump of version 2 has a retry with the epoch before. Kafka accepts that
    # after an end of an older version too, and gives the epoch of a newer producer to a fenced one.
    is_epoch_before = transaction.bumps_epoch and epoch == producer_epoch + 1
    is_id_before = (
        transaction.previous_producer_id == producer_id
        and producer_epoch == LAST_EPOCH
        and transaction.producer_epoch == 0
    )
    if transaction.producer_id != producer_id and not is_id_before:
        return EndResult(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    is_retry = (is_epoch_before and state in COMPLETE | PREPARED) or (
        is_id_before and state in COMPLETE
    )
    is_next = state not in PREPARED and producer_epoch == transaction.producer_epoch
    # The coordinator has fenced the last epoch: no client may go on with the one after it.
    is_fenced_for_good = state not in PREPARED and transaction.producer_epoch > LAST_EPOCH
    if is_fenced_for_good or not (is_retry or is_next):
        return EndResult(ErrorCode.PRODUCER_FENCED)
    if state in PREPARED or is_retry:
        return _repeated(transaction, is_commit=is_commit)
    if state is not TransactionState.ONGOING and is_commit:
        return _INVALID_STATE
    if log_error is not ErrorCode.NONE:
        return EndResult(log_error)
    next_id = new_producer_id() if transaction.is_epoch_exhausted else NO_PRODUCER_ID
    transaction.prepare(_prepared(is_commit=is_commit), transaction_version, now_ms, next_id)
    if next_id != NO_PRODUCER_ID:
        return EndResult(ErrorCode.NONE, next_id, 0)
    return EndResult(ErrorCode.NONE, producer_id, transaction.producer_epoch)


def _end_with_same_epoch(
    transaction: Transaction,
    producer_id: int,
    producer_epoch: int,
    *,
    is_commit: bool,
    now_ms: int,
    log_error: ErrorCode,
) -> EndResult:
    if transaction.producer_id != producer_id:
        return EndResult(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.producer_epoch != producer_epoch:
        return EndResult(ErrorCode.PRODUCER_FENCED)
    if transaction.state is TransactionState.EMPTY:
        return _INVALID_STATE
    if transaction.state is not TransactionState.ONGOING:
        return EndResult(_repeated(transaction, is_commit=is_commit).error_code)
    if log_error is not ErrorCode.NONE:
        return EndResult(log_error)
    transaction.prepare(_prepared(is_commit=is_commit), 0, now_ms)
    return EndResult(ErrorCode.NONE)


def _repeated(transaction: Transaction, *, is_commit: bool) -> EndResult:
    """Return the result of an end that was requested before."""
    state = transaction.state
    was_commit = state in {TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT}
    if was_commit != is_commit:
        return _INVALID_STATE
    if state in PREPARED:
        return EndResult(ErrorCode.CONCURRENT_TRANSACTIONS)
    return EndResult(ErrorCode.NONE, transaction.producer_id, transaction.producer_epoch)


def _prepared(*, is_commit: bool) -> TransactionState:
    return TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT
