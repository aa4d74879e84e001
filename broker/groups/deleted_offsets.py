"""Records that delete committed offsets: some at once, others in short steps of a timer.

One request deletes a group with tens of thousands of offsets, or a topic of which very many groups
have committed offsets. In memory all are gone at once. To write a record for each takes long, and
the caller may not pause.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from broker.groups.group_records import AppendRecords, offset_key
from broker.groups.transactional_offsets import OffsetKey
from broker.timers import SteppedWork, Timers
from protocol.coordinator_records import CoordinatorRecord

RECORDS_PER_STEP = 500
"""Records of one step, which takes about 5 ms."""

_ABSENT = object()


class DeletedOffsets:
    """Deleted offsets whose records are not written yet.

    A record that a new commit of the same partition makes stale is not written behind it.
    """

    def __init__(
        self,
        timers: Timers,
        append_records: AppendRecords,
        is_committed: Callable[[OffsetKey], bool],
    ) -> None:
        """`is_committed` returns whether there is an offset of a group and a partition."""
        self._steps = SteppedWork(timers, self._do_step)
        self._append_records = append_records
        self._is_committed = is_committed
        self._waiting: dict[str, dict[str, dict[int, object]]] = {}
        """By group id, topic name and partition index."""

    def delete(
        self, offsets: Iterable[tuple[str, Mapping[str, Collection[int]]]], now_ms: int
    ) -> None:
        """Write the records of offsets that were just deleted, or plan to.

        `offsets` has group ids, and partition indexes by topic name.
        """
        left = 0 if self._waiting else RECORDS_PER_STEP
        for group_id, topics in offsets:
            count = sum(map(len, topics.values()))
            if count <= left:
                left -= count
                keys = ((group_id, name, index) for name in topics for index in topics[name])
                self._write(group_id, keys, now_ms)
            else:
                waiting = self._waiting.setdefault(group_id, {})
                for name, indexes in topics.items():
                    waiting.setdefault(name, {}).update(dict.fromkeys(indexes))
        if self._waiting:
            self._steps.plan(now_ms)

    def write_before(self, offsets: Sequence[OffsetKey], now_ms: int) -> None:
        """Write the records that wait of offsets of a group that a transaction commits again.

        Behind the records of the transaction, whose marker is yet to come, they would delete its
        offsets.
        """
        if self._waiting and offsets:
            taken = [key for key in offsets if self._take(key)]
            self._write(offsets[0][0], taken, now_ms)

    def clear(self) -> None:
        """Write no more records: the log of the groups was deleted."""
        self._waiting.clear()

    def _take(self, key: OffsetKey) -> bool:
        """Remove an offset from those that wait; return whether it was one."""
        group_id, topic_name, index = key
        indexes = self._waiting.get(group_id, {}).get(topic_name, {})
        return indexes.pop(index, _ABSENT) is not _ABSENT

    def _do_step(self, now_ms: int) -> bool:
        left = RECORDS_PER_STEP
        while left > 0 and self._waiting:
            group_id = next(iter(self._waiting))
            topics = self._waiting[group_id]
            keys: list[OffsetKey] = []
            while left > 0 and topics:
                topic_name = next(iter(topics))
                indexes = topics[topic_name]
                while left > 0 and indexes:
                    keys.append((group_id, topic_name, indexes.popitem()[0]))
                    left -= 1
                if not indexes:
                    del topics[topic_name]
                    left -= 1
            if not topics:
                del self._waiting[group_id]
                left -= 1
            self._write(group_id, [key for key in keys if not self._is_committed(key)], now_ms)
        return bool(self._waiting)

    def _write(self, group_id: str, keys: Iterable[OffsetKey], now_ms: int) -> None:
        tombstones: list[CoordinatorRecord] = [(offset_key(*key), None) for key in keys]
        if tombstones:
            self._append_records(group_id, tombstones, now_ms)
