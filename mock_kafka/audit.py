"""What the audit of acknowledgements reports. Frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

_SHOWN = 20


class AuditError(AssertionError):
    """The audit has findings; the message is the report."""


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One difference between the responses that clients got and what the logs hold.

    `kind` is one of:

    - `not_stored`: a batch was acknowledged and is not in the log;
    - `stored_twice`: a batch is in the log again, under the same producer id, epoch and sequence;
    - `out_of_order`: a batch is behind one of the same producer id and epoch with later sequences;
    - `offset_beyond_log_end`: a group has committed an offset to which the log has not grown.

    `base_offset` is that of the batch, or the committed offset. Client id, connection and time (ms
    since the epoch) are those of the request that was acknowledged. -1 and None stand where there
    is nothing to name.
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
        """In one line, for people."""
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
    """Acknowledgements of one partition that were dropped for newer ones.

    Their base offsets lie within `base_offset_min` and `base_offset_max` (-1: none is known), and
    none was sent after `time_ms_max`. `topic` is None for the sum over all further partitions.
    """

    topic: str | None
    topic_id: str | None
    partition: int | None
    count: int
    base_offset_min: int
    base_offset_max: int
    time_ms_max: int

    def __str__(self) -> str:
        """In one line, for people."""
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
    were compared; `removed` those whose batch was since removed by retention, by DeleteRecords or
    with its topic; `not_covered` those that were dropped beyond `audit.acknowledgements.max`, which
    `not_covered_partitions` names. `excluded` counts, by the id of a fault rule, the responses that
    it falsified (id 0: those of a hook).
    """

    finding_count: int
    findings: tuple[AuditFinding, ...]
    covered: int
    removed: int
    not_covered: int
    not_covered_partitions: tuple[NotCovered, ...]
    excluded: Mapping[int, int]

    def raise_on_findings(self) -> None:
        """Nothing when there are no findings.

        Raises:
            AuditError: there are some; the message is the report.
        """
        if self.finding_count:
            raise AuditError(str(self))

    def __str__(self) -> str:
        """As many lines as there are findings and dropped partitions, at most 20 of each."""
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
    shown = [f"  {each}" for each in lines[:_SHOWN]]
    return shown + ([f"  and {count - len(shown)} more"] if count > len(shown) else [])


def audit_report_of(plain: Mapping[str, Any]) -> AuditReport:
    """A report of the admin port's JSON; fields that are newer than this are passed over."""
    return AuditReport(
        plain["finding_count"],
        tuple(AuditFinding(**_known(AuditFinding, each)) for each in plain["findings"]),
        plain["covered"],
        plain["removed"],
        plain["not_covered"],
        tuple(NotCovered(**_known(NotCovered, each)) for each in plain["not_covered_partitions"]),
        {each["rule_id"]: each["count"] for each in plain["excluded"]},
    )


def _known(kind: type[Any], plain: Mapping[str, Any]) -> dict[str, Any]:
    return {each.name: plain[each.name] for each in fields(kind) if each.name in plain}
