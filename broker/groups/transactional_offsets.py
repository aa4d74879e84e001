"""Offsets that groups commit in transactions: pending until the marker of the transaction.

They are in a transactional batch of the group's partition of `__consumer_offsets`, where the marker
arrives. Source: Kafka's `OffsetMetadataManager`.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from broker.groups.group_records import offset_key, offset_value
from broker.groups.requests import CommitRequest
from broker.groups.results import CommittedOffset, new_committed
from protocol.coordinator_records import CoordinatorRecord
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced, paced_elements

OffsetKey = tuple[str, str, int]
"""Group id, topic name, partition index."""

_Source = tuple[int, int]
"""Partition of `__consumer_offsets`, producer id."""


class PendingCommit(NamedTuple):
    """A pending offset; `number` counts commits, so the latest of several wins."""

    number: int
    committed: CommittedOffset


class TransactionalOffsets:
    """The pending offsets of all groups."""

    def __init__(self) -> None:
        # By partition of `__consumer_offsets` and producer id.
        self._pending: dict[_Source, dict[OffsetKey, PendingCommit]] = {}
        self._sources: dict[str, dict[str, dict[int, set[_Source]]]] = {}
        """By group id, topic name and partition index: whose pending offsets count.

        Others were deleted with their group or topic; until their marker they are only forgotten
        here, for there may be very many.
        """
        self._commit_count = 0

    def add(
        self,
        offsets_partition: int,
        producer_id: int,
        key: OffsetKey,
        committed: CommittedOffset,
    ) -> None:
        """Store an offset that becomes valid with the transaction of a producer."""
        self._commit_count += 1
        source = (offsets_partition, producer_id)
        pending = self._pending.setdefault(source, {})
        pending[key] = PendingCommit(self._commit_count, committed)
        group_id, topic_name, partition_index = key
        indexes = self._sources.setdefault(group_id, {}).setdefault(topic_name, {})
        indexes.setdefault(partition_index, set()).add(source)

    def is_pending(self, group_id: str, topic_name: str, partition_index: int) -> bool:
        """Return whether an open transaction commits the offset of a partition."""
        return bool(self._sources_of((group_id, topic_name, partition_index)))

    def has_pending(self, group_id: str) -> bool:
        """Return whether an open transaction commits any offset of a group."""
        return group_id in self._sources

    def __len__(self) -> int:
        """Return the number of transactions that have pending offsets, in each partition."""
        return len(self._pending)

    def all(self) -> Iterator[tuple[int, int, OffsetKey, PendingCommit]]:
        """Yield the partition, producer id, key and offset of each commit that waits."""
        for (offsets_partition, producer_id), pending in tuple(self._pending.items()):
            for key, commit in tuple(pending.items()):
                yield offsets_partition, producer_id, key, commit

    def pending_count(self, offsets_partition: int, producer_id: int) -> int:
        """Return how many offsets of a producer wait for a marker in a partition."""
        return len(self._pending.get((offsets_partition, producer_id), ()))

    @may_pause
    def complete(
        self, offsets_partition: int, producer_id: int
    ) -> Iterator[tuple[OffsetKey, CommittedOffset]]:
        """Remove a producer's pending offsets; yield those that no later commit has replaced.

        With many there are pauses. Another request may commit or delete offsets that are left then,
        as before the marker.
        """
        source = (offsets_partition, producer_id)
        for key in paced_elements(tuple(self._pending.get(source, ()))):
            pending = self._pending.get(source, {}).pop(key, None)
            if pending is not None and self._discard_source(key, source) and pending.number:
                self.replace(key, before=pending.number)
                yield key, pending.committed
        if not self._pending.get(source, True):
            del self._pending[source]

    def replace(self, key: OffsetKey, before: int | None = None) -> None:
        """Have a commit win over pending ones: all of them, or those with a lower number."""
        for source in self._sources_of(key) if self._sources else ():
            pending = self._pending[source][key]
            if before is None or pending.number < before:
                self._pending[source][key] = PendingCommit(0, pending.committed)

    def remove(self, key: OffsetKey) -> None:
        """Delete the pending offsets of a partition."""
        for source in tuple(self._sources_of(key)):
            self._discard_source(key, source)
            del self._pending[source][key]

    def remove_topic(self, topic_name: str) -> None:
        """Delete the pending offsets of a topic, for all groups."""
        for group_id, topics in tuple(self._sources.items()):
            if topics.pop(topic_name, None) is not None and not topics:
                del self._sources[group_id]

    def remove_group(self, group_id: str) -> None:
        """Delete the pending offsets of a group."""
        self._sources.pop(group_id, None)

    def _sources_of(self, key: OffsetKey) -> Collection[_Source]:
        group_id, topic_name, partition_index = key
        topics = self._sources.get(group_id)
        indexes = None if topics is None else topics.get(topic_name)
        return () if indexes is None else indexes.get(partition_index, ())

    def _discard_source(self, key: OffsetKey, source: _Source) -> bool:
        """Note that a pending offset is none any more; return whether it was one."""
        if source not in self._sources_of(key):
            return False
        group_id, topic_name, partition_index = key
        topics = self._sources[group_id]
        indexes = topics[topic_name]
        indexes[partition_index].discard(source)
        if not indexes[partition_index]:
            del indexes[partition_index]
        if not indexes:
            del topics[topic_name]
        if not topics:
            del self._sources[group_id]
        return True


@may_pause
def prepare_commit(
    request: CommitRequest, now_ms: int, metadata_max: int, expires_ms: int | None = None
) -> tuple[
    list[ErrorCode],
    list[tuple[OffsetKey, CommittedOffset]],
    list[CoordinatorRecord],
    CommitRequest,
]:
    """Return what a commit stores and appends; this may pause, the commit does not.

    The error codes are those of all offsets of the request, the rest is without the offsets that
    nobody may commit, also the request to check. `expires_ms` is None for the configured retention.
    """
    group_id, no_error = request.group_id, ErrorCode.NONE
    error_codes: list[ErrorCode] = []
    offsets: list[tuple[OffsetKey, CommittedOffset]] = []
    records: list[CoordinatorRecord] = []
    for name, index, offset, leader_epoch, metadata, topic_id in paced(request.offsets):
        if metadata and len(metadata) > metadata_max:
            error_codes.append(ErrorCode.OFFSET_METADATA_TOO_LARGE)
            continue
        committed = new_committed(
            (offset, leader_epoch, metadata or "", now_ms, expires_ms, topic_id)
        )
        error_codes.append(no_error)
        offsets.append(((group_id, name, index), committed))
        records.append((offset_key(group_id, name, index), offset_value(committed)))
    to_check = request
    if len(offsets) < len(error_codes):
        pairs = zip(paced(request.offsets), error_codes, strict=True)
        to_check = request._replace(
            offsets=[offset for offset, code in pairs if code is ErrorCode.NONE]
        )
    return error_codes, offsets, records, to_check
