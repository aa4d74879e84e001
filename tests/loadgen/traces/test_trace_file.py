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
        "batch_bytes": 0,
        "producer_id": -1,
        "topic": "",
        "partition": -1,
        "topics": 0,
        "records": 0,
        "mutations": 0,
        "group": "",
        "transactional_id": "",
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
        "batch_bytes": 0,
        "producer_id": -1,
        "topic": "",
        "partition": -1,
        "topics": 0,
        "records": 0,
        "mutations": 4,
        "group": "",
        "transactional_id": "",
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
        (
            "a.csv",
            b"a,b\n",
            r"a\.csv:1: neither a JSON object nor a line of kafka\.request",
        ),
        ("a.ndjson", b"", r"a\.ndjson:1: neither a JSON object"),
        ("a.ndjson", b'\n{"api": "Produce"}\n', r"a\.ndjson:2: .*missing required field `time_us`"),
        ("a.ndjson", b'{"time_us": 1, "api": null}\n', r"a\.ndjson:1: .*`\$\.api`"),
        ("a.ndjson", b'{"time_us": "soon", "api": "x"}\n', r"a\.ndjson:1: .*`\$\.time_us`"),
        ("a.ndjson", b"{", r"a\.ndjson:1: Input data was truncated"),
        ("a.jsonl.gz", b"{}", r"cannot read .*a\.jsonl\.gz: Not a gzipped file"),
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


JOURNAL_LINE = {
    "kind": "request",
    "received_ms": 5,
    "api": "Metadata",
    "connection": 3,
    "broker": 2,
}


@pytest.mark.parametrize("name", ["export.ndjson", "export.jsonl.gz", "export"])
def test_the_export_of_the_journal_is_recognised_by_its_content(tmp_path: Path, name: str) -> None:
    disconnect = {"kind": "disconnect", "received_ms": 4, "connection": 3}
    content = lines([disconnect, JOURNAL_LINE])
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    (row,) = rows_of(tmp_path / name)
    assert (row["time_us"], row["api"], row["connection"], row["broker"]) == (
        5000,
        "Metadata",
        "3",
        2,
    )


def test_a_long_export_is_read_in_batches(tmp_path: Path) -> None:
    (tmp_path / "t.ndjson").write_bytes(lines([JOURNAL_LINE] * 12_000))
    batches = list(read_trace(tmp_path / "t.ndjson"))
    assert [batch.num_rows for batch in batches] == [10_000, 2_000]


def test_an_error_in_an_export_has_its_line(tmp_path: Path) -> None:
    (tmp_path / "t.ndjson").write_bytes(lines([JOURNAL_LINE, {**JOURNAL_LINE, "api": 3}]))
    with pytest.raises(TraceError, match=r"t\.ndjson:2: Expected `str`, got `int` - at `\$\.api`"):
        list(read_trace(tmp_path / "t.ndjson"))


def test_a_trace_without_a_request_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.ndjson").write_bytes(lines([{"kind": "disconnect", "received_ms": 4}]))
    with pytest.raises(TraceError, match=r"t\.ndjson has no request"):
        list(read_trace(tmp_path / "t.ndjson"))


def test_the_request_log_is_recognised_by_its_content(tmp_path: Path) -> None:
    header = {"requestApiKeyName": "METADATA", "clientId": "c"}
    found = {"requestHeader": header, "connection": "b:1-c:2-0-1", "totalTimeMs": 1.0}
    log = f"[2026-01-01 00:00:00,002] DEBUG Completed request:{json.dumps(found)} (logger)\n"
    text = "[2026-01-01 00:00:00,000] INFO another line\n" + log
    (tmp_path / "kafka-request.log").write_text(text)
    (row,) = rows_of(tmp_path / "kafka-request.log")
    assert (row["time_us"] % 10**6, row["api"], row["client_id"]) == (1000, "Metadata", "c")
    (tmp_path / "kafka-request.log").write_text(text + "Completed request:{}\n")
    with pytest.raises(TraceError, match=r"kafka-request\.log:3: no date and time"):
        rows_of(tmp_path / "kafka-request.log")
