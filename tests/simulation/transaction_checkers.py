"""Checkers of the promises of transactions. Each yields violations."""

from collections import Counter
from collections.abc import Callable, Iterator

from tests.simulation.transactional_client import (
    ABORTED,
    COMMITTED,
    SeenTransaction,
    TransactionHistory,
)

TransactionChecker = Callable[[TransactionHistory], Iterator[str]]


def _stored(history: TransactionHistory) -> Counter[bytes]:
    return Counter(value for values in history.stored.values() for value in values)


def _is_visible(transaction: SeenTransaction, stored: Counter[bytes]) -> bool:
    return any(value in stored for value in transaction.values)


def _judged(history: TransactionHistory) -> list[SeenTransaction]:
    """Return the transactions that no late EndTxn of an earlier one can end."""
    return [
        transaction
        for transaction in history.transactions
        if transaction.client not in history.late_ends
    ]


def atomicity(history: TransactionHistory) -> Iterator[str]:
    """A committed transaction is read whole and once; any other one whole or not at all."""
    stored = _stored(history)
    for transaction in _judged(history):
        counts = [stored[value] for value in transaction.values]
        if transaction.outcome == COMMITTED and set(counts) != {1}:
            yield f"{transaction} is committed, its records are read {counts} times"
        elif set(counts) not in ({0}, {1}):
            yield f"{transaction}: its records are read {counts} times"


def isolation(history: TransactionHistory) -> Iterator[str]:
    """A read_committed consumer never reads of a transaction that is not committed."""
    stored = _stored(history)
    for transaction in _judged(history):
        is_certain = transaction.outcome == ABORTED or transaction.commit_ms is None
        if is_certain and _is_visible(transaction, stored):
            yield f"{transaction} was never committed, and is read"
    for value in sorted(history.read - set(stored)):
        yield f"{value!r} was read, and is not committed at the end"


def offsets(history: TransactionHistory) -> Iterator[str]:
    """The committed offset of a group is that of the last committed transaction with an offset."""
    stored = _stored(history)
    expected: dict[str, int] = {}
    for transaction in history.transactions:
        if transaction.offset is not None and _is_visible(transaction, stored):
            known = expected.get(transaction.transactional_id, 0)
            expected[transaction.transactional_id] = max(known, transaction.offset)
    late = {
        transaction.transactional_id
        for transaction in history.transactions
        if transaction.client in history.late_ends
    }
    for group in sorted((expected.keys() | history.offsets.keys()) - late):
        committed = history.offsets.get(group)
        if committed != expected.get(group):
            yield f"{group}: offset {committed}, its transactions have {expected.get(group)}"


def fencing(history: TransactionHistory) -> Iterator[str]:
    """A transaction is not committed after a later producer of its id has started."""
    stored = _stored(history)
    for transaction in history.transactions:
        commit_ms = transaction.commit_ms
        starts = [
            start
            for start in history.starts
            if start.transactional_id == transaction.transactional_id
        ]
        (own,) = (start for start in starts if start.client == transaction.client)
        is_fenced = commit_ms is not None and any(
            start.epoch > own.epoch and start.time_ms < commit_ms
            for start in starts
            if start.client != transaction.client
        )
        if is_fenced and (transaction.outcome == COMMITTED or _is_visible(transaction, stored)):
            yield f"{transaction} was committed by a fenced producer"


def progress(history: TransactionHistory) -> Iterator[str]:
    """Every transaction ends, at the latest some time after its timeout."""
    yield from history.hanging


CHECKERS: tuple[TransactionChecker, ...] = (atomicity, isolation, offsets, fencing, progress)


def check_transactions(history: TransactionHistory) -> list[str]:
    """Return the violations, each with the name of its checker."""
    return [f"{checker.__name__}: {text}" for checker in CHECKERS for text in checker(history)]
