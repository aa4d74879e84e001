"""Choose partitions: by the hash of the key, or the same for a whole batch (KIP-480)."""

from collections.abc import Callable, Sequence
from struct import iter_unpack

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the unsigned 32-bit hash of Kafka's `Utils.murmur2`."""
    size = len(data)
    words_end = size & ~3
    value = _SEED ^ size
    for (word,) in iter_unpack("<I", data[:words_end]):
        mixed = word * _MULTIPLIER & _MASK
        mixed = (mixed ^ mixed >> 24) * _MULTIPLIER & _MASK
        value = value * _MULTIPLIER & _MASK ^ mixed
    if size > words_end:
        value = (value ^ int.from_bytes(data[words_end:], "little")) * _MULTIPLIER & _MASK
    value = (value ^ value >> 13) * _MULTIPLIER & _MASK
    return value ^ value >> 15


def partition_for_key(key: bytes, partition_count: int) -> int:
    """Return the partition of a key, as the Java client chooses it."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


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
