"""The latencies of a run by tenant and period: four measures, in bins that can be added up.

`response` is what an event waits for, from its intended time to the response that completes it.
`publish` is the part of it from the first send of its batch, and `publish_delay` the part before.
`end_to_end` is from the intended time until a member of a group has received the batch: producers
know the offset of a batch, and members the ranges of offsets that they have received.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from loadgen.analysis.latencies import BinCounts, Latencies, time_of
from loadgen.plan.plan import Plan

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


def readings_of(plan: Plan) -> list[tuple[str, str]]:
    """Return each group and topic that it reads, in the order of their numbers from 1 on."""
    return sorted({(tenant.group, tenant.topic) for tenant in plan.tenants if tenant.is_received})


def period_s_of(plan: Plan) -> int:
    """Return the length of a run's periods."""
    return PERIOD_S * max(1, ceil(plan.duration_s / (PERIOD_S * PERIODS_MAX)))


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

    latencies: Latencies | BinCounts = field(default_factory=Latencies)
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
    found = Times(latencies := Latencies())
    for number, part in enumerate(parts):
        latencies.counts.update(part.latencies.counts)
        found.max_us = max(found.max_us, part.max_us) if number else part.max_us
        found.sum_us += part.sum_us
        if part.received is not None:
            found.received = (found.received or 0) + part.received
    return found


def measured_of(rows: Rows, end_to_ends: Rows, plan: Plan) -> list[Measured]:
    """Return what the rows of `row_sums.MEASURED` and those end to end say, as the plan is."""
    found: dict[tuple[str, str, str], Measured] = {}
    for row in [*rows, *({**row, "measure": END_TO_END} for row in end_to_ends)]:
        key = row["tenant"], row["measure"], row.get("group_id", "")
        measured = found.setdefault(key, Measured(*key))
        times = Times(row["times"], row["max_us"], row["sum_us"], row.get("received"))
        others = measured.periods.get(row["period"])
        measured.periods[row["period"]] = times if others is None else summed([others, times])
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
