"""Compaction of an internal topic's partition: keep the last record of each key.

Kafka's cleaner never touches the active segment, so there all records of a small topic can be read.
Here at most `STALE_RECORDS_MIN` of a partition are stale, or as many as there are keys.

A record of a transaction counts when its transaction is committed, and then its offset decides
which record of a key is the last. Batches of open transactions stay. Records of aborted ones are
stale, and the marker of a committed one stays as long as one of its batches.

Sources: Kafka's `Cleaner` and `CleanedTransactionMetadata` (which records remain) and
`LogCleanerManager`.
"""

from collections.abc import Generator, Iterator, Sequence

from broker.cluster.batch_filter import RECORDS_PER_STEP, free_in_steps, rewritten
from broker.cluster.partition_log import PartitionLog
from broker.timers import Timers
from protocol.records import Record, batch_base_offset, read_header, read_records

STALE_RECORDS_MIN = 1000
"""Stale records that a partition keeps at least, so that a few commits can be read one by one."""

KeysAndValues = Sequence[tuple[bytes, bytes | None]]

BATCHES_PER_STEP = 5_000
"""Batches that one step of a compaction looks at: with single records that takes some ms."""

TOMBSTONES_MAX = 1000
"""Deleted keys of which a partition keeps the record, even before `delete.retention.ms`."""


