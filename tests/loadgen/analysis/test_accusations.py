"""What every behaviour writes is judged by real runs, in which losses and duplicates are planted.

A run without any fails no check. Of a run with one loss and one duplicate for each tenant exactly
these are named.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from loadgen.analysis.checks import END_TO_END_CHECK
from loadgen.analysis.committed_offsets import CommittedOffset, committed_offsets
from loadgen.analysis.read_back import ARROW_SCHEMA as STORED_SCHEMA
from loadgen.analysis.summary import RunData, summarise
from loadgen.expected_answers import ACKNOWLEDGED
from loadgen.plan.plan import BEHAVIOURS, REPLAYED, Plan, Tenant, Topic
from loadgen.plan.replayed_batch import packed
from loadgen.plan.run_spec import PreparedTarget, RunSpec
from loadgen.plan.schedule import event_counts
from loadgen.preparation import prepare
from loadgen.rows import ARROW_SCHEMA
from mock_kafka import MockKafka
from tests.loadgen.runs import Row, committed_rows, events_of, run_on

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

FILLER = "filler"
"""The tenant that writes the source of the consuming one."""
BATCHED = sorted(
    name
    for name, options in BEHAVIOURS.items()
    if ("records" in options and "transactions" not in options) or name == REPLAYED
)
BY_RECORD = sorted(name for name, options in BEHAVIOURS.items() if "transactions" in options)
RECORDS, PARTITIONS = 5, 3


def tenant_of(behaviour: str) -> Tenant:
    """Return a tenant whose producers soon send for the 256th time, and let the sender run."""
    return Tenant(
        behaviour,
        behaviour,
        topic=behaviour,
        clients=2,
        rate=150.0 if behaviour == "delivery-timeout" else 30.0,
        records=RECORDS,
        record_bytes=200,
        error_every=5,
        abort_every=3,
        crash_every=4,
        source=FILLER if "source" in BEHAVIOURS[behaviour] else "",
    )


def plan_of_all() -> Plan:
    tenants = [tenant_of(name) for name in (*BATCHED, *BY_RECORD)]
    tenants.append(Tenant(FILLER, "steady", topic=FILLER, rate=100.0))
    topics = [Topic(tenant.topic, PARTITIONS) for tenant in tenants]
    return Plan(name="all", duration_s=1.0, tenants=tuple(tenants), topics=tuple(topics))


def schedule_of(plan: Plan) -> list[pa.RecordBatch]:
    """Return the schedule, with batches in the salts of the replayed events."""
    index = [tenant.name for tenant in plan.tenants].index(REPLAYED)
    table = pa.Table.from_batches(events_of(plan))
    is_replayed = table.column("tenant").to_numpy() == index
    count = int(is_replayed.sum())

    def repeated(value: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.full(count, value, np.int64)

    salts = table.column("salt").to_numpy().copy()
    salts[is_replayed] = packed(
        np.arange(count) % 4 == 0,
        repeated(RECORDS),
        repeated(200),
        np.arange(count, dtype=np.int64) % PARTITIONS,
        repeated(index),
    )
    position = table.schema.get_field_index("salt")
    batches: list[pa.RecordBatch] = table.set_column(
        position, table.schema.field(position), pa.array(salts)
    ).to_batches()
    return batches


class Ran(NamedTuple):
    """A run of the plan on a broker, with what the topics have afterwards."""

    plan: Plan
    target: PreparedTarget
    rows: list[Row]
    stored: list[Row]
    offsets: list[CommittedOffset]


@pytest.fixture(scope="module")
def ran() -> Iterator[Ran]:
    plan = plan_of_all()
    with MockKafka(config={"group.initial.rebalance.delay.ms": 0}) as kafka:
        target = prepare(plan, "all", kafka.bootstrap_servers, sets_quotas=False)
        batches = run_on(plan, "all", target, schedule_of(plan))
        rows = [row for batch in batches for row in batch.to_pylist()]
        spec = RunSpec("all", plan, target.topology)
        yield Ran(plan, target, rows, committed_rows(spec), list(committed_offsets(spec)))


@pytest.fixture
def judge(
    spark: "SparkSession", ran: Ran, tmp_path: Path
) -> Callable[[list[Row]], dict[str, tuple[str, str]]]:
    """Return the verdict and the details of each tenant for what the topics have."""

    def run(stored: list[Row]) -> dict[str, tuple[str, str]]:
        results, read_back = tmp_path / "results.parquet", tmp_path / "read.parquet"
        pq.write_table(pa.Table.from_pylist(ran.rows, ARROW_SCHEMA), results)
        pq.write_table(pa.Table.from_pylist(stored, STORED_SCHEMA), read_back)
        data = RunData(
            ran.plan, ran.target, str(results), str(read_back), committed_offsets=ran.offsets
        )
        return {
            verdict["scope"].removeprefix("tenant "): (verdict["verdict"], verdict["details"])
            for verdict in summarise(spark, data).summary["verdicts"]
            if "stored" in verdict["check"] or verdict["check"] == END_TO_END_CHECK
        }

    return run


PLACE = ("event_id", "topic", "partition", "producer_id", "epoch", "sequence")


def place_of(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in PLACE)


def planted(ran: Ran, tenant: str) -> tuple[Row, Row]:
    """Return what to remove and what to store again of a tenant."""
    stored = [row for row in ran.stored if row["topic"] == tenant]
    if tenant in BY_RECORD:
        # The source must have been consumed; of a committed event, whose records are all read.
        lost, again = stored[0], stored[-1]
        assert lost["event_id"] != again["event_id"]
        return lost, again
    acknowledged = {
        place_of(row)
        for row in ran.rows
        if row["api"] == "Produce" and row["error_code"] in ACKNOWLEDGED and row["tenant"] == tenant
    }
    found = [row for row in stored if place_of(row) in acknowledged]
    return found[0], found[-1]


def test_a_run_without_faults_is_accused_of_nothing(
    ran: Ran, judge: Callable[[list[Row]], dict[str, tuple[str, str]]]
) -> None:
    found = judge(ran.stored)
    assert {tenant: verdict for tenant, (verdict, _) in found.items()} == dict.fromkeys(
        (*BATCHED, *BY_RECORD, FILLER), "passed"
    )
    # The point of this run: the producer cut batches between the records of an event.
    parts = [row["records"] for row in ran.stored if row["topic"] == "delivery-timeout"]
    assert set(parts) > {RECORDS}
    assert sum(parts) == RECORDS * event_counts(ran.plan)[BATCHED.index("delivery-timeout")]


def test_exactly_what_was_planted_is_named(
    ran: Ran, judge: Callable[[list[Row]], dict[str, tuple[str, str]]]
) -> None:
    clean = judge(ran.stored)
    stored = list(ran.stored)
    for tenant in (*BATCHED, *BY_RECORD):
        lost, again = planted(ran, tenant)
        stored.remove(lost)
        stored.append({**again, "base_offset": 10**6})
    expected = {FILLER: clean[FILLER]}
    for tenant in BATCHED:
        details = clean[tenant][1].replace("0 missing, 0 stored", "1 missing, 1 stored")
        expected[tenant] = ("failed", details)
    for tenant in BY_RECORD:
        details = clean[tenant][1].replace("0 not complete, 0 read", "1 not complete, 1 read")
        details = details.replace("0 not produced, 0 produced", "1 not produced, 1 produced")
        expected[tenant] = ("failed", details)
    assert judge(stored) == expected


def test_every_behaviour_that_writes_records_is_judged() -> None:
    writes_none = {
        name
        for name in BEHAVIOURS
        if name.startswith("topic-") or name in {"consumer-group", "share-group", "admin"}
    }
    assert {*BATCHED, *BY_RECORD, *writes_none, "connection-storm"} == set(BEHAVIOURS)
