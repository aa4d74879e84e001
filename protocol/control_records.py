"""Control records: the markers that end a transaction in a partition.

The batch of a control record has the control bit in its attributes.

Sources: org.apache.kafka.common.record.ControlRecordType and EndTransactionMarker.
"""

from enum import IntEnum
from struct import Struct
from struct import error as StructError

from protocol.codec import DecodeError
from protocol.data_messages import data_class, decode_data, encode_data

_KEY = Struct(">hh")
_KEY_VERSION = _VALUE_VERSION = 0

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
