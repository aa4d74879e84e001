"""Fetch without the schema's codec, for requests and responses with few partitions.

Versions from 5 on. Source: FetchRequest.json and FetchResponse.json.
"""

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import NamedTuple
from uuid import UUID

from protocol.short_fields import (
    COUNT_MAX,
    MALFORMED,
    NotShortError,
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

SHORT_VERSION_MIN = 5
SESSION_VERSION_MIN = 7
LEADER_EPOCH_VERSION_MIN = 9
RACK_VERSION_MIN = 11
FLEXIBLE_VERSION_MIN = 12
TOPIC_ID_VERSION_MIN = 13
REPLICA_STATE_VERSION_MIN = 15
"""From here on the id of a replica is a tagged field, which consumers do not send."""
PARTITIONS_MAX = 100

_REPLICA_ID = Struct(">i")
_LIMITS = Struct(">iiib")
_SESSION = Struct(">ii")
PARTITION = Struct(">iiqiqiB")
"""A partition of a flexible version, with the number of its tagged fields."""
PARTITION_WITH_EPOCH = Struct(">iiqqi")
"""One of an older version, from 9 on."""
_PARTITION_OF_OLD = Struct(">iqqi")
_NO_TOPIC_ID = UUID(int=0)

_HEADER = Struct(">ihi")
_HEADER_OF_OLD = Struct(">i")
DATA = Struct(">ihqqq")
"""The index of a partition, its error, high watermark, last stable offset, log start offset."""
_INT = Struct(">i")
_NULL = -1
_ABORTED = Struct(">qq")


class ShortPartition(NamedTuple):
    """A partition of a request."""

    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    partition_max_bytes: int


class ShortTopic(NamedTuple):
    """A topic of a request, with its name or (from v13 on) its id."""

    topic: str
    topic_id: UUID
    partitions: list[ShortPartition]


class ShortFetch(NamedTuple):
    """A Fetch request of a consumer, or of a follower before v15."""

    replica_id: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: list[ShortTopic]
    rack_id: str
    forgotten_topics_data: tuple[()] = ()
    replica_state: None = None


def read_fetch(
    api_version: int, frame: bytes | bytearray, start: int, end: int
) -> ShortFetch | None:
    """Return the request in `frame[start:end]`, or None if the schema's codec has to read it."""
    if api_version < SHORT_VERSION_MIN:
        return None
    is_flexible = api_version >= FLEXIBLE_VERSION_MIN
    position, replica_id, session_id, session_epoch = start, -1, 0, -1
    rack_id: str | None = ""
    try:
        if api_version < REPLICA_STATE_VERSION_MIN:
            (replica_id,) = _REPLICA_ID.unpack_from(frame, position)
            position += _REPLICA_ID.size
        limits: tuple[int, int, int, int] = _LIMITS.unpack_from(frame, position)
        position += _LIMITS.size
        if api_version >= SESSION_VERSION_MIN:
            session_id, session_epoch = _SESSION.unpack_from(frame, position)
            position += _SESSION.size
        topics, position = _read_topics(api_version, frame, position)
        if api_version >= SESSION_VERSION_MIN:
            forgotten, position = (read_compact_count if is_flexible else read_count)(
                frame, position
            )
            if forgotten:
                return None
        if api_version >= RACK_VERSION_MIN:
            rack_id, position = (read_compact_text if is_flexible else read_text)(frame, position)
        if is_flexible:
            position = end_of_tags(frame, position)
    except MALFORMED:
        return None
    if position != end or rack_id is None:
        return None
    return ShortFetch(
        replica_id,
        *limits,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=topics,
        rack_id=rack_id,
    )


def _read_topics(
    api_version: int, frame: bytes | bytearray, position: int
) -> tuple[list[ShortTopic], int]:
    is_flexible = api_version >= FLEXIBLE_VERSION_MIN
    count, position = (read_compact_count if is_flexible else read_count)(frame, position)
    topics = []
    uses_topic_ids = api_version >= TOPIC_ID_VERSION_MIN
    left = PARTITIONS_MAX
    for _ in range(count):
        name, topic_id, position = read_topic_key(
            frame, position, is_flexible=is_flexible, uses_topic_id=uses_topic_ids
        )
        partitions, position = _read_partitions(api_version, frame, position)
        left -= len(partitions)
        if left < 0:
            raise NotShortError
        topics.append(ShortTopic(name, topic_id or _NO_TOPIC_ID, partitions))
    return topics, position


def _read_partitions(
    api_version: int, frame: bytes | bytearray, position: int
) -> tuple[list[ShortPartition], int]:
    partitions = []
    if api_version >= FLEXIBLE_VERSION_MIN:
        count, position = read_compact_count(frame, position)
        for _ in range(count):
            *fields, tag_count = PARTITION.unpack_from(frame, position)
            if tag_count:
                raise NotShortError
            partitions.append(ShortPartition(*fields))
            position += PARTITION.size
        return partitions, end_of_tags(frame, position)
    count, position = read_count(frame, position)
    has_epoch = api_version >= LEADER_EPOCH_VERSION_MIN
    layout = PARTITION_WITH_EPOCH if has_epoch else _PARTITION_OF_OLD
    for _ in range(count):
        index, *epoch, offset, log_start_offset, max_bytes = layout.unpack_from(frame, position)
        leader_epoch = epoch[0] if epoch else -1
        partitions.append(
            ShortPartition(index, leader_epoch, offset, -1, log_start_offset, max_bytes)
        )
        position += layout.size
    return partitions, position


def session_at(api_version: int) -> int:
    """Return where the session id is in the body, from version 7 on."""
    return _LIMITS.size + (_REPLICA_ID.size if api_version < REPLICA_STATE_VERSION_MIN else 0)


# Responses -----------------------------------------------------------------------------------


def encode_topic(api_version: int, name: str, topic_id: UUID | None) -> bytes | None:
    """Return the beginning of a topic; None if its name is too long."""
    if api_version >= TOPIC_ID_VERSION_MIN:
        return (topic_id or _NO_TOPIC_ID).bytes
    return write_compact_text(name) if api_version >= FLEXIBLE_VERSION_MIN else write_text(name)


def encode_partition(
    api_version: int,
    partition_index: int,
    error_code: int,
    high_watermark: int,
    last_stable_offset: int,
    log_start_offset: int,
    aborted_transactions: Sequence[tuple[int, int]] | None,
    preferred_read_replica: int,
    record_bytes: int,
) -> bytes | None:
    """Return a partition up to its records, of which it has the size; None if it has too much.

    An aborted transaction is a producer id and the first offset. In flexible versions one byte 0
    follows the records.
    """
    middle = encode_middle(api_version, aborted_transactions, preferred_read_replica)
    if middle is None:
        return None
    data = DATA.pack(
        partition_index, error_code, high_watermark, last_stable_offset, log_start_offset
    )
    is_flexible = api_version >= FLEXIBLE_VERSION_MIN
    return data + middle + write_count(record_bytes, is_flexible=is_flexible)


def encode_middle(
    api_version: int,
    aborted_transactions: Sequence[tuple[int, int]] | None,
    preferred_read_replica: int,
) -> bytes | None:
    """Return what a partition has between its offsets and the size of its records.

    None if it has too many aborted transactions.
    """
    if api_version >= FLEXIBLE_VERSION_MIN:
        if aborted_transactions is None:
            aborted = b"\x00"
        elif not aborted_transactions:
            aborted = b"\x01"
        elif len(aborted_transactions) > COUNT_MAX:
            return None
        else:
            entries = [_ABORTED.pack(*entry) + b"\x00" for entry in aborted_transactions]
            aborted = bytes((len(entries) + 1,)) + b"".join(entries)
        return aborted + _INT.pack(preferred_read_replica)
    if aborted_transactions is None:
        aborted = _INT.pack(_NULL)
    else:
        aborted = _INT.pack(len(aborted_transactions))
        aborted += b"".join([_ABORTED.pack(*entry) for entry in aborted_transactions])
    if api_version >= RACK_VERSION_MIN:
        aborted += _INT.pack(preferred_read_replica)
    return aborted


def encode_topics(
    api_version: int, topics: Sequence[tuple[bytes, int, Iterable[bytes]]]
) -> list[bytes]:
    """Return the parts of the array of topics.

    Each topic has its beginning, the number of its partitions, and their parts.
    """
    is_flexible = api_version >= FLEXIBLE_VERSION_MIN
    parts = [write_count(len(topics), is_flexible=is_flexible)]
    for beginning, partition_count, partitions in topics:
        parts += (beginning, write_count(partition_count, is_flexible=is_flexible))
        parts += partitions
        if is_flexible:
            parts.append(b"\x00")
    if is_flexible:
        parts.append(b"\x00")
    return parts


def encode_response(
    api_version: int, error_code: int, session_id: int, topics: Iterable[bytes]
) -> bytes:
    """Return the body of a response with the parts of `encode_topics`, without a throttle time."""
    if api_version >= SESSION_VERSION_MIN:
        return b"".join((_HEADER.pack(0, error_code, session_id), *topics))
    return b"".join((_HEADER_OF_OLD.pack(0), *topics))
