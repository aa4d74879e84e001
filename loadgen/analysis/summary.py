"""Summarise a run's rows with Spark SQL: figures, series for charts, and verdicts.

The latency of an event starts at its intended time and ends with the response that completes it. An
event that never completes counts until the end of the run: without it the percentiles would look
better than they are.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

from client.errors import error_name
from loadgen import query_settings
from loadgen.analysis import (
    checks,
    event_figures,
    queries,
    quota_bounds,
    recoveries,
    request_groups,
)
from loadgen.analysis.checks import Verdict
from loadgen.analysis.committed_offsets import CommittedOffset
from loadgen.analysis.quota_bounds import (
    id_quotas,
    mutation_buckets,
    open_quota_views,
    quota_verdicts,
)
from loadgen.analysis.read_back import SCHEMA as READ_BACK_SCHEMA
from loadgen.analysis.transactions import (
    TRANSACTION_QUERIES,
    open_transaction_views,
    transaction_verdicts,
)
from loadgen.expected_answers import ACKNOWLEDGED, NO_ERRORS
from loadgen.fault_timeline import FaultRow
from loadgen.plan.plan import Plan, Tenant
from loadgen.plan.run_spec import PreparedTarget
from loadgen.plan.schedule import event_counts
from loadgen.rows import SCHEMA
from protocol.errors import RETRIABLE_ERRORS, ErrorCode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ANY_API = "any"
MAIN_APIS = {
    "topic-creator": "CreateTopics",
    "topic-expander": "CreatePartitions",
    "topic-deleter": "DeleteTopics",
    "consumer-group": "Fetch",
    "share-group": "ShareFetch",
    "connection-storm": "Metadata",
    "admin": ANY_API,
}
"""The API whose response completes an event; EndTxn or Produce for the other behaviours."""
MAYBE_STORED = {*ACKNOWLEDGED, ErrorCode.UNKNOWN_SERVER_ERROR, *RETRIABLE_ERRORS}
"""The errors of a batch that the broker may have stored all the same."""
HEAT_CELLS = 60
_CONCURRENT_QUERIES = 4
"""A query of a small run uses one core."""
COMPILED_ROWS_MIN = 300_000
"""Below this number of rows, compiling or distributing a query takes longer than running it."""
ROWS_PER_PARTITION = 1_000_000
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
    faults: Sequence[FaultRow] = ()
    """What became of the faults of the plan."""

    @property
    def judges_transactions(self) -> bool:
        """Whether there are transactions, and what they have stored was read back."""
        tenants = self.plan.tenants
        return self.read_back_path is not None and any(t.is_judged_by_record for t in tenants)


def summarise(spark: "SparkSession", data: RunData) -> dict[str, Any]:
    """Return the part of `summary.json` that comes from a run's rows, as JSON values."""
    rows = data.rows
    if rows is None:
        rows = read_results(spark, data.results_path).count()
    is_small = rows < COMPILED_ROWS_MIN
    partitions = 1 if is_small else max(SHUFFLE_PARTITIONS_MIN, ceil(rows / ROWS_PER_PARTITION))
    settings = {
        "spark.sql.shuffle.partitions": str(partitions),
        **(query_settings.INTERPRETED if is_small else {}),
    }
    with query_settings.changed(spark, settings):
        open_views(spark, data, partitions=1 if is_small else None)
        # Most of the time of a query over few rows is that for opening the files.
        of_rows = ["results"] if data.read_back_path is None else ["results", "read_back"]
        cached = [*(of_rows if is_small else ()), "events"]  # three queries use the events
        for view in cached:
            spark.catalog.cacheTable(view)
        try:
            return _Summary(spark, data).compute()
        finally:
            for view in reversed(cached):
                spark.catalog.uncacheTable(view)


def read_results(spark: "SparkSession", path: str) -> "DataFrame":
    """Return the rows of a run; the schema is given, because a run may have no row."""
    return spark.read.schema(SCHEMA).parquet(path)


