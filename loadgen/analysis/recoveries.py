"""How tenants got through the faults of a plan: rates, gaps, recoveries, and what was stored.

A tenant has recovered from the beginning of the first second after the end of a fault in which it
got at least 90 % of the acknowledgements per second that it had before, and no error. A fault is
observed until the next one begins, the tenant stops or pauses, or `OBSERVED_S` after it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from loadgen.analysis.checks import Judgement, Verdict
from loadgen.analysis.local_rows import open_rows
from loadgen.fault_rows import FaultRow
from loadgen.plan.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECOVERED_CHECK = "recovered from a fault"
STORED_CHECK = "nothing acknowledged is lost or stored twice around a fault"
BASELINE_S = 5.0
"""How long before a fault the usual rate is measured."""
OBSERVED_S = 30.0
SHARE = 0.9
CELL_US = 100_000
_LOSING = {"retries-lost-responses", "transactional", "consume-transform-produce"}
"""The behaviours whose clients close connections with requests in flight."""
Rows = list[dict[str, Any]]

_WINDOWS = (
    "fault int, tenant string, before_us bigint, begun_us bigint, over_us bigint, until_us bigint,"
    " loses boolean"
)
ANSWERS = f"""
    SELECT fault, before_us, begun_us, over_us, until_us, tenant, t_us, is_acknowledged,
           is_refused OR (is_lost AND NOT loses) AS is_error,
           floor((t_us - over_us) / {CELL_US}) AS cell
    FROM (SELECT tenant AS of, coalesce(response_us, sent_us) AS t_us,
                 event_id >= 0 AND status = 'responded' AND error_code IN (0, 46)
                     AS is_acknowledged,
                 status = 'responded' AND NOT array_contains(
                     CAST(:no_errors AS ARRAY<INT>), CAST(error_code AS INT)) AS is_refused,
                 status = 'lost' AS is_lost
          FROM results WHERE sent_us IS NOT NULL)
    JOIN fault_windows ON of = tenant AND t_us >= before_us AND t_us < until_us"""  # noqa: S608 - made of constants
FAULT_GAPS = """
    SELECT fault, tenant, count_if(t_us < begun_us) AS before, count_if(t_us >= begun_us) AS after,
           min(t_us) FILTER (WHERE t_us >= over_us) - max(over_us) AS first_us,
           max(t_us - greatest(begun_us, previous_us)) FILTER (WHERE t_us >= begun_us) AS gap_us,
           max(t_us) AS last_us
    FROM (SELECT *, coalesce(lag(t_us) OVER (PARTITION BY fault, tenant ORDER BY t_us), before_us)
                    AS previous_us
          FROM fault_answers WHERE is_acknowledged)
    GROUP BY fault, tenant"""
RECOVERIES = f"""
    SELECT fault, tenant, min(cell) * {CELL_US} AS recovered_us
    FROM (SELECT *, sum(acknowledged) OVER following AS acknowledged_s,
                 sum(errors) OVER following AS errors_s
          FROM (SELECT fault, tenant, cell, max(before_us) AS before_us, max(begun_us) AS begun_us,
                       max(over_us) AS over_us, max(until_us) AS until_us,
                       count_if(is_acknowledged) AS acknowledged, count_if(is_error) AS errors
                FROM fault_answers WHERE t_us >= over_us GROUP BY fault, tenant, cell)
          WINDOW following AS (PARTITION BY fault, tenant ORDER BY cell
                               RANGE BETWEEN CURRENT ROW AND 9 FOLLOWING))
    JOIN (SELECT fault AS of_fault, tenant AS of_tenant,
                 count(*) * 1e6 / (max(begun_us) - max(before_us)) AS rate
          FROM fault_answers WHERE is_acknowledged AND t_us < begun_us GROUP BY fault, tenant)
    ON fault = of_fault AND tenant = of_tenant
    WHERE acknowledged_s >= {SHARE} * rate AND errors_s = 0
          AND over_us + (cell + 10) * {CELL_US} <= until_us
    GROUP BY fault, tenant"""  # noqa: S608 - made of constants
QUERIES = {"fault_gaps": FAULT_GAPS, "recoveries": RECOVERIES}
"""The queries of a run with faults, over the views of `open_fault_views`."""


def open_fault_views(
    spark: "SparkSession", plan: Plan, faults: Sequence[FaultRow], arguments: Mapping[str, Any]
) -> None:
    """Open the views of faults that were carried out, beside the view of results."""
    open_rows(spark, "fault_windows", _WINDOWS, windows_of(plan, faults))
    spark.sql(ANSWERS, {"no_errors": arguments["no_errors"]}).createOrReplaceTempView(
        "fault_answers"
    )


def windows_of(plan: Plan, faults: Sequence[FaultRow]) -> list[tuple[Any, ...]]:
    """Return for each fault and tenant the times in µs between which its rows are looked at.

    They are those before the fault, its begin and its end, and the last one; in order. A fault
    which lasts until the end of the run is over when it begins. A consumer in a pause reads
    nothing, whatever happens to the cluster: its pauses are in no window.
    """
    found = []
    end_us = round(plan.duration_s * 1e6)
    begun = sorted(row.begun_us for row in faults if row.begun_us is not None)
    for row in faults:
        if row.begun_us is None:
            continue
        over_us = over_us_of(row, end_us)
        within_s = plan.faults[row.fault].recovered_within_s or 0.0
        next_us = min((at_us for at_us in begun if at_us > row.begun_us), default=end_us)
        ended = [
            over_us_of(other, end_us)
            for other in faults
            if other.begun_us is not None and other.begun_us < row.begun_us
        ]
        observed_us = over_us + round(max(OBSERVED_S, within_s + 5.0) * 1e6)
        for tenant in plan.tenants:
            start_s, stop_s = plan.span_s(tenant)
            before_us = max(row.begun_us - round(BASELINE_S * 1e6), round(start_s * 1e6), *ended)
            until_us = min(next_us, end_us, round(stop_s * 1e6), observed_us)
            for pause in tenant.pauses:
                if pause.end_s * 1e6 <= row.begun_us:
                    before_us = max(before_us, round(pause.end_s * 1e6))
                else:
                    until_us = min(until_us, round(pause.at_s * 1e6))
            if before_us < row.begun_us < until_us:
                loses = tenant.behaviour in _LOSING
                times = (before_us, row.begun_us, over_us, until_us)
                found.append((row.fault, tenant.name, *times, loses))
    return found


def over_us_of(row: FaultRow, end_us: int) -> int:
    """Return when a fault was over: undone by its `for`, or else as soon as it had begun."""
    assert row.begun_us is not None, "it was carried out"
    if row.ended_us is not None and row.ended_us < end_us:
        return row.ended_us
    return row.begun_us


def recoveries_of(plan: Plan, faults: Sequence[FaultRow], found: Mapping[str, Rows]) -> Rows:
    """Return a row for each fault and tenant, with times in µs and rates per second.

    `found` has the rows of QUERIES.
    """
    if not faults:
        return []
    gaps = {(row["fault"], row["tenant"]): row for row in found["fault_gaps"]}
    recovered = {(row["fault"], row["tenant"]): row["recovered_us"] for row in found["recoveries"]}
    rows = []
    for fault, tenant, before_us, begun_us, over_us, until_us, _ in windows_of(plan, faults):
        gap = gaps.get((fault, tenant), {})
        last_us = max(begun_us, gap.get("last_us") or begun_us)
        rows.append(
            {
                "fault": faults[fault].name,
                "tenant": tenant,
                "rate_before": round((gap.get("before") or 0) * 1e6 / (begun_us - before_us), 1),
                "first_success_us": gap.get("first_us"),
                "longest_gap_us": max(gap.get("gap_us") or 0, until_us - last_us),
                "recovered_us": recovered.get((fault, tenant)),
                "recovered_within_s": plan.faults[fault].recovered_within_s,
                "observed_us": max(0, until_us - over_us),
            }
        )
    return rows


def verdicts_of(plan: Plan, faults: Sequence[FaultRow], found: Mapping[str, Rows]) -> list[Verdict]:
    """Return a verdict for each fault with an expectation and each tenant that it could meet.

    Another one about each fault says whether what was acknowledged is stored, if that was read
    back. `found` has the rows of QUERIES, and those of the batches as `fault_batches`.
    """
    rows = recoveries_of(plan, faults, found)
    return [
        *(_recovery(row) for row in rows if row["recovered_within_s"] is not None),
        *(_stored(plan, faults, found["fault_batches"]) if "fault_batches" in found else ()),
    ]


def _recovery(row: Mapping[str, Any]) -> Verdict:
    recovered_us, within_us = row["recovered_us"], row["recovered_within_s"] * 1e6
    verdict: Judgement = "failed"
    if not row["rate_before"]:
        verdict, details = "not checked", "no acknowledgement before the fault"
    elif recovered_us is not None:
        verdict = "passed" if recovered_us <= within_us else "failed"
        details = f"after {recovered_us / 1e6:.1f} s"
    else:
        details = f"not within {row['observed_us'] / 1e6:.1f} s"
        if row["observed_us"] < within_us + 1_000_000:
            verdict, details = "not checked", f"{details}, too short to know"
    return Verdict(
        f"{RECOVERED_CHECK}: 90 % of the rate, no error for 1 s",
        f"fault {row['fault']}, tenant {row['tenant']}",
        verdict,
        f"{details} (at most {row['recovered_within_s']:g} s); {row['rate_before']:g}/s before,"
        f" longest gap {row['longest_gap_us'] / 1e6:.2f} s",
    )


def _stored(plan: Plan, faults: Sequence[FaultRow], rows: Rows) -> list[Verdict]:
    """Return a verdict for each fault about the batches of the events around it.

    Tenants whose check of stored batches has exceptions are judged by that check alone: without
    idempotence batches may be stored twice, with `acks: 1` some may be lost, and transactions are
    judged by their records.
    """
    judged = {
        tenant.name
        for tenant in plan.tenants
        if tenant.is_idempotent and tenant.acks == "all" and not tenant.is_judged_by_record
    }
    verdicts = []
    for fault in faults:
        if fault.begun_us is None:
            continue
        mine = [row for row in rows if row["fault"] == fault.fault and row["tenant"] in judged]
        acknowledged, missing, repeated = (
            sum(row[name] for row in mine) for name in ("acknowledged", "missing", "repeated")
        )
        verdict: Judgement = "failed" if missing or repeated else "passed"
        verdicts.append(
            Verdict(
                STORED_CHECK,
                f"fault {fault.name}",
                verdict if acknowledged else "not checked",
                f"{acknowledged} acknowledged batches, {missing} missing, {repeated} stored again",
            )
        )
    return verdicts
