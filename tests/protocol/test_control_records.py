"""Control records are those of Kafka's EndTransactionMarker."""

import pytest

from protocol.codec import DecodeError
from protocol.control_records import (
    ControlRecordType,
    decode_control_key,
    decode_end_txn_marker,
    encode_control_key,
    encode_end_txn_batch,
    encode_end_txn_marker,
)
from protocol.records import has_valid_crc, read_header, read_records


def test_a_key_has_a_version_and_the_type() -> None:
    assert encode_control_key(ControlRecordType.COMMIT) == b"\x00\x00\x00\x01"
    for record_type in ControlRecordType:
        assert decode_control_key(encode_control_key(record_type)) == record_type


def test_a_newer_version_and_an_unknown_type_of_a_key_are_read() -> None:
    assert decode_control_key(b"\x00\x07\x00\x05more") == 5


@pytest.mark.parametrize("key", [b"", b"\x00\x00\x00", b"\xff\xff\x00\x01"])
def test_an_invalid_key_is_refused(key: bytes) -> None:
    with pytest.raises(DecodeError, match="control record key"):
        decode_control_key(key)


def test_a_marker_holds_the_epoch_of_the_coordinator() -> None:
    assert encode_end_txn_marker(-2) == b"\x00\x00\xff\xff\xff\xfe"
    assert decode_end_txn_marker(encode_end_txn_marker(9)) == 9
    with pytest.raises(DecodeError):
        decode_end_txn_marker(b"\x00\x00\x00")


def test_a_control_batch_has_one_marker() -> None:
    batch = encode_end_txn_batch(
        ControlRecordType.COMMIT,
        producer_id=1 << 40,
        producer_epoch=3,
        coordinator_epoch=-2,
        timestamp_ms=1_700_000_000_000,
    )
    header = read_header(batch, 0)
    assert has_valid_crc(batch, 0, len(batch), header.crc)
    assert header.attributes == 0x30
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (1 << 40, 3, -1)
    assert header.batch_length == len(batch) - 12
    (record,) = read_records(batch)
    assert record.key == encode_control_key(ControlRecordType.COMMIT)
    assert record.value == encode_end_txn_marker(-2)
    assert record.timestamp == header.max_timestamp == 1_700_000_000_000
