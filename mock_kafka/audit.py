"""The report of the audit of acknowledgements. Frozen values."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any

__tracebackhide__ = True  # pytest shows the line of the caller

ON_PURPOSE = frozenset({"lost_by_election", "lost_by_truncation", "changed_by_rule"})
"""The kinds of findings that only what a test has set up can cause."""
_SHOWN = 20


class AuditError(AssertionError):
    """The audit has findings; the message is the report."""


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One difference between the responses that clients got and what the logs hold.

    `kind` is one of:

    - `not_stored`: a batch was acknowledged, but is not in the log;
    - `lost_by_election`: a batch was acknowledged, and lost when a replica became leader that had
      not fetched it;
    - `lost_by_truncation`: a batch was acknowledged, and lost when a test truncated the log;
    - `changed_by_rule`: a fault rule with `change_records` has changed the batch in the log;
    - `stored_twice`: a batch is in the log again, under the same producer id, epoch and sequence;
    - `out_of_order`: a batch is stored after one of the same producer id and epoch with later
      sequences;
    - `offset_beyond_log_end`: a group has committed an offset greater than the log end offset.

    `base_offset` is that of the batch, or the committed offset. Client id, connection and time (ms
    since the epoch) are those of the acknowledged request. -1 and None mean that there is no value.
    """

    kind: str
    topic: str
    partition: int
    detail: str
    base_offset: int = -1
    records_count: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    client_id: str | None = None
    connection: int | None = None
    time_ms: int | None = None
    group: str | None = None

    def __str__(self) -> str:
        """Return one readable line."""
        parts = [f"{self.kind}  {self.topic}-{self.partition} offset {self.base_offset}"]
        if self.producer_id >= 0:
            parts.append(
                f"producer id {self.producer_id} epoch {self.producer_epoch}"
                f" sequence {self.base_sequence} ({self.records_count} records)"
            )
        if self.connection is not None:
            client = self.client_id or "(no client id)"
            parts.append(f"{client} on connection {self.connection} at {self.time_ms} ms")
        return "  ".join([*parts, self.detail])


@dataclass(frozen=True, slots=True)
class NotCovered:
    """Acknowledgements of one partition that were discarded to make room for newer ones.

    Their base offsets are between `base_offset_min` and `base_offset_max` (-1: not known), and the
    last one was sent at `time_ms_max`. `topic` is None for the sum over all further partitions.
    """

    topic: str | None
    topic_id: str | None
    partition: int | None
    count: int
    base_offset_min: int
    base_offset_max: int
    time_ms_max: int

    def __str__(self) -> str:
        """Return one readable line."""
        if self.topic is None:
            return f"{self.count} of further partitions"
        return (
            f"{self.count} of {self.topic}-{self.partition},"
            f" offsets {self.base_offset_min} to {self.base_offset_max}"
        )


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The acknowledgements since the start or the last reset, compared with the logs.

    `findings` are the first 1,000 of `finding_count`. `covered` counts the acknowledgements that
    were compared; `removed` those whose batch was removed later by retention, by DeleteRecords, by
    compaction or with its topic; `not_covered` those that were discarded beyond
    `audit.acknowledgements.max`, listed in `not_covered_partitions`. `excluded` counts, by the id
    of a fault rule, the responses that it changed (id 0: those of a hook).
    """

    finding_count: int
    findings: tuple[AuditFinding, ...]
    covered: int
    removed: int
    not_covered: int
    not_covered_partitions: tuple[NotCovered, ...]
    excluded: Mapping[int, int]

    def raise_on_findings(self, *, except_kinds: Collection[str] = ()) -> None:
        """Raise an error if there are findings, other than those of some kinds.

        A test of unclean elections expects `except_kinds={"lost_by_election"}`.

        Raises:
            AuditError: there are findings; the message is the report.
        """
        if self.has_findings(except_kinds=except_kinds):
            raise AuditError(str(self))

    def has_findings(self, *, except_kinds: Collection[str] = ()) -> bool:
        """Return whether there are findings, other than those of some kinds."""
        expected = [finding for finding in self.findings if finding.kind in except_kinds]
        return self.finding_count > len(expected)

    def __str__(self) -> str:
        """Return the report with at most 20 lines of findings and 20 of partitions."""
        summary = (
            f"audit: {self.finding_count} findings; acknowledgements: {self.covered} covered,"
            f" {self.removed} removed from the log since, {self.not_covered} not covered"
        )
        lines = [summary, *_indented(self.findings, self.finding_count)]
        if self.not_covered_partitions:
            lines.append("not covered, because audit.acknowledgements.max was exceeded:")
            lines += _indented(self.not_covered_partitions, len(self.not_covered_partitions))
        lines += [
            f"excluded: {count} responses that fault rule #{rule_id} falsified"
            for rule_id, count in self.excluded.items()
        ]
        return "\n".join(lines)


def _indented(lines: tuple[Any, ...], count: int) -> list[str]:
    shown = [f"  {line}" for line in lines[:_SHOWN]]
    return shown + ([f"  and {count - len(shown)} more"] if count > len(shown) else [])


def audit_report_of(data: Mapping[str, Any]) -> AuditReport:
    """Return a report from the admin port's JSON; ignore unknown fields."""
    return AuditReport(
        data["finding_count"],
        tuple(AuditFinding(**_known(AuditFinding, finding)) for finding in data["findings"]),
        data["covered"],
        data["removed"],
        data["not_covered"],
        tuple(NotCovered(**_known(NotCovered, part)) for part in data["not_covered_partitions"]),
        {rule["rule_id"]: rule["count"] for rule in data["excluded"]},
    )


def _known(kind: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    return {field.name: data[field.name] for field in fields(kind) if field.name in data}
