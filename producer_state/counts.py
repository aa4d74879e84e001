"""The size of the producer state of several partitions."""

from collections.abc import Iterable
from typing import NamedTuple

from producer_state.producer_state_manager import ProducerStateManager
from protocol.pacing import may_pause


class Counts(NamedTuple):
    """The size of producer state."""

    producer_ids: int
    """Pairs of a partition and a producer id."""
    bytes_held: int


@may_pause
def count(partitions: Iterable[ProducerStateManager]) -> Counts:
    """Return the counts of several partitions together."""
    producer_ids = bytes_held = 0
    for producers in partitions:
        producer_ids += len(producers)
        bytes_held += producers.bytes_held()
    return Counts(producer_ids, bytes_held)
