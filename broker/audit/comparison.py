"""Compare the acknowledgements of producers with the logs.

A pure function over acknowledgements, logs and committed offsets. It reads every batch of every
log.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from broker.audit.acknowledgements import Acknowledgements, Dropped, PartitionKey
from broker.audit.stored_sequences import StoredSequences
from broker.cluster.changed_offsets import CleanedOffsets, LogCut
from broker.cluster.cluster import Cluster
from broker.request.acknowledgement import Acknowledgement, RecordChange
from protocol import records
from protocol.pacing import may_pause, paced, paced_stream
from protocol.records import BatchHeader

NO_OFFSET = -1
_ALL_BYTES = 2**63


class FindingKind(StrEnum):
    """The kind of a difference."""

    NOT_STORED = "not_stored"
    """Acknowledged, but not in the log."""
    LOST_BY_ELECTION = "lost_by_election"
    """Acknowledged, and lost when a replica became leader that had not fetched it."""
    LOST_BY_TRUNCATION = "lost_by_truncation"
    """Acknowledged, and lost when a test asked for the log to be truncated."""
    STORED_TWICE = "stored_twice"
    """Already in the log with the same producer id, epoch and sequence number."""
    OUT_OF_ORDER = "out_of_order"
    """After a batch of the same producer id and epoch that has later sequence numbers."""
    CHANGED_BY_RULE = "changed_by_rule"
    """A fault rule has changed what the log stores of it."""
    OFFSET_BEYOND_LOG_END = "offset_beyond_log_end"
    """A committed offset beyond the end of the log."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference; fields that do not apply are -1 or None.

    `base_offset` is that of the acknowledged or stored batch, or the committed offset. Client id,
    connection and time are those of the request that was acknowledged.
    """

    kind: FindingKind
    topic: str
    partition: int
    detail: str
    base_offset: int = NO_OFFSET
    records_count: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    client_id: str | None = None
    connection: int | None = None
    time_ms: int | None = None
    group: str | None = None


class StoredLog(NamedTuple):
    """One partition's log, as the audit reads it; `batches` are in offset order."""

    topic: str
    log_start_offset: int
    log_end_offset: int
    batches: Sequence[bytes]
    cleaned: CleanedOffsets | None = None
    """Where compaction has removed records, if it has."""
    cuts: Sequence[LogCut] = ()
    """When it lost its end."""
    changes: Sequence[RecordChange] = ()
    """What fault rules have changed in it."""


class CommittedPosition(NamedTuple):
    """An offset that a group has committed."""

    group: str
    topic: str
    partition: int
    offset: int


@dataclass(slots=True)
class Comparison:
    """The result of the comparison.

    `covered` counts the acknowledgements that were compared, with or without a finding; `removed`
    those whose batch was removed by retention, DeleteRecords, compaction, or with its topic, and
    those of topics whose records are discarded.
    """

    findings: list[Finding] = field(default_factory=list)
    covered: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class AuditReport:
    """A comparison, and what it does not cover: `dropped` and `excluded` of `Acknowledgements`."""

    comparison: Comparison
    dropped: Mapping[PartitionKey | None, Dropped]
    excluded: Mapping[int, int]


@may_pause
def audit_cluster(cluster: Cluster, acknowledgements: Acknowledgements) -> AuditReport:
    """Audit the acknowledgements of a cluster since its start or reset.

    It may pause. The logs are read last, so a log has at least what was acknowledged before.
    """
    sent, groups = acknowledgements.sent, cluster.groups.table
    dropped, excluded = dict(acknowledgements.dropped), dict(acknowledgements.excluded)
    committed = [
        CommittedPosition(group_id, topic_name, partition_index, position.offset)
        for group_id in paced(groups.group_ids())
        for topic_name, partition_index, position in groups.all_committed(group_id)
    ]
    changes: dict[PartitionKey, list[RecordChange]] = defaultdict(list)
    for change in paced(acknowledgements.changes):
        changes[change.topic_id, change.partition].append(change)
    return AuditReport(compare(sent, _stored_logs(cluster, changes), committed), dropped, excluded)


@may_pause
def _stored_logs(
    cluster: Cluster, changes: Mapping[PartitionKey, Sequence[RecordChange]]
) -> Iterator[tuple[PartitionKey, StoredLog]]:
    """Read one log after the other, so that there is little to free at the end of a turn."""
    for topic in paced(cluster.topics.all()):
        if topic.is_internal:
            continue
        for partition in paced(topic.partitions):
            if cluster.topics.get_by_id(topic.topic_id) is not topic:
                break  # deleted during a pause
            log = partition.log
            start_offset, end_offset = log.log_start_offset, log.log_end_offset
            cleaned = None if log.segments is None else log.segments.cleaned
            batches: list[bytes] = []
            if log.keeps_records:
                batches = log.read(start_offset, _ALL_BYTES, at_least_one=True)
            else:
                start_offset = end_offset
            key = topic.topic_id, partition.partition_index
            yield (
                key,
                StoredLog(
                    topic.name,
                    start_offset,
                    end_offset,
                    batches,
                    cleaned,
                    log.cuts,
                    changes.get(key, ()),
                ),
            )


