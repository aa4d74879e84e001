"""Control records: the markers that end a transaction in a partition.

The batch of a control record has the control bit in its attributes.

Sources: org.apache.kafka.common.record.ControlRecordType and EndTransactionMarker.
"""

from enum import IntEnum
from functools import cache
from struct import Struct
from struct import error as StructError
from typing import Any

from protocol.checksum import crc32c
from protocol.codec import DecodeError
from protocol.data_messages import data_class, decode_data, encode_data
from protocol.records import (
    CONTROL_FLAG,
    CRC_START,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    TRANSACTIONAL_FLAG,
)

_KEY = Struct(">hh")
_KEY_VERSION = _VALUE_VERSION = 0
_UP_TO_CRC = Struct(">qiibI")
# The length and the other numbers of a record are zigzag varints, here of one byte each: length,
# attributes, timestamp delta, offset delta, length of the key, key, length of the value, value,
# number of headers. The key is a version and a type, the value a version and an epoch.
_KEY_BYTES, _VALUE_BYTES = 4, 6
_CHECKED = Struct(">hiqqqhii B3x B hh B hi x".replace(" ", ""))
"""From the attributes to the end: all that the CRC covers."""
_RECORD_BYTES = 5 + _KEY_BYTES + 1 + _VALUE_BYTES
_BATCH_LENGTH = _CHECKED.size + CRC_START - LOG_OVERHEAD_BYTES


@cache
def end_txn_marker_class() -> Any:
    """Return the class of the value of an ABORT or COMMIT marker."""
    return data_class("EndTxnMarker")


class ControlRecordType(IntEnum):
    """The types of control records in the partitions of topics."""

    ABORT = 0
    COMMIT = 1


def encode_control_key(record_type: ControlRecordType) -> bytes:
    """Return the key of a control record: its version and its type."""
    return _KEY.pack(_KEY_VERSION, record_type)


def decode_control_key(key: bytes) -> int:
    """Return the type of a control record by its key, whatever its version, as Kafka does.

    Readers ignore a record whose type is not in `ControlRecordType`.

    Raises:
        DecodeError: the key is too short, or its version is negative.
    """
    try:
        version, record_type = _KEY.unpack_from(key)
    except StructError as error:
        raise DecodeError(f"control record key: {error}") from error
    if version < 0:
        raise DecodeError(f"control record key has version {version}")
    return int(record_type)


def encode_end_txn_marker(coordinator_epoch: int) -> bytes:
    """Return the value of an ABORT or COMMIT marker."""
    return encode_data(end_txn_marker_class()(coordinator_epoch=coordinator_epoch), _VALUE_VERSION)


def decode_end_txn_marker(value: bytes) -> int:
    """Return the coordinator epoch in the value of a marker.

    Raises:
        DecodeError: the bytes are no such value.
    """
    return int(decode_data(end_txn_marker_class(), value).coordinator_epoch)


def encode_end_txn_batch(
    record_type: ControlRecordType,
    *,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    timestamp_ms: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytes:
    """Return the control batch with one marker (Kafka's `withEndTransactionMarker`)."""
    checked = _CHECKED.pack(
        TRANSACTIONAL_FLAG | CONTROL_FLAG,
        0,
        timestamp_ms,
        timestamp_ms,
        producer_id,
        producer_epoch,
        -1,
        1,
        _RECORD_BYTES << 1,
        _KEY_BYTES << 1,
        _KEY_VERSION,
        record_type,
        _VALUE_BYTES << 1,
        _VALUE_VERSION,
        coordinator_epoch,
    )
    before = _UP_TO_CRC.pack(base_offset, _BATCH_LENGTH, leader_epoch, MAGIC, crc32c(checked))
    return before + checked
