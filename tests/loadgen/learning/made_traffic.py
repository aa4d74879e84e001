"""Make the trace of a plan: what brokers would see of its schedule, without a run."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from loadgen.clients.produce_frames import record_batch
from loadgen.learning.traffic import Traffic
from loadgen.plan.plan import Plan, Tenant
from loadgen.plan.plan_file import parse_plan
from loadgen.plan.schedule import event_counts, events, first_clients
from loadgen.traces.trace_file import DEFAULTS, SCHEMA

Row = dict[str, Any]
ZERO_US = 1_800_000_000_000_000
"""Time zero of the plans in the traces."""


def plan_of(*tenants: str, duration_s: float = 20.0) -> Plan:
    """Return a plan with a topic `t` of six partitions and these tenants (YAML)."""
    listed = "".join(f"  - {{{tenant}}}\n" for tenant in tenants)
    return parse_plan(
        f"duration_s: {duration_s}\ntopics: [{{name: t, partitions: 6}}]\ntenants:\n{listed}", "p"
    )


def traffic_of(rows: Iterable[Row]) -> Traffic:
    """Return a trace with these rows; missing columns have their defaults."""
    table = pa.Table.from_pylist([{**DEFAULTS, **row} for row in rows], schema=SCHEMA)
    return Traffic(table)


def rows_of(plan: Plan) -> list[Row]:
    """Return the rows of a plan's events, each batch a millisecond after the one before it."""
    found: list[Row] = []
    ids = iter(range(10**6))
    first = 0
    for tenant, count, base in zip(
        plan.tenants, event_counts(plan), first_clients(plan), strict=True
    ):
        batch = events(plan, np.arange(first, first + count, dtype=np.int64)).to_pylist()
        first += count
        producers: dict[int, int] = {}
        for event in sorted(batch, key=lambda row: row["t_us"]):
            found += _of_event(tenant, event, event["client"] - base, producers, ids)
    return found


def _of_event(
    tenant: Tenant, event: Row, client: int, producers: dict[int, int], ids: Any
) -> list[Row]:
    row = {
        "time_us": ZERO_US + event["t_us"],
        "user": tenant.principal,
        "client_id": f"{tenant.client_id}-{client}",
        "connection": f"{tenant.name} {client}",
    }
    if tenant.behaviour == "topic-creator":
        topics = tenant.topics_per_request
        mutations = topics * tenant.partitions
        return [{**row, "api": "CreateTopics", "topics": topics, "mutations": mutations}]
    sizes = tenant.record_sizes
    row |= {
        "api": "Produce",
        "topic": tenant.topic,
        "partition": client % 6,
        "records": tenant.records,
        "batch_bytes": len(record_batch(tenant.records, sizes[event["salt"] % len(sizes)], 0)[0]),
    }
    if tenant.behaviour == "steady":
        producer_id = producers.setdefault(client, next(ids)) if tenant.idempotent else -1
        return [{**row, "producer_id": producer_id}]
    if tenant.behaviour == "new-producer-per-error":
        had_producer = client in producers
        found = [{**row, "producer_id": producers.setdefault(client, next(ids))}]
        if had_producer and event["salt"] % tenant.error_every == 0:
            producers[client] = next(ids)
            found.append({**row, "producer_id": producers[client]})
        return found
    producer_id = next(ids)
    if tenant.behaviour == "restart-loop":
        row["connection"] = f"{tenant.name} {event['event_id']}"
    count = tenant.batches if tenant.behaviour == "restart-loop" else 1
    return [
        {**row, "producer_id": producer_id, "time_us": row["time_us"] + number * 1000}
        for number in range(count)
    ]
