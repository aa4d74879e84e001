"""Rows are packed one by one and read as columns."""

from typing import Any

import pyarrow as pa
import pytest

from loadgen.plan.plan import Tenant
from loadgen.row_encoder import RowEncoder, batches
from loadgen.rows import ARROW_SCHEMA, NONE, Chunk, Kind, Rows, RunChunk, Status
from protocol.api_keys import ApiKey

pytestmark = pytest.mark.slow

TENANTS = [Tenant("a", "steady", "a", user="alice", password="x"), Tenant("b", "steady", "b")]


def rows_of(rows: Rows, zero_us: int = 1000) -> list[dict[str, Any]]:
    made = list(batches(rows, RowEncoder(3, zero_us, TENANTS, [0, 1, 1])))
    for batch in made:
        assert batch.schema == ARROW_SCHEMA
    found: list[dict[str, Any]] = pa.Table.from_batches(made, ARROW_SCHEMA).to_pylist()
    return found


def test_a_request_with_a_response_has_all_fields() -> None:
    rows = Rows()
    topic = rows.topic_number("orders")
    row = rows.begin(
        event_id=5,
        intended_us=1100,
        submitted_us=1110,
        sent_us=1120,
        client=2,
        api=ApiKey.PRODUCE,
        version=12,
        attempt=2,
        kind=Kind.OLD,
        topic=topic,
        partition=4,
        producer_id=77,
        epoch=1,
        sequence=9,
        records=10,
        request_bytes=333,
        early_us=50,
        node=1,
    )
    rows.end(row, 1500, 89, 400, 12, 6)
    assert rows_of(rows) == [
        {
            "worker": 3,
            "event_id": 5,
            "tenant": "b",
            "user": "ANONYMOUS",
            "client": 2,
            "api": "Produce",
            "version": 12,
            "intended_us": 100,
            "submitted_us": 110,
            "sent_us": 120,
            "response_us": 500,
            "producer_id": 77,
            "epoch": 1,
            "sequence": 9,
            "topic": "orders",
            "partition": 4,
            "records": 10,
            "bytes": 333,
            "error_code": 89,
            "throttle_time_ms": 400,
            "attempt": 2,
            "status": "responded",
            "kind": "old",
            "base_offset": 12,
            "mutations": 6,
            "early_us": 50,
            "node": 1,
            "worker_cpu_us": 0,
            "worker_wall_us": 0,
        }
    ]


def test_missing_values_are_null() -> None:
    rows = Rows()
    times: dict[str, int] = {"intended_us": 1100, "submitted_us": 1110}
    create: dict[str, int] = {"client": 0, "api": ApiKey.CREATE_TOPICS, "version": 7}
    rows.begin(event_id=5, sent_us=1120, **times, **create)
    rows.mark_lost(rows.begin(event_id=6, sent_us=1120, **times, **create))
    expired = rows.begin(
        event_id=7, sent_us=NONE, client=0, api=ApiKey.PRODUCE, version=-1, **times
    )
    rows.end(expired, 1900, 0, status=Status.EXPIRED)
    no_response, lost, expired_row = rows_of(rows)
    for row in (no_response, lost, expired_row):
        fields = ("producer_id", "epoch", "sequence", "topic", "partition", "base_offset")
        assert all(row[field] is None for field in (*fields, "error_code"))
    assert [row["status"] for row in (no_response, lost, expired_row)] == [
        "no_response",
        "lost",
        "expired",
    ]
    assert (no_response["response_us"], lost["response_us"], expired_row["response_us"]) == (
        None,
        None,
        900,
    )
    assert (no_response["sent_us"], expired_row["sent_us"]) == (120, None)
    assert no_response["api"] == "CreateTopics"
    assert no_response["user"] == "alice"


def test_rows_are_passed_on_in_chunks() -> None:
    rows = Rows(chunk_rows=20)
    for number in range(50_000):
        row = rows.begin(
            event_id=number, intended_us=0, submitted_us=0, sent_us=0, client=0, api=0, version=9
        )
        rows.end(row, number, 0)
    assert len(rows) == 50_000
    assert [row["event_id"] for row in rows_of(rows)] == list(range(50_000))


def begin(rows: Rows, number: int) -> int:
    return rows.begin(
        event_id=number, intended_us=0, submitted_us=0, sent_us=0, client=0, api=0, version=9
    )


def test_a_row_whose_response_comes_late_is_in_a_later_chunk_once() -> None:
    rows = Rows(chunk_rows=4)
    chunks: list[Chunk | RunChunk] = []
    rows.sink = chunks.append
    slow, never = begin(rows, 0), begin(rows, 1)
    for number in range(2, 10):
        rows.end(begin(rows, number), number, 0)
    rows.end(slow, 77, 3)
    rows.end(slow, 78, 4)  # the first ending counts
    rows.flush()
    assert len(rows) == 10
    rows.flush(is_last=True)
    rows.end(never, 79, 5)
    encoder = RowEncoder(3, 0, TENANTS, [0])
    found = [row for chunk in chunks for row in encoder.batch(chunk, rows.topics).to_pylist()]
    by_event = {row["event_id"]: (row["status"], row["response_us"]) for row in found}
    assert len(found) == len(by_event) == 10 == len(rows)
    assert by_event[0] == ("responded", 77)
    assert by_event[1] == ("no_response", None)


def test_buffers_are_used_again() -> None:
    rows = Rows(chunk_rows=2)
    chunks: list[Chunk] = []

    def take(chunk: Chunk | RunChunk) -> None:
        assert isinstance(chunk, Chunk)
        chunks.append(chunk)
        rows.free.append(chunk.buffer)

    rows.sink = take
    for number in range(20):
        rows.end(begin(rows, number), number, 0)
    assert len({id(chunk.buffer) for chunk in chunks}) <= 2


def test_without_rows_there_are_no_batches() -> None:
    assert rows_of(Rows()) == []
