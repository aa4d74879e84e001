"""Summarise a run's rows: figures, series for charts, and verdicts.

Arrow adds up most of it (`run_sums`); Spark SQL judges transactions and recoveries from faults. The
latency of an event starts at its intended time and ends with the response that completes it. An
event that never completes counts until the end of the run: without it the percentiles would look
better than they are.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from loadgen import query_settings
from loadgen.analysis import (
    backlogs,
    checks,
    event_figures,
    measures,
    quota_bounds,
    recoveries,
    request_groups,
    row_sums,
    run_sums,
)
from loadgen.analysis.checks import Verdict
from loadgen.analysis.committed_offsets import CommittedOffset
from loadgen.analysis.quota_bounds import id_quotas, mutation_buckets
from loadgen.analysis.read_back import SCHEMA as READ_BACK_SCHEMA
from loadgen.analysis.transactions import (
    TRANSACTION_QUERIES,
    open_transaction_views,
    transaction_verdicts,
)
from loadgen.analysis.verdicts import (
    error_label,
    lateness_verdict,
    request_verdicts,
    stored_verdicts,
)
from loadgen.expected_answers import NO_ERRORS
from loadgen.fault_rows import FaultRow
from loadgen.plan.plan import Plan
from loadgen.plan.run_spec import PreparedTarget
from loadgen.plan.schedule import event_counts
from loadgen.rows import SCHEMA
from loadgen.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CONCURRENT_QUERIES = 4
"""A query of a small run uses one core."""
DISTRIBUTED_ROWS_MIN = 300_000
"""Below this number of rows, compiling or distributing a query takes longer than running it."""
ROWS_PER_PARTITION = 250_000
"""Two tasks with so many events, and what is known of them, fit into a gigabyte."""
SHUFFLE_PARTITIONS_MIN = 2
Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class RunData:
    """The input of a summary."""

    plan: Plan
    target: PreparedTarget
    results_path: str
    read_back_path: str | None
    ended_us: int | None = None
    """When an aborted run ended; None for a complete one."""
    shadow_report: Sequence[Mapping[str, Any]] = ()
    """The broker's report of quotas in shadow mode."""
    committed_offsets: Sequence[CommittedOffset] = ()
    """The offsets of tenants that consume a source."""
    rows: int | None = None
    """How many rows there are, if that is known."""
    receipts_path: str | None = None
    """None if no tenant consumes in a group."""
    faults: Sequence[FaultRow] = ()
    """What became of the faults of the plan."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Those of the storage."""

    @property
    def judges_transactions(self) -> bool:
        """Whether there are transactions, and what they have stored was read back."""
        tenants = self.plan.tenants
        return self.read_back_path is not None and any(t.is_judged_by_record for t in tenants)


class Summarised(NamedTuple):
    """The result of the queries."""

    summary: dict[str, Any]
    """JSON values."""
    measured: list[measures.Measured]
    """The latencies that histograms are made of."""
    cells: dict[str, list[backlogs.Cell]]
    """The lag of each group over time."""


def summarise(spark: "SparkSession", data: RunData) -> Summarised:
    """Return the part of `summary.json` that comes from a run's rows, and the latencies in bins."""
    rows = data.rows
    if rows is None:
        rows = read_results(spark, data.results_path).count()
    is_small = not is_distributed(rows)
    partitions = 1 if is_small else max(SHUFFLE_PARTITIONS_MIN, ceil(rows / ROWS_PER_PARTITION))
    settings = {
        "spark.sql.shuffle.partitions": str(partitions),
        **(query_settings.INTERPRETED if is_small else {}),
    }
    with ExitStack() as stack:
        stack.enter_context(query_settings.changed(spark, settings))
        if queries_of(data):
            open_views(spark, data, partitions=1 if is_small else None)
            if is_small:
                # Most of the time of a query over few rows is that for opening the files.
                stack.enter_context(_kept(spark, "results"))
        return _Summary(spark, data, rows).compute()


def is_distributed(rows: int) -> bool:
    """Return whether the rows of a run are added up in a job, whose tasks are in Python."""
    return rows >= DISTRIBUTED_ROWS_MIN


@contextmanager
def _kept(spark: "SparkSession", view: str) -> Iterator[None]:
    """Let Spark keep the rows of a view from their first use to the end of the block."""
    spark.catalog.cacheTable(view)
    try:
        yield
    finally:
        spark.catalog.uncacheTable(view)


def read_results(spark: "SparkSession", path: str) -> "DataFrame":
    """Return the rows of a run; the schema is given, because a run may have no row."""
    # Dictionaries say nothing about which rows are needed, and the reader of Spark 4 fails at those
    # of more than 8 kB that LZ4 has compressed, unless it has read a larger page before.
    reader = spark.read.option("parquet.filter.dictionary.enabled", "false")
    return reader.schema(SCHEMA).parquet(path)


