"""Data messages: a version, then the fields."""

import pytest

from protocol.codec import DecodeError
from protocol.coordinator_records import OffsetCommitValue
from protocol.data_messages import (
    ConsumerProtocolSubscription,
    decode_data,
    encode_data,
    read_prefix,
)


@pytest.mark.parametrize("version", range(5))
def test_data_is_decoded_as_it_was_encoded_with_the_fields_of_its_version(version: int) -> None:
    value = OffsetCommitValue(offset=7, leader_epoch=3, metadata="m", expire_timestamp=9)
    encoded = encode_data(value, version)
    decoded = decode_data(OffsetCommitValue, encoded)
    assert read_prefix(encoded) == decoded.version == version
    assert (decoded.offset, decoded.metadata) == (7, "m")
    assert decoded.leader_epoch == (3 if version >= 3 else -1)
    assert decoded.expire_timestamp == (9 if version == 1 else -1)


def test_bytes_behind_the_fields_are_ignored() -> None:
    encoded = encode_data(ConsumerProtocolSubscription(topics=["t"], user_data=None), 0)
    assert encoded.hex() == "000000000001000174ffffffff"
    assert decode_data(ConsumerProtocolSubscription, encoded + b"more").topics == ["t"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "0 bytes are too short"),
        (b"\x00", "1 bytes are too short"),
        (b"\x00\x00", "while decoding"),
        (b"\x00\x05" + bytes(100), "has versions 0 to 4, not 5"),
        (b"\xff\xff" + bytes(100), "has versions 0 to 4, not -1"),
    ],
)
def test_other_bytes_and_unknown_versions_are_refused(data: bytes, problem: str) -> None:
    with pytest.raises(DecodeError, match=problem):
        decode_data(OffsetCommitValue, data)
