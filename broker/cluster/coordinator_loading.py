"""What coordinators know after their log has lost its end: what a new leader loads.

The state of groups and transactional ids is in memory. Only what the lost records were about is
read again from the records that are left.

Sources: Kafka's `GroupCoordinatorShard.replay`, `OffsetMetadataManager`,
`TransactionStateManager.loadTransactionMetadata` and `ShareCoordinatorShard.replay`.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.share_log import note_snapshot
from broker.cluster.topics import (
    GROUP_METADATA_TOPIC,
    SHARE_GROUP_STATE_TOPIC,
    TRANSACTION_STATE_TOPIC,
    Partition,
)
from broker.groups.group import Group
from broker.groups.group_table import GroupTable
from broker.groups.results import CommittedOffset
from broker.share_groups.share_state import SharePartitionKey, ShareState, replayed
from broker.transactions.state_records import transaction_of
from protocol import coordinator_records as schema
from protocol.control_records import ControlRecordType, decode_control_key
from protocol.coordinator_records import (
    GROUP_RECORDS,
    SHARE_RECORDS,
    TRANSACTION_RECORDS,
    decode_key,
    decode_value,
    record_type,
)
from protocol.pacing import may_pause, no_pause
from protocol.records import CONTROL_FLAG, TRANSACTIONAL_FLAG, read_header, read_records

_Values = dict[bytes, tuple[int, bytes | None]]
"""By key: the offset of the record, and the value."""


@may_pause
def load_what_is_left(
    cluster: Cluster, partition: Partition, lost: Sequence[bytes], now_ms: int
) -> None:
    """Have coordinators forget what they know from lost batches of an internal partition."""
    if partition.topic_name == GROUP_METADATA_TOPIC:
        gone = _Replayed(lost)
        _restart_groups(cluster.groups.table, partition, gone, now_ms)
        _load_offsets(cluster.groups.table, partition, gone, now_ms)
    elif partition.topic_name == TRANSACTION_STATE_TOPIC:
        with no_pause():
            _load_transactions(cluster, partition, lost)
    elif partition.topic_name == SHARE_GROUP_STATE_TOPIC:
        with no_pause():
            _load_share_states(cluster, partition, lost)


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
def _restart_groups(
    table: GroupTable, partition: Partition, gone: "_Replayed", now_ms: int
) -> None:
    """Forget the members of each group of which lost records are not about offsets."""
    offsets_type = record_type(schema.OffsetCommitKey)
    left = _Replayed(partition.log.rewind())
    restarted = {}
    for data in _lost_keys(gone, left):
        key = decode_key(GROUP_RECORDS, data)
        if record_type(key) != offsets_type:
            group_id = getattr(key, "group_id", None) or getattr(key, "group", None)
            restarted[group_id] = decode_value(GROUP_RECORDS, key, left.value(data))
    for group_id, value in restarted.items():
        if group_id is not None:
            _restart(table, group_id, value, now_ms)


@may_pause
def _load_offsets(table: GroupTable, partition: Partition, gone: "_Replayed", now_ms: int) -> None:
    """Have groups know the committed and pending offsets that are left."""
    offsets_type, index = record_type(schema.OffsetCommitKey), partition.partition_index
    producer_ids = gone.ended | gone.written.keys()
    for producer_id in producer_ids:
        for _ in table.transactional_offsets.complete(index, producer_id):
            pass
    with no_pause():
        # What was committed during a pause is among the records that are left.
        left = _Replayed(partition.log.rewind())
        for producer_id in producer_ids:
            for data, (_offset, value) in left.open.get(producer_id, {}).items():
                key = decode_key(GROUP_RECORDS, data)
                committed = _committed(key, value)
                if committed is not None:
                    offset_key = key.group, key.topic, key.partition
                    table.transactional_offsets.add(index, producer_id, offset_key, committed)
        for data in _lost_keys(gone, left):
            key = decode_key(GROUP_RECORDS, data)
            if record_type(key) != offsets_type:
                continue
            committed, group = _committed(key, left.value(data)), table.get(key.group)
            if committed is not None:
                group = group or table.create(key.group, now_ms)
                group.offsets.put(key.topic, key.partition, committed)
            elif group is not None:
                group.offsets.remove(key.topic, key.partition)


def _lost_keys(gone: "_Replayed", left: "_Replayed") -> set[bytes]:
    """Return the keys of lost records, and of those that transactions with lost markers wrote."""
    keys = set(gone.values).union(*gone.written.values())
    return keys.union(*(left.written[producer_id] for producer_id in gone.ended))


@may_pause
def _restart(table: GroupTable, group_id: str, value: Any, now_ms: int) -> None:
    """Forget the members of a group; a classic one goes on behind the generation that is left."""
    table.restart(group_id, now_ms, is_left=value is not None)
    group = table.get(group_id)
    if isinstance(group, Group):
        group.generation_id = getattr(value, "generation", group.generation_id)


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
