"""The state of share partitions as share coordinators keep it: start offset and state batches.

A leader writes what members acknowledged. A later leader goes on with what it reads here.

Sources: Kafka's `ShareCoordinatorShard` and `ShareGroupOffset`, with their messages.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

from broker.errors import UNKNOWN_PARTITION, Refusal
from broker.share_groups.in_flight import StateBatch
from broker.share_groups.sessions import TopicIdPartition
from broker.share_groups.state_batches import NO_OFFSET, combine_batches
from protocol import coordinator_records as schema
from protocol.coordinator_records import CoordinatorRecord, encode_key
from protocol.data_messages import encode_data
from protocol.errors import ErrorCode

NO_EPOCH = -1
_VERSION = 0


class SharePartitionKey(NamedTuple):
    """The group and the partition whose state it is."""

    group_id: str
    topic_id: UUID
    partition_index: int


@dataclass(frozen=True, slots=True)
class ShareState:
    """The state of a share partition (Kafka's `ShareGroupOffset`).

    `start_offset` is -1 until a leader has chosen it. `snapshot_epoch` counts the snapshots in the
    log, `update_count` the updates since the last of them.
    """

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    state_batches: tuple[StateBatch, ...]
    created_ms: int
    update_count: int = 0


AppendShareRecord = Callable[[SharePartitionKey, CoordinatorRecord, int], Refusal | None]
"""`append(key, record, now_ms)` stores a record; it returns why it could not."""


class ShareStates:
    """The states of all share partitions, and the records that they are written as."""

    def __init__(
        self,
        *,
        has_partition: Callable[[UUID, int], bool],
        append_record: AppendShareRecord,
        updates_per_snapshot: int,
    ) -> None:
        """`updates_per_snapshot` is that of Kafka's `share.coordinator.snapshot...` key."""
        self._has_partition = has_partition
        self._append_record = append_record
        self._updates_per_snapshot = updates_per_snapshot
        self._states: dict[SharePartitionKey, ShareState] = {}

    def get(self, key: SharePartitionKey) -> ShareState | None:
        """Return the state of a share partition, or None."""
        return self._states.get(key)

    def keys(self) -> list[SharePartitionKey]:
        """Return the keys of all states."""
        return list(self._states)

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int, now_ms: int
    ) -> Refusal | None:
        """Begin a new state, which replaces an older one."""
        if key.partition_index < 0:
            return _negative_partition()
        before = self._states.get(key)
        if before is not None and NO_EPOCH != state_epoch < before.state_epoch:
            return _fenced_state()
        if not self._has_partition(key.topic_id, key.partition_index):
            return UNKNOWN_PARTITION
        snapshot_epoch = 0 if before is None else before.snapshot_epoch + 1
        state = ShareState(snapshot_epoch, state_epoch, 0, start_offset, (), now_ms)
        return self._snapshot(key, state, now_ms)

    def initialize_all(
        self,
        group_id: str,
        state_epoch: int,
        partitions: Iterable[TopicIdPartition],
        now_ms: int,
    ) -> list[bool]:
        """Begin the states of partitions that a group reads; say for each if it succeeded."""
        keys = (SharePartitionKey(group_id, *partition) for partition in partitions)
        return [self.initialize(key, state_epoch, NO_OFFSET, now_ms) is None for key in keys]

    def read(self, key: SharePartitionKey, leader_epoch: int, now_ms: int) -> ShareState | Refusal:
        """Return a state to the leader of a new epoch, which no older leader may change then."""
        if key.partition_index < 0:
            return _negative_partition()
        state = self._states.get(key)
        if state is None:
            return Refusal(
                ErrorCode.INVALID_REQUEST,
                "Read operation on uninitialized share partition not allowed.",
            )
        if state.leader_epoch > leader_epoch:
            return _fenced_leader()
        if not self._has_partition(key.topic_id, key.partition_index):
            return UNKNOWN_PARTITION
        if leader_epoch not in {NO_EPOCH, state.leader_epoch}:
            refusal = self._update(key, state, leader_epoch, state.start_offset, (), now_ms)
            if refusal is not None:
                return refusal
        return state

    def write(
        self,
        key: SharePartitionKey,
        *,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        state_batches: Sequence[StateBatch],
        now_ms: int,
    ) -> Refusal | None:
        """Add state batches, and move the start offset; -1 leaves an epoch or the offset."""
        if key.partition_index < 0:
            return _negative_partition()
        state = self._states.get(key)
        if state is None:
            return Refusal(
                ErrorCode.INVALID_REQUEST,
                "Write operation on uninitialized share partition not allowed.",
            )
        if NO_EPOCH != leader_epoch < state.leader_epoch:
            return _fenced_leader()
        if NO_EPOCH != state_epoch < state.state_epoch:
            return _fenced_state()
        if not self._has_partition(key.topic_id, key.partition_index):
            return UNKNOWN_PARTITION
        if state_epoch > state.state_epoch:
            changed = _merged(state, leader_epoch, start_offset, state_batches)
            return self._snapshot(
                key,
                replace(changed, state_epoch=state_epoch, snapshot_epoch=state.snapshot_epoch + 1),
                now_ms,
            )
        return self._update(key, state, leader_epoch, start_offset, state_batches, now_ms)

    def partition_refusal(self, key: SharePartitionKey) -> Refusal | None:
        """Refuse a partition that cannot exist or does not."""
        if key.partition_index < 0:
            return _negative_partition()
        if not self._has_partition(key.topic_id, key.partition_index):
            return UNKNOWN_PARTITION
        return None

    def delete(self, key: SharePartitionKey, now_ms: int) -> Refusal | None:
        """Delete a state, if there is one."""
        return self.partition_refusal(key) or self._delete(key, now_ms)

    def forget_topic(self, topic_id: UUID, now_ms: int) -> None:
        """Delete the states of a deleted topic."""
        for key in self.keys():
            if key.topic_id == topic_id:
                self._delete(key, now_ms)

    def forget_all(self) -> None:
        """Drop all states, because their log was deleted."""
        self._states.clear()

    def _delete(self, key: SharePartitionKey, now_ms: int) -> Refusal | None:
        if key not in self._states:
            return None
        refusal = self._append_record(key, (_key(schema.ShareSnapshotKey, key), None), now_ms)
        if refusal is None:
            del self._states[key]
        return refusal

    def _update(
        self,
        key: SharePartitionKey,
        state: ShareState,
        leader_epoch: int,
        start_offset: int,
        state_batches: Sequence[StateBatch],
        now_ms: int,
    ) -> Refusal | None:
        changed = _merged(state, leader_epoch, start_offset, state_batches)
        if state.update_count >= self._updates_per_snapshot:
            changed = replace(changed, snapshot_epoch=state.snapshot_epoch + 1)
            return self._snapshot(key, changed, now_ms)
        value = schema.ShareUpdateValue(
            snapshot_epoch=state.snapshot_epoch,
            leader_epoch=leader_epoch,
            start_offset=start_offset,
            state_batches=_batches(
                schema.ShareUpdateValue, combine_batches((), state_batches, start_offset)
            ),
        )
        record = (_key(schema.ShareUpdateKey, key), encode_data(value, _VERSION))
        refusal = self._append_record(key, record, now_ms)
        if refusal is None:
            self._states[key] = replace(changed, update_count=state.update_count + 1)
        return refusal

    def _snapshot(self, key: SharePartitionKey, state: ShareState, now_ms: int) -> Refusal | None:
        state = replace(state, created_ms=now_ms, update_count=0)
        value = schema.ShareSnapshotValue(
            snapshot_epoch=state.snapshot_epoch,
            state_epoch=state.state_epoch,
            leader_epoch=state.leader_epoch,
            start_offset=state.start_offset,
            create_timestamp=now_ms,
            write_timestamp=now_ms,
            state_batches=_batches(schema.ShareSnapshotValue, state.state_batches),
        )
        record = (_key(schema.ShareSnapshotKey, key), encode_data(value, _VERSION))
        refusal = self._append_record(key, record, now_ms)
        if refusal is None:
            self._states[key] = state
        return refusal