class _Summary:
    """The queries of one summary, of which several run at the same time."""

    def __init__(self, spark: "SparkSession", data: RunData, rows: int) -> None:
        self._spark, self._data, self._rows_count = spark, data, rows
        self._arguments = arguments_of(data.plan)

    def compute(self) -> Summarised:
        """Return the result of `summarise`."""
        data, plan = self._data, self._data.plan
        sql_by_name = queries_of(data)
        measured_us = round(plan.duration_s * 1e6)
        if data.ended_us is not None:
            measured_us = max(0, min(measured_us, data.ended_us))
        with ThreadPoolExecutor(_CONCURRENT_QUERIES) as pool:
            adding_up = pool.submit(self._sums, measured_us)
            running = {name: pool.submit(self._rows, sql) for name, sql in sql_by_name.items()}
            sums = adding_up.result()
            groups = request_groups.groups_of(sums["requests"].to_pylist())
            totals = request_groups.totals_of(groups)
            totals["not_due"] = 0
            if data.ended_us is not None:
                seen = sum(sums["events_seen"]["events"].to_pylist())
                totals["not_due"] = sum(event_counts(plan)) - seen
            found = {name: query.result() for name, query in running.items()}
        found |= _rows_of(sums, plan)
        del sums
        pa.default_memory_pool().release_unused()
        found["id_bounds"] = quota_bounds.id_bounds_of(found["ids"], id_quotas(plan, data.target))
        found["ids"] = quota_bounds.id_points_of(found["ids"])
        found["throttles"] = request_groups.throttles_of(groups)
        found["duplicates"] = request_groups.duplicates_of(groups)
        found["tenants"] = event_figures.tenants_of(found["measured"])
        found["latencies"] = event_figures.latencies_of(found["latencies"])
        lateness = event_figures.lateness_of(found["lateness"], found["delays"])
        measured = measures.measured_of(found["measured"], found.get("end_to_ends", []), plan)
        cells = backlogs.cells_of(found.get("lags", []), plan)
        drained = backlogs.backlogs_of(plan, cells, measured_us / 1e6)
        shares = [row["completed"] / row["events"] for row in found["tenants"] if row["events"]]
        verdicts = [
            *_verdicts_of(data, found),
            *backlogs.backlog_verdicts(plan, drained),
            lateness_verdict(plan, lateness["lateness_us"]),
        ]
        summary = {
            "totals": totals,
            "measured_s": measured_us / 1e6,
            "responses_per_s": _per_second(found["seconds"], "responded", measured_us / 1e6),
            **_throughput(found["seconds"], measured_us / 1e6),
            "tenants": _with_throughput(found["tenants"], found["seconds"], measured_us / 1e6),
            "latencies": measures.totals_of(measured),
            "periods": measures.periods_of(measured, plan),
            "groups": backlogs.groups_of(cells, measured_us / 1e6),
            "backlogs": drained,
            "requests": [_named(row) for row in request_groups.requests_of(groups)],
            "throttles": [row for row in found["throttles"] if row["throttled"]],
            "faults": [row.as_dict() for row in data.faults],
            "recoveries": recoveries.recoveries_of(plan, data.faults, found),
            "shadow_quotas": list(data.shadow_report),
            "fairness": checks.fairness(shares),
            "lateness_us": lateness,
            "workers": found["workers"],
            "verdicts": [verdict.as_dict() for verdict in verdicts],
            "series": {
                "heat": {
                    "cell_us": row_sums.cell_us_of(plan),
                    "cells": event_figures.heat_of(found["heat"]),
                },
                "lags": backlogs.series_of(cells),
                **{name: found[name] for name in ("seconds", "latencies", "ids", "mutations")},
            },
        }
        return Summarised(summary, measured, cells)

    def _sums(self, measured_us: int) -> row_sums.Sums:
        """Add up the rows, in a job if there are many."""
        data = self._data
        paths = {
            run_sums.RESULTS: data.results_path,
            run_sums.READ_BACK: data.read_back_path,
            run_sums.RECEIPTS: data.receipts_path if measures.readings_of(data.plan) else None,
        }
        sources = [
            run_sums.source_of(name, Storage(path, data.settings))
            for name, path in paths.items()
            if path is not None
        ]
        windows = recoveries.windows_of(data.plan, data.faults)
        names = frozenset(source.name for source in sources)
        quotas = id_quotas(data.plan, data.target)
        run = run_sums.RunSums(
            data.plan,
            measured_us,
            quotas,
            windows,
            names,
            counts_seen=data.ended_us is not None,
            buckets=mutation_buckets(data.plan, data.target),
        )
        if not is_distributed(self._rows_count):
            return run_sums.here(run, sources)
        return run_sums.in_job(self._spark, run, sources, self._rows_count)

    def _rows(self, sql: str) -> Rows:
        return [row.asDict() for row in self._spark.sql(sql, self._arguments).collect()]


