"""The rows of a run have the same sums however their files are shared between tasks and parts."""

import random
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from loadgen.analysis import run_sums
from loadgen.analysis.read_back import ARROW_SCHEMA as STORED_SCHEMA
from loadgen.analysis.row_sums import Sums
from loadgen.analysis.run_sums import READ_BACK, RECEIPTS, RESULTS, RunSums, Source, source_of
from loadgen.plan.plan import Plan, Tenant
from loadgen.receipts import ARROW_SCHEMA as RECEIPTS_SCHEMA
from loadgen.rows import ARROW_SCHEMA, EVENT_STEP
from loadgen.storage import Storage
from tests.loadgen.result_rows import row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000
PLAN = Plan(
    name="p",
    duration_s=65.0,
    tenants=(
        Tenant("writer", "steady", "writer", topic="t", rate=5.0),
        Tenant("again", "retries-lost-responses", "again", topic="t", rate=5.0),
        Tenant("reader", "consumer-group", group="g", topic="t"),
    ),
)
WINDOWS = (
    (0, "writer", 0, 20 * SECOND, 21 * SECOND, 30 * SECOND, False),
    (1, "again", 0, 40 * SECOND, 41 * SECOND, 45 * SECOND, False),
)
RUN = RunSums(PLAN, 65 * SECOND, {"ANONYMOUS": (3.0, 10.0)}, WINDOWS)
FILES = 7
Row = dict[str, Any]


def drawn(random_: random.Random) -> dict[str, list[Row]]:
    """Make the rows of a run: some batches are lost, sent again, stored twice or not at all."""
    results: list[Row] = []
    stored: list[Row] = []
    receipts: list[Row] = []
    for number in range(600):
        tenant = random_.choice(["writer", "again"])
        sent_us = random_.randrange(-SECOND, 65 * SECOND)
        event_id = number + random_.choice([0, 0, 5000 * EVENT_STEP])
        batch = row(
            event_id, tenant, sent_us=sent_us, topic="t", partition=number % 3, sequence=number,
            producer_id=random_.randrange(40), base_offset=number * 300_000,
            response_us=sent_us + random_.randrange(20 * SECOND), worker=number % 2,
        )  # fmt: skip
        if random_.random() < 0.2:
            lost = {"status": "lost", "response_us": None, "error_code": None, "base_offset": None}
            results.append({**batch, **lost})
            batch |= {"attempt": 2, "kind": "latest", "sent_us": sent_us + 3 * SECOND}
        if random_.random() < 0.9:
            results.append(batch)
        copies = random_.choices([0, 1, 2], [1, 20, 1])[0]
        stored += [{name: batch[name] for name in STORED_SCHEMA.names if name in batch}] * copies
    for number in range(40):
        first = number * 4_500_000
        receipts.append(
            {
                "worker": 0, "tenant": "reader", "client": 1, "topic": "t",
                "partition": random_.randrange(3), "received_us": random_.randrange(65 * SECOND),
                "first_offset": max(0, first - random_.randrange(900_000)),
                "next_offset": first + 4_500_000, "high_watermark": first + 4_500_000,
            }
        )  # fmt: skip
    return {RESULTS: results, READ_BACK: stored, RECEIPTS: receipts}


def sources_of(folder: Path, random_: random.Random) -> list[Source]:
    """Write the rows in files, in any order."""
    schemas = {RESULTS: ARROW_SCHEMA, READ_BACK: STORED_SCHEMA, RECEIPTS: RECEIPTS_SCHEMA}
    for name, rows in drawn(random_).items():
        (folder / name).mkdir()
        random_.shuffle(rows)
        for number in range(FILES):
            table = pa.Table.from_pylist(rows[number::FILES], schemas[name])
            pq.write_table(table, folder / name / f"part-00000-{number:06}.parquet")
    return [source_of(name, Storage(str(folder / name))) for name in schemas]


def in_parts(run: RunSums, sources: list[Source], tasks: int) -> Sums:
    """Do what a job does, in this process."""
    shares = [list(run_sums._shares(source, tasks)) for source in sources]
    found = [run_sums._of_sources(run, [share[task] for share in shares]) for task in range(tasks)]
    receipts = run.merged({"receipts": [sums.pop("receipts") for sums, _ in found]})
    found.append((run.with_received(receipts), run.measured_us))
    parts: defaultdict[int, list[Any]] = defaultdict(list)
    for task, (sums, end_us) in enumerate(found):
        for batch in run_sums._batches_of(run, sums, task, end_us):
            for found_row in zip(*batch.columns, strict=True):
                parts[found_row[0].as_py()].append(found_row)
    results: defaultdict[str, list[pa.Table]] = defaultdict(list)
    for of_part in parts.values():
        sums, end_us = run_sums._merged_part(run, of_part)
        for name, table in run.finished(sums, end_us).items():
            results[name].append(table)
    return run.merged(results)


def comparable(sums: Sums) -> dict[str, list[Row]]:
    """Return the rows of sums in one order; lists of one group may be in several rows."""
    found = {}
    for name, table in sums.items():
        rows = table.to_pylist()
        if "bins" in table.column_names:
            keys = [key for key in table.column_names if key not in {"bins", "counts"}]
            rows = [
                {**{key: of_group[key] for key in keys if not key.endswith("_us")}, "bin": number,
                 "count": count}
                for of_group in rows
                for number, count in zip(of_group["bins"], of_group["counts"], strict=True)
            ]  # fmt: skip
            for of_bin in rows:
                for name_of_sum in ("completed", "received"):
                    of_bin.pop(name_of_sum, None)
            rows = added_up(rows)
        found[name] = sorted(rows, key=str)
    return {name: rows for name, rows in found.items() if rows}


def added_up(rows: list[Row]) -> list[Row]:
    counts: defaultdict[tuple[Any, ...], int] = defaultdict(int)
    for of_bin in rows:
        counts[tuple((key, value) for key, value in of_bin.items() if key != "count")] += of_bin[
            "count"
        ]
    return [{**dict(key), "count": count} for key, count in counts.items()]


@pytest.mark.parametrize(("tasks", "parts"), [(1, 2), (3, 5), (7, 40)])
def test_tasks_and_parts_change_no_sum(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tasks: int, parts: int
) -> None:
    monkeypatch.setattr(run_sums, "TABLES_AT_ONCE", 3)
    sources = sources_of(tmp_path, random.Random(tasks))
    expected = comparable(run_sums.here(RUN, sources))

    assert comparable(in_parts(replace(RUN, parts=parts), sources, tasks)) == expected
    [writer, again] = expected["stored"]
    assert 0 < writer["missing"] < writer["acknowledged"]
    assert again["repeated"] > 0
    assert {around["fault"] for around in expected["stored_around"]} == {0, 1}
    assert {"end_to_end_times", "measured_times", "latencies", "ids"} < set(expected)


def test_a_run_without_rows_has_empty_sums(tmp_path: Path) -> None:
    sums = run_sums.here(replace(RUN, sources=frozenset({RESULTS})), [])

    assert "stored" not in sums
    assert not any(len(table) for table in sums.values())


@pytest.mark.long
def test_a_job_of_spark_finds_what_this_process_does(spark: "SparkSession", tmp_path: Path) -> None:
    sources = sources_of(tmp_path, random.Random(9))
    found = run_sums.in_job(spark, RUN, sources, 3 * run_sums.ROWS_PER_TASK)

    assert comparable(found) == comparable(run_sums.here(RUN, sources))
