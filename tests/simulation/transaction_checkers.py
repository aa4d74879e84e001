"""Checkers of the promises of transactions. Each yields violations."""

from collections import Counter
from collections.abc import Callable, Iterator

from broker.transactions.coordinator import ProducerIdAndEpoch
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
    """Return the transactions that no late EndTxn of an earlier one may have ended."""
    return [transaction for transaction in history.transactions if not transaction.late_ends]


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
    expected: dict[str, set[int | None]] = {}
    for transaction in history.transactions:
        offset = transaction.offset
        possible = expected.setdefault(transaction.transactional_id, {None})
        moved = {offset} if offset is not None else set()
        if transaction.late_ends:
            possible |= moved | transaction.late_offsets
        elif _is_visible(transaction, stored):
            if offset is not None:
                possible.clear()
            possible |= moved | transaction.late_offsets
    for group in sorted(expected.keys() | history.offsets.keys()):
        committed = history.offsets.get(group)
        if committed not in expected.get(group, {None}):
            yield f"{group}: offset {committed}, its transactions have {expected.get(group)}"


def fencing(history: TransactionHistory) -> Iterator[str]:
    """A transaction is not committed after a later producer of its id has started.

    No two producers have the same id and epoch.
    """
    stored = _stored(history)
    owners: dict[ProducerIdAndEpoch, str] = {}
    for start in history.starts:
        if owners.setdefault(start.producer, start.client) != start.client:
            yield f"{start.client} and {owners[start.producer]} are both {start.producer}"
    for transaction in history.transactions:
        if _is_fenced(transaction, history) and (
            transaction.outcome == COMMITTED or _is_visible(transaction, stored)
        ):
            yield f"{transaction} was committed by a fenced producer"


def _is_fenced(transaction: SeenTransaction, history: TransactionHistory) -> bool:
    """Return whether a later producer had started before this transaction could be committed."""
    commit_times = [transaction.commit_ms, transaction.late_ends.get(True)]
    commit_ms = min((time_ms for time_ms in commit_times if time_ms is not None), default=None)
    starts = [
        start for start in history.starts if start.transactional_id == transaction.transactional_id
    ]
    if commit_ms is None:
        return False
    *_, own = (
        start
        for start in starts
        if start.client == transaction.client and start.time_ms <= commit_ms
    )
    return any(
        start.is_later(own) and start.time_ms < commit_ms
        for start in starts
        if start.client != transaction.client
    )


def progress(history: TransactionHistory) -> Iterator[str]:
    """Every transaction ends, at the latest some time after its timeout."""
    yield from history.hanging


CHECKERS: tuple[TransactionChecker, ...] = (atomicity, isolation, offsets, fencing, progress)


def check_transactions(history: TransactionHistory) -> list[str]:
    """Return the violations, each with the name of its checker."""
    return [f"{checker.__name__}: {text}" for checker in CHECKERS for text in checker(history)]
