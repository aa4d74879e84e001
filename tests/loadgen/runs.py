"""Run plans without Spark, with one worker; rows are dictionaries."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from loadgen.analysis.read_back import partition_batches
from loadgen.plan import schedule
from loadgen.plan.plan import Plan
from loadgen.plan.plan_file import parse_plan
from loadgen.plan.run_spec import PreparedTarget, RunSpec
from loadgen.preparation import prepare
from loadgen.receipts import RECEIPTS
from loadgen.rows import ARROW_SCHEMA, RESULTS
from loadgen.storage import Storage
from loadgen.worker.worker import work

Row = dict[str, Any]

_numbers = count()


def numbered_name() -> str:
    """Return a topic name that no other test has."""
    return f"t{next(_numbers)}"


def plan_of(text: str, duration_s: float = 0.5) -> Plan:
    """Return a plan with the topic `t`, of four partitions, and these tenants (YAML)."""
    numbered = numbered_name()
    return parse_plan(
        f"duration_s: {duration_s}\ndrain_s: 3\ntopics: [{{name: {numbered}, partitions: 4}}]\n"
        f"tenants: {text.replace('topic: t', f'topic: {numbered}')}\n",
        "test.yaml",
    )


def events_of(plan: Plan) -> list[pa.RecordBatch]:
    """Return the complete schedule in the order of time."""
    ids = np.arange(sum(schedule.event_counts(plan)), dtype=np.int64)
    batches: list[pa.RecordBatch] = (
        pa.Table.from_batches([schedule.events(plan, ids)])
        .sort_by([("t_us", "ascending"), ("event_id", "ascending")])
        .to_batches()
    )
    return batches


def run(plan: Plan, servers: str, **spec_fields: Any) -> list[Row]:
    """Prepare the cluster, run the plan in this process, and return its rows."""
    run_id = f"r{next(_numbers)}"
    found = prepare(plan, run_id, servers, sets_quotas=True)
    batches = run_on(plan, run_id, found, **spec_fields)
    return [row for batch in batches for row in batch.to_pylist()]


def run_and_prepare(plan: Plan, servers: str) -> tuple[list[Row], RunSpec]:
    """Prepare the cluster and run the plan; return its rows and what the driver knows of it."""
    run_id = f"r{next(_numbers)}"
    found = prepare(plan, run_id, servers, sets_quotas=True)
    rows = [row for batch in run_on(plan, run_id, found) for row in batch.to_pylist()]
    return rows, RunSpec(run_id, plan, found.topology)


def committed_rows(spec: RunSpec) -> list[Row]:
    """Return what a read_committed consumer reads of all topics."""
    return [
        row
        for topic, leaders in spec.topology.leaders.items()
        for partition in range(len(leaders))
        for batch in partition_batches(spec, topic, partition)
        for row in batch.to_pylist()
    ]


def run_on(
    plan: Plan,
    run_id: str,
    found: PreparedTarget,
    events: list[pa.RecordBatch] | None = None,
    **spec_fields: Any,
) -> Iterator[pa.RecordBatch]:
    """Run the plan in this process on a cluster that was prepared for it under this name.

    `events` is by default the schedule of the plan.
    """
    spec = RunSpec(run_id, plan, found.topology, lead_s=0.05, **spec_fields)
    with TemporaryDirectory() as folder:
        work(spec, Storage(folder), 0, iter(events or events_of(plan)), lambda word: [word])
        yield from written_rows(folder).to_batches()


def received(plan: Plan, servers: str) -> tuple[list[Row], list[Row]]:
    """Prepare the cluster and run the plan; return its rows and the receipts of its groups."""
    run_id = f"r{next(_numbers)}"
    spec = RunSpec(run_id, plan, prepare(plan, run_id, servers, sets_quotas=True).topology)
    spec = replace(spec, lead_s=0.05)
    with TemporaryDirectory() as folder:
        work(spec, Storage(folder), 0, iter(events_of(plan)), lambda word: [word])
        files = sorted(Path(folder, *spec.folder(RECEIPTS)).iterdir())
        receipts = [
            row for file in files for row in pq.read_table(file, partitioning=None).to_pylist()
        ]
        return written_rows(folder).to_pylist(), receipts


def written_rows(folder: object) -> pa.Table:
    """Return the rows that workers have written below a folder."""
    files = sorted(Path(str(folder)).glob(f"{RESULTS}/run=*/part-*.parquet"))
    tables = [pq.read_table(file, partitioning=None) for file in files]
    return pa.concat_tables(tables) if tables else ARROW_SCHEMA.empty_table()


def of_api(rows: list[Row], api: str, tenant: str | None = None) -> list[Row]:
    """Return the rows of one API."""
    return [row for row in rows if row["api"] == api and tenant in {None, row["tenant"]}]


def endings(rows: list[Row]) -> Mapping[tuple[str, str, int | None], int]:
    """Return the number of rows by status, kind and error code."""
    return Counter((row["status"], row["kind"], row["error_code"]) for row in rows)
