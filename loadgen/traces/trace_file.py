"""Read recorded traffic: one row per request that a cluster received.

A trace is Parquet or JSON lines with the columns, the export of the broker's journal, or Kafka's
request log. `docs/load.md` describes the columns. Only `time_us` and `api` are needed. Other
columns that are missing, or null in a row, get the value in `DEFAULTS`; unknown columns are
ignored.
"""

import gzip
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import dataset, json

from loadgen.command_error import CommandError
from loadgen.traces.journal_export import JournalExport
from loadgen.traces.request_log import PREFIX, RequestLog

PARQUET_SUFFIXES = (".parquet", ".pq")
BATCH_ROWS = 10_000
SCHEMA = pa.schema(
    [
        pa.field("time_us", pa.int64()),
        pa.field("api", pa.string()),
        pa.field("user", pa.string()),
        pa.field("client_id", pa.string()),
        pa.field("connection", pa.string()),
        pa.field("broker", pa.int32()),
        pa.field("request_bytes", pa.int64()),
        pa.field("response_bytes", pa.int64()),
        pa.field("batch_bytes", pa.int64()),
        pa.field("producer_id", pa.int64()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("topics", pa.int32()),
        pa.field("records", pa.int32()),
        pa.field("mutations", pa.int32()),
        pa.field("group", pa.string()),
        pa.field("transactional_id", pa.string()),
    ]
)
"""`time_us`: when the request arrived, from any zero; `api`: Kafka's name, such as `Produce`;
`connection`: requests with equal text came over one connection (in Parquet also a number);
`batch_bytes`: the record batches of a Produce request; `mutations`: the partitions that a request
creates, adds or deletes."""
NEEDED = ("time_us", "api")
DEFAULTS: Mapping[str, Any] = {
    "user": "ANONYMOUS",
    "client_id": "",
    "connection": "",
    "broker": 1,
    "request_bytes": 0,
    "response_bytes": 0,
    "batch_bytes": 0,
    "producer_id": -1,
    "topic": "",
    "partition": -1,
    "topics": 0,
    "records": 0,
    "mutations": 0,
    "group": "",
    "transactional_id": "",
}


TRACE_HELP = "Parquet, JSON lines, the journal's export or Kafka's request log (docs/load.md)"
"""What the argument TRACE of a command takes."""


class TraceError(CommandError):
    """A trace cannot be read; the message is one line: file, line, what is wrong."""


def read_trace(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows (`SCHEMA`, without nulls) in the order of the file, in batches.

    `path` is a folder with files of Parquet, a file of Parquet (`.parquet`, `.pq`), or a text, also
    with `.gz`: JSON lines with the columns, the journal's export, or Kafka's request log.

    Raises:
        TraceError: the file cannot be read, or a column is missing or has another type.
    """
    if not path.exists():
        raise TraceError(f"{path}: there is no such file or folder")
    try:
        for batch in _batches(path):
            yield conform(batch, str(path))
    except (OSError, EOFError, pa.ArrowException) as error:
        raise TraceError(f"cannot read {path}: {_first_line(error)}") from error


def conform(batch: pa.RecordBatch, source: str) -> pa.RecordBatch:
    """Return the batch with the columns of `SCHEMA` and without nulls; `source` is for errors.

    Raises:
        TraceError: a column that is needed is missing or null, or a type does not fit.
    """
    columns = []
    for field in SCHEMA:
        index = batch.schema.get_field_index(field.name)
        if index < 0:
            if field.name in NEEDED:
                raise TraceError(f"{source}: column {field.name} is missing")
            scalar = pa.scalar(DEFAULTS[field.name], field.type)
            columns.append(pa.repeat(scalar, batch.num_rows))
            continue
        try:
            column = batch.column(index).cast(field.type)
        except pa.ArrowException as error:
            raise TraceError(f"{source}: column {field.name}: {_first_line(error)}") from error
        if column.null_count:
            if field.name in NEEDED:
                raise TraceError(f"{source}: column {field.name} is null in a row")
            column = pc.fill_null(column, DEFAULTS[field.name])
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    if path.is_dir() or path.name.endswith(PARQUET_SUFFIXES):
        files = dataset.dataset(str(path), format="parquet")
        known = [name for name in SCHEMA.names if name in files.schema.names]
        yield from files.to_batches(columns=known, batch_readahead=2, fragment_readahead=1)
        return
    row_of = _rows_of_text(path)
    if row_of is None:
        yield from _columns_of_json(path)
        return
    rows: list[dict[str, Any]] = []
    has_rows = False
    for number, line in _lines(path):
        try:
            row = row_of(line)
        except ValueError as error:
            raise TraceError(f"{path}:{number}: {_first_line(error)}") from error
        if row is not None:
            rows.append(row)
            has_rows = True
        if len(rows) == BATCH_ROWS:
            yield pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
            rows = []
    if not has_rows:
        raise TraceError(f"{path} has no request")
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def _rows_of_text(path: Path) -> Callable[[bytes], dict[str, Any] | None] | None:
    """Return what makes rows of lines; None for JSON lines with the columns.

    Raises:
        TraceError: the format is unknown.
    """
    for number, line in _lines(path):
        if PREFIX in line:
            return RequestLog().row_of
        if line.startswith(b"{"):
            try:
                names = set(msgspec.json.decode(line, type=dict[str, msgspec.Raw]))
            except ValueError as error:
                raise TraceError(f"{path}:{number}: {_first_line(error)}") from error
            return JournalExport().row_of if {"kind", "received_ms"} <= names else None
        if b"\0" in line:
            break
    raise TraceError(
        f"{path}:1: neither a JSON object nor a line of kafka.request.logger with"
        f" {PREFIX.decode()!r}; a Parquet file ends with {' or '.join(PARQUET_SUFFIXES)}"
    )


def _columns_of_json(path: Path) -> Iterator[pa.RecordBatch]:
    try:
        with pa.input_stream(str(path)) as stream:
            # Types that are inferred would be those of the first block only.
            options = json.ParseOptions(explicit_schema=SCHEMA, unexpected_field_behavior="ignore")
            for batch in json.open_json(stream, parse_options=options):
                yield conform(batch, str(path))
    except (TraceError, pa.ArrowException):
        _refuse_line(path)
        raise


class _Needed(msgspec.Struct):
    """The columns with a value that rows of JSON must have; others may be null or missing."""

    time_us: int
    api: str
    user: str | None = None
    client_id: str | None = None
    connection: str | None = None
    broker: int | None = None
    request_bytes: int | None = None
    response_bytes: int | None = None
    batch_bytes: int | None = None
    producer_id: int | None = None
    topic: str | None = None
    partition: int | None = None
    topics: int | None = None
    records: int | None = None
    mutations: int | None = None
    group: str | None = None
    transactional_id: str | None = None


def _refuse_line(path: Path) -> None:
    """Raise for the first line of JSON that is wrong; Arrow's errors do not have its number.

    Raises:
        TraceError: there is such a line.
    """
    decoder = msgspec.json.Decoder(_Needed)
    for number, line in _lines(path):
        try:
            decoder.decode(line)
        except ValueError as error:
            raise TraceError(f"{path}:{number}: {_first_line(error)}") from error


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not empty, with their numbers from 1."""
    opened: IO[bytes]
    with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as opened:  # type: ignore[assignment]
        for number, line in enumerate(opened, 1):
            if line.strip():
                yield number, line


def _first_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
