"""Spark SQL over hand-made rows: every check can pass and fail."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from client.resources import Address
from loadgen.admin_port import AdminPort
from loadgen.analysis.checks import DUPLICATES_CHECK, THIS_RUN
from loadgen.analysis.read_back import ARROW_SCHEMA as STORED_SCHEMA
from loadgen.analysis.read_back import partition_batches
from loadgen.analysis.run_sums import RunSums
from loadgen.analysis.summary import (
    ORDERS,
    RunData,
    _ordered,
    _rows_of,
    summarise,
)
from loadgen.plan.plan import Plan, Quota, Tenant
from loadgen.plan.plan_file import load_plan, parse_plan
from loadgen.plan.run_spec import PreparedTarget, RunSpec, Topology
from loadgen.preparation import prepare
from loadgen.rows import ARROW_SCHEMA
from mock_kafka import MockKafka
from tests.loadgen.result_rows import row
from tests.loadgen.runs import run_on
from tests.loadgen.summaries import CONFIG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TENANTS = (
    Tenant("writer", "steady", "writer"),
    Tenant("deaf", "steady", "deaf", obeys_throttle=False),
    Tenant("again", "retries-lost-responses", "again"),
    Tenant("late", "delivery-timeout", "late", delivery_timeout_ms=1000),
    Tenant("maker", "topic-creator", "maker", partitions=4),
)
QUOTAS = (
    Quota({"user": "ANONYMOUS"}, "producer_ids_rate", 2.0),
    Quota({"client-id": "maker"}, "controller_mutation_rate", 1.0),
)
PLAN = Plan(name="p", duration_s=10.0, tenants=TENANTS, quotas=QUOTAS)
SECOND = 1_000_000
MIXED = """\
duration_s: 0.5
drain_s: 1
topics: [{name: t, partitions: 2}]
quotas:
  - {user: wasteful, producer_ids_rate: 3}
  - {user: again, producer_ids_rate: 1000}
  - {user: maker, controller_mutation_rate: 1}
tenants:
  - {name: wasteful, user: wasteful, password: w, mechanism: PLAIN, topic: t,
     behaviour: new-producer-per-batch, rate: 40}
  - {name: again, user: again, password: a, mechanism: PLAIN, topic: t,
     behaviour: retries-lost-responses, kinds: [latest], rate: 20}
  - {name: late, user: late, password: l, mechanism: PLAIN, topic: t,
     behaviour: delivery-timeout, rate: 20, delivery_timeout_ms: 10000}
  - {name: maker, user: maker, password: m, mechanism: PLAIN,
     behaviour: topic-creator, rate: 20, topics_per_request: 2, retries: 0}