def _merged(
    state: ShareState, leader_epoch: int, start_offset: int, state_batches: Sequence[StateBatch]
) -> ShareState:
    start_offset = state.start_offset if start_offset == NO_OFFSET else start_offset
    return replace(
        state,
        leader_epoch=state.leader_epoch if leader_epoch == NO_EPOCH else leader_epoch,
        start_offset=start_offset,
        state_batches=tuple(combine_batches(state.state_batches, state_batches, start_offset)),
    )


def _key(key_class: Any, key: SharePartitionKey) -> bytes:
    return encode_key(
        key_class(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition_index)
    )


def _batches(value_class: Any, batches: Iterable[StateBatch]) -> list[Any]:
    return [value_class.StateBatch(**asdict(batch)) for batch in batches]


def _negative_partition() -> Refusal:
    return Refusal(ErrorCode.INVALID_REQUEST, "The partition id cannot be a negative number.")


def _fenced_state() -> Refusal:
    return Refusal(
        ErrorCode.FENCED_STATE_EPOCH,
        "The share coordinator rejected the request because the share-group state epoch did not"
        " match.",
    )


def _fenced_leader() -> Refusal:
    return Refusal(
        ErrorCode.FENCED_LEADER_EPOCH,
        "The leader epoch in the request is older than the epoch on the broker.",
    )
