"""Markers may go when no batch of their transaction is left."""

from broker.cluster.cleaned_transactions import CleanedTransactions
from broker.cluster.transaction_index import AbortedTransaction
from protocol.control_records import ControlRecordType, encode_end_txn_batch
from protocol.records import read_header
from tests.batches import make_batch

ABORTED = AbortedTransaction(7, 5, 9, 5)


def marker(offset: int, kind: ControlRecordType) -> bytes:
    return encode_end_txn_batch(
        kind,
        producer_id=7,
        producer_epoch=0,
        coordinator_epoch=0,
        timestamp_ms=0,
        base_offset=offset,
    )


def can_discard(transactions: CleanedTransactions, batch: bytes) -> bool:
    return transactions.can_discard_marker(read_header(batch, 0), batch)


def is_aborted(transactions: CleanedTransactions, offset: int, attributes: int = 0x10) -> bool:
    header = read_header(make_batch(b"1", producer_id=7, producer_epoch=0, base_sequence=0), 0)
    return transactions.is_aborted(header._replace(base_offset=offset, attributes=attributes))


def test_a_marker_stays_while_a_batch_of_its_transaction_is_there() -> None:
    transactions = CleanedTransactions([ABORTED])
    assert not is_aborted(transactions, 3)
    assert not can_discard(transactions, marker(4, ControlRecordType.COMMIT))
    assert not is_aborted(transactions, 5, attributes=0)
    assert is_aborted(transactions, 5)
    assert not can_discard(transactions, marker(9, ControlRecordType.ABORT))
    assert transactions.kept == [ABORTED]
    assert not is_aborted(transactions, 10)


def test_a_marker_goes_when_no_batch_of_its_transaction_is_left() -> None:
    transactions = CleanedTransactions([ABORTED])
    assert can_discard(transactions, marker(4, ControlRecordType.COMMIT))
    assert can_discard(transactions, marker(9, ControlRecordType.ABORT))
    assert can_discard(transactions, marker(12, ControlRecordType.ABORT))
    assert transactions.kept == []