class _Summary:
    """The queries of one summary, of which several run at the same time."""

    def __init__(self, spark: "SparkSession", data: RunData) -> None:
        self._spark, self._data = spark, data
        self._arguments = arguments_of(data.plan)

    def compute(self) -> dict[str, Any]:
        """Return the result of `summarise`."""
        data, plan = self._data, self._data.plan
        sql_by_name = queries_of(data)
        with ThreadPoolExecutor(_CONCURRENT_QUERIES) as pool:
            of_requests = pool.submit(self._rows, sql_by_name.pop("requests"))
            running = {
                name: pool.submit(self._rows, sql_by_name[name])
                for name in sql_by_name.keys() - NEEDS_THE_GROUPS
                if name in needed_queries(data)
            }
            groups = request_groups.groups_of(of_requests.result())
            totals = request_groups.totals_of(groups)
            measured_us = round(plan.duration_s * 1e6)
            totals["not_due"] = 0
            if data.ended_us is not None:
                measured_us = max(0, min(measured_us, data.ended_us))
                [seen] = self._rows(queries.EVENTS_SEEN)
                totals["not_due"] = sum(event_counts(plan)) - seen["events"]
            cell_us = max(1, round(plan.duration_s * 1e6 / HEAT_CELLS))
            end_us = max(measured_us, totals["end_us"] or 0)
            # Another mapping, because other threads are reading this one.
            self._arguments = {**self._arguments, "end_us": end_us, "cell_us": cell_us}
            has_mutations = any(group["mutations"] for group in groups)
            for name in NEEDS_THE_GROUPS:
                if name in needed_queries(data) and (has_mutations or name not in OF_MUTATIONS):
                    running[name] = pool.submit(self._rows, sql_by_name[name])
            found = {
                name: _in_order(name, running[name].result()) if name in running else []
                for name in sql_by_name
            }
        points = found["ids"]
        found["ids"] = quota_bounds.id_points_of(points)
        found["id_bounds"] = quota_bounds.id_bounds_of(points, id_quotas(plan, data.target))
        found["throttles"] = request_groups.throttles_of(groups)
        found["duplicates"] = request_groups.duplicates_of(groups)
        found["tenants"] = event_figures.tenants_of(found["events"])
        found["latencies"] = event_figures.latencies_of(found["latencies"])
        lateness = event_figures.lateness_of(found["lateness"])
        shares = [row["completed"] / row["events"] for row in found["tenants"] if row["events"]]
        has_read_back = data.read_back_path is not None
        verdicts = [
            *request_verdicts(plan, data.target, found, data.shadow_report),
            *(stored_verdicts(plan, found) if has_read_back else ()),
            *(transaction_verdicts(plan, found) if data.judges_transactions else ()),
            *recoveries.verdicts_of(plan, data.faults, found),
            lateness_verdict(plan, lateness["lateness_us"]),
        ]
        return {
            "totals": totals,
            "measured_s": measured_us / 1e6,
            "responses_per_s": _per_second(found["seconds"], "responded", measured_us / 1e6),
            **_throughput(found["seconds"], measured_us / 1e6),
            "tenants": [
                row
                | _throughput(
                    [second for second in found["seconds"] if second["tenant"] == row["tenant"]],
                    measured_us / 1e6,
                )
                for row in found["tenants"]
            ],
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
                "heat": {"cell_us": cell_us, "cells": event_figures.heat_of(found["events"])},
                **{name: found[name] for name in ("seconds", "latencies", "ids", "mutations")},
            },
        }

    def _rows(self, sql: str) -> Rows:
        return [row.asDict() for row in self._spark.sql(sql, self._arguments).collect()]


def _in_order(name: str, rows: Rows) -> Rows:
    """Return the rows of a query in the order of `ORDERS`; nothing comes first, as in SQL."""
    columns = ORDERS.get(name, ())
    return sorted(rows, key=lambda row: [(row[key] is not None, row[key]) for key in columns])


def arguments_of(plan: Plan) -> dict[str, Any]:
    """Return the parameters of the queries, without those that depend on the rows."""
    tenants = plan.tenants
    return {
        "tenants": [tenant.name for tenant in tenants],
        "main_apis": [main_api(tenant) for tenant in tenants],
        "open_tenants": [tenant.name for tenant in tenants if tenant.arrival != "closed"],
        "maybe_stored": sorted(map(int, MAYBE_STORED)),
        "no_errors": list(map(int, NO_ERRORS)),
        "tolerance_us": checks.MUTE_TOLERANCE_US,
        "expiring_tenants": [t.name for t in tenants if t.behaviour == "delivery-timeout"],
        **queries.ARGUMENTS,
        **quota_bounds.ARGUMENTS,
    }


def queries_of(data: RunData) -> dict[str, str]:
    """Return the queries of a summary by name, over the views of `open_views`."""
    return {
        "requests": queries.REQUESTS,
        "events": queries.EVENTS,
        "latencies": queries.LATENCIES,
        "seconds": queries.SECONDS,
        **quota_bounds.QUERIES,
        "expiries": queries.EXPIRIES,
        "lateness": queries.LATENESS,
        "workers": queries.WORKERS,
        **({"batches": queries.BATCHES} if data.read_back_path else {}),
        **(TRANSACTION_QUERIES if data.judges_transactions else {}),
        **(recoveries.queries_of(has_read_back=bool(data.read_back_path)) if data.faults else {}),
    }


ORDERS = {
    "seconds": ("second", "tenant"),
    "latencies": ("second", "tenant"),
    "ids": ("user", "node", "first_us"),
    "mutations": ("response_us",),
    "workers": ("worker",),
}
"""The order of the rows of a query. Spark would shuffle them again to sort them."""
OF_MUTATIONS = ("mutations", "mutation_bounds")
NEEDS_THE_GROUPS = ("events", "latencies", *OF_MUTATIONS)
"""The queries that depend on the result of the query `requests`."""


