"""Changed batches read as batches, whatever their compression."""

import pytest

from broker.faults.actions import ChangeRecords
from broker.faults.record_changes import UnchangeableError, changed_batch, choice_of
from protocol.records import has_valid_crc, read_header, read_records
from tests.batches import CODECS, make_batch

VALUES = (b"\0\0\0\0\x07one", b"two", b"", b"\0\0\0\0\x08four")


def batch_of(*values: bytes, codec: str = "none") -> bytes:
    return make_batch(*values, producer_id=3, producer_epoch=1, base_sequence=40, codec=codec)


def changed(batch: bytes, action: ChangeRecords, seed: int = 0) -> list[tuple[int, bytes | None]]:
    """Return offset and value of each record that is left."""
    result = changed_batch(batch, action, choice_of(seed, 1))
    before, after = read_header(batch, 0), read_header(result, 0)
    assert len(result) == after.batch_length + 12
    assert has_valid_crc(result, 0, len(result), after.crc)
    for name in ("base_offset", "last_offset_delta", "attributes", "producer_id", "base_sequence"):
        assert getattr(after, name) == getattr(before, name)
    records = list(read_records(result))
    assert after.records_count == len(records)
    return [(record.offset, record.value) for record in records]


@pytest.mark.parametrize("codec", CODECS)
def test_one_byte_of_one_value_is_another(codec: str) -> None:
    values = [b"a" * 500, b"", b"b" * 500]
    for seed in range(10):
        result = [
            value or b""
            for _, value in changed(
                batch_of(*values, codec=codec), ChangeRecords("flip_byte"), seed
            )
        ]
        differing = [
            place
            for before, after in zip(values, result, strict=True)
            for place, byte in enumerate(before)
            if byte != after[place]
        ]
        assert len(differing) == 1
        assert list(map(len, result)) == list(map(len, values))


@pytest.mark.parametrize("codec", CODECS)
def test_a_dropped_record_leaves_a_hole(codec: str) -> None:
    batch = batch_of(*VALUES, codec=codec)
    left = changed(batch, ChangeRecords("drop_record", record_index=1))
    assert left == [(0, VALUES[0]), (2, VALUES[2]), (3, VALUES[3])]
    assert len({len(changed(batch, ChangeRecords("drop_record"), seed)) for seed in range(9)}) == 1
    assert len({str(changed(batch, ChangeRecords("drop_record"), seed)) for seed in range(9)}) > 1


def test_a_batch_without_its_only_record_keeps_its_offset() -> None:
    result = changed_batch(batch_of(b"a"), ChangeRecords("drop_record"), choice_of(0, 1))
    header = read_header(result, 0)
    assert (header.records_count, header.last_offset_delta, header.base_sequence) == (0, 0, 40)


@pytest.mark.parametrize("codec", CODECS)
def test_records_in_reverse_order_have_ascending_offsets(codec: str) -> None:
    left = changed(batch_of(*VALUES, codec=codec), ChangeRecords("reverse_records"))
    assert left == list(enumerate(reversed(VALUES)))


@pytest.mark.parametrize("codec", CODECS)
def test_all_schema_ids_are_replaced_or_that_of_one_record(codec: str) -> None:
    batch = batch_of(*VALUES, codec=codec)
    assert [value for _, value in changed(batch, ChangeRecords("replace_schema_id"))] == [
        b"\0\x7f\xff\xff\xffone",
        b"two",
        b"",
        b"\0\x7f\xff\xff\xfffour",
    ]
    action = ChangeRecords("replace_schema_id", record_index=3, schema_id=5)
    assert [value for _, value in changed(batch, action)][2:] == [b"", b"\0\0\0\0\x05four"]


def test_a_batch_twice_is_two_batches() -> None:
    batch = batch_of(b"a")
    action = ChangeRecords("duplicate_batch")
    assert changed_batch(batch, action, choice_of(0, 1)) == batch * 2


@pytest.mark.parametrize(
    ("action", "batch"),
    [
        (ChangeRecords("flip_byte"), batch_of(b"", b"")),
        (ChangeRecords("flip_byte", record_index=1), batch_of(b"a", b"")),
        (ChangeRecords("flip_byte", record_index=2), batch_of(b"a", b"b")),
        (ChangeRecords("drop_record", record_index=2), batch_of(b"a", b"b")),
        (ChangeRecords("reverse_records"), batch_of(b"a")),
        (ChangeRecords("replace_schema_id"), batch_of(b"\0abc", b"abcdef")),
        (ChangeRecords("replace_schema_id", record_index=0), batch_of(b"a", b"\0abcdef")),
        (ChangeRecords("flip_byte"), batch_of(b"abc", codec="gzip")[:-4]),
    ],
)
def test_what_no_record_can_be_is_refused(action: ChangeRecords, batch: bytes) -> None:
    with pytest.raises(UnchangeableError):
        changed_batch(batch, action, choice_of(0, 1))
