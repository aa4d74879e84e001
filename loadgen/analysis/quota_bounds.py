"""Compare new producer ids and topic mutations with what the quotas allow, in the order of time.

The driver gets one row per user and broker, or per bucket, and at most `POINTS_MAX` points for each
line of a chart.
"""

from collections.abc import Collection, Mapping
from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow.compute import coalesce, field, if_else

from loadgen.analysis import checks
from loadgen.analysis.arrow_queries import (
    NO_TIME,
    Grouping,
    columns_of,
    is_in,
    numbers_of,
    spans_of,
)
from loadgen.analysis.checks import CLOCK_US, Verdict
from loadgen.plan.plan import Plan
from loadgen.plan.run_spec import PreparedTarget

Rows = list[dict[str, Any]]

POINTS_MAX = 1000
_POINTS = pa.schema(
    [
        ("user", pa.string()),
        ("node", pa.int32()),
        ("first_us", pa.int64()),
        ("ids", pa.int64()),
        ("allowed", pa.float64()),
        ("excess", pa.float64()),
    ]
)
_BOUNDS = pa.schema(
    [
        ("bucket", pa.string()),
        ("mutations", pa.int64()),
        ("allowed", pa.float64()),
        ("excess", pa.float64()),
    ]
)
TOPIC_BEHAVIOURS = {"topic-creator", "topic-expander", "topic-deleter"}
ID_COLUMNS = ("user", "node", "producer_id")
"""The columns that these sums need, besides those of `row_sums`."""
_IS_FIRST = (field("status") == "responded") & (field("error_code") == 0)
NEW_IDS = Grouping(
    {name: field(name) for name in ID_COLUMNS},
    {
        "sent_us": ("min", field("sent_us")),
        "response_us": (
            "min",
            if_else(coalesce(_IS_FIRST, False), field("response_us"), NO_TIME),
        ),
    },
    (field("api") == "Produce") & field("producer_id").is_valid(),
)
"""When each producer id was first sent, and first succeeded."""


def id_points(new_ids: pa.Table, quotas: Mapping[str, tuple[float, float]]) -> pa.Table:
    """Return at most POINTS_MAX points for each user and broker, and one for ids without a success.

    A point stands for several ids if there are many, in the order of their first success:
    `first_us` of the last one, `ids`, and the largest `allowed` and `excess` of users with a quota.

    Args:
        new_ids: the rows of NEW_IDS, of all ids of a user and broker.
        quotas: as `id_quotas` returns them.
    """
    order = [(name, "ascending") for name in ("user", "node", "response_us")]
    table = new_ids.sort_by(order)
    users = table["user"].combine_chunks().dictionary_encode(null_encoding="encode").indices
    nodes = numbers_of(table["node"].fill_null(-1))
    points: list[dict[str, Any]] = []
    for start, end in spans_of([numbers_of(users), nodes]):
        ids = table.slice(start, end - start)
        user, node = ids["user"][0].as_py(), ids["node"][0].as_py()
        first_us = numbers_of(ids["response_us"].drop_null())
        start_us = min(ids["sent_us"].drop_null().to_pylist(), default=0)
        numbers = np.arange(1, len(first_us) + 1)
        allowed = excess = np.full(len(first_us), np.nan)
        if user in quotas:
            quota, window_s = quotas[user]
            allowed = quota + (first_us - start_us + CLOCK_US) / 1e6 * quota / window_s
            excess = numbers - allowed
        if len(first_us) < len(ids):
            point = {"first_us": None, "ids": 0, "allowed": None, "excess": None}
            points.append({"user": user, "node": node, **point})
        step = ceil(len(first_us) / POINTS_MAX)
        for begin in range(0, len(first_us), max(1, step)):
            part = slice(begin, begin + step)
            points.append(
                {
                    "user": user,
                    "node": node,
                    "first_us": int(first_us[part][-1]),
                    "ids": len(first_us[part]),
                    "allowed": float(allowed[part].max()) if user in quotas else None,
                    "excess": float(excess[part].max()) if user in quotas else None,
                }
            )
    return pa.Table.from_pylist(points, _POINTS)


ACCEPTED = ("tenant", "user", "sent_us", "response_us", "mutations")
"""The columns of requests whose mutations were accepted."""
Buckets = Mapping[str, tuple[list[str], float, float, int]]


def accepted_mutations(rows: pa.Table) -> pa.Table:
    """Return the requests whose mutations were accepted, with the columns of ACCEPTED."""
    return columns_of(rows, {name: field(name) for name in ACCEPTED}, field("mutations") > 0)


