"""Spark finds the same times as a loop over all batches and ranges of offsets does."""

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from client.resources import Address
from loadgen.analysis.latencies import Latencies, bin_of
from loadgen.analysis.measures import (
    END_TO_END,
    SHARES,
    Measured,
    Times,
    by_period,
    measure_label,
    of_measure,
    period_s_of,
    periods_in,
)
from loadgen.analysis.summary import RunData, Summarised, summarise
from loadgen.plan.plan import Plan, Tenant
from loadgen.plan.run_spec import PreparedTarget, Topology
from loadgen.receipts import ARROW_SCHEMA as RECEIPTS_SCHEMA
from loadgen.rows import ARROW_SCHEMA
from tests.loadgen.summaries import CONFIG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000
Row = dict[str, Any]
PLAN = Plan(
    name="p",
    duration_s=25.0,
    tenants=(
        Tenant("shop", "steady"),
        Tenant("first", "consumer-group", group="g", topic="t"),
        Tenant("second", "consumer-group", group="g", topic="t"),
        Tenant("slow", "consumer-group", topic="t"),
        Tenant("elsewhere", "consumer-group", topic="other"),
    ),
)


def batch(number: int, sent_us: int, partition: int, offset: int | None, **changes: Any) -> Row:
    return {
        "worker": 0, "event_id": number, "tenant": "shop", "user": "u", "client": 0,
        "api": "Produce", "intended_us": sent_us - 30, "submitted_us": sent_us - 20,
        "sent_us": sent_us, "response_us": None if offset is None else sent_us + 100,
        "topic": "t", "partition": partition, "records": 2, "bytes": 100, "throttle_time_ms": 0,
        "attempt": 1, "kind": "new", "base_offset": offset, "mutations": 0, "early_us": 0,
        "status": "no_response" if offset is None else "responded",
        "error_code": None if offset is None else 0, "node": 1,
        **changes,
    }  # fmt: skip


def receipt(tenant: str, partition: int, first: int, following: int, received_us: int) -> Row:
    return {
        "worker": 0, "tenant": tenant, "client": 1, "topic": "t", "partition": partition,
        "received_us": received_us, "first_offset": first, "next_offset": following,
        "high_watermark": following,
    }  # fmt: skip


def summarised(
    spark: "SparkSession", folder: Path, rows: list[Row], receipts: list[Row]
) -> Summarised:
    paths = [folder / "results.parquet", folder / "receipts.parquet"]
    pq.write_table(pa.Table.from_pylist(rows, ARROW_SCHEMA), paths[0])
    pq.write_table(pa.Table.from_pylist(receipts, RECEIPTS_SCHEMA), paths[1])
    target = PreparedTarget(Topology({1: Address("h", 1)}, 1, {}), CONFIG)
    return summarise(spark, RunData(PLAN, target, str(paths[0]), None, receipts_path=str(paths[1])))


def drawn(random_: random.Random) -> tuple[list[Row], list[Row]]:
    """Make batches of three partitions, and members that receive them, some of them twice."""
    rows: list[Row] = []
    receipts: list[Row] = []
    for partition in range(3):
        offset, known = 0, []
        for _ in range(400):
            sent_us = random_.randrange(-SECOND, 25 * SECOND)
            rows.append(batch(len(rows), sent_us, partition, offset))
            known.append((offset, sent_us))
            offset += 2
        for group, members in (("g", ("first", "second")), ("slow", ("slow",))):
            position, now_us = 0, 0
            while position < offset and (group == "g" or position < 500):
                now_us += random_.randrange(1, SECOND)
                if random_.random() < 0.2:  # another member begins where the group has committed
                    position = max(0, position - 2 * random_.randrange(20))
                following = min(offset, position + 2 * random_.randrange(1, 40))
                member = random_.choice(members)
                receipts.append(receipt(member, partition, position, following, now_us))
                position = following
    random_.shuffle(rows)
    random_.shuffle(receipts)
    return rows, receipts


def first_receipt_us(receipts: list[Row], members: set[str], row: Row) -> int | None:
    found = [
        found["received_us"]
        for found in receipts
        if found["tenant"] in members
        and found["partition"] == row["partition"]
        and found["first_offset"] <= row["base_offset"] < found["next_offset"]
    ]
    return min(found, default=None)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_end_to_end_is_until_the_first_receipt_of_each_group(
    spark: "SparkSession", tmp_path: Path, seed: int
) -> None:
    rows, receipts = drawn(random.Random(seed))
    found = summarised(spark, tmp_path, rows, receipts)
    end_us = max(25 * SECOND, *(row["response_us"] for row in rows))
    measured = [row for row in rows if row["intended_us"] >= 0]
    parts = of_measure(found.measured, END_TO_END)
    assert [part.group_id for part in parts] == ["g", "slow"]
    for part, members in zip(parts, ({"first", "second"}, {"slow"}), strict=True):
        times = [(row["intended_us"], first_receipt_us(receipts, members, row)) for row in measured]
        for number, start_s, length_s in periods_in(PLAN):
            mine = [
                (intended_us, received_us)
                for intended_us, received_us in times
                if start_s * SECOND <= intended_us < (start_s + length_s) * SECOND
            ]
            expected = [
                (end_us if received_us is None else received_us) - intended_us
                for intended_us, received_us in mine
            ]
            period = part.periods[number]
            assert period.count == len(expected)
            assert period.received == sum(received_us is not None for _, received_us in mine)
            assert (period.max_us, period.sum_us) == (max(expected), sum(expected))
            bins = Latencies((bin_of(time_us), 1) for time_us in expected)
            assert period.latencies.counts == bins.counts
    assert parts[0].total.received == len(measured)
    assert 0 < (parts[1].total.received or 0) < len(measured)


