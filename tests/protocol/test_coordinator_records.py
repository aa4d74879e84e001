"""The records of internal topics: found by the type in their keys."""

from collections.abc import Mapping

import pytest

from protocol.codec import DecodeError
from protocol.coordinator_records import (
    GROUP_RECORDS,
    SHARE_RECORDS,
    TRANSACTION_RECORDS,
    OffsetCommitKey,
    OffsetCommitValue,
    RecordClasses,
    TransactionLogKey,
    TransactionLogValue,
    decode_key,
    decode_value,
    encode_key,
)
from protocol.data_messages import encode_data


def test_an_offset_commit_is_read_by_its_key() -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=1)
    value = OffsetCommitValue(offset=5, leader_epoch=2, metadata="", commit_timestamp=3)
    encoded_key, encoded_value = encode_key(key), encode_data(value, 3)
    assert encoded_key.hex() == "000100016700017400000001"
    assert encoded_value.hex() == "000300000000000000050000000200000000000000000003"

    decoded_key = decode_key(GROUP_RECORDS, encoded_key)
    decoded_value = decode_value(GROUP_RECORDS, decoded_key, encoded_value)

    assert type(decoded_key) is OffsetCommitKey
    assert (decoded_key.group, decoded_key.topic, decoded_key.partition) == ("g", "t", 1)
    assert type(decoded_value) is OffsetCommitValue
    assert (decoded_value.offset, decoded_value.leader_epoch) == (5, 2)
    assert decode_value(GROUP_RECORDS, decoded_key, None) is None


def test_the_tags_of_a_transaction_are_written_in_their_order() -> None:
    value = TransactionLogValue(
        next_producer_epoch=4,
        client_transaction_version=3,
        next_producer_id=2,
        previous_producer_id=1,
        transaction_partitions=None,
    )
    tags = f"040008{1:016x}0108{2:016x}0202000303020004"
    assert encode_data(value, 1).hex().endswith(tags)
    key = TransactionLogKey(transactional_id="x")
    assert decode_value(TRANSACTION_RECORDS, key, encode_data(value, 1)).next_producer_epoch == 4


@pytest.mark.parametrize("records", [GROUP_RECORDS, TRANSACTION_RECORDS, SHARE_RECORDS])
def test_every_key_is_read_with_the_class_of_its_type(records: Mapping[int, RecordClasses]) -> None:
    for number, classes in records.items():
        encoded = encode_key(classes.key())
        assert encoded[:2] == number.to_bytes(2, "big")
        decoded = decode_key(records, encoded)
        assert type(decoded) is classes.key
        low, high = classes.value.valid_versions
        for version in range(low, high + 1):
            value = decode_value(records, decoded, encode_data(classes.value(), version))
            assert type(value) is classes.value
        assert classes.key.name.removesuffix("Key") == classes.value.name.removesuffix("Value")


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x09", b"\x7f\xff", b"\x00\x01\x00"])
def test_an_unknown_or_short_key_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_key(GROUP_RECORDS, data)
