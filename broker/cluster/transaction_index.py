"""The aborted transactions of a partition, which read_committed consumers skip.

Sources: Kafka's `TransactionIndex` and `AbortedTxn`.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple


class AbortedTransaction(NamedTuple):
    """An aborted transaction; `last_offset` is that of its marker.

    `last_stable_offset` is the partition's when the marker was written: transactions that are
    aborted later begin at it or behind it.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


# The transactions of a partition without aborted ones, as most are; never changed.
_NONE: list[AbortedTransaction] = []


class TransactionIndex:
    """The aborted transactions in the order of their markers."""

    __slots__ = ("_aborted",)

    def __init__(self) -> None:
        self._aborted = _NONE

    def __len__(self) -> int:
        return len(self._aborted)

    def append(self, aborted: AbortedTransaction) -> None:
        """Add a transaction whose marker was just written."""
        if self._aborted is _NONE:
            self._aborted = []
        self._aborted.append(aborted)

    def overlapping(self, first_offset: int, end_offset: int) -> Iterator[AbortedTransaction]:
        """Yield the aborted transactions with a part from `first_offset` to before `end_offset`."""
        aborted = self._aborted
        for index in range(_index_at(aborted, first_offset), len(aborted)):
            transaction = aborted[index]
            if transaction.first_offset < end_offset:
                yield transaction
            if transaction.last_stable_offset >= end_offset:
                return

    def replace_before(self, offset: int, kept: list[AbortedTransaction]) -> None:
        """Keep these of the transactions that end before `offset`."""
        if self._aborted:
            self._aborted[: _index_at(self._aborted, offset)] = kept

    def truncate(self, offset: int) -> None:
        """Remove the transactions whose marker is behind `offset`, the new end of the log."""
        if self._aborted:
            del self._aborted[_index_at(self._aborted, offset) :]

    def drop_before(self, offset: int) -> None:
        """Remove the transactions that end before `offset`, the new start of the log."""
        if self._aborted:
            del self._aborted[: _index_at(self._aborted, offset)]


def _index_at(aborted: list[AbortedTransaction], offset: int) -> int:
    """Return the index of the first transaction whose marker is at `offset` or behind it."""
    return bisect_left(aborted, offset, key=lambda transaction: transaction.last_offset)
