"""What coordinators load from their logs, as a new leader does.

The state of groups and transactional ids is in memory. When a log has lost its end, only what the
lost records were about is read again from the records that are left. After a snapshot was loaded
everything is read.

Sources: Kafka's `GroupCoordinatorShard.replay`, `OffsetMetadataManager`,
`TransactionStateManager.loadTransactionMetadata` and `ShareCoordinatorShard.replay`.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from functools import partial
from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.late_coordinators import modern_rules
from broker.cluster.share_log import note_snapshot
from broker.cluster.topics import (
    GROUP_METADATA_TOPIC,
    SHARE_GROUP_STATE_TOPIC,
    TRANSACTION_STATE_TOPIC,
    Partition,
)
from broker.groups.group_table import GroupTable
from broker.groups.loaded_records import LoadedRecord, LoadedRecords
from broker.groups.loading import load_group
from broker.groups.results import CommittedOffset
from broker.share_groups.share_state import SharePartitionKey, ShareState, replayed
from broker.transactions.state_records import transaction_of
from protocol import coordinator_records as schema
from protocol.control_records import ControlRecordType, decode_control_key
from protocol.coordinator_records import (
    GROUP_RECORDS,
    SHARE_RECORDS,
    TRANSACTION_RECORDS,
    CoordinatorRecord,
    decode_key,
    decode_value,
)
from protocol.pacing import may_pause, no_pause
from protocol.records import CONTROL_FLAG, TRANSACTIONAL_FLAG, read_header, read_records

_Values = dict[bytes, tuple[int, bytes | None]]
"""By key: the offset of the record, and the value."""


@may_pause
def load_log(cluster: Cluster, partition: Partition, now_ms: int) -> None:
    """Have coordinators know what the log of an internal partition has: as their new leader."""
    load_what_is_left(cluster, partition, tuple(partition.log.rewind()), now_ms)


@may_pause
def load_what_is_left(
    cluster: Cluster, partition: Partition, lost: Sequence[bytes], now_ms: int
) -> None:
    """Have coordinators know of what lost batches of an internal partition were about what is left.

    Batches that are still in the log are read again.
    """
    if partition.topic_name == GROUP_METADATA_TOPIC:
        gone = _Replayed(lost)
        _load_groups(cluster, partition, gone, now_ms)
        _load_offsets(cluster.groups.table, partition, gone, now_ms)
    elif partition.topic_name == TRANSACTION_STATE_TOPIC:
        with no_pause():
            _load_transactions(cluster, partition, lost)
    elif partition.topic_name == SHARE_GROUP_STATE_TOPIC:
        with no_pause():
            _load_share_states(cluster, partition, lost)


def last_records(batches: Iterable[bytes]) -> list[CoordinatorRecord]:
    """Return the last committed record of each key in batches that was not deleted, in order."""
    found = sorted(_Replayed(batches).values.items(), key=lambda item: item[1][0])
    return [(key, value) for key, (_offset, value) in found if value is not None]


class _Replayed:
    """The last committed value of each key in batches, and what open transactions wrote."""

    def __init__(self, batches: Iterable[bytes]) -> None:
        self.values: _Values = {}
        self.open: dict[int, _Values] = defaultdict(dict)
        """By producer id."""
        self.written: dict[int, set[bytes]] = defaultdict(set)
        """The keys of all transactions of a producer id."""
        self.ended: set[int] = set()
        """The producer ids that have a marker."""
        for batch in batches:
            header = read_header(batch, 0)
            producer_id = header.producer_id
            found = {
                record.key or b"": (record.offset, record.value) for record in read_records(batch)
            }
            if header.attributes & CONTROL_FLAG:
                self.ended.add(producer_id)
                pending = self.open.pop(producer_id, {})
                if any(decode_control_key(key) == ControlRecordType.COMMIT for key in found):
                    self._put(pending)
            elif header.attributes & TRANSACTIONAL_FLAG:
                self.open[producer_id] |= found
                self.written[producer_id] |= found.keys()
            else:
                self._put(found)

    def value(self, key: bytes) -> bytes | None:
        """Return the last value of a key, or None."""
        return self.values.get(key, (0, None))[1]

    def _put(self, found: _Values) -> None:
        """Add records, whose offsets decide which one is the last of its key."""
        for key, record in found.items():
            if record[0] >= self.values.get(key, record)[0]:
                self.values[key] = record


@may_pause
def _load_groups(cluster: Cluster, partition: Partition, gone: "_Replayed", now_ms: int) -> None:
    """Load each group again of which lost records are not about offsets."""
    left = _Replayed(partition.log.rewind())
    lost_keys = (decode_key(GROUP_RECORDS, data) for data in _lost_keys(gone, left))
    by_group: dict[str, list[LoadedRecord]] = {
        _group_id(key): [] for key in lost_keys if not _is_offset(key)
    }
    for data, (_offset, value) in sorted(left.values.items(), key=lambda item: item[1][0]):
        key = decode_key(GROUP_RECORDS, data)
        if value is not None and not _is_offset(key) and _group_id(key) in by_group:
            record = LoadedRecord(key, decode_value(GROUP_RECORDS, key, value))
            by_group[_group_id(key)].append(record)
    for group_id, records in by_group.items():
        _load_group(cluster, group_id, LoadedRecords(records), now_ms)


@may_pause
def _load_group(cluster: Cluster, group_id: str, records: LoadedRecords, now_ms: int) -> None:
    share = cluster.share.groups
    is_share_group = records.has_any(
        schema.ShareGroupMetadataKey,
        schema.ShareGroupMemberMetadataKey,
        schema.ShareGroupStatePartitionMetadataKey,
    )
    if is_share_group or group_id in share:
        share.load(group_id, records if is_share_group else None, now_ms)
        return
    rules = partial(modern_rules, cluster)
    load_group(cluster.groups.table, group_id, records, rules, cluster.timers, now_ms)


def _is_offset(key: Any) -> bool:
    return isinstance(key, (schema.OffsetCommitKey, schema.LegacyOffsetCommitKey))


def _group_id(key: Any) -> str:
    group_id: str = getattr(key, "group_id", None) or key.group
    return group_id


@may_pause
def _load_offsets(table: GroupTable, partition: Partition, gone: "_Replayed", now_ms: int) -> None:
    """Have groups know the committed and pending offsets that are left."""
    index = partition.partition_index
    producer_ids = gone.ended | gone.written.keys()
    for producer_id in producer_ids:
        for _ in table.transactional_offsets.complete(index, producer_id):
            pass
    with no_pause():
        # What was committed during a pause is among the records that are left.
        left = _Replayed(partition.log.rewind())
        _load_pending(table, index, left, producer_ids, now_ms)
        for data in _lost_keys(gone, left):
            key = decode_key(GROUP_RECORDS, data)
            if not _is_offset(key):
                continue
            committed, group = _committed(key, left.value(data)), table.get(key.group)
            if committed is not None:
                group = group or table.create(key.group, now_ms)
                group.offsets.put(key.topic, key.partition, committed)
            elif group is not None:
                group.offsets.remove(key.topic, key.partition)


def _load_pending(
    table: GroupTable, index: int, left: "_Replayed", producer_ids: Set[int], now_ms: int
) -> None:
    """Have groups know the offsets of open transactions, in the order of the log."""
    records = sorted(
        (offset, producer_id, data, value)
        for producer_id in producer_ids
        for data, (offset, value) in left.open.get(producer_id, {}).items()
    )
    for offset, producer_id, data, value in records:
        key = decode_key(GROUP_RECORDS, data)
        committed = _committed(key, value)
        if committed is not None:
            offset_key = key.group, key.topic, key.partition
            if table.get(key.group) is None:
                table.create(key.group, now_ms)
            table.transactional_offsets.add(index, producer_id, offset_key, committed)
            if left.values.get(data, (-1, None))[0] > offset:  # a later commit has replaced it
                table.transactional_offsets.replace(offset_key)


def _lost_keys(gone: "_Replayed", left: "_Replayed") -> set[bytes]:
    """Return the keys of lost records, and of those that transactions with lost markers wrote."""
    keys = set(gone.values).union(*gone.written.values())
    return keys.union(*(left.written[producer_id] for producer_id in gone.ended))


def _committed(key: Any, data: bytes | None) -> CommittedOffset | None:
    value = decode_value(GROUP_RECORDS, key, data)
    if value is None:
        return None
    expires_ms = getattr(value, "expire_timestamp", -1)
    return CommittedOffset(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        None if expires_ms in {None, -1} else expires_ms,
        value.topic_id,
    )


def _load_transactions(cluster: Cluster, partition: Partition, lost: Sequence[bytes]) -> None:
    left = _Replayed(partition.log.rewind())
    for data in _Replayed(lost).values:
        key = decode_key(TRANSACTION_RECORDS, data)
        value = decode_value(TRANSACTION_RECORDS, key, left.value(data))
        transaction = None if value is None else transaction_of(key.transactional_id, value)
        cluster.transactions.load(key.transactional_id, transaction)


def _load_share_states(cluster: Cluster, partition: Partition, lost: Iterable[bytes]) -> None:
    states: dict[SharePartitionKey, ShareState] = {}
    snapshots: dict[SharePartitionKey, int] = {}
    for batch in partition.log.rewind():
        for record in read_records(batch):
            encoded_key = record.key or b""
            key = decode_key(SHARE_RECORDS, encoded_key)
            value, state_key = decode_value(SHARE_RECORDS, key, record.value), _state_key(key)
            if value is None:
                states.pop(state_key, None)
            else:
                states[state_key] = replayed(states.get(state_key), value)
            note_snapshot(snapshots, state_key, (encoded_key, record.value), record.offset)
    cluster.share.log.replace_snapshots(partition.partition_index, snapshots)
    for batch in lost:
        for record in read_records(batch):
            state_key = _state_key(decode_key(SHARE_RECORDS, record.key or b""))
            cluster.share.states.load(state_key, states.get(state_key))


def _state_key(key: Any) -> SharePartitionKey:
    return SharePartitionKey(key.group_id, key.topic_id, key.partition)
