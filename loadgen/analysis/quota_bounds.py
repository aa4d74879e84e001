"""Compare new producer ids and topic mutations with what the quotas allow, by window functions.

The driver gets one row per user and broker, or per bucket, and at most `POINTS_MAX` points for each
line of a chart.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from loadgen.analysis import checks
from loadgen.analysis.checks import CLOCK_US, Verdict
from loadgen.analysis.local_rows import open_rows
from loadgen.plan.plan import Plan
from loadgen.plan.run_spec import PreparedTarget

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = list[dict[str, Any]]

POINTS_MAX = 1000
TOPIC_BEHAVIOURS = {"topic-creator", "topic-expander", "topic-deleter"}
VIEWS = {
    # The first success of each producer id, numbered in the order of time; ids without a success
    # come last.
    "new_ids": """
        SELECT user, node, first_us,
               row_number() OVER (PARTITION BY user, node ORDER BY first_us NULLS LAST) AS number,
               count(first_us) OVER (PARTITION BY user, node) AS ids,
               min(sent_us) OVER (PARTITION BY user, node) AS start_us
        FROM (SELECT user, node, producer_id, min(sent_us) AS sent_us,
                     min(response_us) FILTER (WHERE status = 'responded' AND error_code = 0)
                         AS first_us
              FROM results WHERE api = 'Produce' AND producer_id IS NOT NULL
              GROUP BY user, node, producer_id)""",
    # Accepted mutations with their sum so far.
    "charged": """
        SELECT bucket, rate, burst, user, tenant, sent_us, response_us, mutations,
               min(sent_us) OVER (PARTITION BY bucket) AS start_us,
               sum(mutations) OVER (
                   PARTITION BY bucket ORDER BY response_us ROWS UNBOUNDED PRECEDING) AS total
        FROM results JOIN mutation_buckets USING (tenant) WHERE mutations > 0""",
}
MUTATION_BOUNDS = """
    SELECT bucket, sum(mutations) AS mutations, max(allowed) AS allowed,
           max(total - allowed) AS excess
    FROM (SELECT *, rate * (response_us - start_us + :clock_us) / 1e6D + burst AS allowed
          FROM charged)
    GROUP BY bucket"""
# A point stands for several ids or responses if there are many. A user without any id has one too.
IDS = """
    SELECT user, node, max(first_us) AS first_us, count(first_us) AS ids, max(allowed) AS allowed,
           max(number - allowed) AS excess
    FROM (SELECT *, quota + (first_us - start_us + :clock_us) / 1e6D * quota / window_s AS allowed
          FROM new_ids LEFT JOIN id_quotas USING (user))
    GROUP BY user, node,
             CASE WHEN first_us IS NOT NULL THEN ceil(number / ceil(ids / :points_max)) END"""
MUTATIONS = """
    SELECT user, tenant, min(sent_us) AS sent_us, max(response_us) AS response_us,
           sum(mutations) AS mutations
    FROM (SELECT *, row_number() OVER (PARTITION BY user, tenant ORDER BY response_us) AS number,
                 count(*) OVER (PARTITION BY user, tenant) AS responses
          FROM results WHERE mutations > 0)
    GROUP BY user, tenant, ceil(number / ceil(responses / :points_max))"""

QUERIES = {
    "ids": IDS,
    "mutation_bounds": MUTATION_BOUNDS,
    "mutations": MUTATIONS,
}
ARGUMENTS = {"clock_us": CLOCK_US, "points_max": POINTS_MAX}
"""The parameters of the queries."""


def open_quota_views(spark: "SparkSession", plan: Plan, target: PreparedTarget) -> None:
    """Open the views of the queries, over the view `results`."""
    quotas = [(user, *values) for user, values in id_quotas(plan, target).items()]
    open_rows(spark, "id_quotas", "user string, quota double, window_s double", quotas)
    buckets = [
        (bucket, tenant, rate, burst)
        for bucket, (tenants, rate, burst, _) in mutation_buckets(plan, target).items()
        for tenant in tenants
    ]
    schema = "bucket string, tenant string, rate double, burst double"
    open_rows(spark, "mutation_buckets", schema, buckets)
    for name, sql in VIEWS.items():
        spark.sql(sql).createOrReplaceTempView(name)


def id_bounds_of(points: Rows, users: Collection[str]) -> Rows:
    """Return ids and bounds of each user and broker, from the rows of `IDS`.

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
    """Return the points of the chart of ids, from the rows of `IDS`."""
    names = ("user", "node", "first_us", "ids")
    return [{name: point[name] for name in names} for point in points if point["ids"]]


def quota_verdicts(plan: Plan, target: PreparedTarget, found: Mapping[str, Rows]) -> list[Verdict]:
    """Return a verdict for each user and broker with a quota, and for each bucket of mutations.

    `found` has the rows of `id_bounds_of` as `id_bounds`, and those of the query `mutation_bounds`.
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
