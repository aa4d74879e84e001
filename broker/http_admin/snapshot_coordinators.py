"""What coordinators know, in a snapshot: groups, committed offsets, transactions, share states.

It is saved as the last record of each key of their logs, and loaded as Kafka's coordinators load
their logs: the records are written again, and read.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import (
    GROUP_METADATA,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    InternalTopic,
)
from broker.cluster.topics import Topic
from broker.groups.group_records import offset_key, offset_value
from broker.groups.requests import OffsetToCommit
from broker.groups.results import CommittedOffset
from broker.groups.transactional_offsets import OffsetKey
from broker.http_admin.group_offsets import commit_offsets
from broker.http_admin.operation import Problem
from broker.http_admin.snapshot_document import (
    NO_PRODUCER_ID,
    SavedCoordinatorRecord,
    SavedOffset,
    Snapshot,
)
from broker.http_admin.state import Admin
from broker.share_groups.share_state import SharePartitionKey, ShareState, snapshot_record
from producer_state.rules import NO_EPOCH, NO_TIMESTAMP
from protocol import coordinator_records as schema
from protocol.coordinator_record_json import RecordAsJson, record_as_json, record_of_json
from protocol.coordinator_records import (
    GROUP_RECORDS,
    SHARE_RECORDS,
    TRANSACTION_RECORDS,
    CoordinatorRecord,
    RecordClasses,
    decode_key,
    record_type,
)
from protocol.data_messages import read_prefix
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced, paced_elements


class _Offset(NamedTuple):
    """A committed offset; with a producer it is pending in a transaction."""

    key: OffsetKey
    committed: CommittedOffset
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH


class CoordinatorsAtOnce(NamedTuple):
    """What coordinators know at one moment, and the batches of their logs by partition."""

    offsets: list[_Offset]
    group_logs: list[list[bytes]]
    transaction_logs: list[list[bytes]]
    share_states: list[tuple[SharePartitionKey, ShareState]]


def coordinators_at_once(cluster: Cluster) -> CoordinatorsAtOnce:
    """Return what coordinators know now; nothing is decoded."""
    states = cluster.share.states
    known = ((key, states.get(key)) for key in states.keys())  # noqa: SIM118 - it is no mapping
    return CoordinatorsAtOnce(
        _offsets(cluster),
        _logs(cluster, GROUP_METADATA),
        _logs(cluster, TRANSACTION_STATE),
        [(key, state) for key, state in known if state is not None],
    )


def _logs(cluster: Cluster, internal: InternalTopic) -> list[list[bytes]]:
    topic = cluster.topics.get(internal.name)
    return [] if topic is None else [list(part.log.rewind()) for part in topic.partitions]


def _offsets(cluster: Cluster) -> list[_Offset]:
    """Return all offsets in the order in which they count: a later one replaces an earlier one."""
    table = cluster.groups.table
    topic = cluster.topics.get(GROUP_METADATA.name)
    replaced: list[_Offset] = []
    pending: list[tuple[int, _Offset]] = []
    for index, producer_id, key, commit in table.transactional_offsets.all():
        partition = None if topic is None else topic.partition(index)
        entry = None if partition is None else partition.producers.entry(producer_id)
        if entry is not None:
            offset = _Offset(key, commit.committed, producer_id, entry.producer_epoch)
            if commit.number:
                pending.append((commit.number, offset))
            else:
                replaced.append(offset)
    committed = [
        _Offset((group_id, topic_name, index), committed)
        for group_id in table.group_ids()
        for topic_name, index, committed in table.all_committed(group_id)
    ]
    latest = [offset for _number, offset in sorted(pending)]
    return [*replaced, *committed, *latest]


@may_pause
def saved_offsets(offsets: Iterable[_Offset]) -> list[SavedOffset]:
    """Return offsets as a document has them."""
    return [
        SavedOffset(
            *key,
            committed.offset,
            committed.leader_epoch,
            committed.metadata or "",
            committed.committed_ms,
            NO_TIMESTAMP if committed.expires_ms is None else committed.expires_ms,
            committed.topic_id,
            producer_id,
            producer_epoch,
        )
        for key, committed, producer_id, producer_epoch in paced(offsets)
    ]


@may_pause
def saved_groups(group_logs: Iterable[list[bytes]]) -> list[SavedCoordinatorRecord]:
    """Return the records of groups, without those of their offsets."""
    offset_types = {
        record_type(schema.OffsetCommitKey),
        record_type(schema.LegacyOffsetCommitKey),
    }
    records = (
        record for record in _last_records(group_logs) if read_prefix(record[0]) not in offset_types
    )
    return _described(GROUP_RECORDS, records)


@may_pause
def saved_transactions(transaction_logs: Iterable[list[bytes]]) -> list[SavedCoordinatorRecord]:
    """Return the records of transactional ids."""
    return _described(TRANSACTION_RECORDS, _last_records(transaction_logs))


@may_pause
def saved_share_states(
    states: Iterable[tuple[SharePartitionKey, ShareState]],
) -> list[SavedCoordinatorRecord]:
    """Return the records of share partitions, each with all of its state."""
    return _described(SHARE_RECORDS, (snapshot_record(key, state) for key, state in states))


@may_pause
def _last_records(logs: Iterable[list[bytes]]) -> Iterable[CoordinatorRecord]:
    from broker.cluster.coordinator_loading import last_records  # noqa: PLC0415 - see ADR 24

    for batches in paced(logs):
        yield from last_records(batches)


@may_pause
def _described(
    records: Mapping[int, RecordClasses], found: Iterable[CoordinatorRecord]
) -> list[SavedCoordinatorRecord]:
    return [
        SavedCoordinatorRecord(*record_as_json(records, key, value))
        for key, value in paced(found)
        if value is not None
    ]


# Loading -----------------------------------------------------------------------------------------


@may_pause
def load_coordinators(admin: Admin, snapshot: Snapshot) -> None:
    """Write the records of a document to the internal topics, and have coordinators read them.

    Raises:
        Problem: 422, a record is invalid, or the cluster refuses a part.
    """
    cluster = admin.cluster
    _append_groups(admin, snapshot.groups)
    _append_pending_and_timed(admin, snapshot.offsets)
    _append_transactions(admin, snapshot.transactions)
    _append_share_states(admin, snapshot.share_states)
    if cluster.topics.get(GROUP_METADATA.name) or cluster.topics.get(TRANSACTION_STATE.name):
        _load_logs(admin)
    _commit(admin, snapshot.offsets)


@may_pause
def _load_logs(admin: Admin) -> None:
    from broker.cluster.coordinator_loading import load_log  # noqa: PLC0415 - see ADR 24

    cluster = admin.cluster
    for internal in (SHARE_GROUP_STATE, TRANSACTION_STATE, GROUP_METADATA):
        topic = cluster.topics.get(internal.name)
        for partition in paced(() if topic is None else topic.partitions):
            if partition.log.batch_count:
                load_log(cluster, partition, admin.now_ms())
    if cluster.on_leaders_change is not None:  # prepared transactions get their markers
        cluster.on_leaders_change(admin.now_ms())


@may_pause
def _append_groups(admin: Admin, saved: Sequence[SavedCoordinatorRecord]) -> None:
    by_group: dict[str, list[CoordinatorRecord]] = {}
    for number, described in enumerate(paced_elements(saved)):
        record = _record(GROUP_RECORDS, described, f"groups[{number}]")
        key = decode_key(GROUP_RECORDS, record[0])
        group_id = getattr(key, "group_id", None) or key.group
        by_group.setdefault(group_id, []).append(record)
    if by_group:
        _ensure(admin, GROUP_METADATA, "groups")
    for group_id, records in paced(by_group.items()):
        error_code = admin.cluster.group_log.append(group_id, records, admin.now_ms())
        _check(error_code, f"groups: {group_id}")


@may_pause
def _append_pending_and_timed(admin: Admin, offsets: Sequence[SavedOffset]) -> None:
    """Append the offsets that are part of a transaction, or were committed at a known time."""
    log = admin.cluster.group_log
    for saved in paced_elements(offsets):
        is_pending = saved.producer_id != NO_PRODUCER_ID
        if not is_pending and saved.commit_timestamp == NO_TIMESTAMP:
            continue
        _ensure(admin, GROUP_METADATA, "offsets")
        committed = CommittedOffset(
            saved.offset,
            saved.leader_epoch,
            saved.metadata,
            admin.now_ms() if saved.commit_timestamp < 0 else saved.commit_timestamp,
            None if saved.expire_timestamp == NO_TIMESTAMP else saved.expire_timestamp,
            saved.topic_id,
        )
        key = offset_key(saved.group, saved.topic, saved.partition)
        error_code = log.append(
            saved.group,
            [(key, offset_value(committed))],
            admin.now_ms(),
            producer=(saved.producer_id, saved.producer_epoch) if is_pending else None,
        )
        _check(error_code, f"offsets: {saved.group}")


@may_pause
def _commit(admin: Admin, offsets: Sequence[SavedOffset]) -> None:
    """Commit the offsets without a time now."""
    by_group: dict[str, list[OffsetToCommit]] = {}
    for saved in paced_elements(offsets):
        if saved.producer_id == NO_PRODUCER_ID and saved.commit_timestamp == NO_TIMESTAMP:
            offset = OffsetToCommit(
                saved.topic, saved.partition, saved.offset, saved.leader_epoch, saved.metadata
            )
            by_group.setdefault(saved.group, []).append(offset)
    for group_id, found in by_group.items():
        commit_offsets(admin, group_id, found)


@may_pause
def _append_transactions(admin: Admin, saved: Sequence[SavedCoordinatorRecord]) -> None:
    log = admin.cluster.transaction_log
    for number, described in enumerate(paced_elements(saved)):
        where = f"transactions[{number}]"
        _ensure(admin, TRANSACTION_STATE, "transactions")
        record = _record(TRANSACTION_RECORDS, described, where)
        transactional_id = decode_key(TRANSACTION_RECORDS, record[0]).transactional_id
        partition_log = log.partition_log(transactional_id)
        if partition_log is None:
            raise Problem(422, f"{where}: {ErrorCode.NOT_COORDINATOR.name}")
        partition_log.append(record, admin.now_ms())


@may_pause
def _append_share_states(admin: Admin, saved: Sequence[SavedCoordinatorRecord]) -> None:
    for number, described in enumerate(paced_elements(saved)):
        where = f"share_states[{number}]"
        _ensure(admin, SHARE_GROUP_STATE, "share_states")
        record = _record(SHARE_RECORDS, described, where)
        key = decode_key(SHARE_RECORDS, record[0])
        state_key = SharePartitionKey(key.group_id, key.topic_id, key.partition)
        refusal = admin.cluster.share.log.append(state_key, record, admin.now_ms())
        if refusal is not None:
            raise Problem(422, f"{where}: {refusal.error_code.name}: {refusal.message}")


def _record(
    records: Mapping[int, RecordClasses], described: SavedCoordinatorRecord, where: str
) -> CoordinatorRecord:
    as_json = RecordAsJson(described.type, described.key, described.version, described.value)
    try:
        return record_of_json(records, as_json)
    except ValueError as error:
        raise Problem(422, f"{where}: {error}") from error


@may_pause
def _ensure(admin: Admin, internal: InternalTopic, where: str) -> Topic:
    topic = ensure_internal_topic(admin.cluster, internal)
    if topic is None:
        raise Problem(422, f"{where}: {internal.name} cannot be created with these brokers")
    return topic


def _check(error_code: ErrorCode, where: str) -> None:
    if error_code is not ErrorCode.NONE:
        raise Problem(422, f"{where}: {error_code.name}")