def mutation_bounds(accepted: pa.Table, buckets: Buckets) -> pa.Table:
    """Return sum and bounds of the mutations of each bucket that has any.

    Args:
        accepted: the rows of `accepted_mutations`, of all tenants of a bucket.
        buckets: as `mutation_buckets` returns them.
    """
    found = []
    for bucket, (tenants, rate, burst, _) in buckets.items():
        mine = accepted.filter(is_in("tenant", tenants)).sort_by("response_us")
        if len(mine):
            times_us, mutations = (numbers_of(mine[name]) for name in ("response_us", "mutations"))
            start_us = min(mine["sent_us"].to_pylist())
            allowed = rate * (times_us - start_us + CLOCK_US) / 1e6 + burst
            excess = np.cumsum(mutations) - allowed
            bounds = (int(mutations.sum()), float(allowed.max()), float(excess.max()))
            found.append(dict(zip(_BOUNDS.names, (bucket, *bounds), strict=True)))
    return pa.Table.from_pylist(found, _BOUNDS)


def mutation_points(accepted: pa.Table) -> pa.Table:
    """Return at most POINTS_MAX points of each user and tenant, of rows of `accepted_mutations`.

    A point stands for several responses if there are many, in the order of time.
    """
    order = [(name, "ascending") for name in ("user", "tenant", "response_us")]
    table = accepted.sort_by(order)
    names = [
        numbers_of(table[name].combine_chunks().dictionary_encode(null_encoding="encode").indices)
        for name in ("user", "tenant")
    ]
    points = np.zeros(len(table), np.int64)
    for start, end in spans_of(names):
        points[start:end] = np.arange(end - start) // ceil((end - start) / POINTS_MAX)
    keys = {name: field(name) for name in ("user", "tenant", "point")}
    sums = {
        "sent_us": ("min", field("sent_us")),
        "response_us": ("max", field("response_us")),
        "mutations": ("sum", field("mutations")),
    }
    found = Grouping(keys, sums).of(table.append_column("point", pa.array(points)))
    return found.drop_columns(["point"])


def id_bounds_of(points: Rows, users: Collection[str]) -> Rows:
    """Return ids and bounds of each user and broker, from the rows of `id_points`.

    `users` are those with a quota.
    """
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for point in points:
        user, node = point["user"], point["node"]
        if user in users:
            none = {"user": user, "node": node, "ids": 0, "allowed": None, "excess": None}
            bounds = found.setdefault((user, node), none)
            bounds["ids"] += point["ids"]
            for name in ("allowed", "excess"):
                known = [row[name] for row in (bounds, point) if row[name] is not None]
                bounds[name] = max(known, default=None)
    return list(found.values())


def id_points_of(points: Rows) -> Rows:
    """Return the points of the chart of ids, from the rows of `id_points`."""
    names = ("user", "node", "first_us", "ids")
    return [{name: point[name] for name in names} for point in points if point["ids"]]


def quota_verdicts(plan: Plan, target: PreparedTarget, found: Mapping[str, Rows]) -> list[Verdict]:
    """Return a verdict for each user and broker with a quota, and for each bucket of mutations.

    `found` has the rows of `id_bounds_of` as `id_bounds`, and those of `mutation_bounds`.
    """
    window_s = target.config["producer.id.quota.window.size.seconds"]
    quotas = {
        tenant.principal: plan.quota_of(tenant, "producer_ids_rate")
        for tenant in reversed(plan.tenants)
    }
    verdicts = []
    for row in found["id_bounds"]:
        quota = quotas[row["user"]]
        if quota is not None:
            verdicts.append(checks.producer_ids(quota=quota.value, window_s=window_s, **row))
    verdicts.sort(key=lambda verdict: verdict.scope)
    bounds = {row["bucket"]: row for row in found["mutation_bounds"]}
    for bucket, (tenants, rate, burst, most) in mutation_buckets(plan, target).items():
        row = bounds.get(bucket, {"mutations": 0, "allowed": None, "excess": None})
        verdicts.append(
            checks.topic_mutations(
                f"tenants {', '.join(tenants)}",
                rate,
                burst,
                row["mutations"],
                row["allowed"],
                row["excess"],
                most,
            )
        )
    return verdicts


def id_quotas(plan: Plan, target: PreparedTarget) -> dict[str, tuple[float, float]]:
    """Return ids per window, and the window in seconds, of each user with an enforced quota."""
    window_s = float(target.config["producer.id.quota.window.size.seconds"])
    quotas: dict[str, tuple[float, float]] = {}
    for tenant in plan.tenants:
        quota = plan.quota_of(tenant, "producer_ids_rate")
        if quota is not None and not quota.shadow and quota.key not in target.unknown_quotas:
            quotas.setdefault(tenant.principal, (quota.value, window_s))
    return quotas


def mutation_buckets(
    plan: Plan, target: PreparedTarget
) -> dict[str, tuple[list[str], float, float, int]]:
    """Return tenants, rate, burst and the mutations of the largest topic of each bucket."""
    config = target.config
    seconds = config["controller.quota.window.num"] * config["controller.quota.window.size.seconds"]
    found = {}
    for bucket, (quota, users) in plan.buckets("controller_mutation_rate").items():
        tenants = [tenant for tenant in users if tenant.behaviour in TOPIC_BEHAVIOURS]
        if tenants and not quota.shadow:
            names = [tenant.name for tenant in tenants]
            most = max(tenant.partitions for tenant in tenants)
            found[bucket] = (names, quota.value, quota.value * seconds, most)
    return found
