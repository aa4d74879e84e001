"""OffsetCommit without the schema's codec, for requests with few partitions.

Versions from 8 on. Source: OffsetCommitRequest.json and OffsetCommitResponse.json.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import starmap
from struct import Struct
from typing import Any, Final, NamedTuple
from uuid import UUID

from protocol.short_fields import COUNT_MAX, MALFORMED

SHORT_VERSION_MIN = 8
"""The first flexible version."""
MISSING_GROUP_VERSION_MIN = 9
"""GROUP_ID_NOT_FOUND is a possible error from here on."""
TOPIC_ID_VERSION_MIN = 10

_LENGTH_MAX = COUNT_MAX + 1
"""Of a text or an array: its size plus one, in one byte."""
_GENERATION = Struct(">iB")
"""With the length of the next text."""
_PARTITION = Struct(">iqiB")
"""Index, offset, leader epoch, and the length of the metadata."""
_ONLY = Struct(">iqi4s")
"""The only partition of a request, and what is behind its leader epoch."""
_REST_OF_ONLY = b"\1\0\0\0"
"""No metadata, and no tagged fields of the partition, of the topic and of the request."""
_ERROR = Struct(">ihx")
_UUID_BYTES = 16
_NO_RETENTION_MS = -1
_NO_THROTTLE_TIME = bytes(4)
_NO_TAGS = b"\0"
_BYTES = tuple(bytes((number,)) for number in range(_LENGTH_MAX + 1))


class ShortOffset(NamedTuple):
    """One offset of a request."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None


class ShortTopic(NamedTuple):
    """A topic of a request, with its name or (from v10 on) its id."""

    name: str
    topic_id: UUID | None
    partitions: list[ShortOffset]


class ShortOffsetCommit(NamedTuple):
    """An OffsetCommit request."""

    group_id: str
    generation_id_or_member_epoch: int
    member_id: str
    group_instance_id: str | None
    retention_time_ms: int
    topics: list[ShortTopic]


_STARTS: Final[dict[tuple[int, bytes], tuple[tuple[Any, ...], str, UUID | None]]] = {}
"""Fields and topic of requests for one partition, by version and all bytes before the partition."""
_STARTS_MAX = 1024

_new_offset: Callable[[Any], ShortOffset] = partial(tuple.__new__, ShortOffset)
_new_topic: Callable[[Any], ShortTopic] = partial(tuple.__new__, ShortTopic)
_new_request: Callable[[Any], ShortOffsetCommit] = partial(tuple.__new__, ShortOffsetCommit)


# Hot path: a client commits the offset of its only partition again and again.
def read_offset_commit(
    api_version: int, frame: bytes | bytearray, start: int, end: int
) -> ShortOffsetCommit | None:
    """Return the request in `frame[start:end]`, or None if the schema's codec has to read it."""
    if api_version < SHORT_VERSION_MIN:
        return None
    only_at = end - _ONLY.size
    if only_at <= start:
        return _read_any(api_version, frame, start, end)
    index, offset, leader_epoch, rest = _ONLY.unpack_from(frame, only_at)
    key = api_version, bytes(frame[start:only_at])
    known = _STARTS.get(key) if rest == _REST_OF_ONLY else None
    if known is not None:
        group, name, topic_id = known
        partitions = [_new_offset((index, offset, leader_epoch, ""))]
        return _new_request((*group, [_new_topic((name, topic_id, partitions))]))
    request = _read_any(api_version, frame, start, end)
    if request is not None and len(request.topics) == 1:
        ((name, topic_id, partitions),) = request.topics
        if len(partitions) == 1 and partitions[0].committed_metadata == "":
            if len(_STARTS) >= _STARTS_MAX:
                _STARTS.clear()
            _STARTS[key] = request[:-1], name, topic_id
    return request


# Hot path: inlined on purpose.
def _read_any(
    api_version: int, frame: bytes | bytearray, start: int, end: int
) -> ShortOffsetCommit | None:
    try:
        length = frame[start]
        position = start + length
        group_id = frame[start + 1 : position].decode()
        generation_id, member_length = _GENERATION.unpack_from(frame, position)
        at, position = position + 5, position + 4 + member_length
        member_id = frame[at:position].decode()
        instance_length = frame[position]
        at, position = position + 1, position + (instance_length or 1)
        group_instance_id = frame[at:position].decode() if instance_length else None
        topic_count = frame[position]
        if length | member_length | instance_length | topic_count > _LENGTH_MAX or not (
            length and member_length and topic_count
        ):
            return None
        position += 1
        topics = []
        for _ in range(topic_count - 1):
            topic_id, name, length = None, "", 1
            if api_version >= TOPIC_ID_VERSION_MIN:
                at, position = position, position + _UUID_BYTES
                topic_id = UUID(bytes=bytes(frame[at:position]))
            else:
                length = frame[position]
                at, position = position + 1, position + length
                name = frame[at:position].decode()
            partition_count = frame[position]
            if length | partition_count > _LENGTH_MAX or not (length and partition_count):
                return None
            position += 1
            partitions = []
            for _ in range(partition_count - 1):
                index, offset, leader_epoch, length = _PARTITION.unpack_from(frame, position)
                if length > _LENGTH_MAX:
                    return None
                at, position = position + 17, position + 16 + (length or 1)
                metadata = frame[at:position].decode() if length else None
                partitions.append(_new_offset((index, offset, leader_epoch, metadata)))
                if frame[position]:
                    return None  # it has tagged fields
                position += 1
            if frame[position]:
                return None
            position += 1
            topics.append(_new_topic((name, topic_id, partitions)))
        if frame[position] or position + 1 != end:
            return None
    except MALFORMED:
        return None
    # fmt: off
    return _new_request((
        group_id, generation_id, member_id, group_instance_id, _NO_RETENTION_MS, topics,
    ))
    # fmt: on


def encode_response(
    api_version: int, topics: Sequence[tuple[str | UUID, Sequence[tuple[int, int]]]]
) -> bytes | None:
    """Return the body of the response, without a throttle time; None if it has too much.

    Each topic has its name or id, and the error codes of partitions.
    """
    if api_version < SHORT_VERSION_MIN or len(topics) > COUNT_MAX:
        return None
    if len(topics) == 1 and len(topics[0][1]) == 1:
        topic, ((index, error_code),) = topics[0]
        return _encode_only(topic, index, error_code)
    return _encode_topics(topics)


@lru_cache(maxsize=1024)
def _encode_only(topic: str | UUID, index: int, error_code: int) -> bytes | None:
    """Return what `_encode_topics` does for one partition; a client commits it again and again."""
    return _encode_topics([(topic, [(index, error_code)])])


def _encode_topics(
    topics: Sequence[tuple[str | UUID, Sequence[tuple[int, int]]]],
) -> bytes | None:
    parts = [_NO_THROTTLE_TIME, _BYTES[len(topics) + 1]]
    for topic, errors in topics:
        if isinstance(topic, UUID):
            key = topic.bytes
        else:
            name = topic.encode()
            if len(name) > COUNT_MAX:
                return None
            key = _BYTES[len(name) + 1] + name
        if len(errors) > COUNT_MAX:
            return None
        parts += (key, _BYTES[len(errors) + 1], *starmap(_ERROR.pack, errors), _NO_TAGS)
    parts.append(_NO_TAGS)
    return b"".join(parts)
