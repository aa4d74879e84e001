"""Make the rows of requests by hand."""

from typing import Any


def row(event_id: int, tenant: str = "writer", **changes: Any) -> dict[str, Any]:
    """Return a row of a Produce request that was acknowledged, with changes."""
    sent_us = changes.pop("sent_us", event_id * 1000)
    return {
        "worker": 0,
        "event_id": event_id,
        "tenant": tenant,
        "user": "ANONYMOUS",
        "client": 0,
        "api": "Produce",
        "version": 9,
        "intended_us": sent_us,
        "submitted_us": sent_us,
        "sent_us": sent_us,
        "response_us": sent_us + 500,
        "producer_id": 7,
        "epoch": 0,
        "sequence": event_id,
        "topic": "t",
        "partition": 0,
        "records": 1,
        "bytes": 100,
        "error_code": 0,
        "throttle_time_ms": 0,
        "attempt": 1,
        "status": "responded",
        "kind": "new",
        "base_offset": event_id,
        "mutations": 0,
        "early_us": 0,
        "node": 1,
        "worker_cpu_us": 5,
        "worker_wall_us": 10,
        **changes,
    }
