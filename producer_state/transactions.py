"""The transactional producers of one partition: open transactions and verifications.

Only producers that write in transactions have an entry here, so that all others keep their small
row. Sources: Kafka's `ProducerStateManager`, `ProducerStateEntry` and `VerificationStateEntry`.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from producer_state.rules import NO_EPOCH, NO_OFFSET, NO_TIMESTAMP


class TransactionalEntry(NamedTuple):
    """The fields of `Entry` that only transactional producers have."""

    coordinator_epoch: int
    last_timestamp: int
    current_txn_start_offset: int


_NEW = TransactionalEntry(NO_EPOCH, NO_TIMESTAMP, NO_OFFSET)
_new_entry: Callable[[tuple[int, int, int]], TransactionalEntry]
_new_entry = partial(tuple.__new__, TransactionalEntry)
"""Makes an entry from all its fields, in less time than the class takes."""


@dataclass(slots=True)
class _Verification:
    """A producer whose transaction has to be verified before its first batch is appended.

    `lowest_sequence` is the lowest base sequence that was seen since: a batch behind it waits until
    it was appended.
    """

    producer_epoch: int
    lowest_sequence: int
    supports_epoch_bump: bool
    since_ms: int


class PartitionTransactions:
    """The transactions in one partition. `entries` has the state of each transactional producer."""

    __slots__ = ("_start_offsets", "_verifications", "entries")

    def __init__(self) -> None:
        self.entries: dict[int, TransactionalEntry] = {}
        # By producer id. Batches are appended in offset order, so the first one is the oldest.
        self._start_offsets: dict[int, int] = {}
        self._verifications: dict[int, _Verification] = {}

    @property
    def first_unstable_offset(self) -> int:
        """The first offset of the oldest open transaction; NO_OFFSET if none is open."""
        return next(iter(self._start_offsets.values()), NO_OFFSET)

    def is_open(self, producer_id: int) -> bool:
        """Return whether this producer has an open transaction."""
        return producer_id in self._start_offsets

    def start_offset(self, producer_id: int) -> int:
        """Return the first offset of a producer's open transaction; NO_OFFSET if it has none."""
        return self._start_offsets.get(producer_id, NO_OFFSET)

    def note_batch(
        self, producer_id: int, base_offset: int, timestamp_ms: int, *, is_transactional: bool
    ) -> None:
        """Store an appended batch of a producer that is or becomes transactional."""
        known = self.entries.get(producer_id)
        coordinator_epoch, _, start_offset = known or _NEW
        if is_transactional:
            self._verifications.pop(producer_id, None)
            if start_offset == NO_OFFSET:
                self._start_offsets[producer_id] = start_offset = base_offset
        self.entries[producer_id] = _new_entry((coordinator_epoch, timestamp_ms, start_offset))

    def end(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, timestamp_ms: int
    ) -> int:
        """End a producer's transaction; return its first offset, or NO_OFFSET if none was open."""
        verification = self._verifications.get(producer_id)
        # A producer of transaction version 2 may have begun its next transaction already.
        if verification is not None and not (
            verification.supports_epoch_bump and verification.producer_epoch == producer_epoch
        ):
            del self._verifications[producer_id]
        self.entries[producer_id] = _new_entry((coordinator_epoch, timestamp_ms, NO_OFFSET))
        return self._start_offsets.pop(producer_id, NO_OFFSET)

    def forget(self, producer_id: int) -> bool:
        """Remove a producer's entry; return False, and keep it, if a transaction is open."""
        if producer_id in self._start_offsets:
            return False
        self.entries.pop(producer_id, None)
        return True

    def remove(self, producer_id: int) -> None:
        """Remove all that is known of a producer, and its open transaction."""
        for known in (self.entries, self._start_offsets, self._verifications):
            known.pop(producer_id, None)

    def restore(self, producer_id: int, entry: TransactionalEntry) -> None:
        """Know of a producer what was saved of it."""
        self.entries[producer_id] = entry
        if entry.current_txn_start_offset != NO_OFFSET:
            self._start_offsets[producer_id] = entry.current_txn_start_offset
            self.sort()

    def sort(self) -> None:
        """Put the open transactions in the order of their offsets again."""
        self._start_offsets = dict(sorted(self._start_offsets.items(), key=itemgetter(1)))

    # Verification ----------------------------------------------------------------------------

    def begin_verification(
        self,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        now_ms: int,
        *,
        supports_epoch_bump: bool,
    ) -> None:
        """Note a batch whose transaction has to be verified; keep the lowest base sequence."""
        known = self._verifications.get(producer_id)
        if known is None:
            self._verifications[producer_id] = _Verification(
                producer_epoch, base_sequence, supports_epoch_bump, now_ms
            )
        elif producer_epoch > known.producer_epoch:
            known.producer_epoch, known.lowest_sequence = producer_epoch, base_sequence
        elif producer_epoch == known.producer_epoch:
            known.lowest_sequence = min(known.lowest_sequence, base_sequence)

    def is_out_of_order(self, producer_id: int, base_sequence: int, *, has_batches: bool) -> bool:
        """Return whether a batch must wait for one before it, or does not begin at 0 as it must.

        A producer of transaction version 2 without batches begins with sequence number 0.
        """
        verification = self._verifications.get(producer_id)
        if verification is None:
            return False
        if verification.supports_epoch_bump and base_sequence != 0 and not has_batches:
            return True
        return base_sequence > verification.lowest_sequence

    def expire_verifications(self, latest_expired_ms: int) -> None:
        """Remove the verifications that began at this time or before."""
        if self._verifications:
            self._verifications = {
                producer_id: verification
                for producer_id, verification in self._verifications.items()
                if verification.since_ms > latest_expired_ms
            }

    def oldest_verification_ms(self, default: int) -> int:
        """Return when the oldest verification began; `default` without any."""
        return min((one.since_ms for one in self._verifications.values()), default=default)

    def bytes_held(self) -> int:
        """Return the memory of this object by `sys.getsizeof`, in bytes."""
        tables = (self.entries, self._start_offsets, self._verifications)
        return (
            sys.getsizeof(self)
            + sum(map(sys.getsizeof, tables))
            + sum(
                sys.getsizeof(producer_id) + sys.getsizeof(entry) + sum(map(sys.getsizeof, entry))
                for producer_id, entry in self.entries.items()
            )
        )
