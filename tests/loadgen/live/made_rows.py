"""Rows of segments, with what makes figures differ."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from loadgen.plan.plan import Plan, Quota, Tenant
from loadgen.rows import ARROW_SCHEMA
from loadgen.worker.segments import segment_name
from tests.loadgen.live.made_batches import SECOND

Row = dict[str, Any]
PLAN = Plan(
    name="p",
    duration_s=4.0,
    read_back=False,
    tenants=(
        Tenant("shop", "steady", "shop"),
        Tenant("again", "retries-lost-responses", "again"),
        Tenant("late", "delivery-timeout", "late", delivery_timeout_ms=1000),
        Tenant("closed", "steady", "closed", arrival="closed"),
        Tenant("maker", "topic-creator", "maker", partitions=4),
        Tenant("deaf", "steady", "deaf", obeys_throttle=False),
    ),
    quotas=(
        Quota({"user": "ANONYMOUS"}, "producer_ids_rate", 2.0),
        Quota({"client-id": "maker"}, "controller_mutation_rate", 1.0),
    ),
)


def row(event_id: int, tenant: str = "shop", **changes: Any) -> Row:
    """Return the row of a request that was answered."""
    sent_us = changes.pop("sent_us", event_id * 10_000)
    return {
        "worker": event_id % 2,
        "event_id": event_id,
        "tenant": tenant,
        "user": "ANONYMOUS",
        "client": 0,
        "api": "Produce",
        "intended_us": sent_us,
        "submitted_us": sent_us + event_id % 7,
        "sent_us": sent_us + 100,
        "response_us": sent_us + 500 + event_id * 11,
        "producer_id": 7,
        "records": 1,
        "bytes": 100,
        "error_code": 0,
        "throttle_time_ms": 0,
        "attempt": 1,
        "status": "responded",
        "kind": "new",
        "mutations": 0,
        "early_us": 0,
        "node": 1,
        "worker_cpu_us": 5,
        "worker_wall_us": 10,
        **changes,
    }


def no_response(event_id: int, tenant: str = "shop", **changes: Any) -> Row:
    """Return the row of a request without a response."""
    missing = {"response_us": None, "error_code": None, "status": "lost"}
    return row(event_id, tenant, **{**missing, **changes})


SEGMENTS: list[list[Row]] = [
    [
        *(row(number) for number in range(100)),
        row(100, sent_us=-SECOND),  # the warm-up
        no_response(101),  # its second attempt is in the next segment
        no_response(102),  # for good
        {**no_response(103, status="not_sent"), "sent_us": None},
        row(104, "again", kind="new"),
        row(105, "closed"),
        row(106, "late", status="expired", error_code=None, response_us=2 * SECOND),
        row(107, "maker", api="CreateTopics", producer_id=None, mutations=8),
        row(108, "deaf", throttle_time_ms=300),
        row(-1, "shop", sent_us=5, api="InitProducerId"),
    ],
    [
        *(row(number, producer_id=number) for number in range(200, 300)),
        row(101, attempt=2, sent_us=2 * SECOND, intended_us=1_010_000),
        row(104, "again", kind="latest", sent_us=SECOND, intended_us=1_040_000, error_code=46),
        row(110, "again", kind="old", error_code=45),
        row(111, "maker", api="CreateTopics", producer_id=None, mutations=8, sent_us=2 * SECOND),
        row(112, "maker", api="CreateTopics", producer_id=None, error_code=89),
        row(113, "deaf", early_us=200_000, throttle_time_ms=90),
        no_response(114, status="no_response", sent_us=3 * SECOND, intended_us=3 * SECOND),
    ],
]


def write(folder: Path, worker: int, number: int, rows: list[Row]) -> None:
    """Write rows as a segment."""
    table = pa.Table.from_pylist(rows, ARROW_SCHEMA)
    pq.write_table(table, folder / segment_name(worker, number))
