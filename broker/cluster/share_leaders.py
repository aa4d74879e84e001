"""What a broker has as the leader of share partitions: sessions, records in flight, waiters.

Source: Kafka's `SharePartitionManager` and `SharePartitionCache`.
"""

from collections.abc import Callable, Sequence
from uuid import UUID

from broker.cluster.closed_share_sessions import ClosedShareSessions
from broker.errors import UNKNOWN_PARTITION, Refusal
from broker.share_groups.acknowledgement import AcknowledgementBatch
from broker.share_groups.sessions import ShareSession, ShareSessionCache, TopicIdPartition
from broker.share_groups.share_partition import SharePartition
from broker.share_groups.share_state import SharePartitionKey
from broker.timers import Timer, Timers
from protocol.errors import ErrorCode

Waiter = Callable[[int], None]
"""Called with `now_ms` when records may be available, or the leader has changed."""

FENCING_ERRORS = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""Errors after which a leader forgets a share partition, and reads its state again."""


WRITE_WORK = 10
"""Writing the state of a share partition costs as much as a look at that many records or more."""


class LedSharePartition:
    """A share partition with the fetches that wait for it, and the timer of its locks."""

    __slots__ = ("_timer", "_timers", "is_dropped", "share_partition", "waiters")

    def __init__(self, share_partition: SharePartition, timers: Timers) -> None:
        self.share_partition = share_partition
        self.waiters: dict[Waiter, None] = {}
        self.is_dropped = False
        self._timers = timers
        self._timer: Timer | None = None

    def wait(self, waiter: Waiter) -> None:
        """Call `waiter` whenever records may be acquired, until it leaves."""
        self.waiters[waiter] = None

    def leave(self, waiter: Waiter) -> None:
        """Call a waiter no more, if it waits."""
        self.waiters.pop(waiter, None)

    def wake(self, now_ms: int) -> None:
        """Call all waiters."""
        for waiter in tuple(self.waiters):
            waiter(now_ms)

    def watch_locks(self) -> None:
        """Schedule the expiry of the next lock; call it after records were acquired."""
        due_ms = self.share_partition.next_lock_expiry_ms()
        timer = self._timer
        if due_ms is None or (timer is not None and timer.due_ms <= due_ms):
            return
        self._timers.cancel(timer)
        self._timer = self._timers.schedule(due_ms, self._expire)

    def _expire(self, now_ms: int) -> None:
        self._timer = None
        if self.share_partition.expire_locks(now_ms):
            self.wake(now_ms)
        self.watch_locks()

    def drop(self, now_ms: int) -> None:
        """End it: locks do not expire any more, and waiters look for the new leader."""
        self.is_dropped = True
        self._timers.cancel(self._timer)
        self._timer = None
        self.wake(now_ms)


class ShareLeader:
    """The share sessions and share partitions of one broker."""

    def __init__(self, sessions_max: int, timers: Timers) -> None:
        self.sessions = ShareSessionCache(sessions_max)
        self.timers = timers
        self.partitions: dict[SharePartitionKey, LedSharePartition] = {}
        """Some of them may wait for the end of a session; get one with `partition` to change it."""
        self._keys_by_group: dict[str, dict[SharePartitionKey, None]] = {}
        self._closed = ClosedShareSessions(timers, self._release, self._drop)

    def partition(self, key: SharePartitionKey, now_ms: int) -> LedSharePartition | None:
        """Return a share partition without what closed sessions have acquired, or None."""
        self._closed.finish(key, now_ms)
        return self.partitions.get(key)

    def add(self, key: SharePartitionKey, led: LedSharePartition) -> None:
        """Add a share partition; `partition` has returned None for it without a pause since."""
        self.partitions[key] = led
        self._keys_by_group.setdefault(key.group_id, {})[key] = None

    def clear(self, now_ms: int) -> None:
        """Forget everything: the broker stops, or share groups are switched off."""
        self.sessions.clear()
        self._closed.clear()
        for key in tuple(self.partitions):
            self._drop(key, now_ms)

    def drop_partition(self, topic_id: UUID, partition_index: int, now_ms: int) -> None:
        """Forget a partition in all groups: this broker leads it no longer, or it is deleted."""
        for group_id in tuple(self._keys_by_group):
            self._drop(SharePartitionKey(group_id, topic_id, partition_index), now_ms)

    def drop_share_partition(self, key: SharePartitionKey, now_ms: int) -> None:
        """Forget a share partition, whose state was replaced or deleted."""
        self._drop(key, now_ms)

    def drop_group(self, group_id: str, now_ms: int) -> None:
        """Forget the partitions of a group, none of whose members is connected."""
        self._closed.drop(self._keys_by_group.pop(group_id, {}), now_ms)

    def _drop(self, key: SharePartitionKey, now_ms: int) -> None:
        """Forget a share partition, if this broker has it."""
        led = self.partitions.pop(key, None)
        if led is None:
            return
        keys = self._keys_by_group.get(key.group_id, {})
        keys.pop(key, None)
        if not keys:
            self._keys_by_group.pop(key.group_id, None)
        led.drop(now_ms)

    def acknowledge(
        self,
        key: SharePartitionKey,
        member_id: str,
        batches: Sequence[AcknowledgementBatch],
        now_ms: int,
        *,
        renewed_until_ms: int | None,
    ) -> Refusal | None:
        """Take what a member says about records of a share partition; return why not.

        Locks that it renews last until `renewed_until_ms`; None if it renews none.
        """
        led = self.partition(key, now_ms)
        if led is None:
            return UNKNOWN_PARTITION
        refusal = led.share_partition.acknowledge(
            member_id, batches, now_ms, renewed_until_ms=renewed_until_ms or 0
        )
        if renewed_until_ms is not None:
            led.watch_locks()
        return self._after_change(key, led, refusal, now_ms)

    def close_session(self, session: ShareSession, now_ms: int) -> None:
        """End a session, and release what its member has acquired, unless it has ended before.

        If that is much, a timer releases most of it in steps, and wakes the fetches that wait.
        """
        if self.sessions.close(session):
            # A request that is still to change the partitions of the session releases nothing.
            partitions, session.partitions = session.partitions, {}
            self._closed.close(session.key, partitions, now_ms)

    def _release(self, key: SharePartitionKey, member_id: str, now_ms: int) -> int:
        """Release what a member has acquired; return the work as a number of states."""
        led = self.partitions.get(key)
        if led is None or not led.share_partition.records:
            return 0
        records = led.share_partition.records
        work = WRITE_WORK + sum(1 + len(batch.offset_states) for batch in records)
        refusal = led.share_partition.release_member(member_id, now_ms)
        self._after_change(key, led, refusal, now_ms)
        return work

    def _after_change(
        self, key: SharePartitionKey, led: LedSharePartition, refusal: Refusal | None, now_ms: int
    ) -> Refusal | None:
        if refusal is not None and refusal.error_code in FENCING_ERRORS:
            self._drop(key, now_ms)
        else:
            led.wake(now_ms)
        return refusal

    def disconnect(self, connection_id: int, now_ms: int) -> None:
        """End the session that was opened on a connection, which is gone.

        The records in flight of a group are forgotten with its last session.
        """
        key = self.sessions.disconnect(connection_id)
        if key is None:
            return
        session = self.sessions.get(key)
        if session is not None and session.connection_id == connection_id:
            self.close_session(session, now_ms)
        if self.sessions.member_count(key.group_id) == 0:
            self.drop_group(key.group_id, now_ms)


def share_partition_key(group_id: str, partition: TopicIdPartition) -> SharePartitionKey:
    """Return the key of a partition in a group."""
    return SharePartitionKey(group_id, partition.topic_id, partition.partition_index)