"""
Row = dict[str, Any]
Verdicts = dict[tuple[str, str], str]


def stored(*rows: Row) -> list[Row]:
    return [{name: row.get(name) for name in STORED_SCHEMA.names} for row in rows]


@pytest.fixture
def judge(spark: "SparkSession", tmp_path: Path) -> Callable[..., dict[str, Any]]:
    def run(
        rows: list[Row], in_topic: list[Row] | None = None, ended_us: int | None = None
    ) -> dict[str, Any]:
        in_topic = stored(*rows) if in_topic is None else in_topic
        results, read_back = tmp_path / "results.parquet", tmp_path / "read.parquet"
        pq.write_table(pa.Table.from_pylist(rows, ARROW_SCHEMA), results)
        pq.write_table(pa.Table.from_pylist(in_topic, STORED_SCHEMA), read_back)
        target = PreparedTarget(Topology({1: Address("h", 1)}, 1, {}), CONFIG)
        data = RunData(PLAN, target, str(results), str(read_back), ended_us)
        return summarise(spark, data).summary

    return run


def verdicts(summary: dict[str, Any]) -> Verdicts:
    return {
        (verdict["check"].split(":")[0].split(",")[0], verdict["scope"]): verdict["verdict"]
        for verdict in summary["verdicts"]
    }


ONCE, IDS, MUTATIONS = "acknowledged batches are stored", "new producer ids", "topic mutations"


def test_a_good_run_passes_every_check(judge: Callable[..., dict[str, Any]]) -> None:
    made = {"api": "CreateTopics", "producer_id": None, "topic": "x", "partition": None}
    lost = {"status": "lost", "response_us": None, "error_code": None}
    rows = [
        *(row(number) for number in range(4)),
        row(10, "deaf", throttle_time_ms=50),
        row(11, "deaf", early_us=30_000, response_us=11_000 + 30_000),
        row(20, "again", **lost),
        row(20, "again", attempt=2, kind="latest", error_code=46),
        row(30, "late", status="expired", response_us=30_000 + SECOND + 50_000, error_code=None),
        row(40, "maker", mutations=11, **made),
        row(-1, "writer", api="JoinGroup", error_code=79, sent_us=50_000, producer_id=None),
    ]
    in_topic = stored(*rows[:6], rows[7])
    summary = judge(rows, in_topic)
    assert verdicts(summary) == {
        (IDS, "user ANONYMOUS at broker 1"): "passed",
        (MUTATIONS, "tenants maker"): "passed",
        ("throttles", "tenant deaf"): "passed",
        (DUPLICATES_CHECK, "latest"): "passed",
        ("reported within delivery.timeout.ms=1000", "tenant late"): "passed",
        (ONCE, "tenant writer"): "passed",
        (ONCE, "tenant deaf"): "passed",
        (ONCE, "tenant again"): "passed",
        (ONCE, "tenant late"): "not checked",
        ("load generator", "this run"): "passed",
    }
    assert summary["totals"] == {
        "requests": 11,
        "responded": 9,
        "no_response": 0,
        "lost": 1,
        "not_sent": 0,
        "not_due": 0,
        "expired": 1,
        "errors": 0,
        "throttled": 1,
        "end_us": 30_000 + SECOND + 50_000,
    }
    [writer] = [tenant for tenant in summary["tenants"] if tenant["tenant"] == "writer"]
    assert (writer["events"], writer["completed"], writer["response_max_us"]) == (4, 4, 500)
    # Each of the writer's four batches has one record and a request of 100 bytes; in ten seconds.
    assert (writer["records_per_s"], writer["mb_per_s"]) == (0.4, 0.0)
    assert summary["records_per_s"] == 0.7
    assert writer["response_us"] == [pytest.approx(500.0, rel=0.005)] * 5
    assert summary["throttles"] == [
        {
            "tenant": "deaf",
            "throttled": 1,
            "throttle_total_ms": 50,
            "throttle_max_ms": 50,
            "sent_early": 1,
            "early_max_us": 30_000,
            "responded_early": 0,
        }
    ]
    assert summary["workers"] == [{"worker": 0, "cpu_us": 5, "wall_us": 10, "rows": 11}]


@pytest.mark.parametrize(
    ("sent", "in_topic", "details"),
    [
        pytest.param(
            [{}, {"sequence": 2}, {"sequence": 3}],
            [{}, {"sequence": 2}, {"sequence": 3}, {"sequence": 3}],
            "3 acknowledged, 0 missing, 1 stored twice",
            id="an event of several batches",
        ),
        pytest.param(
            [{}],
            [{"partition": 1}],
            "1 acknowledged, 1 missing, 1 stored twice",
            id="in another partition",
        ),
        pytest.param(
            [{}], [{}, {"producer_id": 8}], "1 acknowledged, 0 missing, 0 stored twice",
            id="a batch of another client",
        ),
        pytest.param(
            [{"status": "lost", "response_us": None, "error_code": None}, {"attempt": 2}],
            [{}],
            "1 acknowledged, 0 missing, 0 stored twice",
            id="sent twice and stored once",
        ),
    ],
)  # fmt: skip
def test_each_batch_is_looked_for_at_its_place(
    judge: Callable[..., dict[str, Any]], sent: list[Row], in_topic: list[Row], details: str
) -> None:
    rows = [row(1, "again", **{"sequence": 1, **changes}) for changes in sent]
    in_topic = [row(1, "again", **{"sequence": 1, **changes}) for changes in in_topic]
    summary = judge(rows, stored(*in_topic))
    [found] = [v["details"] for v in summary["verdicts"] if v["scope"] == "tenant again"]
    assert found == details


def test_batches_without_producer_id_are_known_by_their_offset(
    judge: Callable[..., dict[str, Any]],
) -> None:
    none: Row = {"producer_id": None, "epoch": None, "sequence": None}
    lost: Row = {"status": "lost", "response_us": None, "error_code": None, "base_offset": None}
    rows = [
        row(1, **none),
        row(2, **none, base_offset=9),
        row(3, **none, **lost),
        row(3, **none, attempt=2, base_offset=4),
    ]
    kept = [(1, 1), (3, 3), (3, 4)]
    in_topic = [
        row(event, producer_id=-1, epoch=-1, sequence=-1, base_offset=offset)
        for event, offset in kept
    ]
    summary = judge(rows, stored(*in_topic))
    [found] = [v["details"] for v in summary["verdicts"] if v["scope"] == "tenant writer"]
    assert found == "3 acknowledged, 1 missing, 1 stored twice"


def test_a_bad_run_fails_every_check(judge: Callable[..., dict[str, Any]]) -> None:
    made = {"api": "CreateTopics", "producer_id": None, "topic": "x", "partition": None}
    rows = [
        *(row(number, producer_id=number, submitted_us=9 * SECOND) for number in range(4)),
        row(10, "deaf", throttle_time_ms=50),
        row(11, "deaf", early_us=30_000),
        row(20, "again", attempt=2, kind="old", error_code=45),
        row(30, "late", status="expired", response_us=30_000 + 2 * SECOND, error_code=None),
        row(40, "maker", mutations=16, **made),
    ]
    twice = {**rows[4], "base_offset": 99}
    summary = judge(rows, stored(*rows[1:6], twice))
    found = verdicts(summary)
    assert {key: verdict for key, verdict in found.items() if verdict != "failed"} == {
        (ONCE, "tenant again"): "not checked",
        (ONCE, "tenant late"): "not checked",
    }
    assert len(found) == 10
    # An event that never completes counts until the end.
    [again] = [tenant for tenant in summary["tenants"] if tenant["tenant"] == "again"]
    assert (again["completed"], again["response_max_us"]) == (0, 10 * SECOND - 20_000)


def test_an_aborted_run_counts_only_the_time_until_its_end(
    judge: Callable[..., dict[str, Any]],
) -> None:
    rows = [
        row(0),
        row(1, status="no_response", response_us=None, error_code=None),
        row(2, status="not_sent", sent_us=2000, response_us=None, error_code=None),
        row(3, sent_us=-500),  # warm-up
    ]
    summary = judge(rows, ended_us=4 * SECOND)
    [writer] = summary["tenants"]
    assert (writer["events"], writer["completed"]) == (3, 1)
    assert writer["response_max_us"] == 4 * SECOND - 1000
    assert (summary["measured_s"], summary["responses_per_s"]) == (4.0, 0.2)
    # Each tenant has ten events; four of the writer's have rows.
    assert summary["totals"]["not_due"] == len(TENANTS) * 10 - 4


def test_a_run_with_shadow_quotas_reports_who_would_have_been_throttled(
    spark: "SparkSession", tmp_path: Path
) -> None:
    text = MIXED.replace("producer_ids_rate: 3", "producer_ids_rate: 3, shadow: true")
    plan = parse_plan(text.replace("rate: 1}", "rate: 1, shadow: true}"), "mixed.yaml")
    with MockKafka(config=plan.own_broker_config()) as kafka:
        port = AdminPort(kafka.admin_url)
        servers = kafka.bootstrap_servers
        target = prepare(plan, "r", servers, sets_quotas=True, admin_port=port)
        results = tmp_path / "results.parquet"
        pq.write_table(pa.Table.from_batches(run_on(plan, "r", target), ARROW_SCHEMA), results)
        report = port.shadow_report()
        summary = summarise(
            spark, RunData(plan, target, str(results), None, shadow_report=report)
        ).summary
    verdict_of = verdicts(summary)
    assert (IDS, "user wasteful at broker 1") not in verdict_of
    assert (MUTATIONS, "tenants maker") not in verdict_of
    assert verdict_of[IDS, "user again at broker 1"] == "passed"
    shadow = {scope: word for (check, scope), word in verdict_of.items() if "shadow" in check}
    assert shadow == {"user wasteful at broker 1": "not checked", "user maker": "not checked"}
    assert summary["throttles"] == []
    wasteful = next(row for row in summary["shadow_quotas"] if row["user"] == "wasteful")
    ids = {row["first_us"] for row in summary["series"]["ids"] if row["user"] == "wasteful"}
    assert wasteful["over_quota"] == len(ids) - 3
    assert wasteful["throttled"] + wasteful["held"] == len(ids) - 3


@pytest.mark.long
def test_the_same_seed_has_the_same_verdicts(spark: "SparkSession", tmp_path: Path) -> None:
    plan = parse_plan(MIXED, "mixed.yaml")
    verdicts_of_runs = []
    with MockKafka(config=plan.own_broker_config()) as kafka:
        for number in (1, 2):
            run_id = f"run{number}"
            target = prepare(plan, run_id, kafka.bootstrap_servers, sets_quotas=True)
            results, read_back = tmp_path / f"{number}.parquet", tmp_path / f"{number}.read.parquet"
            pq.write_table(
                pa.Table.from_batches(run_on(plan, run_id, target), ARROW_SCHEMA), results
            )
            spec = RunSpec(run_id, plan, target.topology)
            batches = [batch for index in range(2) for batch in partition_batches(spec, "t", index)]
            pq.write_table(pa.Table.from_batches(batches, STORED_SCHEMA), read_back)
            summary = summarise(spark, RunData(plan, target, str(results), str(read_back))).summary
            verdict_of = verdicts(summary)
            del verdict_of[("load generator", THIS_RUN)]  # depends on the machine
            verdicts_of_runs.append(verdict_of)
            kafka.reset()
    assert verdicts_of_runs[0] == verdicts_of_runs[1]
    assert verdicts_of_runs[0] == {
        (IDS, "user again at broker 1"): "passed",
        (IDS, "user wasteful at broker 1"): "passed",
        (MUTATIONS, "tenants maker"): "passed",
        ("throttles", "tenant wasteful"): "passed",
        ("throttles", "tenant maker"): "passed",
        (DUPLICATES_CHECK, "latest"): "passed",
        ("reported within delivery.timeout.ms=10000", "tenant late"): "passed",
        (ONCE, "tenant wasteful"): "passed",
        (ONCE, "tenant again"): "passed",
        (ONCE, "tenant late"): "passed",
    }


def test_rows_come_in_their_order_and_nothing_last() -> None:
    rows = [
        {"user": "b", "node": 1, "first_us": 5},
        {"user": "a", "node": 2, "first_us": 7},
        {"user": "a", "node": 2, "first_us": None},
        {"user": "a", "node": 1, "first_us": 9},
    ]
    table = pa.Table.from_pylist(rows)

    assert _ordered(table, ORDERS["ids"]) == [rows[3], rows[1], rows[2], rows[0]]
    assert _ordered(table, ()) == rows


def test_each_order_is_that_of_sums() -> None:
    plan = load_plan("mixed-tenants")
    run = RunSums(plan, 0, {})
    sums = run.finished(run.with_received(run.none()), 0)

    assert set(ORDERS) <= set(_rows_of(sums, plan))
