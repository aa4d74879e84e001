"""Compaction of an internal topic's partition: keep the last record of each key.

Kafka's cleaner never touches the active segment, so there all records of a small topic can be read.
Here at most `STALE_RECORDS_MIN` of a partition are stale, or as many as there are keys.

Sources: Kafka's `Cleaner` (which records remain) and `LogCleanerManager`.
"""

from collections.abc import Iterable

from broker.cluster.partition_log import PartitionLog
from protocol.batch_builder import BatchBuilder
from protocol.records import (
    COMPRESSION_MASK,
    COMPRESSION_NAMES,
    batch_base_offset,
    read_header,
    read_records,
    stamp,
)

STALE_RECORDS_MIN = 1000
"""Stale records that a partition keeps at least, so that a few commits can be read one by one."""

TOMBSTONES_MAX = 1000
"""Deleted keys of which a partition keeps the record, even before `delete.retention.ms`."""


class Compaction:
    """Where the last record of each key is in one log. Pass every appended batch to `add`."""

    __slots__ = ("_batch_of_key", "_live_counts", "_record_count", "_tombstones")

    def __init__(self) -> None:
        self._batch_of_key: dict[bytes, int] = {}
        """Base offset of the batch with the last record of a key."""
        self._live_counts: dict[int, int] = {}
        """Number of keys whose last record is in a batch, by its base offset."""
        self._record_count = 0
        self._tombstones: dict[bytes, int] = {}
        """Time of the deletion of a key, the oldest first."""

    def add(
        self, base_offset: int, records: Iterable[tuple[bytes, bytes | None]], now_ms: int
    ) -> None:
        """Note the keys and values of an appended batch."""
        batch_of_key, live_counts, tombstones = (
            self._batch_of_key,
            self._live_counts,
            self._tombstones,
        )
        added = live_counts[base_offset] = 0
        for key, value in records:
            added += 1
            last_base_offset = batch_of_key.get(key)
            if last_base_offset is not None:
                live_counts[last_base_offset] -= 1
            batch_of_key[key] = base_offset
            live_counts[base_offset] += 1
            if tombstones:
                tombstones.pop(key, None)
            if value is None:
                tombstones[key] = now_ms
        self._record_count += added

    def is_due(self) -> bool:
        """Whether too many records are stale."""
        key_count = len(self._batch_of_key)
        stale_count = self._record_count - key_count
        has_too_many_stale = stale_count > STALE_RECORDS_MIN and stale_count > key_count
        return has_too_many_stale or len(self._tombstones) > 2 * TOMBSTONES_MAX

    def compact(self, log: PartitionLog, now_ms: int, delete_retention_ms: int) -> None:
        """Remove stale records, and old deletions; offsets stay, and so does the newest batch."""
        self._expire_tombstones(now_ms - delete_retention_ms)
        # A batch with at most half of its records live is rewritten, others stay as they are.
        kept: list[bytes] = []
        self._record_count = 0
        for batch in log.rewind():
            header = read_header(batch, 0)
            live_count = self._live_counts.get(header.base_offset, 0)
            is_newest = header.base_offset + header.last_offset_delta + 1 == log.log_end_offset
            if is_newest or 2 * live_count > header.records_count:
                kept.append(batch)
                self._record_count += header.records_count
            elif live_count:
                kept.append(self._without_stale(batch))
                self._record_count += live_count
            else:
                self._live_counts.pop(header.base_offset, None)
        log.replace_batches(kept)

    def _without_stale(self, batch: bytes) -> bytes:
        """Return a batch with the last records of their keys only, at the same offsets."""
        header = read_header(batch, 0)
        last_of_key = {
            record.key: record
            for record in read_records(batch)
            if self._batch_of_key.get(record.key or b"") == header.base_offset
        }
        builder = BatchBuilder(COMPRESSION_NAMES[header.attributes & COMPRESSION_MASK], len(batch))
        for record in sorted(last_of_key.values()):
            builder.append(
                record.timestamp,
                record.key,
                record.value,
                record.headers,
                offset_delta=record.offset - header.base_offset,
            )
        rewritten = builder.build()
        epoch = header.partition_leader_epoch
        return stamp(rewritten, 0, len(rewritten), batch_base_offset(batch), epoch)

    def _expire_tombstones(self, until_ms: int) -> None:
        excess_count = len(self._tombstones) - TOMBSTONES_MAX
        for index, (key, deleted_ms) in enumerate(tuple(self._tombstones.items())):
            if index >= excess_count and deleted_ms > until_ms:
                break
            del self._tombstones[key]
            self._live_counts[self._batch_of_key.pop(key)] -= 1