def needed_queries(data: RunData) -> set[str]:
    """Return the queries whose result is not known to be empty by the plan."""
    plan, target = data.plan, data.target
    unneeded = {
        "mutation_bounds": not mutation_buckets(plan, target),
        "expiries": all(tenant.behaviour != "delivery-timeout" for tenant in plan.tenants),
    }
    return {name for name in queries_of(data) if not unneeded.get(name)}


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
    open_quota_views(spark, data.plan, data.target)
    arguments = arguments_of(data.plan)
    views = {**queries.VIEWS, **(queries.BATCH_VIEWS if data.read_back_path else {})}
    for name, sql in views.items():
        spark.sql(sql, arguments).createOrReplaceTempView(name)
    if data.faults:
        recoveries.open_fault_views(spark, data.plan, data.faults, arguments)


def main_api(tenant: Tenant) -> str:
    """Return the API whose response completes an event."""
    if tenant.is_judged_by_record:
        return "EndTxn" if tenant.transactions else "Produce"
    return MAIN_APIS.get(tenant.behaviour, "Produce")


def _ms(percentiles: list[float] | None, index: int) -> float | None:
    return None if percentiles is None else percentiles[index] / 1000


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


def _named(row: dict[str, Any]) -> dict[str, Any]:
    code = row.pop("error_code")
    return {**row, "error": error_label(code)}


def error_label(code: int | None) -> str:
    """Return the name of an error code, or nothing for a request without a response."""
    return "" if code is None else error_name(code)


def request_verdicts(
    plan: Plan,
    target: PreparedTarget,
    found: Mapping[str, Rows],
    shadow_report: Sequence[Mapping[str, Any]] = (),
) -> list[Verdict]:
    """Return the verdicts that need only the rows of requests.

    `found` has the rows of the queries `id_bounds`, `mutation_bounds`, `throttles`, `duplicates`
    and `expiries`.
    """
    throttles = [row for row in found["throttles"] if row["throttled"]]
    return [
        *quota_verdicts(plan, target, found),
        *map(checks.shadow_quota, shadow_report),
        *_throttle_verdicts(plan, throttles),
        *_duplicate_verdicts(found["duplicates"]),
        *_delivery_verdicts(plan, found["expiries"]),
    ]


def lateness_verdict(plan: Plan, lateness_us: list[float] | None) -> Verdict:
    """Return the verdict about the load generator; `lateness_us` is the median and the p99."""
    return checks.lateness(_ms(lateness_us, 1), plan.lateness_p99_ms)


def _throttle_verdicts(plan: Plan, rows: Rows) -> list[Verdict]:
    obeys = {tenant.name: tenant.obeys_throttle for tenant in plan.tenants}
    return [
        checks.throttles(
            row["tenant"],
            row["throttle_total_ms"],
            row["sent_early"],
            row["responded_early"],
            obeys=obeys[row["tenant"]],
        )
        for row in rows
    ]


def _duplicate_verdicts(rows: Rows) -> list[Verdict]:
    by_kind: dict[str, dict[str, int]] = {}
    for row in rows:
        code = row["error_code"]
        name = "no response" if code is None else error_name(code)
        outcomes = by_kind.setdefault(row["kind"], {})
        outcomes[name] = outcomes.get(name, 0) + row["requests"]
    return [checks.duplicates(kind, outcomes) for kind, outcomes in by_kind.items()]


def _delivery_verdicts(plan: Plan, rows: Rows) -> list[Verdict]:
    timeouts = {
        tenant.name: tenant.delivery_timeout_ms
        for tenant in plan.tenants
        if tenant.behaviour == "delivery-timeout"
    }
    return [
        checks.delivery_timeout(
            row["tenant"],
            timeouts[row["tenant"]],
            row["expired"],
            None if row["latest_us"] is None else row["latest_us"] / 1000,
        )
        for row in rows
        if row["tenant"] in timeouts
    ]


def stored_verdicts(plan: Plan, found: Mapping[str, Rows]) -> list[Verdict]:
    """Return a verdict for each tenant whose batches were read back, from the rows of the queries.

    `found` has the rows of `queries.BATCHES` as `batches`.
    """
    by_tenant: Mapping[str, dict[str, Any]] = {row["tenant"]: row for row in found["batches"]}
    verdicts = []
    for tenant in plan.tenants:
        if tenant.behaviour in MAIN_APIS or tenant.is_judged_by_record:
            continue
        row = by_tenant.get(tenant.name, {"acknowledged": 0, "missing": 0, "repeated": 0})
        verdicts.append(
            checks.exactly_once(
                tenant.name,
                row["acknowledged"],
                row["missing"],
                row["repeated"],
                can_repeat=not tenant.is_idempotent,
                can_lose=tenant.acks != "all",
            )
        )
    return verdicts