@may_pause
def compare(
    acknowledgements: Iterable[Acknowledgement],
    logs: Iterable[tuple[PartitionKey, StoredLog]],
    committed: Iterable[CommittedPosition] = (),
) -> Comparison:
    """Compare acknowledgements and committed offsets with logs.

    The order of each idempotent producer is checked in the logs only. A topic id without a key in
    `logs` belongs to a deleted topic. `logs` is read after all `acknowledgements`.
    """
    result = Comparison()
    by_partition: dict[PartitionKey, list[Acknowledgement]] = defaultdict(list)
    for acknowledgement in paced_stream(acknowledgements):
        by_partition[acknowledgement.topic_id, acknowledgement.partition].append(acknowledgement)
    ends: dict[tuple[str, int], int] = {}
    for key, log in logs:
        ends[log.topic, key[1]] = log.log_end_offset
        _compare_partition(key, log, by_partition.pop(key, ()), result)
    result.removed += sum(map(len, by_partition.values()))
    result.findings.extend(_beyond_log_end(ends, committed))
    return result


def _is_removed(acknowledgement: Acknowledgement, log: StoredLog) -> bool:
    """Return whether a batch was removed from the log, or compacted there."""
    offset = acknowledgement.base_offset
    is_before_start = offset + acknowledgement.records_count <= log.log_start_offset
    return is_before_start or (log.cleaned is not None and log.cleaned.has(offset))


@may_pause
def _compare_partition(
    key: PartitionKey, log: StoredLog, acknowledged: Sequence[Acknowledgement], result: Comparison
) -> None:
    by_offset: dict[int, list[Acknowledgement]] = defaultdict(list)
    without_offset: list[Acknowledgement] = []
    for acknowledgement in paced_stream(acknowledged):
        if acknowledgement.base_offset < 0:
            without_offset.append(acknowledgement)
        elif _is_removed(acknowledgement, log):
            result.removed += 1
        else:
            result.covered += 1
            by_offset[acknowledgement.base_offset].append(acknowledgement)
    # The rules are to blame for these, and nobody else.
    changed = {
        offset
        for change in log.changes
        for offset in (change.base_offset, change.acknowledged_offset)
    }
    for offset in changed:
        by_offset.pop(offset, None)
    result.findings.extend(map(_of_change, log.changes))
    sequences: dict[tuple[int, int], StoredSequences] = {}
    for stored in paced_stream(log.batches):
        header = records.read_header(stored, 0)
        if header.producer_id >= 0 and not header.attributes & records.CONTROL_FLAG:
            producer = header.producer_id, header.producer_epoch
            known = sequences.setdefault(producer, StoredSequences())
            problem = _add_batch(known, header)
            if problem is not None and header.base_offset not in changed:
                result.findings.append(_of_batch(*problem, log.topic, key[1], header))
        for acknowledgement in by_offset.pop(header.base_offset, ()):
            if wrong := _batch_problem(acknowledgement, header, stored):
                result.findings.append(_of_acknowledgement(wrong, acknowledgement, log.cuts))
    for offset, lost in by_offset.items():
        wrong = f"the log has no batch at offset {offset}"
        result.findings.extend(
            _of_acknowledgement(wrong, acknowledgement, log.cuts) for acknowledgement in lost
        )
    for acknowledgement in paced_stream(without_offset):
        _compare_sequences(acknowledgement, log, sequences, result)


def _compare_sequences(
    acknowledgement: Acknowledgement,
    log: StoredLog,
    sequences: Mapping[tuple[int, int], StoredSequences],
    result: Comparison,
) -> None:
    """Compare a duplicate whose offset is not known."""
    stored = sequences.get((acknowledgement.producer_id, acknowledgement.producer_epoch))
    missing = _missing_position(acknowledgement, stored)
    # The oldest batches are removed first, so a removed batch has sequences before all others.
    is_before_the_rest = stored is None or (missing is not None and missing < stored.first)
    may_be_removed = is_before_the_rest and log.log_start_offset > 0
    if missing is not None and (may_be_removed or log.cleaned is not None):
        result.removed += 1
        return
    result.covered += 1
    if missing is not None:
        wrong = "acknowledged as a duplicate, and the log has no batch of these sequences"
        result.findings.append(_of_acknowledgement(wrong, acknowledgement, log.cuts))


