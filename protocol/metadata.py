"""Metadata requests that name topics, without the schema's codec.

Versions from 9 on. Source: MetadataRequest.json and MetadataResponse.json.
"""

from protocol.codec import DecodeError, encode_unsigned_varint, read_unsigned_varint
from protocol.short_fields import MALFORMED, end_of_tags, read_compact_text

SHORT_VERSION_MIN = 9
TOPIC_ID_VERSION_MIN = 10
CLUSTER_OPERATIONS_VERSION_MAX = 10
ERROR_VERSION_MIN = 13

_NO_TOPIC_ID = bytes(16)
_HEAD_BYTES_WITHOUT_BROKERS = 4 + 1 + 1 + 4 + 1
"""Throttle time, no brokers, no cluster id, controller, and the number of topics in one byte."""


def read_names(
    api_version: int, frame: bytes | bytearray, start: int, end: int, count_max: int
) -> list[str] | tuple[()] | None:
    """Return the names in the request in `frame[start:end]`, or () if it asks for all topics.

    None if the schema's codec has to read it: it names more than `count_max` topics or none, names
    one by its id or twice, or asks for authorized operations.
    """
    if api_version < SHORT_VERSION_MIN:
        return None
    try:
        size, position = read_unsigned_varint(frame, start)
        if size == 1 or size > count_max + 1:
            return None
        names = []
        for _ in range(size - 1):
            if api_version >= TOPIC_ID_VERSION_MIN:
                if frame[position : position + 16] != _NO_TOPIC_ID:
                    return None
                position += 16
            name, position = read_compact_text(frame, position)
            if name is None:
                return None
            names.append(name)
            position = end_of_tags(frame, position)
        position += 1  # whether topics may be created: here they all exist
        has_cluster_operations = api_version <= CLUSTER_OPERATIONS_VERSION_MAX
        operations_end = position + 1 + has_cluster_operations
        if any(frame[position:operations_end]) or end_of_tags(frame, operations_end) != end:
            return None
    except (*MALFORMED, DecodeError):
        return None
    if len(set(names)) != len(names):
        return None
    return names if size else ()


def _tail_bytes(api_version: int) -> int:
    """Return how many bytes of a response are behind the topics."""
    if api_version <= CLUSTER_OPERATIONS_VERSION_MAX:
        return 4 + 1
    return 2 + 1 if api_version >= ERROR_VERSION_MIN else 1


def topic_in(api_version: int, body: bytes) -> bytes:
    """Return the topic in a response that has nothing else: no brokers and no cluster id."""
    return body[_HEAD_BYTES_WITHOUT_BROKERS : len(body) - _tail_bytes(api_version)]


def with_topics(api_version: int, body: bytes, topics: list[bytes]) -> bytes:
    """Return a response without topics as one with these."""
    end = len(body) - _tail_bytes(api_version)
    return b"".join((body[: end - 1], encode_unsigned_varint(len(topics) + 1), *topics, body[end:]))
