"""The sums over the rows of requests that the figures and charts of a summary are made of.

Times are in µs since the start of the measured part. The latency of an event starts at its intended
time and ends with the response that completes it; an event that never completes counts until the
end of the run. Latencies are counted in the bins of `latencies`.
"""

from math import log
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow.compute import (
    Expression,
    coalesce,
    field,
    floor,
    if_else,
    max_element_wise,
    min_element_wise,
    scalar,
)

from loadgen.analysis.arrow_queries import (
    NO_TIME,
    Grouping,
    bin_number,
    cell_of,
    columns_of,
    completed_us,
    count,
    count_if,
    has_lateness,
    is_acknowledged,
    is_in,
    is_main_api,
    is_whole_event,
    numbers_of,
    starts_of,
    throttle_sums,
    with_columns,
)
from loadgen.analysis.latencies import GROWTH, BinCounts
from loadgen.analysis.measures import PUBLISH, PUBLISH_DELAY, RESPONSE, period_s_of
from loadgen.analysis.verdicts import main_api
from loadgen.expected_answers import NO_ERRORS
from loadgen.plan.plan import Plan

HEAT_CELLS = 60
HEAT_BINS = 24
"""From 64 µs on; three of them are a factor of four."""
SHARES_PERCENT = {"p50": 50, "p90": 90, "p99": 99}
"""The percentiles of each second."""
COLUMNS = (
    "worker",
    "event_id",
    "tenant",
    "api",
    "intended_us",
    "submitted_us",
    "sent_us",
    "response_us",
    "records",
    "bytes",
    "error_code",
    "throttle_time_ms",
    "attempt",
    "status",
    "kind",
    "mutations",
    "early_us",
    "worker_cpu_us",
    "worker_wall_us",
)
"""The columns of the rows that the sums need."""
_KINDS = ("tenant", "api", "status", "kind", "error_code")
Sums = dict[str, pa.Table]


def cell_us_of(plan: Plan) -> int:
    """Return the length of a cell of the heat map."""
    return max(1, round(plan.duration_s * 1e6 / HEAT_CELLS))


def of_rows(plan: Plan) -> dict[str, Grouping]:
    """Return the sums that each row adds to, by name.

    Lateness is that of events when they were submitted, and delays are those until they were first
    sent, by clients that might send at once.
    """
    open_tenants = [tenant.name for tenant in plan.tenants if tenant.arrival != "closed"]
    is_timed = has_lateness(is_in("tenant", open_tenants))
    is_first = (field("attempt") == 1) & (field("early_us") == 0)
    late_us = field("submitted_us") - field("intended_us")
    delay_us = field("sent_us") - field("intended_us")
    return {
        "requests": _requests(),
        "seconds": _seconds(),
        "lateness": _lateness("lateness_bin", late_us, is_timed),
        "delays": _lateness("sent_bin", delay_us, is_timed & is_first),
        "workers": Grouping(
            {"worker": field("worker")},
            {
                "cpu_us": ("max", field("worker_cpu_us")),
                "wall_us": ("max", field("worker_wall_us")),
                "rows": count(),
            },
        ),
    }


def _requests() -> Grouping:
    """Return the sums of each kind of request and outcome, by the bin of its response time."""
    service_us = field("response_us") - field("sent_us")
    sums = dict(throttle_sums())
    sums["throttle_ms"] = sums.pop("throttle_total_ms")
    sums |= {
        "bytes": ("sum", field("bytes")),
        "mutations": ("sum", field("mutations")),
        "sent": count_if(field("sent_us").is_valid()),
    }
    keys = {name: field(name) for name in _KINDS}
    return Grouping({**keys, "bin": bin_number(service_us, scalar(True))}, sums)


def _seconds() -> Grouping:
    """Return what was sent in each second. A broker that could not be reached got no request."""
    is_lost, is_responded = field("status") == "lost", field("status") == "responded"
    is_unreachable = (field("api") == "ApiVersions") & is_lost & (field("event_id") < 0)
    is_stored = coalesce((field("api") == "Produce") & is_acknowledged(), False)
    code = field("error_code")
    is_error = is_responded & code.is_valid() & ~code.isin(list(map(int, NO_ERRORS)))
    throttle_time_ms = field("throttle_time_ms")
    return Grouping(
        {"second": cell_of(field("sent_us"), 1e6), "tenant": field("tenant")},
        {
            "requests": count_if(~is_unreachable),
            "unreachable": count_if(is_unreachable),
            "records": ("sum", if_else(is_stored, field("records"), 0)),
            "bytes": ("sum", if_else(is_stored, field("bytes"), 0)),
            "lost": count_if(is_lost & ~is_unreachable),
            "responded": count_if(is_responded),
            "errors": count_if(is_error),
            "throttled": count_if(throttle_time_ms > 0),
            "throttle_max_ms": ("max", throttle_time_ms),
        },
        field("sent_us").is_valid(),
    )


