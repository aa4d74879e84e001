"""The verdicts of a run, from the rows of the queries of its summary."""

from collections.abc import Mapping, Sequence
from typing import Any

from client.errors import error_name
from loadgen.analysis import checks
from loadgen.analysis.arrow_queries import ANY_API
from loadgen.analysis.checks import Verdict
from loadgen.analysis.quota_bounds import quota_verdicts
from loadgen.plan.plan import Plan, Tenant
from loadgen.plan.run_spec import PreparedTarget

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

Rows = list[dict[str, Any]]


def main_api(tenant: Tenant) -> str:
    """Return the API whose response completes an event."""
    if tenant.is_judged_by_record:
        return "EndTxn" if tenant.transactions else "Produce"
    return MAIN_APIS.get(tenant.behaviour, "Produce")


def error_label(code: int | None) -> str:
    """Return the name of an error code, or nothing for a request without a response."""
    return "" if code is None else error_name(code)


def _ms(percentiles: list[float] | None, index: int) -> float | None:
    return None if percentiles is None else percentiles[index] / 1000


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
