"""Fetch without the schema's codec, for requests and responses without rare fields.

Requests from version 5 on, responses from 4 on. Source: FetchRequest.json and FetchResponse.json.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from struct import Struct
from typing import NamedTuple, overload
from uuid import UUID

from protocol.codec import DecodeError, read_unsigned_varint
from protocol.pacing import may_pause, paced, paced_range
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
    write_text,
)

SHORT_VERSION_MIN = 5
LOG_START_OFFSET_VERSION_MIN = 5
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
_PARTITION_FIELDS = Struct(">iiqiqix")
PARTITION = Struct(">iiqiqiB")
"""A partition of a flexible version, with the number of its tagged fields."""
PARTITION_WITH_EPOCH = Struct(">iiqqi")
"""One of an older version, from 9 on."""
_PARTITION_OF_OLD = Struct(">iqqi")
_ROWS_PER_LOOK = 512
"""Partitions that are read between two looks at the time."""
_NO_TOPIC_ID = UUID(int=0)

_pack_header = Struct(">ihi").pack
_HEADER_OF_OLD = Struct(">i")
DATA = Struct(">ihqqq")
"""The index of a partition, its error, high watermark, last stable offset, log start offset."""
DATA_OF_OLD = Struct(">ihqq")
"""The same before version 5: without the log start offset."""
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
    partitions: "PartitionRows"


class PartitionRows(Sequence[ShortPartition]):
    """The partitions of a topic of a request, which are objects only while somebody looks at them.

    Thousands of objects that stay would make the garbage collector look at all others.
    """

    __slots__ = ("_layout", "_rows", "position")

    def __init__(self, rows: bytes, layout: Struct, position: int = 0) -> None:
        """`position` is where the first one is in the frame."""
        self._rows = rows
        self._layout = layout
        self.position = position

    def offset_positions(self) -> range:
        """Return where the fetch offset of each partition is in the frame."""
        has_epoch = self._layout is not _PARTITION_OF_OLD
        first = self.position + (8 if has_epoch else 4)
        return range(first, first + len(self._rows), self._layout.size)

    def __len__(self) -> int:
        return len(self._rows) // self._layout.size

    def __iter__(self) -> Iterator[ShortPartition]:
        return map(ShortPartition._make, self._fields(self._rows))

    @overload
    def __getitem__(self, index: int) -> ShortPartition: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ShortPartition]: ...

    def __getitem__(self, index: int | slice) -> ShortPartition | Sequence[ShortPartition]:
        if isinstance(index, slice):
            return list(self)[index]
        size = self._layout.size
        start = range(len(self))[index] * size
        return ShortPartition(*next(iter(self._fields(self._rows[start : start + size]))))

    @may_pause
    def paced_fields(self) -> Iterator[tuple[int, ...]]:
        """Return the fields of each partition, in the order of `ShortPartition`, with pauses."""
        rows, step = self._rows, _ROWS_PER_LOOK * self._layout.size
        if len(rows) <= step:
            return self._fields(rows)
        parts = (rows[start : start + step] for start in paced(range(0, len(rows), step)))
        return chain.from_iterable(map(self._fields, parts))

    def _fields(self, rows: bytes) -> Iterator[tuple[int, ...]]:
        unpacked = self._layout.iter_unpack(rows)
        if self._layout is _PARTITION_FIELDS:
            return unpacked
        if self._layout is PARTITION_WITH_EPOCH:
            return ((index, epoch, offset, -1, *rest) for index, epoch, offset, *rest in unpacked)
        return ((index, -1, offset, -1, *rest) for index, offset, *rest in unpacked)


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


class LongFetch(ShortFetch):
    """A request that takes turns, because it may be long."""

    __slots__ = ()


@may_pause
def read_fetch(
    api_version: int, frame: bytes | bytearray, start: int, end: int
) -> ShortFetch | None:
    """Return the request in `frame[start:end]`, or None if the schema's codec has to read it."""
    return _read(ShortFetch, api_version, frame, start, end, PARTITIONS_MAX)


