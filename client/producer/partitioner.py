"""Keep records without a key together: the same partition for a whole batch (KIP-480)."""

from collections.abc import Callable, Sequence


class StickyPartitioner:
    """Keep keyless records of a topic on one partition until their batch is closed."""

    def __init__(self, random: Callable[[], float]) -> None:
        """`random` gives floats in [0, 1)."""
        self._random = random
        self._partitions: dict[str, int] = {}

    def partition(self, topic: str, candidates: Sequence[int]) -> int:
        """Return the topic's current partition, or choose one of `candidates`."""
        current = self._partitions.get(topic)
        if current is None:
            current = candidates[int(self._random() * len(candidates))]
            self._partitions[topic] = current
        return current

    def batch_closed(self, topic: str, partition: int) -> None:
        """Choose again for the next keyless record if this was the current partition."""
        if self._partitions.get(topic) == partition:
            del self._partitions[topic]
