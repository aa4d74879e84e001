"""Make traffic from lists."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from loadgen.quota_trials.traffic import FETCH, PRODUCE, TOPICS, Traffic

CLIENTS = [("alice", "a"), ("bob", "b"), ("carol", "c")]


def traffic(rows: Sequence[dict[str, Any]]) -> Traffic:
    """Return the traffic of these rows; their keys are the fields of `Traffic`."""

    def column(name: str, default: int) -> Any:
        return np.array([row.get(name, default) for row in rows], np.int64)

    client = column("client", 0)
    return Traffic(
        source="<made>",
        clients=CLIENTS,
        time_ms=column("time_ms", 0),
        client=client,
        connection=client,
        broker=column("broker", 1),
        api=column("api", PRODUCE),
        size_bytes=column("size_bytes", 100),
        producer_id=column("producer_id", -1),
        topics=column("topics", 1),
        mutations=column("mutations", 0),
    )


def produce(time_ms: int, size_bytes: int = 100, **fields: Any) -> dict[str, Any]:
    """Return a Produce request."""
    return {"time_ms": time_ms, "size_bytes": size_bytes, "api": PRODUCE, **fields}


def fetch(time_ms: int, size_bytes: int, **fields: Any) -> dict[str, Any]:
    """Return a Fetch request by the size of its response."""
    return {"time_ms": time_ms, "size_bytes": size_bytes, "api": FETCH, **fields}


def topics(time_ms: int, *partitions: int, **fields: Any) -> dict[str, Any]:
    """Return a request that creates topics with equally many partitions."""
    counts = {"topics": len(partitions), "mutations": sum(partitions)}
    return {"time_ms": time_ms, "api": TOPICS, **counts, **fields}