class Compaction:
    """Where the last record of each key is in one log. Pass every appended batch to `add`."""

    __slots__ = (
        "_batch_of_key",
        "_batches_of_marker",
        "_live_counts",
        "_open_batches",
        "_record_count",
        "_tombstones",
        "is_running",
        "timers",
    )

    def __init__(self) -> None:
        self._batch_of_key: dict[bytes, int] = {}
        """Base offset of the batch with the last record of a key."""
        self._live_counts: dict[int, int] = {}
        """Number of keys whose last record is in a batch, by its base offset."""
        self._record_count = 0
        self._tombstones: dict[bytes, int] = {}
        """Time of the deletion of a key, the oldest first."""
        self._open_batches: dict[int, list[tuple[int, KeysAndValues]]] = {}
        """Base offset and records of the batches of open transactions, by producer id."""
        self._batches_of_marker: dict[int, tuple[int, ...]] = {}
        """Base offsets of the batches of a committed transaction, by that of its marker."""
        self.is_running = False
        """Whether a compaction has begun that is not at its end."""
        self.timers: Timers | None = None
        """They continue a compaction that takes long; without them it is done in one go."""

    # Hot path: inlined on purpose.
    def add(self, base_offset: int, records: KeysAndValues, now_ms: int) -> bool:
        """Note the keys and values of an appended batch; return what `is_due` returns then.

        Of a value it matters only whether it is None.
        """
        batch_of_key, live_counts = self._batch_of_key, self._live_counts
        tombstones = self._tombstones
        live_count = 0
        for key, value in records:
            last_base_offset = batch_of_key.get(key)
            if last_base_offset is None:
                live_count += 1
            elif last_base_offset < base_offset:
                live_counts[last_base_offset] -= 1
                live_count += 1
            elif last_base_offset > base_offset:
                continue
            batch_of_key[key] = base_offset
            if tombstones:
                tombstones.pop(key, None)
            if value is None:
                tombstones[key] = now_ms
        live_counts[base_offset] = live_count
        self._record_count = record_count = self._record_count + len(records)
        if record_count <= STALE_RECORDS_MIN and not tombstones:
            return False  # so few can't be too many
        return self.is_due()

    def add_transactional(self, producer_id: int, base_offset: int, records: KeysAndValues) -> None:
        """Note the keys and values of an appended batch of a transaction."""
        self._record_count += len(records)
        self._open_batches.setdefault(producer_id, []).append((base_offset, records))

    def end_transaction(
        self, producer_id: int, marker_offset: int, now_ms: int, *, is_commit: bool
    ) -> None:
        """Note the appended marker of a transaction."""
        self._record_count += 1
        batches = self._open_batches.pop(producer_id, [])
        if is_commit:
            for base_offset, records in batches:
                self._record_count -= len(records)  # they were counted when they were appended
                self.add(base_offset, records, now_ms)
            base_offsets = tuple(base_offset for base_offset, _records in batches)
            self._batches_of_marker[marker_offset] = base_offsets

    def is_due(self) -> bool:
        """Whether too many records are stale."""
        key_count = len(self._batch_of_key)
        stale_count = self._record_count - key_count
        has_too_many_stale = stale_count > STALE_RECORDS_MIN and stale_count > key_count
        return has_too_many_stale or len(self._tombstones) > 2 * TOMBSTONES_MAX

    def compact(self, log: PartitionLog, now_ms: int, delete_retention_ms: int) -> None:
        """Remove stale records, and old deletions; offsets stay, and so does the newest batch."""
        for _ in self.steps(log, now_ms, delete_retention_ms):
            pass

    def steps(self, log: PartitionLog, now_ms: int, delete_retention_ms: int) -> Iterator[None]:
        """Compact as `compact` does, and yield after each short step.

        Batches may be appended between two steps. They stay as they are, and a record that they
        make stale may stay until the next compaction. One compaction of a log is at work at a time.
        """
        self.is_running = True
        try:
            yield from self._steps(log, now_ms - delete_retention_ms)
        finally:
            self.is_running = False

    def _steps(self, log: PartitionLog, deleted_until_ms: int) -> Iterator[None]:
        batches, record_count = list(log.rewind()), self._record_count
        start_offset, end_offset, cuts = log.log_start_offset, log.log_end_offset, log.cuts
        open_offsets = {
            base_offset
            for batches_of_producer in self._open_batches.values()
            for base_offset, _records in batches_of_producer
        }
        yield from self._expire_tombstones(deleted_until_ms)
        # A batch with at most half of its records live is rewritten, others stay as they are.
        kept: dict[int, bytes] = {}
        kept_records = freed_bytes = work = 0
        newest = len(batches) - 1
        live_counts = self._live_counts
        has_transactions = bool(open_offsets or self._batches_of_marker)
        for index, batch in enumerate(batches):
            work += 1
            if work >= BATCHES_PER_STEP:
                work = 0
                yield
            base_offset = batch_base_offset(batch)
            live_count = live_counts.get(base_offset, 0)
            if not (live_count or has_transactions or index == newest):
                live_counts.pop(base_offset, None)
                freed_bytes += len(batch)
                continue
            is_needed = (
                index == newest
                or base_offset in open_offsets
                or not kept.keys().isdisjoint(self._batches_of_marker.get(base_offset, ()))
            )
            if not is_needed and not live_count:  # most batches: don't decode their headers
                live_counts.pop(base_offset, None)
                self._batches_of_marker.pop(base_offset, None)
                freed_bytes += len(batch)
                continue
            records_count = read_header(batch, 0).records_count
            if is_needed or 2 * live_count > records_count:
                kept[base_offset] = batch
                kept_records += records_count
                continue
            work += records_count * BATCHES_PER_STEP // RECORDS_PER_STEP
            records = yield from self._live_records(batch)
            if records:
                kept[base_offset] = yield from rewritten(batch, records)
                kept_records += len(records)
            else:  # all became stale between two steps
                live_counts.pop(base_offset, None)
            freed_bytes += len(batch) - len(kept.get(base_offset, b""))
        if log.log_start_offset != start_offset or log.cuts != cuts:
            return  # batches were deleted or lost; the next compaction looks at the others
        log.replace_batches(list(kept.values()), end_offset, freed_bytes)
        self._record_count += kept_records - record_count
        # No record of a transaction that was aborted before is left.
        log.transaction_index.drop_before(end_offset)
        yield from free_in_steps(batches, BATCHES_PER_STEP)

    def _live_records(self, batch: bytes) -> Generator[None, None, list[Record]]:
        """Return the records of a batch that are the last of their keys."""
        base_offset = batch_base_offset(batch)
        last_of_key = {}
        for number, record in enumerate(read_records(batch), 1):
            if self._batch_of_key.get(record.key or b"") == base_offset:
                last_of_key[record.key] = record
            if number % RECORDS_PER_STEP == 0:
                yield
        return sorted(last_of_key.values())

    def _expire_tombstones(self, until_ms: int) -> Iterator[None]:
        excess_count = len(self._tombstones) - TOMBSTONES_MAX
        for index, (key, deleted_ms) in enumerate(tuple(self._tombstones.items())):
            if index >= excess_count and deleted_ms > until_ms:
                break
            if index % BATCHES_PER_STEP == BATCHES_PER_STEP - 1:
                yield
            if self._tombstones.get(key) == deleted_ms:  # else it was written again since
                del self._tombstones[key]
                self._live_counts[self._batch_of_key.pop(key)] -= 1
