"""OffsetCommit without the schema's codec, for requests with few partitions.

Source: OffsetCommitRequest.json and OffsetCommitResponse.json.
"""

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import NamedTuple
from uuid import UUID

from protocol.short_fields import (
    COUNT_MAX,
    MALFORMED,
    end_of_tags,
    read_compact_count,
    read_compact_text,
    read_count,
    read_text,
    read_topic_key,
    write_compact_text,
    write_count,
    write_text,
)

THROTTLE_VERSION_MIN = 3
RETENTION_VERSION_MAX = 4
LEADER_EPOCH_VERSION_MIN = 6
INSTANCE_VERSION_MIN = 7
FLEXIBLE_VERSION_MIN = 8
MISSING_GROUP_VERSION_MIN = 9
"""GROUP_ID_NOT_FOUND is a possible error from here on."""
TOPIC_ID_VERSION_MIN = 10

_INT = Struct(">i")
_RETENTION = Struct(">q")
_PARTITION = Struct(">iqi")
_PARTITION_WITHOUT_EPOCH = Struct(">iq")
_OFFSET = Struct(">qi")
_ERROR = Struct(">ih")
_FLEXIBLE_ERROR = Struct(">ihx")


class ShortOffset(NamedTuple):
    """One offset of a request."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None
    offset_at: int
    """Where `committed_offset` is in the frame."""


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


def read_offset_commit(
    api_version: int, frame: bytes | bytearray, start: int, end: int
) -> ShortOffsetCommit | None:
    """Return the request in `frame[start:end]`, or None if the schema's codec has to read it."""
    is_flexible = api_version >= FLEXIBLE_VERSION_MIN
    read = read_compact_text if is_flexible else read_text
    group_instance_id, retention_ms = None, -1
    try:
        group_id, position = read(frame, start)
        (generation_id,) = _INT.unpack_from(frame, position)
        member_id, position = read(frame, position + _INT.size)
        if api_version >= INSTANCE_VERSION_MIN:
            group_instance_id, position = read(frame, position)
        if api_version <= RETENTION_VERSION_MAX:
            (retention_ms,) = _RETENTION.unpack_from(frame, position)
            position += _RETENTION.size
        topics, position = _read_topics(api_version, frame, position)
        if is_flexible:
            position = end_of_tags(frame, position)
    except MALFORMED:
        return None
    if position != end or group_id is None or member_id is None:
        return None
    return ShortOffsetCommit(
        group_id, generation_id, member_id, group_instance_id, retention_ms, topics
    )


def _read_topics(
    api_version: int, frame: bytes | bytearray, position: int
) -> tuple[list[ShortTopic], int]:
    is_flexible = api_version >= FLEXIBLE_VERSION_MIN
    topic_count, position = (read_compact_count if is_flexible else read_count)(frame, position)
    topics = []
    uses_topic_ids = api_version >= TOPIC_ID_VERSION_MIN
    for _ in range(topic_count):
        name, topic_id, position = read_topic_key(
            frame, position, is_flexible=is_flexible, uses_topic_id=uses_topic_ids
        )
        partitions, position = _read_partitions(api_version, frame, position)
        topics.append(ShortTopic(name, topic_id, partitions))
    return topics, position


def _read_partitions(
    api_version: int, frame: bytes | bytearray, position: int
) -> tuple[list[ShortOffset], int]:
    is_flexible = api_version >= FLEXIBLE_VERSION_MIN
    read = read_compact_text if is_flexible else read_text
    count, position = (read_compact_count if is_flexible else read_count)(frame, position)
    partitions = []
    leader_epoch = -1
    for _ in range(count):
        offset_at = position + _INT.size
        if api_version >= LEADER_EPOCH_VERSION_MIN:
            index, offset, leader_epoch = _PARTITION.unpack_from(frame, position)
            position += _PARTITION.size
        else:
            index, offset = _PARTITION_WITHOUT_EPOCH.unpack_from(frame, position)
            position += _PARTITION_WITHOUT_EPOCH.size
        metadata, position = read(frame, position)
        partitions.append(ShortOffset(index, offset, leader_epoch, metadata, offset_at))
        if is_flexible:
            position = end_of_tags(frame, position)
    return partitions, (end_of_tags(frame, position) if is_flexible else position)


class CommitLayout(NamedTuple):
    """Where the offsets are in requests that are equal otherwise, from version 6 on.

    Places count from the begin of the body.
    """

    fixed: tuple[tuple[int, bytes], ...]
    """The bytes before, between and behind the offsets, and where they are."""
    places: tuple[int, ...]
    """Where an offset and its leader epoch are."""

    @staticmethod
    def of(
        request: ShortOffsetCommit, frame: bytes | bytearray, start: int, end: int
    ) -> "CommitLayout":
        """Return the layout of the request in `frame[start:end]`, which was read from there."""
        places = tuple(
            partition.offset_at - start
            for topic in request.topics
            for partition in topic.partitions
        )
        begins = (0, *(place + _OFFSET.size for place in places))
        ends = (*places, end - start)
        return CommitLayout(
            tuple(
                (begin, bytes(frame[start + begin : start + stop]))
                for begin, stop in zip(begins, ends, strict=True)
            ),
            places,
        )

    def fits(self, frame: bytes | bytearray, start: int) -> bool:
        """Whether a request of the same size has the same bytes around its offsets."""
        for place, expected in self.fixed:  # noqa: SIM110 - a generator takes twice as long
            if not frame.startswith(expected, start + place):
                return False
        return True

    def offsets(self, frame: bytes | bytearray, start: int) -> list[tuple[int, int]]:
        """Return each offset with its leader epoch."""
        return [_OFFSET.unpack_from(frame, start + place) for place in self.places]


def encode_response(
    api_version: int, topics: Sequence[tuple[str | UUID, Iterable[tuple[int, int]]]]
) -> bytes | None:
    """Return the body of the response, without a throttle time; None if it has too much.

    Each topic has its name or id, and the error codes of partitions.
    """
    is_flexible = api_version >= FLEXIBLE_VERSION_MIN
    error = _FLEXIBLE_ERROR if is_flexible else _ERROR
    parts = [bytes(4) if api_version >= THROTTLE_VERSION_MIN else b""]
    if len(topics) > COUNT_MAX:
        return None
    parts.append(write_count(len(topics), is_flexible=is_flexible))
    for topic, errors in topics:
        if isinstance(topic, UUID):
            parts.append(topic.bytes)
        else:
            name = (write_compact_text if is_flexible else write_text)(topic)
            if name is None:
                return None
            parts.append(name)
        encoded = [error.pack(*partition) for partition in errors]
        if len(encoded) > COUNT_MAX:
            return None
        parts.append(write_count(len(encoded), is_flexible=is_flexible))
        parts += encoded
        if is_flexible:
            parts.append(b"\x00")
    if is_flexible:
        parts.append(b"\x00")
    return b"".join(parts)
