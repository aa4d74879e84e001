"""What ends with a share session: its acquisitions, and share partitions nobody fetches any more.

A session may have tens of thousands of partitions, and its end may not pause. The first step is
done at once, the others by a timer. In between, a request that uses a share partition first does
what is left of it: a session that the member has opened again loses nothing that it acquires.

Source: Kafka's `SharePartitionManager.releaseSession`, which releases each partition on its own.
"""

from collections import deque
from collections.abc import Callable

from broker.share_groups.sessions import ShareSessionKey, TopicIdPartition
from broker.share_groups.share_state import SharePartitionKey
from broker.timers import SteppedWork, Timers

WORK_PER_STEP = 500
"""Partitions, and records in flight, of one step: about 40 partitions to release, or 5 ms."""

Release = Callable[[SharePartitionKey, str, int], int]
"""`release(key, member_id, now_ms)` releases what a member has acquired; returns the work."""

Drop = Callable[[SharePartitionKey, int], None]
"""`drop(key, now_ms)` forgets a share partition."""


class ClosedShareSessions:
    """Releases and drops of one broker that are not done yet."""

    def __init__(self, timers: Timers, release: Release, drop: Drop) -> None:
        self._steps = SteppedWork(timers, self._do_step)
        self._release = release
        self._drop = drop
        self._releases: deque[tuple[ShareSessionKey, dict[TopicIdPartition, None]]] = deque()
        """The members of closed sessions, and their partitions that are left."""
        self._drops: deque[dict[SharePartitionKey, None]] = deque()

    def close(
        self, session_key: ShareSessionKey, partitions: dict[TopicIdPartition, None], now_ms: int
    ) -> None:
        """Release the partitions of a session, which are removed from the dictionary."""
        self._release_some(session_key, partitions, WORK_PER_STEP, now_ms)
        if partitions:
            self._releases.append((session_key, partitions))
            self._steps.plan(now_ms)

    def drop(self, keys: dict[SharePartitionKey, None], now_ms: int) -> None:
        """Forget share partitions, which are removed from the dictionary, after their releases."""
        self._drop_some(keys, WORK_PER_STEP, now_ms)
        if keys:
            self._drops.append(keys)
            self._steps.plan(now_ms)

    def finish(self, key: SharePartitionKey, now_ms: int) -> None:
        """Do what is left of one share partition, which is going to be used."""
        if not self._releases and not self._drops:
            return
        self._finish_releases(key, now_ms)
        for keys in self._drops:
            if key in keys:
                del keys[key]
                self._drop(key, now_ms)

    def clear(self) -> None:
        """Leave out what is left: the broker forgets all share partitions."""
        self._releases.clear()
        self._drops.clear()

    def _finish_releases(self, key: SharePartitionKey, now_ms: int) -> int:
        work = 0
        partition = TopicIdPartition(key.topic_id, key.partition_index)
        for session_key, partitions in self._releases:
            if session_key.group_id == key.group_id and partition in partitions:
                del partitions[partition]
                work += self._release(key, session_key.member_id, now_ms)
        return work

    def _do_step(self, now_ms: int) -> bool:
        left = WORK_PER_STEP
        while left > 0 and self._releases:
            session_key, partitions = self._releases[0]
            left = self._release_some(session_key, partitions, left, now_ms)
            if not partitions:
                self._releases.popleft()
        while left > 0 and self._drops:
            keys = self._drops[0]
            left = self._drop_some(keys, left, now_ms)
            if not keys:
                self._drops.popleft()
        return bool(self._releases or self._drops)

    def _release_some(
        self,
        session_key: ShareSessionKey,
        partitions: dict[TopicIdPartition, None],
        left: int,
        now_ms: int,
    ) -> int:
        """Release partitions until all are done or no work is left; return what is left of it."""
        group_id, member_id = session_key
        while left > 0 and partitions:
            partition, _ = partitions.popitem()
            key = SharePartitionKey(group_id, partition.topic_id, partition.partition_index)
            left -= 1 + self._release(key, member_id, now_ms)
        return left

    def _drop_some(self, keys: dict[SharePartitionKey, None], left: int, now_ms: int) -> int:
        while left > 0 and keys:
            key, _ = keys.popitem()
            left -= 1 + self._finish_releases(key, now_ms)
            self._drop(key, now_ms)
        return left