def _batch_problem(
    acknowledgement: Acknowledgement, header: BatchHeader, stored: bytes
) -> str | None:
    """Return the problem of the batch at the acknowledged offset, or None."""
    if not records.has_valid_crc(stored, 0, len(stored), header.crc):
        offset = acknowledgement.base_offset
        return f"the batch at offset {offset} is corrupt: its CRC is not that of its data"
    if acknowledgement.is_append:
        sent_crc = records.sent_crc(stored, acknowledgement.max_timestamp)
        is_same = sent_crc == acknowledgement.crc
    else:
        # Clients may rebuild a batch before a retry. Its sequences stay the same.
        is_same = (header.producer_id, header.producer_epoch, header.base_sequence) == (
            acknowledgement.producer_id,
            acknowledgement.producer_epoch,
            acknowledgement.base_sequence,
        )
    if is_same and header.records_count == acknowledgement.records_count:
        return None
    return (
        f"the log has another batch at offset {acknowledgement.base_offset}: {_described(header)}"
    )


def _missing_position(
    acknowledgement: Acknowledgement, stored: StoredSequences | None
) -> int | None:
    if stored is None:
        return acknowledgement.base_sequence
    return stored.first_missing(acknowledgement.base_sequence, acknowledgement.records_count)


def _add_batch(known: StoredSequences, header: BatchHeader) -> tuple[FindingKind, str] | None:
    newest = known.newest_sequence
    # A batch that was compacted has fewer records than sequence numbers.
    overlap, is_behind = known.add(header.base_sequence, header.last_offset_delta + 1)
    if overlap:
        return FindingKind.STORED_TWICE, f"{overlap} of its sequences are stored before it"
    if is_behind:
        return FindingKind.OUT_OF_ORDER, f"stored behind sequence {newest} of its producer"
    return None


def _kind_of_loss(acknowledgement: Acknowledgement, cuts: Iterable[LogCut]) -> FindingKind:
    """Return what has become of a batch that is not stored: was it in what the log has lost?

    An offset is given again after that, so only what was acknowledged before can be lost.
    """
    offset, count = acknowledgement.base_offset, acknowledgement.records_count
    for cut in cuts:
        is_in_it = offset < 0 or cut.offset < offset + count <= cut.end_offset
        if is_in_it and acknowledgement.time_ms <= cut.time_ms:
            return FindingKind.LOST_BY_TRUNCATION if cut.is_asked else FindingKind.LOST_BY_ELECTION
    return FindingKind.NOT_STORED


def _beyond_log_end(
    ends: Mapping[tuple[str, int], int], committed: Iterable[CommittedPosition]
) -> Iterator[Finding]:
    for position in committed:
        end = ends.get((position.topic, position.partition))
        if end is not None and position.offset > end:
            yield Finding(
                FindingKind.OFFSET_BEYOND_LOG_END,
                position.topic,
                position.partition,
                f"group {position.group!r} has committed offset {position.offset},"
                f" the log ends at {end}",
                position.offset,
                group=position.group,
            )


def _described(header: BatchHeader) -> str:
    text = f"{header.records_count} records"
    if header.producer_id < 0:
        return text
    return (
        f"{text}, producer id {header.producer_id} epoch {header.producer_epoch}"
        f" sequence {header.base_sequence}"
    )


def _of_batch(
    kind: FindingKind, detail: str, topic: str, partition: int, header: BatchHeader
) -> Finding:
    return Finding(
        kind,
        topic,
        partition,
        detail,
        header.base_offset,
        header.records_count,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
    )


def _of_change(change: RecordChange) -> Finding:
    what = f"rule #{change.rule_id}: {change.change}"
    if change.base_offset < 0:
        what += ", it waits for the next batch of its partition"
    return Finding(
        FindingKind.CHANGED_BY_RULE,
        change.topic,
        change.partition,
        what,
        change.acknowledged_offset if change.base_offset < 0 else change.base_offset,
        change.records_count,
        change.producer_id,
        change.producer_epoch,
        change.base_sequence,
    )


def _of_acknowledgement(
    detail: str, acknowledgement: Acknowledgement, cuts: Iterable[LogCut]
) -> Finding:
    return Finding(
        _kind_of_loss(acknowledgement, cuts),
        acknowledgement.topic,
        acknowledgement.partition,
        detail,
        acknowledgement.base_offset,
        acknowledgement.records_count,
        acknowledgement.producer_id,
        acknowledgement.producer_epoch,
        acknowledgement.base_sequence,
        acknowledgement.client_id,
        acknowledgement.connection_id,
        acknowledgement.time_ms,
    )
