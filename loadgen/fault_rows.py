"""What became of the faults of a plan: a row for each of them, as Parquet."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from loadgen.storage import Storage

RECORD = "faults"
"""The folder of the rows."""
FILE = "faults.parquet"
_SCHEMA = pa.schema(
    [
        ("fault", pa.int32()),
        ("name", pa.string()),
        ("action", pa.string()),
        ("intended_us", pa.int64()),
        ("has_end", pa.bool_()),
        ("begun_us", pa.int64()),
        ("ended_us", pa.int64()),
        ("broker_clock_ms", pa.int64()),
        ("rule_id", pa.int64()),
        ("fired", pa.int64()),
        ("error", pa.string()),
    ]
)


@dataclass(slots=True)
class FaultRow:
    """What became of a fault; times are µs since the beginning of the measured part."""

    fault: int
    """The position in the plan."""
    name: str
    action: str
    intended_us: int
    has_end: bool = True
    """Whether it is undone: all but a leader that stays where it was moved to."""
    begun_us: int | None = None
    """When the port had carried it out. None: it was not."""
    ended_us: int | None = None
    """When it was undone. None: it was not."""
    broker_clock_ms: int | None = None
    """The clock of the broker when it was carried out."""
    rule_id: int | None = None
    fired: int | None = None
    """How often the rule fired."""
    error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self)


def write_rows(storage: Storage, folder: tuple[str, ...], rows: Sequence[FaultRow]) -> None:
    """Write the rows of a run.

    Raises:
        StorageError: they cannot be written.
    """
    data = BytesIO()
    pq.write_table(pa.Table.from_pylist([row.as_dict() for row in rows], _SCHEMA), data)
    storage.write(data.getvalue(), *folder, FILE)


def read_rows(storage: Storage, folder: tuple[str, ...]) -> list[FaultRow]:
    """Return the rows of a run; none if its driver died or its plan has no faults.

    Raises:
        StorageError: they cannot be read.
    """
    with suppress(OSError):
        if storage.has(*folder, FILE):
            table = pq.read_table(pa.BufferReader(storage.read(*folder, FILE)))
            return [FaultRow(**row) for row in table.to_pylist()]
    return []
