"""Read recorded traffic from Parquet or JSON lines: one row per request that a cluster received.

`docs/load.md` describes the columns. Only `time_us` and `api` are needed; other columns that are
missing, or null in a row, get the value in `DEFAULTS`. Unknown columns are ignored.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import dataset, json

PARQUET_SUFFIXES = (".parquet", ".pq")
JSON_SUFFIXES = (".ndjson", ".jsonl", ".ndjson.gz", ".jsonl.gz")
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
        pa.field("producer_id", pa.int64()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("records", pa.int32()),
        pa.field("mutations", pa.int32()),
    ]
)
"""`time_us`: when the request arrived, from any zero; `api`: Kafka's name, such as `Produce`;
`connection`: requests with equal text came over one connection (in Parquet also a number);
`mutations`: the partitions that a
request creates, adds or deletes."""
NEEDED = ("time_us", "api")
DEFAULTS: Mapping[str, Any] = {
    "user": "ANONYMOUS",
    "client_id": "",
    "connection": "",
    "broker": 1,
    "request_bytes": 0,
    "response_bytes": 0,
    "producer_id": -1,
    "topic": "",
    "partition": -1,
    "records": 0,
    "mutations": 0,
}


class TraceError(Exception):
    """A trace cannot be read; the message is one line with the file and what is wrong."""


def read_trace(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows (`SCHEMA`, without nulls) in the order of the file, in batches.

    `path` is a file of Parquet or of JSON lines, or a folder with files of Parquet.

    Raises:
        TraceError: the file cannot be read, or a column is missing or has another type.
    """
    if not path.exists():
        raise TraceError(f"{path}: there is no such file or folder")
    try:
        for batch in _batches(path):
            yield conform(batch, str(path))
    except (OSError, pa.ArrowException) as error:
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
    elif path.name.endswith(JSON_SUFFIXES):
        with pa.input_stream(str(path)) as stream:
            # Types that are inferred would be those of the first block only.
            options = json.ParseOptions(explicit_schema=SCHEMA, unexpected_field_behavior="ignore")
            yield from json.open_json(stream, parse_options=options)
    else:
        suffixes = ", ".join((*PARQUET_SUFFIXES, *JSON_SUFFIXES))
        raise TraceError(f"{path} is neither a folder nor ends with one of {suffixes}")


def _first_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
