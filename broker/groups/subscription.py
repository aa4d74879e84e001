"""Topics that a consumer subscribes to, from its JoinGroup metadata."""

from struct import Struct

_VERSION_AND_COUNT = Struct(">hi")
_LENGTH = Struct(">h")


def subscribed_topics(metadata: bytes) -> frozenset[str] | None:
    """Return the topics of a ConsumerProtocolSubscription, or None if it is invalid.

    Read as version 0, which every later version starts with. The bytes are the client's own and
    may be anything.
    """
    if len(metadata) < _VERSION_AND_COUNT.size:
        return None
    version, count = _VERSION_AND_COUNT.unpack_from(metadata)
    if version < 0 or count < 0:
        return None
    topics = []
    position = _VERSION_AND_COUNT.size
    # A lying count ends at the first name that is not there, not after 2^31 rounds.
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