@may_pause
def read_long_fetch(
    api_version: int, frame: bytes | bytearray, start: int, end: int
) -> ShortFetch | None:
    """Return a request with any number of partitions as `read_fetch` does, in loops that pause."""
    return _read(LongFetch, api_version, frame, start, end, end - start)


@may_pause
def _read(
    kind: type[ShortFetch],
    api_version: int,
    frame: bytes | bytearray,
    start: int,
    end: int,
    partitions_max: int,
) -> ShortFetch | None:
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
        topics, position = _read_topics(api_version, frame, position, end, partitions_max)
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
    except (*MALFORMED, DecodeError):
        return None
    if position != end or rack_id is None:
        return None
    return kind(replica_id, *limits, session_id, session_epoch, topics, rack_id)


@may_pause
def _read_topics(
    api_version: int, frame: bytes | bytearray, position: int, end: int, partitions_max: int
) -> tuple[list[ShortTopic], int]:
    is_flexible = api_version >= FLEXIBLE_VERSION_MIN
    count, position = _read_any_count(frame, position, is_flexible=is_flexible)
    if count > partitions_max:
        raise NotShortError
    topics = []
    uses_topic_ids = api_version >= TOPIC_ID_VERSION_MIN
    left = partitions_max
    for _ in paced_range(count):
        name, topic_id, position = read_topic_key(
            frame, position, is_flexible=is_flexible, uses_topic_id=uses_topic_ids
        )
        partition_count, position = _read_any_count(frame, position, is_flexible=is_flexible)
        left -= partition_count
        if left < 0:
            raise NotShortError
        partitions, position = _read_partitions(api_version, frame, position, end, partition_count)
        if is_flexible:
            position = end_of_tags(frame, position)
        topics.append(ShortTopic(name, topic_id or _NO_TOPIC_ID, partitions))
    return topics, position


def _read_any_count(
    frame: bytes | bytearray, position: int, *, is_flexible: bool
) -> tuple[int, int]:
    """Return the number of elements of an array, and the position after it.

    Raises:
        NotShortError: the array is null.
    """
    if is_flexible:
        count, position = read_unsigned_varint(frame, position)
        count -= 1
    else:
        (count,) = _INT.unpack_from(frame, position)
        position += _INT.size
    if count < 0:
        raise NotShortError
    return count, position


def _read_partitions(
    api_version: int, frame: bytes | bytearray, position: int, end: int, count: int
) -> tuple["PartitionRows", int]:
    if api_version >= FLEXIBLE_VERSION_MIN:
        layout = _PARTITION_FIELDS
    elif api_version >= LEADER_EPOCH_VERSION_MIN:
        layout = PARTITION_WITH_EPOCH
    else:
        layout = _PARTITION_OF_OLD
    rows_end = position + count * layout.size
    if rows_end > end:
        raise NotShortError
    if api_version >= FLEXIBLE_VERSION_MIN:
        tag_counts = frame[position + layout.size - 1 : rows_end : layout.size]
        if tag_counts.count(0) != count:
            raise NotShortError
    return PartitionRows(bytes(frame[position:rows_end]), layout, position), rows_end


def session_epoch_at(api_version: int) -> int:
    """Return where the session epoch is in the body, from version 7 on."""
    replica_bytes = _REPLICA_ID.size if api_version < REPLICA_STATE_VERSION_MIN else 0
    return replica_bytes + _LIMITS.size + _INT.size


# Responses -----------------------------------------------------------------------------------


def encode_topic(api_version: int, name: str, topic_id: UUID | None) -> bytes | None:
    """Return the beginning of a topic; None if its name is too long."""
    if api_version >= TOPIC_ID_VERSION_MIN:
        return (topic_id or _NO_TOPIC_ID).bytes
    return write_compact_text(name) if api_version >= FLEXIBLE_VERSION_MIN else write_text(name)


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


def encode_response(api_version: int, error_code: int, session_id: int, topics: bytes) -> bytes:
    """Return the body of a response with its array of topics and no throttle time."""
    if api_version >= SESSION_VERSION_MIN:
        return _pack_header(0, error_code, session_id) + topics
    return _HEADER_OF_OLD.pack(0) + topics
