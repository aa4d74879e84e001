"""Spark finds each way in which transactions are not exactly once, end to end."""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from loadgen.analysis.checks import END_TO_END_CHECK
from loadgen.analysis.committed_offsets import CommittedOffset, committed_offsets
from loadgen.analysis.read_back import ARROW_SCHEMA as STORED_SCHEMA
from loadgen.analysis.summary import RunData, summarise
from loadgen.analysis.transactions import (
    TRANSACTION_QUERIES,
    open_transaction_views,
    transaction_verdicts,
)
from loadgen.plan.plan import Plan, Tenant
from loadgen.plan.plan_file import parse_plan
from loadgen.preparation import prepare
from loadgen.rows import ARROW_SCHEMA
from tests.loadgen.runs import Row, committed_rows, numbered_name, run_and_prepare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = {
    "good": "2 committed, 0 not complete, 0 read twice, 0 not committed and read, 0 read in part",
    "lost and read": "1 committed, 0 not complete",
    "lost and not read": "1 committed, 0 not complete",
    "none": "0 committed",
    "incomplete": "1 not complete",
    "twice": "1 read twice",
    "aborted and read": "1 not committed and read",
    "in part": "1 read in part",
}
"""What each tenant's verdict says."""
BILLS = {
    "bills": "2 consumed, 0 not produced, 0 produced twice, 0 produced without their offset",
    "not produced": "1 not produced",
    "produced twice": "1 produced twice",
    "without offset": "1 produced without their offset",
}
PASSED = {"good", "lost and read", "lost and not read", "bills"}


def ends(tenant: str, *kinds: tuple[str, str]) -> list[Row]:
    """Return a tenant's EndTxn, one for each of its events: kind and status."""
    first = 10 * list({**ORDERS, **BILLS}).index(tenant)
    row = {"tenant": tenant, "api": "EndTxn"}
    return [
        {
            **row,
            "event_id": first + number,
            "kind": kind,
            "status": status,
            "error_code": 0 if status == "responded" else None,
        }
        for number, (kind, status) in enumerate(kinds)
    ]


def read(tenant: str, *numbers: tuple[int, int]) -> list[Row]:
    """Return records that are read: event of the tenant, number in it."""
    first = 10 * list({**ORDERS, **BILLS}).index(tenant)
    row = {"topic": "shop", "partition": 0, "base_offset": 0, "records": 1}
    return [{**row, "event_id": first + event, "number": number} for event, number in numbers]


def billed(tenant: str, *source_offsets: int) -> list[Row]:
    """Return records of the first event of a tenant, by what they were made of."""
    [row] = read(tenant, (0, 0))
    bill = {**row, "topic": "out", "source_partition": 0}
    return [{**bill, "source_offset": offset} for offset in source_offsets]


COMMIT, ABORT, LOST = ("commit", "responded"), ("abort", "responded"), ("commit", "lost")
WHOLE, NEXT = ((0, 0), (0, 1)), ((1, 0), (1, 1))
RESULTS = [
    *ends("good", COMMIT, COMMIT, ABORT),
    *ends("lost and read", COMMIT, LOST),
    *ends("lost and not read", COMMIT, LOST),
    *ends("incomplete", COMMIT),
    *ends("twice", COMMIT),
    *ends("aborted and read", COMMIT, ABORT),
    *ends("in part", COMMIT, LOST),
    *(row for tenant in BILLS for row in ends(tenant, COMMIT)),
]
STORED = [
    # The source of all bills: offsets 2 and 3, and 4 that nobody has consumed.
    {"topic": "orders", "partition": 0, "base_offset": 2, "records": 3},
    *read("good", *WHOLE, *NEXT),
    *read("lost and read", *WHOLE, *NEXT),
    *read("lost and not read", *WHOLE),
    *read("incomplete", (0, 1)),
    *read("twice", *WHOLE, (0, 1)),
    *read("aborted and read", *WHOLE, (1, 0)),
    *read("in part", *WHOLE, (1, 0)),
    *billed("bills", 2, 3),
    *billed("not produced", 3),
    *billed("produced twice", 2, 3, 2),
    *billed("without offset", 2, 3, 4),
]


def test_each_violation_is_found_and_nothing_else(spark: "SparkSession", tmp_path: Path) -> None:
    tenants = [Tenant(name, "transactional", name, batches=2) for name in ORDERS]
    tenants += [
        Tenant(name, "consume-transform-produce", name, topic="out", source="orders")
        for name in BILLS
    ]
    plan = Plan(name="p", duration_s=10.0, tenants=tuple(tenants))
    for name, rows, schema in (
        ("results", RESULTS, ARROW_SCHEMA),
        ("read_back", STORED, STORED_SCHEMA),
    ):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema), path)
        spark.read.parquet(str(path)).coalesce(1).createOrReplaceTempView(name)
    open_transaction_views(spark, plan, [CommittedOffset(name, 0, 4) for name in BILLS])
    found = {
        name: [row.asDict() for row in spark.sql(sql).collect()]
        for name, sql in TRANSACTION_QUERIES.items()
    }
    for verdict in transaction_verdicts(plan, found):
        name = verdict.scope.removeprefix("tenant ")
        assert {**ORDERS, **BILLS}[name] in verdict.details, verdict
        expected = "not checked" if name == "none" else "failed"
        assert verdict.verdict == ("passed" if name in PASSED else expected), verdict


def test_spark_finds_the_duplicates_of_clients_without_transactions(
    spark: "SparkSession", servers: str, tmp_path: Path
) -> None:
    orders, invoices = numbered_name(), numbered_name()
    every = "abort_every: 3, crash_every: 4"
    plan = parse_plan(
        "duration_s: 1\ndrain_s: 3\n"
        f"topics: [{{name: {orders}, partitions: 2}}, {{name: {invoices}, partitions: 2}}]\n"
        "tenants:\n"
        f"  - {{name: shop, behaviour: transactional, topic: {orders}, rate: 30, {every}}}\n"
        f"  - {{name: careless shop, behaviour: transactional, topic: {orders}, rate: 30,"
        f" transactions: false, {every}}}\n"
        f"  - {{name: billing, behaviour: consume-transform-produce, source: {orders},"
        f" topic: {invoices}, rate: 20, records: 5, {every}}}\n"
        f"  - {{name: careless billing, behaviour: consume-transform-produce, source: {orders},"
        f" topic: {invoices}, rate: 20, records: 5, transactions: false, {every}}}\n",
        "p.yaml",
    )
    target = prepare(plan, "t", servers, sets_quotas=False)
    rows, spec = run_and_prepare(plan, servers)
    results, read_back = tmp_path / "results", tmp_path / "read-back"
    pq.write_table(pa.Table.from_pylist(rows, ARROW_SCHEMA), results)
    pq.write_table(pa.Table.from_pylist(committed_rows(spec), STORED_SCHEMA), read_back)
    offsets = committed_offsets(spec)
    data = RunData(plan, target, str(results), str(read_back), committed_offsets=offsets)
    verdicts = {
        verdict["scope"]: verdict["verdict"]
        for verdict in summarise(spark, data).summary["verdicts"]
        if verdict["check"] == END_TO_END_CHECK
    }
    assert verdicts == {
        "tenant shop": "passed",
        "tenant careless shop": "failed",
        "tenant billing": "passed",
        "tenant careless billing": "failed",
    }