def _lateness(column: str, time_us: Expression, is_counted: Expression) -> Grouping:
    """Return how late events were, in bins of this column."""
    return Grouping({column: bin_number(time_us, scalar(True))}, {"events": count()}, is_counted)


MEASURED = Grouping(
    {name: field(name) for name in ("tenant", "measure", "period", "bin")},
    {
        "events": ("sum", field("events")),
        "completed": ("sum", field("completed")),
        "max_us": ("max", field("max_us")),
        "sum_us": ("sum", field("sum_us")),
    },
)
"""Times of events in bins, by `measures.OF_EVENTS`."""
HEAT = Grouping(
    {"cell": field("cell"), "heat_bin": field("heat_bin")}, {"events": ("sum", field("events"))}
)
"""The cells of the heat map: events by time and latency."""
RESPONSES = Grouping(
    {name: field(name) for name in ("second", "tenant", "bin")},
    {"events": ("sum", field("events"))},
)
"""Latencies by second, of which `percentiles` makes the chart."""
PARTS_OF_EVENTS = Grouping(
    {"tenant": field("tenant"), "event_id": field("event_id")},
    {
        "intended_us": ("min", field("intended_us")),
        "sent_us": ("min", field("sent_us")),
        "completed_us": ("max", field("completed_us")),
    },
)
"""What several rows of an event say about it."""


BATCHES_IN_TIME = Grouping(
    {"tenant": field("tenant"), "event_id": field("event_id")},
    {
        "submitted_us": ("min", field("submitted_us")),
        "expired_us": ("min", field("expired_us")),
        "completed_us": ("max", field("completed_us")),
    },
)
"""When batches with a delivery timeout were submitted, expired and were acknowledged."""
EXPIRIES = Grouping(
    {"tenant": field("tenant")},
    {
        "expired": count_if(field("expired_us").is_valid()),
        "latest_us": (
            "max",
            coalesce(field("expired_us"), field("completed_us")) - field("submitted_us"),
        ),
    },
)
"""How many batches expired, and how late the latest one was reported."""


def batches_in_time(rows: pa.Table, plan: Plan) -> pa.Table:
    """Return the rows of BATCHES_IN_TIME for the tenants of `delivery-timeout`."""
    tenants = [tenant.name for tenant in plan.tenants if tenant.behaviour == "delivery-timeout"]
    has_expired = field("status") == "expired"
    columns = {
        **{name: field(name) for name in (*BATCHES_IN_TIME.keys, "submitted_us")},
        "expired_us": if_else(has_expired, field("response_us"), NO_TIME),
        "completed_us": completed_us(scalar(True)),
    }
    is_batch = (field("event_id") >= 0) & (field("api") == "Produce")
    return BATCHES_IN_TIME.of(columns_of(rows, columns, is_batch & is_in("tenant", tenants)))


class EventSums:
    """Makes sums of events."""

    def __init__(self, plan: Plan) -> None:
        """Read rows of this plan."""
        tenants = plan.tenants
        self._plan = plan
        self._is_whole = is_whole_event([t.name for t in tenants if t.behaviour == "steady"])
        self._is_main_api = is_main_api({t.name: main_api(t) for t in tenants})
        names = is_in("tenant", [tenant.name for tenant in tenants])
        self._is_measured = (field("intended_us") >= 0) & (field("event_id") >= 0) & names

    def of_rows(self, rows: pa.Table) -> Sums:
        """Return the sums of events that are one row, and the `events` that may have more."""
        rows = with_columns(
            columns_of(rows, {name: field(name) for name in COLUMNS}, self._is_measured),
            {"is_whole_event": self._is_whole},
        )
        is_sent = field("api") == "Produce"
        columns = {
            **{name: field(name) for name in ("tenant", "event_id", "intended_us")},
            "sent_us": if_else(is_sent, field("sent_us"), NO_TIME),
            "completed_us": completed_us(self._is_main_api),
        }
        is_whole = field("is_whole_event")
        parts = columns_of(rows, columns, ~is_whole)
        sums = self.of_events(columns_of(rows, columns, is_whole), 0)
        return {**sums, "events": PARTS_OF_EVENTS.of(parts)}

    def of_events(self, events: pa.Table, end_us: int) -> Sums:
        """Return `measured`, `heat` and `responses` of events that have one row each.

        Those that did not complete count until `end_us`.
        """
        plan, intended_us, sent_us = self._plan, field("intended_us"), field("sent_us")
        events = with_columns(events, {"ended_us": coalesce(field("completed_us"), end_us)})
        ended_us = field("ended_us")
        period = cell_of(intended_us, period_s_of(plan) * 1e6)
        measured = [
            _measured(events, RESPONSE, period, ended_us - intended_us),
            _measured(events, PUBLISH, period, ended_us - sent_us),
            _measured(events, PUBLISH_DELAY, period, sent_us - intended_us),
        ]
        found = {
            "bin": bin_number(ended_us - intended_us, scalar(True)),
            "second": cell_of(intended_us, 1e6),
            "cell": cell_of(intended_us, cell_us_of(plan)),
        }
        times = Grouping({"tenant": field("tenant"), **found}, {"events": count()}).of(events)
        return {
            "measured": pa.concat_tables(measured),
            "heat": HEAT.of(with_columns(times, {"heat_bin": _heat_bin()})),
            "responses": RESPONSES.of(times),
        }


