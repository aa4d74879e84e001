"""Batches that are written to the state of their partitions when somebody looks at it."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias

BatchColumns: TypeAlias = tuple[
    Sequence[int], Sequence[int], Sequence[int], Sequence[int], Sequence[int], Sequence[int]
]
"""Producer ids, epochs, base sequences, last offset deltas, base offsets and largest timestamps in
ms of the batches of a request, one for each of its partitions.
"""


class NotingState(Protocol):
    """The state of a partition, as far as batches are noted there."""

    def note(self, noted: "NotedBatches", index: int) -> None:
        """Write the batch with this index; later ones are written when somebody looks."""
        ...


class NotedBatches:
    """The batches of the latest of some requests to the same partitions.

    Under KIP-758's rule a producer's newest batch replaces the one before, so most batches of a
    producer that goes on would be written only to be written over. Each of these goes on directly
    behind the batch that was stored last in its partition, which is of the same producer, and
    outside of transactions. No more than `requests_without_floor` may follow each other.
    """

    __slots__ = ("columns", "is_everywhere")

    def __init__(self) -> None:
        self.columns: BatchColumns = ((), (), (), (), (), ())
        """The latest request."""
        self.is_everywhere = False
        """Whether each partition still refers to this object: nobody has looked at its state."""

    def note(self, states: Iterable[NotingState], columns: BatchColumns) -> None:
        """Store the batches of a request to the same partitions as before, as `apply` does.

        Who looks at the state of a partition writes its batch.
        """
        self.columns = columns
        if not self.is_everywhere:
            for index, state in enumerate(states):
                state.note(self, index)
            self.is_everywhere = True
