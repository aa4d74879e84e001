"""Batches of responses to Fetch, and what a reader with read_committed sees of them."""

from protocol.batch_builder import empty_batch
from proxy.recording.fetched_records import (
    FoundBatch,
    Marker,
    ReadBatch,
    Unreadable,
    committed_batches,
    next_offset,
    read_batches,
)
from tests.batches import make_batch
from tests.proxy.recording.fetched import marker, stored, transactional, undecodable


def values(found: list[FoundBatch]) -> list[bytes | None]:
    return [r.value for batch in found if isinstance(batch, ReadBatch) for r in batch.records]


def test_batches_have_the_offsets_of_the_log_and_their_transaction() -> None:
    buffer = stored(make_batch(b"a", b"b", codec="gzip"), 5) + transactional(7, b"c")
    first, second = read_batches(buffer + marker(8, is_committed=True)[:-1])
    assert isinstance(first, ReadBatch)
    assert [record.offset for record in first.records] == [5, 6]
    assert first.producer_id is None
    assert isinstance(second, ReadBatch)
    assert second.producer_id == 9
    assert next_offset(buffer) == 8


def test_markers_say_how_a_transaction_ended() -> None:
    buffer = marker(3, is_committed=True) + marker(4, is_committed=False, producer_id=1)
    assert list(read_batches(buffer)) == [Marker(3, 9, True), Marker(4, 1, False)]


def test_a_batch_without_records_has_offsets() -> None:
    (found,) = read_batches(empty_batch(4, 10, 0, 0))
    assert isinstance(found, ReadBatch)
    assert found.records == ()
    assert next_offset(empty_batch(4, 10, 0, 0)) == 14


def test_a_batch_that_cannot_be_decoded_is_no_end() -> None:
    old = bytearray(stored(make_batch(b"v"), 3))
    old[16] = 1
    buffer = undecodable(2) + bytes(old) + stored(make_batch(b"a"), 4)
    found = list(read_batches(buffer))
    assert found[:2] == [Unreadable(2), Unreadable(3)]
    assert values(found) == [b"a"]
    assert next_offset(bytes(old)) == 4


def test_nothing_has_no_next_offset() -> None:
    assert list(read_batches(b"")) == []
    assert next_offset(b"\x00" * 20) is None


def test_aborted_transactions_are_left_out_up_to_their_marker() -> None:
    buffer = b"".join(
        (
            transactional(0, b"aborted"),
            transactional(1, b"other", producer_id=1),
            stored(make_batch(b"free"), 2),
            undecodable(3),
            transactional(4, b"aborted"),
            marker(5, is_committed=False),
            transactional(6, b"committed"),
            marker(7, is_committed=True),
            transactional(8, b"aborted"),
        )
    )
    found = list(committed_batches(read_batches(buffer), [(8, 9), (0, 9)]))
    assert values(list(found)) == [b"other", b"free", b"committed"]
    assert Unreadable(3) in found
