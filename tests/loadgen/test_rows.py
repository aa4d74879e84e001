"""Rows are packed when they happen and come out as columns."""

from typing import Any

import pyarrow as pa

from loadgen.plan.plan import Tenant
from loadgen.rows import ARROW_SCHEMA, NONE, Kind, Rows, Status
from protocol.api_keys import ApiKey

TENANTS = [Tenant("a", "steady", "a", user="alice", password="x"), Tenant("b", "steady", "b")]
CONSTANTS = {"worker": 3, "worker_cpu_us": 7, "worker_wall_us": 9}


def rows_of(rows: Rows, zero_us: int = 1000) -> list[dict[str, Any]]:
    batches = list(rows.batches(zero_us, CONSTANTS, TENANTS, [0, 1, 1]))
    for batch in batches:
        assert batch.schema == ARROW_SCHEMA
    found: list[dict[str, Any]] = pa.Table.from_batches(batches, ARROW_SCHEMA).to_pylist()
    return found


def test_an_answered_request_has_all_of_its_fields() -> None:
    rows = Rows()
    topic = rows.topic_number("orders")
    row = rows.begin(
        5, 1100, 1110, 1120, 2, ApiKey.PRODUCE, 12, 2, Kind.OLD, topic, 4, 77, 1, 9, 10, 333, 50, 1
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
            "handed_us": 110,
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
            "worker_cpu_us": 7,
            "worker_wall_us": 9,
        }
    ]


def test_what_never_happened_is_null() -> None:
    rows = Rows()
    rows.begin(5, 1100, 1110, 1120, 0, ApiKey.CREATE_TOPICS, 7)
    rows.lose(rows.begin(6, 1100, 1110, 1120, 0, ApiKey.CREATE_TOPICS, 7))
    expired = rows.begin(7, 1100, 1110, NONE, 0, ApiKey.PRODUCE, -1)
    rows.end(expired, 1900, 0, status=Status.EXPIRED)
    no_response, lost, told = rows_of(rows)
    for row in (no_response, lost, told):
        fields = ("producer_id", "epoch", "sequence", "topic", "partition", "base_offset")
        assert all(row[field] is None for field in (*fields, "error_code"))
    assert [row["status"] for row in (no_response, lost, told)] == [
        "no_response",
        "lost",
        "expired",
    ]
    assert (no_response["response_us"], lost["response_us"], told["response_us"]) == (
        None,
        None,
        900,
    )
    assert (no_response["sent_us"], told["sent_us"]) == (120, None)
    assert no_response["api"] == "CreateTopics"
    assert no_response["user"] == "alice"


def test_there_is_room_for_more_rows_than_expected() -> None:
    rows = Rows(capacity=2)
    for number in range(50_000):
        rows.end(rows.begin(number, 0, 0, 0, 0, 0, 9), number, 0)
    assert len(rows) == 50_000
    assert [row["event_id"] for row in rows_of(rows)] == list(range(50_000))


def test_no_rows_are_no_batches() -> None:
    assert rows_of(Rows()) == []
