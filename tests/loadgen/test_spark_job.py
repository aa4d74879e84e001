"""The Spark job: schedule, one load, results."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

from loadgen.plan import schedule
from loadgen.plan.plan_file import load_plan
from loadgen.plan.run_spec import RunSpec
from loadgen.preparation import prepare
from loadgen.spark_job import run_load
from loadgen.storage import Storage
from tests.loadgen.runs import endings, events_of, of_api, plan_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_spark_computes_the_same_schedule_with_any_number_of_partitions(
    spark: "SparkSession",
) -> None:
    plan = load_plan("mixed-tenants")
    ids = np.arange(sum(schedule.event_counts(plan)), dtype=np.int64)
    expected = schedule.events(plan, ids).to_pylist()
    for partitions in (1, 3):
        found = [row.asDict() for row in schedule.schedule(spark, plan, partitions).collect()]
        assert sorted(found, key=lambda row: row["event_id"]) == expected


def test_the_schedule_of_the_driver_is_that_of_spark(spark: "SparkSession", tmp_path: Path) -> None:
    plan = load_plan("mixed-tenants")
    (tmp_path / "schedule.parquet").write_bytes(schedule.file_of(schedule.all_events(plan)))
    schedule.schedule(spark, plan, 2).write.parquet(str(tmp_path / "of-spark"))
    here, there = (
        spark.read.parquet(str(tmp_path / name)) for name in ("schedule.parquet", "of-spark")
    )
    assert here.schema == there.schema
    assert here.exceptAll(there).count() == there.exceptAll(here).count() == 0


def test_two_workers_send_each_event_once(
    spark: "SparkSession", servers: str, tmp_path: Path
) -> None:
    # The fourth client has no event.
    plan = plan_of(
        "[{name: a, behaviour: steady, topic: t, clients: 3, rate: 200},"
        " {name: b, behaviour: steady, topic: t, clients: 1, rate: 1, start_s: 0.4}]"
    )
    topology = prepare(plan, "r", servers, sets_quotas=False).topology
    run_load(spark, RunSpec("r", plan, topology, workers=2), Storage(str(tmp_path)))
    rows = pq.read_table(tmp_path / "results").to_pylist()
    produce = of_api(rows, "Produce")
    count = sum(batch.num_rows for batch in events_of(plan))
    assert sorted(row["event_id"] for row in produce) == list(range(count))
    assert endings(produce) == {("responded", "new", 0): count}
    assert {(row["worker"], row["client"] % 2) for row in produce} == {(0, 0), (1, 1)}
    assert {row["run"] for row in rows} == {"r"}
    intended = {row["event_id"]: row["intended_us"] for row in produce}
    for batch in events_of(plan):
        for event in batch.to_pylist():
            assert intended[event["event_id"]] == event["t_us"]
