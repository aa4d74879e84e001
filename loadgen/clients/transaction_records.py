"""The values of records that are judged one by one: which event sent them, and what they stand for.

A value begins with the event id, as every first value of a batch of the load does.
"""

from struct import Struct, error
from typing import NamedTuple

from protocol.records import read_records

_MARK = b"once"
_VALUE = Struct(">q4siiq")
VALUE_BYTES = _VALUE.size


class TransactionRecord(NamedTuple):
    """A record of an event; the last two are -1 unless it was made from a record of the source."""

    event_id: int
    number: int
    """Counted from 0 in the transaction."""
    source_partition: int = -1
    source_offset: int = -1

    def value(self, size_bytes: int) -> bytes:
        """Return the record's value of this size, at least VALUE_BYTES."""
        event_id, *rest = self
        return _VALUE.pack(event_id, _MARK, *rest).ljust(size_bytes, b".")


def records_in(batch: bytes) -> dict[int, TransactionRecord]:
    """Return the records of a batch by offset; empty if it has other records."""
    found = {}
    for record in read_records(batch):
        try:
            event_id, mark, *rest = _VALUE.unpack_from(record.value or b"")
        except error:
            return {}
        if mark != _MARK:
            return {}
        found[record.offset] = TransactionRecord(event_id, *rest)
    return found
