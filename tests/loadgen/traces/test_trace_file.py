"""A trace has the same rows in each format, and an error names file and column."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from loadgen.traces.trace_file import SCHEMA, TraceError, read_trace

ROWS: list[dict[str, Any]] = [
    {"time_us": 1, "api": "Produce", "user": "a", "connection": "7", "request_bytes": 300},
    {"time_us": 2, "api": "CreateTopics", "user": None, "connection": "8", "mutations": 4},
]
EXPECTED = [
    {
        "time_us": 1,
        "api": "Produce",
        "user": "a",
        "client_id": "",
        "connection": "7",
        "broker": 1,
        "request_bytes": 300,
        "response_bytes": 0,
        "producer_id": -1,
        "topic": "",
        "partition": -1,
        "records": 0,
        "mutations": 0,
    },
    {
        "time_us": 2,
        "api": "CreateTopics",
        "user": "ANONYMOUS",
        "client_id": "",
        "connection": "8",
        "broker": 1,
        "request_bytes": 0,
        "response_bytes": 0,
        "producer_id": -1,
        "topic": "",
        "partition": -1,
        "records": 0,
        "mutations": 4,
    },
]


def rows_of(path: Path) -> list[dict[str, Any]]:
    batches = list(read_trace(path))
    assert all(batch.schema == SCHEMA for batch in batches)
    return [row for batch in batches for row in batch.to_pylist()]


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def test_json_lines_and_parquet_give_the_same_rows(tmp_path: Path) -> None:
    (tmp_path / "t.ndjson").write_bytes(lines(ROWS))
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress(lines(ROWS)))
    folder = tmp_path / "folder"
    folder.mkdir()
    names = dict.fromkeys(name for row in ROWS for name in row)
    table = pa.table({name: [row.get(name) for row in ROWS] for name in names})
    numbers = table["connection"].cast(pa.int64())
    pq.write_table(
        table.drop("connection").append_column("connection", numbers), folder / "0.parquet"
    )
    for name in ("t.ndjson", "t.jsonl.gz", "folder", "folder/0.parquet"):
        assert rows_of(tmp_path / name) == EXPECTED, name


def test_columns_that_are_unknown_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "t.ndjson").write_bytes(lines([{**ROWS[0], "close_reason": "x"}]))
    assert rows_of(tmp_path / "t.ndjson") == EXPECTED[:1]


def test_a_long_file_is_read_in_batches(tmp_path: Path) -> None:
    (tmp_path / "t.ndjson").write_bytes(lines([ROWS[0]] * 40_000))
    batches = list(read_trace(tmp_path / "t.ndjson"))
    assert len(batches) > 1
    assert sum(batch.num_rows for batch in batches) == 40_000


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", b"", r"a\.csv is neither a folder nor ends with one of \.parquet"),
        ("a.ndjson", b'{"api": "Produce"}\n', "column time_us is null in a row"),
        ("a.ndjson", b'{"time_us": 1, "api": null}\n', "column api is null in a row"),
        ("a.ndjson", b'{"time_us": "soon", "api": "x"}\n', "JSON parse error"),
        ("a.ndjson", b"{", r"cannot read .*a\.ndjson: JSON"),
        ("a.parquet", b"text", r"cannot read .*a\.parquet: "),
    ],
)
def test_an_error_is_one_line_with_the_file(
    tmp_path: Path, name: str, content: bytes, expected: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TraceError, match=expected) as raised:
        list(read_trace(tmp_path / name))
    assert "\n" not in str(raised.value)


def test_a_column_that_is_missing_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"api": ["Produce"]}), tmp_path / "t.parquet")
    with pytest.raises(TraceError, match=r"t\.parquet: column time_us is missing"):
        list(read_trace(tmp_path / "t.parquet"))
    pq.write_table(pa.table({"api": ["Produce"], "time_us": ["soon"]}), tmp_path / "t.parquet")
    with pytest.raises(TraceError, match=r"t\.parquet: column time_us: Failed to parse"):
        list(read_trace(tmp_path / "t.parquet"))


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"none\.ndjson: there is no such file"):
        list(read_trace(tmp_path / "none.ndjson"))
