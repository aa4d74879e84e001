"""Metadata and assignments of consumers in JoinGroup and SyncGroup.

Source: Kafka's `ConsumerProtocolSubscription` and `ConsumerProtocolAssignment`, version 0, which
every later version starts with. To the group protocol they are opaque bytes of the members.
"""

from collections.abc import Mapping, Sequence
from struct import Struct

from protocol.codec import DecodeError
from protocol.pacing import may_pause, paced_range

TOPICS_MAX = 100_000
"""Most topics of a subscription that is read."""

_VERSION_AND_COUNT = Struct(">hi")
_INT16 = Struct(">h")
_INT32 = Struct(">i")
_NO_USER_DATA = _INT32.pack(-1)


def encode_subscription(topics: Sequence[str]) -> bytes:
    """Encode the topics that a member subscribes to."""
    names = b"".join(map(_string, topics))
    return _VERSION_AND_COUNT.pack(0, len(topics)) + names + _NO_USER_DATA


@may_pause
def subscribed_topics(
    metadata: bytes, topics_max: int = TOPICS_MAX, *, is_paced: bool = False
) -> frozenset[str] | None:
    """Return the topics of a subscription, or None if it is invalid or names more than the limit.

    The bytes come from the client and may be invalid. With `is_paced` other requests may come in
    during that time, which a rebalance does not allow.
    """
    try:
        count, position = _count(metadata)
        if count > topics_max:
            return None
        topics = []
        # A count that is too large ends at the first missing name, not after all iterations.
        for _ in paced_range(count) if is_paced else range(count):
            name, position = _read_string(metadata, position)
            topics.append(name)
    except DecodeError:
        return None
    return frozenset(topics)


def encode_assignment(partitions: Mapping[str, Sequence[int]]) -> bytes:
    """Encode the partitions that a member is assigned, by topic."""
    parts = [_VERSION_AND_COUNT.pack(0, len(partitions))]
    for topic, indexes in partitions.items():
        parts += (_string(topic), _INT32.pack(len(indexes)), *map(_INT32.pack, indexes))
    return b"".join((*parts, _NO_USER_DATA))


def decode_assignment(data: bytes) -> dict[str, list[int]]:
    """Return the partitions that a member is assigned, by topic; none for empty bytes.

    Raises:
        DecodeError: the bytes are no assignment.
    """
    found: dict[str, list[int]] = {}
    if not data:
        return found
    count, position = _count(data)
    for _ in range(count):
        topic, position = _read_string(data, position)
        end = position + _INT32.size
        if end > len(data):
            raise DecodeError("an assignment ends within a topic")
        (partitions,) = _INT32.unpack_from(data, position)
        position = end + partitions * _INT32.size
        if partitions < 0 or position > len(data):
            raise DecodeError(f"{partitions} partitions do not fit into an assignment")
        found[topic] = [index for (index,) in _INT32.iter_unpack(data[end:position])]
    return found


def _count(data: bytes) -> tuple[int, int]:
    """Return the number of topics, and the position of the first."""
    if len(data) < _VERSION_AND_COUNT.size:
        raise DecodeError(f"{len(data)} bytes are too few")
    version, count = _VERSION_AND_COUNT.unpack_from(data)
    if version < 0 or count < 0:
        raise DecodeError(f"version {version} with {count} topics")
    return count, _VERSION_AND_COUNT.size


def _read_string(data: bytes, position: int) -> tuple[str, int]:
    """Return a string and the position behind it."""
    start = position + _INT16.size
    if start > len(data):
        raise DecodeError("a string is missing")
    (length,) = _INT16.unpack_from(data, position)
    end = start + length
    if length < 0 or end > len(data):
        raise DecodeError(f"a string of {length} bytes does not fit")
    try:
        return data[start:end].decode(), end
    except UnicodeDecodeError as error:
        raise DecodeError(f"not UTF-8: {error.reason}") from error


def _string(text: str) -> bytes:
    encoded = text.encode()
    return _INT16.pack(len(encoded)) + encoded
