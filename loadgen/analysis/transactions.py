"""Judge transactions by what a read_committed consumer reads after the run."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from loadgen.analysis import checks
from loadgen.analysis.checks import Verdict
from loadgen.analysis.committed_offsets import CommittedOffset
from loadgen.analysis.local_rows import open_rows
from loadgen.plan.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = list[dict[str, Any]]

TENANTS_SCHEMA = (
    "tenant string, source string, topic string, has_transactions boolean, expected int"
)
# An EndTxn that is lost may have ended the transaction. Without transactions the records themselves
# are the commit.
TRANSACTIONS = """
    WITH events AS (
        SELECT tenant, event_id, any_value(expected) AS expected,
               any_value(has_transactions) AS has_transactions,
               count_if(kind = 'commit') > 0 AS is_requested,
               count_if(kind = 'commit' AND status = 'responded' AND error_code = 0) > 0
                   OR NOT any_value(has_transactions)
                      AND coalesce(sum(records) FILTER (
                          WHERE api = 'Produce' AND status = 'responded' AND error_code = 0
                      ), 0) >= any_value(expected) AS is_committed
        FROM results JOIN judged_tenants USING (tenant)
        WHERE source = '' AND event_id >= 0 GROUP BY tenant, event_id),
    stored AS (
        SELECT event_id, count(*) AS records, count(DISTINCT number) AS numbers FROM read_back
        WHERE number IS NOT NULL AND source_offset IS NULL GROUP BY event_id)
    SELECT tenant, count_if(is_committed) AS committed,
           count_if(is_committed AND coalesce(numbers, 0) < expected) AS missing,
           count_if(records > numbers) AS repeated,
           count_if(has_transactions AND NOT is_requested AND numbers > 0) AS uncommitted,
           count_if(has_transactions AND is_requested AND NOT is_committed AND numbers < expected)
               AS partial
    FROM events LEFT JOIN stored USING (event_id) GROUP BY tenant"""
CONSUMED = """
    WITH consumed AS (
        SELECT tenant, partition, offset FROM (
            SELECT tenant, partition,
                   explode(sequence(base_offset, base_offset + records - 1)) AS offset
            FROM read_back JOIN judged_tenants ON read_back.topic = judged_tenants.source)
        JOIN committed_offsets USING (tenant, partition)
        WHERE offset < committed_offset),
    produced AS (
        SELECT tenant, source_partition AS partition, source_offset AS offset, count(*) AS times
        FROM read_back
        JOIN (SELECT DISTINCT tenant, event_id FROM results JOIN judged_tenants USING (tenant)
              WHERE source != '') USING (event_id)
        WHERE source_offset IS NOT NULL GROUP BY ALL)
    SELECT tenant, count(consumed.offset) AS consumed,
           count_if(times IS NULL) AS missing,
           coalesce(sum(times - 1), 0) AS repeated,
           count_if(consumed.offset IS NULL) AS early
    FROM consumed FULL OUTER JOIN produced USING (tenant, partition, offset) GROUP BY tenant"""

TRANSACTION_QUERIES = {"transactions": TRANSACTIONS, "consumed": CONSUMED}


def open_transaction_views(
    spark: "SparkSession", plan: Plan, committed_offsets: Sequence[CommittedOffset]
) -> None:
    """Open the views of the queries, besides `results` and `read_back`."""
    tenants = [
        (
            tenant.name,
            tenant.source,
            tenant.topic,
            tenant.transactions,
            tenant.batches * tenant.records,
        )
        for tenant in plan.tenants
        if tenant.is_judged_by_record
    ]
    open_rows(spark, "judged_tenants", TENANTS_SCHEMA, tenants)
    schema = "tenant string, partition int, committed_offset bigint"
    open_rows(spark, "committed_offsets", schema, committed_offsets)


def transaction_verdicts(plan: Plan, found: Mapping[str, Rows]) -> list[Verdict]:
    """Return a verdict for each tenant with transactions, from the rows of each query."""
    rows = {row["tenant"]: row for name in TRANSACTION_QUERIES for row in found[name]}
    verdicts = []
    for tenant in plan.tenants:
        counts = {
            name: int(count)
            for name, count in rows.get(tenant.name, {}).items()
            if name != "tenant"
        }
        if tenant.is_judged_by_record:
            judge = checks.consumed_and_produced if tenant.source else checks.transactions
            verdicts.append(judge(tenant.name, **counts))
    return verdicts
