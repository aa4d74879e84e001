"""Topics that a consumer subscribes to, from its JoinGroup metadata."""

from struct import Struct

_VERSION_AND_COUNT = Struct(">hi")
_LENGTH = Struct(">h")


def subscribed_topics(metadata: bytes) -> frozenset[str] | None:
    """Return the topics of a ConsumerProtocolSubscription, or None if it is invalid.

    It reads the fields of version 0, with which every later version starts. The bytes come from the
    client and may be invalid.
    """
    if len(metadata) < _VERSION_AND_COUNT.size:
        return None
    version, count = _VERSION_AND_COUNT.unpack_from(metadata)
    if version < 0 or count < 0:
        return None
    topics = []
    position = _VERSION_AND_COUNT.size
    # A count that is too large ends at the first missing name, not after 2^31 iterations.
    for _ in range(count):
        start = position + _LENGTH.size
        if start > len(metadata):
            return None
        (length,) = _LENGTH.unpack_from(metadata, position)
        position = start + length
        if length < 0 or position > len(metadata):
            return None
        try:
            topics.append(metadata[start:position].decode())
        except UnicodeDecodeError:
            return None
    return frozenset(topics)
