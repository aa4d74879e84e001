"""Records say which event sent them and which record they were made from."""

from loadgen.clients.produce_frames import event_of, record_batch
from loadgen.clients.transaction_records import VALUE_BYTES, TransactionRecord, records_in
from tests.batches import make_batch

MADE = TransactionRecord(2**40, 1, 3, 2**33)


def test_a_value_is_read_as_it_was_written() -> None:
    sent = [TransactionRecord(7, 0), MADE]
    batch = make_batch(*[record.value(100) for record in sent])
    assert records_in(batch) == dict(enumerate(sent))
    assert event_of(make_batch(sent[1].value(VALUE_BYTES), key=None)) == 2**40


def test_other_batches_have_no_such_records() -> None:
    for other in (record_batch(3, 100, 0)[0], make_batch(b"short"), make_batch(None)):
        assert records_in(other) == {}
    assert records_in(make_batch(MADE.value(50), b"x" * 50)) == {}
