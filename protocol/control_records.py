"""Control records: the markers that end a transaction in a partition.

The batch of a control record has the control bit in its attributes.

Sources: org.apache.kafka.common.record.ControlRecordType and EndTransactionMarker.
"""

from enum import IntEnum
from struct import Struct
from struct import error as StructError

from crc32c import crc32c

from protocol.codec import DecodeError
from protocol.data_messages import data_class, decode_data, encode_data
from protocol.records import (
    CONTROL_FLAG,
    CRC_POSITION,
    CRC_START,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    TRANSACTIONAL_FLAG,
)

_KEY = Struct(">hh")
_KEY_VERSION = _VALUE_VERSION = 0
_HEADER = Struct(">qiibIhiqqqhii")
_CRC = Struct(">I")
# The length and the other numbers of a record are zigzag varints, here of one byte each: length,
# attributes, timestamp delta, offset delta, length of the key, key, length of the value, value,
# number of headers.
_KEY_BYTES, _VALUE_BYTES = 4, 6
# The same bytes as `encode_end_txn_marker`, which takes longer than the rest of the batch.
_VALUE = Struct(">hi")
_RECORD = Struct(f">B3x B{_KEY_BYTES}s B{_VALUE_BYTES}s x".replace(" ", ""))
_RECORD_BYTES = _RECORD.size - 1

EndTxnMarker = data_class("EndTxnMarker")


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
    return encode_data(EndTxnMarker(coordinator_epoch=coordinator_epoch), _VALUE_VERSION)


def decode_end_txn_marker(value: bytes) -> int:
    """Return the coordinator epoch in the value of a marker.

    Raises:
        DecodeError: the bytes are no such value.
    """
    return int(decode_data(EndTxnMarker, value).coordinator_epoch)


def encode_end_txn_batch(
    record_type: ControlRecordType,
    *,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    timestamp_ms: int,
) -> bytes:
    """Return the control batch with one marker; base offset and leader epoch are still to stamp.

    Kafka's `MemoryRecords.withEndTransactionMarker`.
    """
    record = _RECORD.pack(
        _RECORD_BYTES << 1,
        _KEY_BYTES << 1,
        encode_control_key(record_type),
        _VALUE_BYTES << 1,
        _VALUE.pack(_VALUE_VERSION, coordinator_epoch),
    )
    batch = bytearray(_HEADER.size + len(record))
    _HEADER.pack_into(
        batch,
        0,
        0,
        len(batch) - LOG_OVERHEAD_BYTES,
        -1,
        MAGIC,
        0,
        TRANSACTIONAL_FLAG | CONTROL_FLAG,
        0,
        timestamp_ms,
        timestamp_ms,
        producer_id,
        producer_epoch,
        -1,
        1,
    )
    batch[_HEADER.size :] = record
    _CRC.pack_into(batch, CRC_POSITION, crc32c(memoryview(batch)[CRC_START:]))
    return bytes(batch)
