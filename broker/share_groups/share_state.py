"""The state of share partitions as share coordinators keep it: start offset and state batches.

A leader writes what members acknowledged. A later leader goes on with what it reads here.

Sources: Kafka's `ShareCoordinatorShard` and `ShareGroupOffset`, with their messages.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

from broker.errors import UNKNOWN_PARTITION, Refusal
from broker.share_groups.in_flight import StateBatch
from broker.share_groups.sessions import TopicIdPartition
from broker.share_groups.state_batches import NO_OFFSET, combine_batches
from protocol import coordinator_records as schema
from protocol.coordinator_records import CoordinatorRecord, encode_key, record_type
from protocol.data_messages import encode_data, read_prefix
from protocol.errors import ErrorCode
from protocol.releases import DEFAULT_RELEASE, Release

NO_EPOCH = -1
NO_COUNT = -1
FENCES_ANY_GROUP_SINCE: Release = (4, 4)
"""First release whose message of FENCED_STATE_EPOCH does not speak of share groups."""

_SHARE_WORDS = ("The share", "the share-group")

COUNTS_FINISHED_SINCE: Release = (4, 2)
"""First release whose share coordinators keep the delivery complete count (KIP-1226)."""
_VERSION = 0


class SharePartitionKey(NamedTuple):
    """The group and the partition whose state it is."""

    group_id: str
    topic_id: UUID
    partition_index: int


@dataclass(frozen=True, slots=True)
class ShareState:
    """The state of a share partition (Kafka's `ShareGroupOffset`).

    `start_offset` is -1 until a leader has chosen it. `finished_count` is Kafka's delivery complete
    count: how many offsets from the start on are finished; -1 if it is not known. `snapshot_epoch`
    counts the snapshots in the log, `update_count` the updates since one that was due to them.
    `created_ms` and `written_ms` are of the last snapshot; they differ after one of a cold state.
    """

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    state_batches: tuple[StateBatch, ...]
    created_ms: int
    written_ms: int
    finished_count: int = NO_COUNT
    update_count: int = 0


AppendShareRecord = Callable[[SharePartitionKey, CoordinatorRecord, int], Refusal | None]
"""`append(key, record, now_ms)` stores a record; it returns why it could not."""


class _Write(NamedTuple):
    """What a leader writes; -1 leaves the leader epoch or the start offset."""

    leader_epoch: int
    start_offset: int
    finished_count: int
    state_batches: Sequence[StateBatch]


class ShareStates:
    """The states of all share partitions, and the records that they are written as."""

    def __init__(
        self,
        *,
        has_partition: Callable[[UUID, int], bool],
        append_record: AppendShareRecord,
        updates_per_snapshot: int,
        release: Release = DEFAULT_RELEASE,
    ) -> None:
        """`updates_per_snapshot` is that of Kafka's `share.coordinator.snapshot...` key.

        `release` is the one of the share coordinators.
        """
        self._has_partition = has_partition
        self._append_record = append_record
        self._updates_per_snapshot = updates_per_snapshot
        self._counts_finished = release >= COUNTS_FINISHED_SINCE
        self._fenced_state = _fenced_state(release)
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
        if self._counts_finished and state_epoch < 0:
            return _negative_epoch("state")
        before = self._states.get(key)
        if before is not None and NO_EPOCH != state_epoch < before.state_epoch:
            return self._fenced_state
        if not self._has_partition(key.topic_id, key.partition_index):
            return UNKNOWN_PARTITION
        snapshot_epoch = 0 if before is None else before.snapshot_epoch + 1
        has_count = self._counts_finished and start_offset != NO_OFFSET
        state = ShareState(
            snapshot_epoch,
            state_epoch,
            leader_epoch=0,
            start_offset=start_offset,
            state_batches=(),
            created_ms=now_ms,
            written_ms=now_ms,
            finished_count=0 if has_count else NO_COUNT,
            update_count=0 if before is None else before.update_count,
        )
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
        if self._counts_finished and leader_epoch < 0:
            return _negative_epoch("leader")
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
            write = _Write(leader_epoch, state.start_offset, state.finished_count, ())
            refusal = self._update(key, state, write, now_ms)
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
        finished_count: int = NO_COUNT,
    ) -> Refusal | None:
        """Add state batches, and move the start offset; -1 leaves an epoch or the offset.

        Since Kafka 4.2 the epochs must be given, and the start offset does not go back.
        """
        refusal = self.write_refusal(key, state_epoch, leader_epoch)
        if refusal is not None:
            return refusal
        state = self._states[key]
        if self._counts_finished:
            write = _later_write(state, start_offset, finished_count, state_batches)
            return self._update(key, state, write, now_ms)
        write = _Write(leader_epoch, start_offset, NO_COUNT, state_batches)
        if state_epoch > state.state_epoch:
            changed = _merged(state, write)
            return self._snapshot(
                key,
                replace(changed, state_epoch=state_epoch, snapshot_epoch=state.snapshot_epoch + 1),
                now_ms,
            )
        return self._update(key, state, write, now_ms)

    def write_refusal(
        self, key: SharePartitionKey, state_epoch: int, leader_epoch: int
    ) -> Refusal | None:
        """Refuse a write of a leader, whatever it writes."""
        if key.partition_index < 0:
            return _negative_partition()
        if self._counts_finished and (leader_epoch < 0 or state_epoch < 0):
            return _negative_epoch("leader" if leader_epoch < 0 else "state")
        state = self._states.get(key)
        if state is None:
            return Refusal(
                ErrorCode.INVALID_REQUEST,
                "Write operation on uninitialized share partition not allowed.",
            )
        if NO_EPOCH != leader_epoch < state.leader_epoch:
            return _fenced_leader()
        if NO_EPOCH != state_epoch < state.state_epoch:
            return self._fenced_state
        if not self._has_partition(key.topic_id, key.partition_index):
            return UNKNOWN_PARTITION
        return None

    def partition_refusal(self, key: SharePartitionKey) -> Refusal | None:
        """Refuse a partition that cannot exist or does not."""
        if key.partition_index < 0:
            return _negative_partition()
        if not self._has_partition(key.topic_id, key.partition_index):
            return UNKNOWN_PARTITION
        return None

    def snapshot_cold(
        self, keys: Iterable[SharePartitionKey], interval_ms: int, now_ms: int
    ) -> Iterator[None]:
        """Write a snapshot of each state that has had none for `interval_ms`, one in each step.

        `keys` are those of one partition of the log. Nothing is written if all their states are
        as they were at their last snapshot of this kind.
        """
        states = [(key, state) for key in keys if (state := self._states.get(key)) is not None]
        if all(state.created_ms != state.written_ms for _, state in states):
            return
        for key, _ in states:
            state = self._states.get(key)
            if state is not None and now_ms - state.written_ms >= interval_ms:
                cold = replace(state, snapshot_epoch=state.snapshot_epoch + 1)
                self._snapshot(key, cold, now_ms, created_ms=state.created_ms)
                yield

    def next_cold_ms(self, interval_ms: int) -> int | None:
        """Return the earliest time at which a state may be cold, or None."""
        states = self._states.values()
        if all(state.created_ms != state.written_ms for state in states):
            return None
        return min(state.written_ms for state in states) + interval_ms

    def delete(self, key: SharePartitionKey, now_ms: int) -> Refusal | None:
        """Delete a state, if there is one."""
        return self.partition_refusal(key) or self._delete(key, now_ms)

    def forget_topic(self, topic_id: UUID, now_ms: int) -> None:
        """Delete the states of a deleted topic."""
        for key in self.keys():
            if key.topic_id == topic_id:
                self._delete(key, now_ms)

    def write_again(self, key: SharePartitionKey, now_ms: int) -> Refusal | None:
        """Write a snapshot of a state that has not changed, so that its old records can go."""
        state = self._states.get(key)
        if state is None:
            return UNKNOWN_PARTITION
        state = replace(state, snapshot_epoch=state.snapshot_epoch + 1)
        return self._snapshot(key, state, now_ms, created_ms=state.created_ms)

    def load(self, key: SharePartitionKey, state: ShareState | None) -> None:
        """Replace a state by what its log has; None if that has nothing."""
        if state is None:
            self._states.pop(key, None)
        else:
            self._states[key] = state

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
        write: _Write,
        now_ms: int,
    ) -> Refusal | None:
        changed = _merged(state, write)
        if state.update_count >= self._updates_per_snapshot:
            changed = replace(changed, snapshot_epoch=state.snapshot_epoch + 1)
            return self._snapshot(key, changed, now_ms)
        value = schema.ShareUpdateValue(
            snapshot_epoch=state.snapshot_epoch,
            leader_epoch=write.leader_epoch,
            start_offset=write.start_offset,
            delivery_complete_count=write.finished_count,
            state_batches=_batches(
                schema.ShareUpdateValue,
                combine_batches((), write.state_batches, write.start_offset),
            ),
        )
        record = (_key(schema.ShareUpdateKey, key), encode_data(value, _VERSION))
        refusal = self._append_record(key, record, now_ms)
        if refusal is None:
            self._states[key] = replace(changed, update_count=state.update_count + 1)
        return refusal

    def _snapshot(
        self,
        key: SharePartitionKey,
        state: ShareState,
        now_ms: int,
        created_ms: int | None = None,
    ) -> Refusal | None:
        """Write a snapshot of `created_ms`, which is now unless the state has not changed."""
        created_ms = now_ms if created_ms is None else created_ms
        is_due = state.update_count >= self._updates_per_snapshot
        update_count = 0 if is_due else state.update_count
        state = replace(state, created_ms=created_ms, written_ms=now_ms, update_count=update_count)
        refusal = self._append_record(key, snapshot_record(key, state), now_ms)
        if refusal is None:
            self._states[key] = state
        return refusal


def snapshot_record(key: SharePartitionKey, state: ShareState) -> CoordinatorRecord:
    """Return the record of all of a state, as of `written_ms`."""
    value = schema.ShareSnapshotValue(
        snapshot_epoch=state.snapshot_epoch,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.finished_count,
        create_timestamp=state.created_ms,
        write_timestamp=state.written_ms,
        state_batches=_batches(schema.ShareSnapshotValue, state.state_batches),
    )
    return _key(schema.ShareSnapshotKey, key), encode_data(value, _VERSION)


def is_snapshot(encoded_key: bytes) -> bool:
    """Return whether the key of a record in `__share_group_state` is that of a snapshot."""
    return read_prefix(encoded_key) == record_type(schema.ShareSnapshotKey)


def replayed(state: ShareState | None, value: Any) -> ShareState:
    """Return a state after a record with this value (`ShareCoordinatorShard.replay`)."""
    state_batches = tuple(
        StateBatch(
            batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count
        )
        for batch in value.state_batches
    )
    if isinstance(value, schema.ShareSnapshotValue):
        return ShareState(
            value.snapshot_epoch,
            value.state_epoch,
            value.leader_epoch,
            value.start_offset,
            state_batches,
            value.create_timestamp,
            value.write_timestamp,
            value.delivery_complete_count,
        )
    if state is None:
        state = ShareState(value.snapshot_epoch, 0, NO_EPOCH, NO_OFFSET, (), 0, 0)
    write = _Write(
        value.leader_epoch, value.start_offset, value.delivery_complete_count, state_batches
    )
    return replace(_merged(state, write), update_count=state.update_count + 1)


def _later_write(
    state: ShareState, start_offset: int, finished_count: int, state_batches: Sequence[StateBatch]
) -> _Write:
    """Return what is written since Kafka 4.2: neither offset nor count go back."""
    if start_offset == state.start_offset:
        finished_count = max(finished_count, state.finished_count)
    elif start_offset < state.start_offset:
        finished_count = state.finished_count
    start_offset = max(start_offset, state.start_offset)
    return _Write(state.leader_epoch, start_offset, finished_count, state_batches)


def _merged(state: ShareState, write: _Write) -> ShareState:
    start_offset = state.start_offset if write.start_offset == NO_OFFSET else write.start_offset
    return replace(
        state,
        leader_epoch=state.leader_epoch if write.leader_epoch == NO_EPOCH else write.leader_epoch,
        start_offset=start_offset,
        finished_count=write.finished_count,
        state_batches=tuple(
            combine_batches(state.state_batches, write.state_batches, start_offset)
        ),
    )


def _key(key_class: Any, key: SharePartitionKey) -> bytes:
    return encode_key(
        key_class(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition_index)
    )


def _batches(value_class: Any, batches: Iterable[StateBatch]) -> list[Any]:
    return [value_class.StateBatch(**asdict(batch)) for batch in batches]


def _negative_partition() -> Refusal:
    return Refusal(ErrorCode.INVALID_REQUEST, "The partition id cannot be a negative number.")


def _negative_epoch(name: str) -> Refusal:
    message = f"The {name} epoch cannot be a negative number."
    return Refusal(ErrorCode.INVALID_REQUEST, message)


def _fenced_state(release: Release) -> Refusal:
    who, what = ("The", "the") if release >= FENCES_ANY_GROUP_SINCE else _SHARE_WORDS
    message = f"{who} coordinator rejected the request because {what} state epoch did not match."
    return Refusal(ErrorCode.FENCED_STATE_EPOCH, message)


def _fenced_leader() -> Refusal:
    return Refusal(
        ErrorCode.FENCED_LEADER_EPOCH,
        "The leader epoch in the request is older than the epoch on the broker.",
    )
