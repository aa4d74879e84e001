"""Control records are those of Kafka's EndTransactionMarker."""

import pytest

from protocol.codec import DecodeError
from protocol.control_records import (
    ControlRecordType,
    decode_control_key,
    decode_end_txn_marker,
    encode_control_key,
    encode_end_txn_marker,
)


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