def test_the_delay_and_the_rest_of_an_event_begin_at_its_first_send(
    spark: "SparkSession", tmp_path: Path
) -> None:
    rows = [
        batch(1, 10_030, 0, None, status="lost"),
        batch(1, 50_030, 0, 0, intended_us=10_000, attempt=2),
        batch(2, 20_030, 0, None),
        batch(3, 70_000, 0, 2, api="Metadata", error_code=0),  # no batch of it was sent
        batch(4, -5_000, 0, 4),
    ]
    found = summarised(spark, tmp_path, rows, []).summary
    totals = {(row["measure"], row["group_id"]): row for row in found["latencies"]}
    assert list(totals) == [
        ("response", ""), ("publish", ""), ("publish_delay", ""), ("end_to_end", "g"),
        ("end_to_end", "slow"),
    ]  # fmt: skip
    delay, publish = totals["publish_delay", ""], totals["publish", ""]
    assert (delay["count"], delay["max_us"], delay["mean_us"]) == (2, 30, 30.0)
    # The second event has no response, and counts until the end of the run.
    assert publish["max_us"] == 25 * SECOND - 20_030
    assert publish["p50_us"] == pytest.approx(50_130 - 10_030, rel=0.005)
    assert totals["response", ""]["count"] == 3
    assert totals["end_to_end", "slow"]["received"] == 0
    [period] = [row for row in found["periods"] if row["measure"] == "publish"]
    assert (period["start_s"], period["length_s"], period["count"]) == (0.0, 10, 2)
    assert {name: period[name] for name in SHARES} == {name: publish[name] for name in SHARES}


def test_the_lag_is_the_end_of_the_log_minus_the_position(
    spark: "SparkSession", tmp_path: Path
) -> None:
    rows = [
        batch(1, -500_000, 0, 10),
        batch(2, 100_000, 0, 12),
        batch(3, 100_000, 1, 0),
        batch(4, 900_000, 0, 14),
    ]
    receipts = [
        receipt("first", 0, 10, 12, -300_000),
        receipt("second", 0, 10, 14, 450_000),
        receipt("first", 1, 0, 2, 450_000),
    ]
    found = summarised(spark, tmp_path, rows, receipts)
    lags = {cell.end_s: cell.lag for cell in found.cells["g"]}
    assert lags[-0.3] == 2
    assert lags[-0.2] == 0  # received what was produced before the run's measured part
    assert lags[0.2] == lags[0.4] == 4  # two records in each partition
    assert lags[0.5] == lags[0.9] == 0
    assert lags[1.0] == 2
    assert sum(cell.received for cell in found.cells["g"]) == 6
    assert sum(cell.produced for cell in found.cells["g"]) == 8
    [g, slow] = found.summary["groups"]
    assert (g["group_id"], g["received"], g["lag_max"], g["lag_at_the_end"]) == ("g", 4, 4, 2)
    assert slow["lag_at_the_end"] == 8
    assert found.summary["series"]["lags"]


def test_a_run_without_groups_has_no_end_to_end(spark: "SparkSession", tmp_path: Path) -> None:
    path = tmp_path / "results.parquet"
    pq.write_table(pa.Table.from_pylist([batch(1, 30, 0, 0)], ARROW_SCHEMA), path)
    target = PreparedTarget(Topology({1: Address("h", 1)}, 1, {}), CONFIG)
    found = summarise(spark, RunData(PLAN, target, str(path), None))
    assert {part.measure for part in found.measured} == {"response", "publish", "publish_delay"}
    assert (found.cells, found.summary["groups"], found.summary["backlogs"]) == ({}, [], [])


def test_periods_are_ten_seconds_and_at_most_so_many() -> None:
    assert list(periods_in(PLAN)) == [(0, 0.0, 10), (1, 10.0, 10), (2, 20.0, 5.0)]
    lengths_s = [
        period_s_of(Plan(name="p", duration_s=s, tenants=PLAN.tenants))
        for s in (7200, 7201, 86_400)
    ]
    assert lengths_s == [10, 20, 120]


def test_times_of_parts_add_up() -> None:
    parts = [
        Measured("a", END_TO_END, "g", {0: Times(Latencies([(5, 1)]), 9, 9, 1)}),
        Measured("a", END_TO_END, "h", {0: Times(Latencies([(5, 2), (600, 1)]), 400, 420, 2)}),
        Measured("b", END_TO_END, "g", {3: Times(Latencies([(0, 1)]), 0, 0, 0)}),
    ]
    found = by_period(parts)
    assert list(found) == [0, 3]
    assert found[0].latencies.counts == {5: 3, 600: 1}
    assert (found[0].count, found[0].received, found[0].max_us) == (4, 3, 400)
    # The longest time is exact, what stands for a bin is its middle.
    assert found[0].by_time() == {1: 3, 400: 1}
    assert found[3].by_time() == {0: 1}


def test_nothing_has_no_figures() -> None:
    figures = Times().figures()
    assert figures["count"] == 0
    assert {figures[name] for name in (*SHARES, "mean_us", "max_us", "received")} == {None}


def test_an_end_to_end_latency_is_that_of_a_group() -> None:
    rows = [{"measure": "end_to_end", "group_id": "g"}, {"measure": "publish", "group_id": ""}]
    assert [measure_label(row) for row in rows] == ["end to end, group g", "send to response"]
