"""The hash by which producers choose the partition of a key."""

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