def _measured(events: pa.Table, measure: str, period: Expression, time_us: Expression) -> pa.Table:
    keys = {
        "tenant": field("tenant"),
        "measure": scalar(measure),
        "period": period,
        "bin": bin_number(time_us, scalar(True)),
    }
    aggregates = {
        "events": count(),
        "completed": count_if(field("completed_us").is_valid()),
        "max_us": ("max", time_us),
        "sum_us": ("sum", time_us),
    }
    return Grouping(keys, aggregates, time_us.is_valid()).of(events)


def _heat_bin() -> Expression:
    middle = (field("bin").cast(pa.float64()) + 0.5) * (log(GROWTH) / log(2)) - 6.0
    number = floor(middle * 1.5).cast(pa.int32())
    return min_element_wise(max_element_wise(number, 0), HEAT_BINS - 1)


def percentiles(responses: pa.Table) -> pa.Table:
    """Return the bin of each percentile of SHARES_PERCENT by second and tenant.

    `responses` are the rows of RESPONSES, each second and tenant complete.
    """
    table = responses.sort_by([(name, "ascending") for name in RESPONSES.keys])
    names = ("second", "tenant")
    starts = starts_of([numbers_of(_codes(table[name])) for name in names])
    events = numbers_of(table["events"])
    until_here = np.cumsum(events)
    before = until_here[starts] - events[starts]
    lengths = np.diff(starts, append=len(events))
    total = np.repeat(np.add.reduceat(events, starts), lengths) if len(events) else events
    until_here -= np.repeat(before, lengths)
    bins = numbers_of(table["bin"])
    columns = {name: table[name].take(pa.array(starts)) for name in names}
    for name, percent in SHARES_PERCENT.items():
        is_below = until_here * 100 < percent * total
        below = np.add.reduceat(is_below, starts, dtype=np.int64) if len(events) else events
        columns[name] = pa.array(bins[starts + below])
    return pa.table(columns)


def with_bins(table: pa.Table, grouping: Grouping) -> pa.Table:
    """Return a row for each group without its bin, with the lists `bins` and `counts`.

    `table` are the rows of the grouping, of which `bin` is the last key, and the numbers of
    `events` the first aggregate.
    """
    *keys, _ = grouping.keys
    table = table.sort_by([(name, "ascending") for name in grouping.keys])
    starts = starts_of([numbers_of(_codes(table[name])) for name in keys])
    heads = {name: table[name].take(pa.array(starts)) for name in keys}
    for name, (function, _) in list(grouping.aggregates.items())[1:]:
        reduce = np.add if function == "sum" else np.maximum
        values = numbers_of(table[name])
        heads[name] = pa.array(reduce.reduceat(values, starts) if len(starts) else values)
    offsets = pa.array(np.append(starts, len(table)).astype(np.int32))
    lists = {"bins": ("bin", pa.int16()), "counts": ("events", pa.int32())}
    for name, (column, kind) in lists.items():
        values = table[column].cast(kind).combine_chunks()
        heads[name] = pa.ListArray.from_arrays(offsets, values)
    return pa.table(heads)


def rows_with_bins(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of `with_bins`, with the lists as `BinCounts` by the name `times`."""
    rows: list[dict[str, Any]] = table.drop_columns(["bins", "counts"]).to_pylist()
    lists = zip(table["bins"], table["counts"], strict=True)
    for row, (bins, counts) in zip(rows, lists, strict=True):
        row["times"] = BinCounts(bins.values.to_numpy(), counts.values.to_numpy())
    return rows


def _codes(column: pa.ChunkedArray) -> pa.Array:
    """Return numbers that are equal where the values are."""
    found = column.combine_chunks()
    return found.dictionary_encode().indices if pa.types.is_string(found.type) else found
