"""The latencies of a run by tenant and period: four measures, in bins that can be added up.

`response` is what an event waits for, from its intended time to the response that completes it.
`publish` is the part of it from the first send of its batch, and `publish_delay` the part before.
`end_to_end` is from the intended time until a member of a group has received the batch: producers
know the offset of a batch, and members the ranges of offsets that they have received.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any

from loadgen.analysis.latencies import Latencies, time_of
from loadgen.analysis.local_rows import open_rows
from loadgen.plan.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESPONSE, PUBLISH, PUBLISH_DELAY, END_TO_END = (
    "response",
    "publish",
    "publish_delay",
    "end_to_end",
)
OF_EVENTS = (RESPONSE, PUBLISH, PUBLISH_DELAY)
"""The measures of events, which `row_sums` counts."""
MEASURES = (*OF_EVENTS, END_TO_END)
LABELS = {
    RESPONSE: "response",
    PUBLISH: "send to response",
    PUBLISH_DELAY: "publish delay",
    END_TO_END: "end to end",
}
SHARES = {
    "p50_us": 0.5,
    "p75_us": 0.75,
    "p90_us": 0.9,
    "p95_us": 0.95,
    "p99_us": 0.99,
    "p999_us": 0.999,
    "p9999_us": 0.9999,
}
PERIOD_S = 10
"""As long as those of OpenMessaging Benchmark."""
PERIODS_MAX = 720
"""Periods of longer runs are a multiple of `PERIOD_S`, so that the driver gets no more."""

Rows = list[dict[str, Any]]

# The bin of a time is as in `queries`.
# Batches and ranges of offsets in one order: the last range that begins at a batch or before it has
# received the batch, unless it ends before. No range has an offset of another (`received`).
END_TO_ENDS = """
    SELECT element_at(:tenants, number) AS tenant,
           element_at(CAST(:read_groups AS ARRAY<STRING>), reading) AS group_id,
           period, collect_list(bin) AS bins, collect_list(events) AS counts,
           sum(received) AS received, max(max_us) AS max_us, sum(sum_us) AS sum_us
    FROM (SELECT number, reading, period,
                 if(time_us < 1, 0, CAST(floor(ln(time_us) / :ln_growth) AS INT)) AS bin,
                 count(*) AS events, count(received_us) AS received, max(time_us) AS max_us,
                 sum(time_us) AS sum_us
          FROM (SELECT number, CAST(shiftright(log, 32) AS INT) AS reading,
                       CAST(floor(intended_us / :period_us) AS INT) AS period,
                       received_us, coalesce(received_us, :end_us) - intended_us AS time_us
                FROM (SELECT number, log, intended_us,
                             CASE WHEN next_offset > offset THEN received_us END AS received_us
                      FROM (SELECT number, log, intended_us, offset,
                                   last_value(received_us) IGNORE NULLS OVER so_far AS received_us,
                                   last_value(next_offset) IGNORE NULLS OVER so_far AS next_offset
                            FROM batches_and_ranges
                            WINDOW so_far AS (PARTITION BY log
                                              ORDER BY offset, intended_us NULLS FIRST
                                              ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW))
                      WHERE intended_us IS NOT NULL))
          GROUP BY ALL)
    GROUP BY number, group_id, period"""
# A log is a partition as one group reads it: a number for group and topic, and that of the
# partition. Spark sorts by numbers more cheaply than by texts.
VIEWS = {
    # What a group had received before, perhaps by a member that lost the partition, is left out.
    "received": """
        SELECT log, received_us, high_watermark, offset, next_offset
        FROM (SELECT log, received_us, high_watermark, next_offset,
                     greatest(first_offset, coalesce(max(next_offset) OVER (
                         PARTITION BY log ORDER BY received_us, next_offset
                         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)) AS offset
              FROM (SELECT *, shiftleft(CAST(reading AS BIGINT), 32) + partition AS log
                    FROM receipts JOIN readers ON receipts.tenant = readers.reader))
        WHERE offset < next_offset""",
    "stored_once": """
        SELECT shiftleft(CAST(reading AS BIGINT), 32) + partition AS log, tenant, event_id,
               intended_us, response_us, base_offset, records
        FROM results JOIN (SELECT DISTINCT reading, topic FROM readers) AS read
                     ON results.topic = read.topic
        WHERE api = 'Produce' AND status = 'responded' AND error_code IN (0, 46) AND kind = 'new'
              AND base_offset IS NOT NULL""",
    "batches_and_ranges": """
        SELECT CAST(array_position(:tenants, tenant) AS INT) AS number, log, base_offset AS offset,
               intended_us, CAST(NULL AS BIGINT) AS received_us, CAST(NULL AS BIGINT) AS next_offset
        FROM stored_once WHERE intended_us >= 0 AND event_id >= 0
        UNION ALL
        SELECT NULL, log, offset, NULL, received_us, next_offset FROM received""",
}


def readings_of(plan: Plan) -> list[tuple[str, str]]:
    """Return each group and topic that it reads, in the order of their numbers from 1 on."""
    return sorted({(tenant.group, tenant.topic) for tenant in plan.tenants if tenant.is_received})


def period_s_of(plan: Plan) -> int:
    """Return the length of a run's periods."""
    return PERIOD_S * max(1, ceil(plan.duration_s / (PERIOD_S * PERIODS_MAX)))


def open_receipt_views(spark: "SparkSession", plan: Plan) -> None:
    """Open the views of `VIEWS`, over those of results and receipts."""
    readings = readings_of(plan)
    readers = [
        (tenant.name, tenant.topic, readings.index((tenant.group, tenant.topic)) + 1)
        for tenant in plan.tenants
        if tenant.is_received
    ]
    open_rows(spark, "readers", "reader string, topic string, reading int", readers)
    arguments = {"tenants": [tenant.name for tenant in plan.tenants]}
    for name, sql in VIEWS.items():
        spark.sql(sql, arguments).createOrReplaceTempView(name)


@dataclass(slots=True)
class Measured:
    """The times of one tenant in one measure; those of `end_to_end` also of one group."""

    tenant: str
    measure: str
    group_id: str
    periods: dict[int, "Times"] = field(default_factory=dict)

    @property
    def total(self) -> "Times":
        """The times of all periods."""
        return summed(self.periods.values())


@dataclass(slots=True)
class Times:
    """Times in bins, with what bins do not keep."""

    latencies: Latencies = field(default_factory=Latencies)
    max_us: int = 0
    sum_us: int = 0
    received: int | None = None
    """How many of the batches were received; None for other measures."""

    @property
    def count(self) -> int:
        """How many times there are."""
        return self.latencies.counts.total()

    def by_time(self) -> dict[int, int]:
        """Return the counts by whole µs: what stands for a bin, and at most the longest time."""
        found: dict[int, int] = {}
        counts = self.latencies.counts
        last = max(counts, default=0)
        for number in sorted(counts):
            time_us = self.max_us if number == last else min(round(time_of(number)), self.max_us)
            found[time_us] = found.get(time_us, 0) + counts[number]
        return found

    def figures(self) -> dict[str, Any]:
        """Return count, mean, percentiles and maximum, by the names of `summary.json`."""
        count = self.count
        found = self.latencies.percentiles_us(list(SHARES.values()), self.max_us)
        percentiles_us: Iterable[float | None] = [None] * len(SHARES) if found is None else found
        return {
            "count": count,
            "received": self.received,
            "mean_us": self.sum_us / count if count else None,
            **dict(zip(SHARES, percentiles_us, strict=True)),
            "max_us": self.max_us if count else None,
        }


def summed(parts: Iterable[Times]) -> Times:
    """Return several times together."""
    found = Times()
    for part in parts:
        found.latencies.counts.update(part.latencies.counts)
        found.max_us = max(found.max_us, part.max_us)
        found.sum_us += part.sum_us
        if part.received is not None:
            found.received = (found.received or 0) + part.received
    return found


def measured_of(rows: Rows, end_to_ends: Rows, plan: Plan) -> list[Measured]:
    """Return what rows of `row_sums.measured_rows` and of `END_TO_ENDS` say, as the plan is."""
    found: dict[tuple[str, str, str], Measured] = {}
    for row in [*rows, *({**row, "measure": END_TO_END} for row in end_to_ends)]:
        key = row["tenant"], row["measure"], row.get("group_id", "")
        measured = found.setdefault(key, Measured(*key))
        measured.periods[row["period"]] = Times(
            Latencies(zip(row["bins"], row["counts"], strict=True)),
            row["max_us"],
            row["sum_us"],
            row.get("received"),
        )
    places = {tenant.name: place for place, tenant in enumerate(plan.tenants)}
    order = sorted(found, key=lambda key: (places[key[0]], MEASURES.index(key[1]), key[2]))
    return [found[key] for key in order]


def totals_of(measured: Sequence[Measured]) -> Rows:
    """Return a row for each tenant, measure and group."""
    return [{**_key(part), **part.total.figures()} for part in measured]


def periods_of(measured: Sequence[Measured], plan: Plan) -> Rows:
    """Return a row for each tenant, measure, group and period."""
    return [
        {**_key(part), "start_s": start_s, "length_s": length_s, **part.periods[number].figures()}
        for part in measured
        for number, start_s, length_s in periods_in(plan)
        if number in part.periods
    ]


def periods_in(plan: Plan) -> Iterator[tuple[int, float, float]]:
    """Yield the number of each period, when it begins and how long it is, in seconds."""
    period_s = period_s_of(plan)
    for number in range(ceil(plan.duration_s / period_s)):
        start_s = number * period_s
        yield number, float(start_s), min(period_s, plan.duration_s - start_s)


def of_measure(measured: Iterable[Measured], measure: str) -> list[Measured]:
    """Return the parts of one measure."""
    return [part for part in measured if part.measure == measure]


def by_period(measured: Iterable[Measured]) -> Mapping[int, Times]:
    """Return the times of all parts together, by the number of the period."""
    parts: dict[int, list[Times]] = {}
    for part in measured:
        for number, times in part.periods.items():
            parts.setdefault(number, []).append(times)
    return {number: summed(parts[number]) for number in sorted(parts)}


def _key(part: Measured) -> dict[str, str]:
    return {"tenant": part.tenant, "measure": part.measure, "group_id": part.group_id}


def measure_label(row: Mapping[str, Any]) -> str:
    """Return what a table calls the measure of a row of `totals_of`."""
    label = LABELS[row["measure"]]
    return f"{label}, group {row['group_id']}" if row["group_id"] else label
