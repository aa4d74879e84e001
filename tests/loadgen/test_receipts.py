"""Receipts are taken once, and written in times from the common zero."""

from loadgen.receipts import ARROW_SCHEMA, Receipt, Receipts, batch_of


def test_receipts_are_taken_once() -> None:
    receipts = Receipts()
    first = Receipt(1, "a", "t", 0, 70, 5, 8, 9)
    receipts.add(first)
    assert receipts.take() == [first]
    receipts.add(first._replace(partition=1))
    assert [receipt.partition for receipt in receipts.take()] == [1]
    assert receipts.take() == []


def test_a_batch_has_times_from_the_common_zero() -> None:
    batch = batch_of([Receipt(1, "a", "t", 0, 70, 5, 8, 9)], worker=3, zero_us=50)
    assert batch.schema == ARROW_SCHEMA
    assert batch.to_pylist() == [
        {
            "worker": 3,
            "tenant": "a",
            "client": 1,
            "topic": "t",
            "partition": 0,
            "received_us": 20,
            "first_offset": 5,
            "next_offset": 8,
            "high_watermark": 9,
        }
    ]
    assert batch_of([], 0, 0).num_rows == 0
