"""Read back the batches that were written since the start of the run."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from client import Producer
from client.errors import ClientError
from loadgen.analysis.read_back import ARROW_SCHEMA, RECORD, partition_batches, read_back
from loadgen.plan.run_spec import RunSpec
from loadgen.plan.schedule import event_counts
from loadgen.preparation import prepare
from loadgen.storage import Storage
from tests.loadgen.runs import Row, of_api, plan_of, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIELDS = ("topic", "partition", "base_offset", "producer_id", "epoch", "sequence", "event_id")


@pytest.mark.slow
def test_each_batch_is_read_with_its_producer_and_event(servers: str) -> None:
    plan = plan_of("[{name: a, behaviour: steady, topic: t, clients: 8, rate: 200, records: 3}]")
    before = prepare(plan, "r", servers, sets_quotas=False)
    sent = {tuple(row[field] for field in FIELDS) for row in of_api(run(plan, servers), "Produce")}
    spec = RunSpec("r", plan, before.topology)
    topic = plan.topics[0].name
    batches = [batch for index in range(4) for batch in partition_batches(spec, topic, index)]
    assert all(batch.schema == ARROW_SCHEMA for batch in batches)
    found = pa.Table.from_batches(batches).to_pylist()
    assert {tuple(row[field] for field in FIELDS) for row in found} == sent
    assert {row["records"] for row in found} == {3}
    # A later run does not see them.
    after = RunSpec("r", plan, prepare(plan, "r", servers, sets_quotas=False).topology)
    assert [list(partition_batches(after, topic, index)) for index in range(4)] == [[]] * 4


def test_the_driver_and_a_job_read_the_same_back(
    spark: "SparkSession", servers: str, tmp_path: Path
) -> None:
    plan = plan_of("[{name: a, behaviour: steady, topic: t, clients: 8, rate: 200}]")
    before = prepare(plan, "r", servers, sets_quotas=False)
    rows = run(plan, servers)
    spec = RunSpec("r", plan, before.topology)
    here, there = Storage(str(tmp_path / "here")), Storage(str(tmp_path / "there"))
    read_back(spark, spec, here, len(rows))
    read_back(spark, spec, there, None)
    found = [read_rows(storage, spec) for storage in (here, there)]
    assert len(found[0]) == len(of_api(rows, "Produce"))
    assert found[0] == found[1]
    assert [path.name for path in (tmp_path / "here/read-back/run=r").iterdir()] == [
        "part-00000.parquet"
    ]


def read_rows(storage: Storage, spec: RunSpec) -> list[Row]:
    batches = storage.batches(ARROW_SCHEMA.names, *spec.folder(RECORD))
    rows: list[Row] = [row for batch in batches for row in batch.to_pylist()]
    return sorted(rows, key=lambda row: (row["partition"], row["base_offset"]))


def test_reading_in_the_driver_can_be_cancelled(servers: str, tmp_path: Path) -> None:
    plan = plan_of("[{name: a, behaviour: steady, topic: t, rate: 100}]")
    before = prepare(plan, "r", servers, sets_quotas=False)
    run(plan, servers)
    spec = RunSpec("r", plan, before.topology)
    no_spark: Any = None
    with pytest.raises(ClientError, match="cancelled"):
        read_back(no_spark, spec, Storage(str(tmp_path)), 50, lambda: True)
    assert list((tmp_path / "read-back/run=r").iterdir()) == []


def test_a_partition_that_cannot_be_read_is_reported(servers: str) -> None:
    plan = plan_of("[{name: a, behaviour: steady, topic: t, rate: 1}]")
    topology = prepare(plan, "r", servers, sets_quotas=False).topology
    topic = plan.topics[0].name
    beyond = replace(topology, start_offsets={topic: {0: 1000}})
    with pytest.raises(ClientError, match=f"{topic}-0: error code 1"):
        list(partition_batches(RunSpec("r", plan, beyond), topic, 0))


async def send_with(servers: str, topic: str, partitions: int, times_ms: tuple[int, ...]) -> None:
    async with Producer(servers) as producer:
        for partition in range(partitions):
            for timestamp_ms in times_ms:
                await producer.send(
                    topic, b"of another client", partition=partition, timestamp_ms=timestamp_ms
                )


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", ["steady", "delivery-timeout", "transactional"])
def test_records_with_negative_timestamps_do_not_hinder_the_reading(
    servers: str, behaviour: str
) -> None:
    plan = plan_of(f"[{{name: a, behaviour: {behaviour}, topic: t, rate: 60, records: 2}}]")
    topic = plan.topics[0].name
    times_ms = (-1, -86_400_000, 0, 1_700_000_000_000, -1)
    spec = RunSpec("r", plan, prepare(plan, "r", servers, sets_quotas=False).topology)
    asyncio.run(send_with(servers, topic, 4, times_ms))
    run(plan, servers)
    asyncio.run(send_with(servers, topic, 4, times_ms))
    batches = [batch for index in range(4) for batch in partition_batches(spec, topic, index)]
    found = pa.Table.from_batches(batches).to_pylist()
    ids = {row["event_id"] for row in found}
    events = set(range(sum(event_counts(plan))))
    assert events <= ids
    of_load = sum(row["records"] for row in found if row["event_id"] in events)
    assert of_load >= 2 * len(events)
    assert sum(row["records"] for row in found) - of_load == 2 * 4 * len(times_ms)
