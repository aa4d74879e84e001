"""The audit over HTTP: were acknowledged batches stored, once and in order?"""

from typing import Any

import msgspec

from broker.audit.acknowledgements import Dropped, PartitionKey
from broker.audit.comparison import Finding, audit_cluster
from broker.dispatch.turn_queue import TurnKind
from broker.http_admin.operation import Problem, operation
from broker.http_admin.state import Admin
from protocol.pacing import may_pause

FINDINGS_MAX = 1_000


class FindingView(msgspec.Struct):
    """One difference; -1 and null where there is nothing to name.

    `kind` is `not_stored`, `lost_by_election`, `lost_by_truncation`, `changed_by_rule`,
    `stored_twice`, `out_of_order` or `offset_beyond_log_end`.
    """

    kind: str
    topic: str
    partition: int
    detail: str
    base_offset: int
    records_count: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    client_id: str | None
    connection: int | None
    time_ms: int | None
    group: str | None


class NotCoveredView(msgspec.Struct):
    """Acknowledgements of one partition that were dropped to make room for newer ones.

    Offsets are -1 where none is known. `topic` is null for the sum over all further partitions.
    """

    topic: str | None
    topic_id: str | None
    partition: int | None
    count: int
    base_offset_min: int
    base_offset_max: int
    time_ms_max: int


class ExcludedView(msgspec.Struct):
    """How many responses a fault rule falsified, which are not compared; id 0 is a hook."""

    rule_id: int
    count: int


class AuditView(msgspec.Struct):
    """What was compared, what was not, and the differences.

    `covered` acknowledgements were compared; the batches of `removed` ones were removed by
    retention, DeleteRecords, compaction or with their topic. `findings` are the first 1,000 of
    `finding_count`.
    """

    finding_count: int
    findings: list[FindingView]
    covered: int
    removed: int
    not_covered: int
    not_covered_partitions: list[NotCoveredView]
    excluded: list[ExcludedView]


@operation("GET", "/v1/audit", tag="audit", turn_kind=TurnKind.READING)
@may_pause
def get_audit(admin: Admin) -> AuditView:
    """Compare the acknowledgements that were sent with the logs.

    Needs `audit.enable=true` from the start. A reset clears the record.
    """
    if not admin.acknowledgements.is_enabled:
        raise Problem(
            409,
            "acknowledgements are not recorded: start the cluster with audit.enable=true"
            " (MockKafka(audit=True), or mock-kafka serve -o audit.enable=true)",
        )
    report = audit_cluster(admin.cluster, admin.acknowledgements)
    findings = report.comparison.findings
    return AuditView(
        finding_count=len(findings),
        findings=[_finding_view(finding) for finding in findings[:FINDINGS_MAX]],
        covered=report.comparison.covered,
        removed=report.comparison.removed,
        not_covered=sum(dropped.count for dropped in report.dropped.values()),
        not_covered_partitions=[_not_covered_view(*item) for item in report.dropped.items()],
        excluded=[ExcludedView(*item) for item in sorted(report.excluded.items())],
    )


def _finding_view(finding: Finding) -> FindingView:
    fields: dict[str, Any] = {
        name: getattr(finding, name) for name in FindingView.__struct_fields__ if name != "kind"
    }
    return FindingView(kind=finding.kind.value, **fields)


def _not_covered_view(key: PartitionKey | None, dropped: Dropped) -> NotCoveredView:
    topic_id, partition = (None, None) if key is None else (str(key[0]), key[1])
    return NotCoveredView(
        dropped.topic,
        topic_id,
        partition,
        dropped.count,
        dropped.base_offset_min,
        dropped.base_offset_max,
        dropped.time_ms_max,
    )
