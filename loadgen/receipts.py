"""What the members of groups have received: one row per partition with records in a response.

A row has a range of offsets, so it says of every batch in the range when it was received, and
costs the same for one batch and for a thousand. The rows of the producers have the offsets of their
batches, so nothing that is sent has to carry its time.
"""

from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa

RECEIPTS = "receipts"
"""The folder of the rows."""
SCHEMA = (
    "worker int, tenant string, client int, topic string, partition int, received_us bigint,"
    " first_offset bigint, next_offset bigint, high_watermark bigint"
)
"""The schema of the receipts in Spark; docs/load.md describes each column."""
_ARROW = {"bigint": pa.int64(), "int": pa.int32(), "string": pa.string()}
ARROW_SCHEMA = pa.schema(
    [
        pa.field(name, _ARROW[kind])
        for name, kind in (column.split() for column in SCHEMA.split(", "))
    ]
)


class Receipt(NamedTuple):
    """A partition of a response with records, in times of `clock.now_us`."""

    client: int
    tenant: str
    topic: str
    partition: int
    received_us: int
    first_offset: int
    """The offset from which the member read."""
    next_offset: int
    """The offset behind the last record."""
    high_watermark: int


class Receipts:
    """The receipts of one worker, until they are written."""

    def __init__(self) -> None:
        self._kept: list[Receipt] = []

    def add(self, receipt: Receipt) -> None:
        """Keep a receipt."""
        self._kept.append(receipt)

    def take(self) -> list[Receipt]:
        """Return the receipts since the last call."""
        taken, self._kept = self._kept, []
        return taken


def batch_of(receipts: Iterable[Receipt], worker: int, zero_us: int) -> pa.RecordBatch:
    """Return receipts as an Arrow batch, in times from the common time zero."""
    rows = [
        {
            **receipt._asdict(),
            "worker": worker,
            "received_us": receipt.received_us - zero_us,
        }
        for receipt in receipts
    ]
    return pa.RecordBatch.from_pylist(rows, ARROW_SCHEMA)
