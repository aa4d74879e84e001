"""Which events the records of a batch are of.

`client.Producer` chooses where a batch ends: the records of an event may lie in several batches,
and a batch may have those of several events. What is sent and what is read back is therefore
counted by part: the records of one event that follow each other in one batch.
"""

from typing import NamedTuple

from loadgen.clients.produce_frames import EVENT
from protocol.records import read_records

_NO_ID = b"." * EVENT.size
"""The beginning of a value of `produce_frames` behind the first one."""


class BatchPart(NamedTuple):
    """Records of one event in a batch."""

    event_id: int
    """NO_EVENT if the batch is not from this load."""
    first: int
    """The number of its first record in the batch."""
    records: int


def parts_of(batch: bytes) -> list[BatchPart]:
    """Return the parts of a batch; empty if it is not from this load.

    A value without an event id belongs to the event of the value before it.
    """
    parts: list[BatchPart] = []
    for number, record in enumerate(read_records(batch)):
        start = (record.value or b"")[: EVENT.size]
        if len(start) < EVENT.size:
            return []
        (event_id,) = EVENT.unpack(start)
        if parts and (start == _NO_ID or event_id == parts[-1].event_id):
            parts[-1] = parts[-1]._replace(records=parts[-1].records + 1)
        else:
            parts.append(BatchPart(event_id, number, 1))
    return parts