def _verdicts_of(data: RunData, found: dict[str, Rows]) -> list[Verdict]:
    """Return the verdicts about requests, stored batches, transactions and faults."""
    plan = data.plan
    return [
        *request_verdicts(plan, data.target, found, data.shadow_report),
        *(stored_verdicts(plan, found) if data.read_back_path is not None else ()),
        *(transaction_verdicts(plan, found) if data.judges_transactions else ()),
        *recoveries.verdicts_of(plan, data.faults, found),
    ]


def _rows_of(sums: row_sums.Sums, plan: Plan) -> dict[str, Rows]:
    """Return the rows of sums by name, with the names of tenants."""
    names = (
        "seconds",
        "latencies",
        "heat",
        "lateness",
        "delays",
        "workers",
        "expiries",
        "ids",
        "mutations",
        "mutation_bounds",
    )
    found: dict[str, Rows] = {name: _ordered(sums[name], ORDERS.get(name, ())) for name in names}
    found["measured"] = row_sums.rows_with_bins(sums["measured_times"])
    if "end_to_end_times" in sums:
        groups = [group for group, _ in measures.readings_of(plan)]
        found["lags"] = backlogs.lag_rows(sums["lag_cells"], groups)
        found["end_to_ends"] = row_sums.rows_with_bins(sums["end_to_end_times"])
    for name, of_sums in (("batches", "stored"), ("fault_batches", "stored_around")):
        if of_sums in sums:
            rows = sums[of_sums].to_pylist()
            found[name] = [{**row, "tenant": plan.tenants[row["number"] - 1].name} for row in rows]
    return found


def _ordered(table: pa.Table, columns: Sequence[str]) -> Rows:
    """Return rows in the order of columns if there are any; nothing comes last."""
    if columns:
        table = table.sort_by([(name, "ascending") for name in columns])
    rows: Rows = table.to_pylist()
    return rows


def arguments_of(plan: Plan) -> dict[str, Any]:
    """Return the parameters of the queries, without those that depend on the rows."""
    tenants = plan.tenants
    return {
        "tenants": [tenant.name for tenant in tenants],
        "no_errors": list(map(int, NO_ERRORS)),
    }


def queries_of(data: RunData) -> dict[str, str]:
    """Return the queries of a summary by name, over the views of `open_views`."""
    return {
        **(TRANSACTION_QUERIES if data.judges_transactions else {}),
        **(recoveries.QUERIES if data.faults else {}),
    }


ORDERS = {
    "seconds": ("second", "tenant"),
    "latencies": ("second", "tenant"),
    "ids": ("user", "node", "first_us"),
    "mutations": ("response_us",),
    "workers": ("worker",),
    "expiries": ("tenant",),
}
"""The order of the rows of sums."""


def open_views(spark: "SparkSession", data: RunData, partitions: int | None) -> None:
    """Open the views; `partitions=1` avoids shuffles in small runs, None leaves them to Spark."""

    def open_view(name: str, frame: "DataFrame") -> None:
        view = frame if partitions is None else frame.coalesce(partitions)
        view.createOrReplaceTempView(name)

    open_view("results", read_results(spark, data.results_path))
    if data.read_back_path is not None:
        open_view("read_back", spark.read.schema(READ_BACK_SCHEMA).parquet(data.read_back_path))
    if data.judges_transactions:
        open_transaction_views(spark, data.plan, data.committed_offsets)
    arguments = arguments_of(data.plan)
    if data.faults:
        recoveries.open_fault_views(spark, data.plan, data.faults, arguments)


def _per_second(seconds: Rows, name: str, measured_s: float) -> float:
    total: int = sum(row[name] or 0 for row in seconds if 0 <= row["second"] < measured_s)
    return float(round(total / measured_s, 1)) if measured_s else 0.0


def _throughput(seconds: Rows, measured_s: float) -> dict[str, float]:
    """Return the records that were acknowledged, and the megabytes of their requests."""
    bytes_per_s = _per_second(seconds, "bytes", measured_s)
    return {
        "records_per_s": _per_second(seconds, "records", measured_s),
        "mb_per_s": round(bytes_per_s / 1e6, 4),
    }


def _with_throughput(tenants: Rows, seconds: Rows, measured_s: float) -> Rows:
    """Return the rows of tenants with the throughput of each of them."""
    by_tenant: dict[str, Rows] = {}
    for second in seconds:
        by_tenant.setdefault(second["tenant"], []).append(second)
    return [row | _throughput(by_tenant.get(row["tenant"], []), measured_s) for row in tenants]


def _named(row: dict[str, Any]) -> dict[str, Any]:
    code = row.pop("error_code")
    return {**row, "error": error_label(code)}
