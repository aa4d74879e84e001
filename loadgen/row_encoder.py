"""Make Arrow batches of packed rows."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from loadgen.rows import (
    ARROW_SCHEMA,
    COLUMNS,
    EVENT_STEP,
    NONE,
    NUMPY_CODES,
    ROW_DTYPE,
    RUN_DTYPE,
    RUN_FIELDS,
    SEQUENCE_MAX,
    STAMPED_FIELDS,
    Chunk,
    Kind,
    Rows,
    RunChunk,
    Status,
)
from protocol.api_keys import ApiKey

ENCODED_SCHEMA = pa.schema(
    [
        pa.field(
            field.name,
            pa.dictionary(pa.int32(), pa.string()) if field.type == pa.string() else field.type,
        )
        for field in ARROW_SCHEMA
    ]
)
"""`rows.ARROW_SCHEMA` with texts as dictionaries, which Parquet takes as they are."""
TEXTS = [field.name for field in ARROW_SCHEMA if field.type == pa.string()]


class RowEncoder:
    """Makes Arrow batches of chunks.

    Attributes:
        zero_us: the common time zero on this worker's clock.
    """

    def __init__(
        self, worker: int, zero_us: int, tenants: Sequence[Any], owners: Sequence[int]
    ) -> None:
        """Take what all rows of a worker share.

        Args:
            worker: the number of the worker.
            zero_us: the common time zero on this worker's clock.
            tenants: the plan's tenants, for names and users.
            owners: the index of each client's tenant.
        """
        self._worker, self.zero_us = worker, zero_us
        self._tenant_of = np.array(owners, np.int32)
        self._names = [tenant.name for tenant in tenants]
        self._users = [tenant.principal for tenant in tenants]

    def batch(
        self,
        chunk: Chunk | RunChunk,
        topics: Sequence[str | None],
        cpu_us: int = 0,
        wall_us: int = 0,
    ) -> pa.RecordBatch:
        """Return the complete rows of a chunk.

        Args:
            chunk: the rows.
            topics: the names of the topics, by number.
            cpu_us: the CPU time of the worker so far.
            wall_us: the time of the worker so far.
        """
        part = _of_runs(chunk) if isinstance(chunk, RunChunk) else _of_chunk(chunk)
        client = part["client"]
        tenant = self._tenant_of[client]
        columns: dict[str, Any] = {
            "worker": np.full(len(client), self._worker, np.int32),
            "worker_cpu_us": np.full(len(client), cpu_us, np.int64),
            "worker_wall_us": np.full(len(client), wall_us, np.int64),
            "tenant": _strings(tenant, self._names),
            "user": _strings(tenant, self._users),
            "topic": _strings(part["topic"], topics),
            "api": _strings(part["api"], _API_NAMES),
            "status": _strings(part["status"], [status.name.lower() for status in Status]),
            "kind": _strings(part["kind"], [kind.name.lower() for kind in Kind]),
            "error_code": _where(part["error_code"], part["status"] != Status.RESPONDED),
        }
        for name in ("intended_us", "submitted_us", "sent_us", "response_us"):
            columns[name] = _where(part[name] - self.zero_us, part[name] == NONE)
        for name in ("producer_id", "epoch", "sequence", "partition", "base_offset", "node"):
            columns[name] = _where(part[name], part[name] < 0)
        return pa.RecordBatch.from_arrays(
            [
                columns[name] if name in columns else np.ascontiguousarray(part[name])
                for name in ENCODED_SCHEMA.names
            ],
            schema=ENCODED_SCHEMA,
        )


def batches(rows: Rows, encoder: RowEncoder) -> Iterator[pa.RecordBatch]:
    """Return all rows so far as Arrow batches of `ARROW_SCHEMA`, if they have no sink."""
    for chunk in rows.chunks():
        yield encoder.batch(chunk, rows.topics).cast(ARROW_SCHEMA)


def _of_chunk(chunk: Chunk) -> Any:
    """Return the complete rows of a chunk by column."""
    part = np.frombuffer(chunk.buffer, ROW_DTYPE, count=chunk.rows)
    return np.delete(part, chunk.incomplete) if chunk.incomplete else part


def _of_runs(chunk: RunChunk) -> dict[str, Any]:
    """Return the rows of runs by column."""
    runs = np.frombuffer(b"".join(chunk.runs), RUN_DTYPE)
    counts = runs["count"]
    columns = {name: np.repeat(runs[name], counts) for name, _ in (*RUN_FIELDS, *STAMPED_FIELDS)}
    in_run = np.arange(chunk.rows) - np.repeat(np.cumsum(counts) - counts, counts)
    columns["event_id"] += in_run * EVENT_STEP
    first = columns["sequence"].astype(np.int64)
    following = (first + in_run * columns["records"]) & SEQUENCE_MAX
    columns["sequence"] = np.where(first < 0, first, following).astype(np.int32)
    columns["base_offset"] = np.array(chunk.base_offsets, np.int64)
    constants = {"kind": Kind.NEW, "status": Status.RESPONDED}
    for name, code in COLUMNS:
        if name not in columns:
            columns[name] = np.full(chunk.rows, constants.get(name, 0), NUMPY_CODES[code])
    return columns


def _where(values: Any, is_null: Any) -> pa.Array:
    return pa.array(np.ascontiguousarray(values), mask=is_null if is_null.any() else None)


def _strings(numbers: Any, strings: Sequence[str | None]) -> pa.DictionaryArray:
    """Return the strings with these numbers; None is no value of a dictionary."""
    indices = np.ascontiguousarray(numbers, np.int32)
    is_null = np.array([string is None for string in strings])[indices]
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, mask=is_null if is_null.any() else None),
        pa.array(["" if string is None else string for string in strings], pa.string()),
    )


_API_NAMES = [
    "".join(word.capitalize() for word in ApiKey(number).name.split("_"))
    if number in set(ApiKey)
    else None
    for number in range(max(ApiKey) + 1)
]
