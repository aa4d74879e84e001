"""What a broker has as the leader of share partitions: sessions, records in flight, waiters.

Source: Kafka's `SharePartitionManager` and `SharePartitionCache`.
"""

from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

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

    def clear(self, now_ms: int) -> None:
        """Forget everything: the broker stops, or share groups are switched off."""
        self.sessions.clear()
        self._drop(tuple(self.partitions), now_ms)

    def drop_partition(self, topic_id: UUID, partition_index: int, now_ms: int) -> None:
        """Forget a partition in all groups: this broker leads it no longer, or it is deleted."""
        topic_partition = (topic_id, partition_index)
        self._drop([key for key in self.partitions if key[1:] == topic_partition], now_ms)

    def drop_share_partition(self, key: SharePartitionKey, now_ms: int) -> None:
        """Forget a share partition, whose state was replaced or deleted."""
        self._drop([known for known in self.partitions if known == key], now_ms)

    def drop_group(self, group_id: str, now_ms: int) -> None:
        """Forget the partitions of a group, none of whose members is connected."""
        self._drop([key for key in self.partitions if key.group_id == group_id], now_ms)

    def _drop(self, keys: Iterable[SharePartitionKey], now_ms: int) -> None:
        for key in keys:
            self.partitions.pop(key).drop(now_ms)

    def acknowledge(
        self,
        key: SharePartitionKey,
        member_id: str,
        batches: Sequence[AcknowledgementBatch],
        now_ms: int,
    ) -> Refusal | None:
        """Take what a member says about records of a share partition; return why not."""
        led = self.partitions.get(key)
        if led is None:
            return UNKNOWN_PARTITION
        refusal = led.share_partition.acknowledge(member_id, batches, now_ms)
        return self._after_change(key, led, refusal, now_ms)

    def close_session(self, session: ShareSession, now_ms: int) -> None:
        """End a session, and release what its member has acquired, unless it has ended before."""
        if not self.sessions.close(session):
            return
        for topic_id, partition_index in session.partitions:
            key = SharePartitionKey(session.key.group_id, topic_id, partition_index)
            led = self.partitions.get(key)
            if led is not None:
                refusal = led.share_partition.release_member(session.key.member_id, now_ms)
                self._after_change(key, led, refusal, now_ms)

    def _after_change(
        self, key: SharePartitionKey, led: LedSharePartition, refusal: Refusal | None, now_ms: int
    ) -> Refusal | None:
        if refusal is not None and refusal.error_code in FENCING_ERRORS:
            self._drop((key,), now_ms)
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
