"""A stream over small segments: its figures are those of the summary."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from loadgen.analysis.summary import RunData, summarise
from loadgen.live.figures import Batch, LiveFigures
from loadgen.live.stream import CHECKPOINT, BatchReader, LiveStream, warm_up
from loadgen.plan.plan import Plan, Quota, Tenant
from loadgen.plan.run_spec import PreparedTarget
from loadgen.rows import ARROW_SCHEMA
from tests.loadgen.live.made_batches import SECOND, TARGET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
PLAN = Plan(
    name="p",
    duration_s=4.0,
    read_back=False,
    tenants=(
        Tenant("shop", "steady", "shop"),
        Tenant("again", "retries-lost-responses", "again"),
        Tenant("late", "delivery-timeout", "late", delivery_timeout_ms=1000),
        Tenant("closed", "steady", "closed", arrival="closed"),
        Tenant("maker", "topic-creator", "maker", partitions=4),
        Tenant("deaf", "steady", "deaf", obeys_throttle=False),
    ),
    quotas=(
        Quota({"user": "ANONYMOUS"}, "producer_ids_rate", 2.0),
        Quota({"client-id": "maker"}, "controller_mutation_rate", 1.0),
    ),
)


def row(event_id: int, tenant: str = "shop", **changes: Any) -> Row:
    sent_us = changes.pop("sent_us", event_id * 10_000)
    return {
        "worker": event_id % 2,
        "event_id": event_id,
        "tenant": tenant,
        "user": "ANONYMOUS",
        "client": 0,
        "api": "Produce",
        "intended_us": sent_us,
        "submitted_us": sent_us + event_id % 7,
        "sent_us": sent_us + 100,
        "response_us": sent_us + 500 + event_id * 11,
        "producer_id": 7,
        "records": 1,
        "bytes": 100,
        "error_code": 0,
        "throttle_time_ms": 0,
        "attempt": 1,
        "status": "responded",
        "kind": "new",
        "mutations": 0,
        "early_us": 0,
        "node": 1,
        "worker_cpu_us": 5,
        "worker_wall_us": 10,
        **changes,
    }


def no_response(event_id: int, tenant: str = "shop", **changes: Any) -> Row:
    missing = {"response_us": None, "error_code": None, "status": "lost"}
    return row(event_id, tenant, **{**missing, **changes})


SEGMENTS: list[list[Row]] = [
    [
        *(row(number) for number in range(100)),
        row(100, sent_us=-SECOND),  # the warm-up
        no_response(101),  # its second attempt is in the next segment
        no_response(102),  # for good
        {**no_response(103, status="not_sent"), "sent_us": None},
        row(104, "again", kind="new"),
        row(105, "closed"),
        row(106, "late", status="expired", error_code=None, response_us=2 * SECOND),
        row(107, "maker", api="CreateTopics", producer_id=None, mutations=8),
        row(108, "deaf", throttle_time_ms=300),
        row(-1, "shop", sent_us=5, api="InitProducerId"),
    ],
    [
        *(row(number, producer_id=number) for number in range(200, 300)),
        row(101, attempt=2, sent_us=2 * SECOND, intended_us=1_010_000),
        row(104, "again", kind="latest", sent_us=SECOND, intended_us=1_040_000, error_code=46),
        row(110, "again", kind="old", error_code=45),
        row(111, "maker", api="CreateTopics", producer_id=None, mutations=8, sent_us=2 * SECOND),
        row(112, "maker", api="CreateTopics", producer_id=None, error_code=89),
        row(113, "deaf", early_us=200_000, throttle_time_ms=90),
        no_response(114, status="no_response", sent_us=3 * SECOND, intended_us=3 * SECOND),
    ],
]


def write(folder: Path, number: int, rows: list[Row]) -> None:
    table = pa.Table.from_pylist(rows, ARROW_SCHEMA)
    pq.write_table(table, folder / f"part-00000-{number:06}.parquet")


@pytest.mark.long
def test_the_figures_of_all_segments_are_those_of_the_summary(
    spark: "SparkSession",
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    failures: list[str] = []
    figures = LiveFigures(PLAN, TARGET)
    counts: list[int] = []

    def take(batch: Batch) -> None:
        figures.take(batch)
        counts.append(figures.as_dict()["totals"]["requests"])

    warm_up(spark, PLAN, TARGET)
    reader = BatchReader(PLAN, TARGET)
    with LiveStream(spark, reader, str(tmp_path), take, failures.append) as stream:
        for number, rows in enumerate(SEGMENTS):
            write(tmp_path, number, rows)
            stream.finish()
        assert len(list(temporary.glob(f"{CHECKPOINT}*"))) == 1
    assert not list(temporary.glob(f"{CHECKPOINT}*"))
    assert failures == []
    assert len(counts) == 2  # one batch for each segment
    figures.end(5 * SECOND)
    live = figures.as_dict()
    summary = summarise(spark, RunData(PLAN, TARGET, str(tmp_path), None)).summary
    for name, count in live["totals"].items():
        assert count == summary["totals"][name], name
    assert live["responses_per_s"] == summary["responses_per_s"]
    assert live["throttles"] == summary["throttles"]
    # The summary says more of each second.
    seconds = live["series"]["seconds"]
    assert seconds == [{name: s[name] for name in seconds[0]} for s in summary["series"]["seconds"]]
    requests = {
        tuple(r[n] for n in ("tenant", "api", "status", "kind", "error", "requests"))
        for r in summary["requests"]
    }
    assert {tuple(r.values()) for r in live["requests"]} == requests
    check_latencies(live, summary)
    assert [{**verdict, "is_provisional": True} for verdict in summary["verdicts"]] == live[
        "verdicts"
    ]
    words = {verdict["verdict"] for verdict in live["verdicts"]}
    assert words == {"passed", "failed"}


def check_latencies(live: Row, summary: Row) -> None:
    """Percentiles are exact to half a percent, counts and maxima exactly."""
    for mine, expected in zip(live["tenants"], summary["tenants"], strict=False):
        for name in ("tenant", "events", "completed"):
            assert mine[name] == expected[name]
        assert mine["response_us"] == pytest.approx(expected["response_us"], rel=0.01)
        assert mine["response_max_us"] == pytest.approx(expected["response_max_us"], rel=0.01)
    assert [(r["second"], r["tenant"]) for r in live["series"]["latencies"]] == [
        (r["second"], r["tenant"]) for r in summary["series"]["latencies"]
    ]
    for mine, expected in zip(
        live["series"]["latencies"], summary["series"]["latencies"], strict=True
    ):
        assert mine["response_us"] == pytest.approx(expected["response_us"], rel=0.01)


def test_a_segment_that_cannot_be_read_is_one_line_and_ends_the_figures(
    spark: "SparkSession", tmp_path: Path
) -> None:
    failures: list[str] = []
    taken: list[Batch] = []
    reader = BatchReader(PLAN, PreparedTarget(TARGET.topology, TARGET.config))
    with LiveStream(spark, reader, str(tmp_path), taken.append, failures.append) as stream:
        (tmp_path / "part-00000-000000.parquet").write_bytes(b"no Parquet at all")
        stream.finish()
        write(tmp_path, 1, SEGMENTS[0])
        stream.finish()
    assert taken == []
    [line] = failures
    assert line == stream.failure
    assert "\n" not in line


def test_a_folder_that_cannot_be_read_is_one_line(spark: "SparkSession", tmp_path: Path) -> None:
    failures: list[str] = []
    reader = BatchReader(PLAN, TARGET)
    path = str(tmp_path / "missing")
    with LiveStream(spark, reader, path, lambda _: None, failures.append) as stream:
        stream.finish()
    [line] = failures
    assert "missing" in line
