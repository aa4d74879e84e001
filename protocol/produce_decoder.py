"""Decode Produce requests, versions 3 to 13.

Produce is the most frequent request, and the general codec costs several times as much as the rest
of its path. This decoder returns positions: the record batches stay in the frame until the log
copies them once. Kafka's schema: `ProduceRequest.json`.
"""

from struct import Struct
from struct import error as StructError
from typing import NamedTuple, TypeAlias
from uuid import UUID

from protocol.codec import DecodeError, read_unsigned_varint, skip_tagged_fields
from protocol.pacing import LOOK_EVERY, may_pause, paced_elements, paced_range
from protocol.produce import FLEXIBLE_VERSION_MIN, TOPIC_ID_VERSION_MIN, ZSTD_VERSION_MIN
from protocol.records import (
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    TRANSACTIONAL_FLAG,
    HeaderFields,
    unpack_header,
)

_unpack_int16 = Struct(">h").unpack_from
_unpack_int32 = Struct(">i").unpack_from
_unpack_acks_timeout = Struct(">hi").unpack_from
_unpack_acks_timeout_count = Struct(">hiB").unpack_from
_unpack_index_size = Struct(">iBB").unpack_from
"""Unpacks an index, and the two bytes that the size of most batches has."""
_unpack_index_long_size = Struct(">ii").unpack_from
_SIZE_WITHOUT_LENGTH = LOG_OVERHEAD_BYTES + 1
"""What the size of compact records has beside the length of their batch; it is one more."""

PartitionBatch: TypeAlias = tuple[int, int, int, HeaderFields | None]
"""The index of a partition, and its records `frame[start:end]`, `start` -1 when null.

The header is that of a batch of format 2 that is all of the records; else it is None.
"""
TopicBatches: TypeAlias = tuple[str, UUID | None, list[PartitionBatch]]
"""A topic's name or, from version 13, its id (else None), and its partitions."""
RequestBatches: TypeAlias = tuple[str | None, int, int, list[TopicBatches], bool]
"""Transactional id, acks, timeout in ms, topics, and whether the request is plain.

A plain one has one topic with at least one partition, each once, a header of each batch, and no
transaction. These are plain tuples, for the hot path.
"""


class PartitionData(NamedTuple):
    """One partition of a request: its records are `frame[start:end]`, `start` -1 when null."""

    partition_index: int
    start: int
    end: int


class TopicData(NamedTuple):
    """One topic of a request, named by `name` or, from version 13, by `topic_id` (else None)."""

    name: str
    topic_id: UUID | None
    partitions: list[PartitionData]


class ProduceRequest(NamedTuple):
    """A decoded request; `acks` is not checked here."""

    transactional_id: str | None
    acks: int
    timeout_ms: int
    topics: list[TopicData]


@may_pause
def decode_request(
    api_version: int, frame: bytes | bytearray, start: int, end: int
) -> ProduceRequest:
    """Decode a request body like `decode_batches`, for those who read it by names.

    Raises:
        DecodeError: the bytes are not such a body.
    """
    transactional_id, acks, timeout_ms, topics, _ = decode_batches(api_version, frame, start, end)
    named = [
        TopicData(name, topic_id, [PartitionData(*part[:3]) for part in paced_elements(parts)])
        for name, topic_id, parts in paced_elements(topics)
    ]
    return ProduceRequest(transactional_id, acks, timeout_ms, named)


@may_pause
def decode_batches(
    api_version: int, frame: bytes | bytearray, start: int, end: int
) -> RequestBatches:
    """Decode a request body, which must fill `frame[start:end]` exactly, and the batch headers.

    Raises:
        DecodeError: the bytes are not such a body.
    """
    try:
        if api_version >= FLEXIBLE_VERSION_MIN:
            request, position = _decode_flexible(api_version, frame, start, end)
        else:
            request, position = _decode_classic(api_version, frame, start)
    except (IndexError, StructError, UnicodeDecodeError, ValueError) as error:
        raise DecodeError(f"{type(error).__name__} while decoding: {error}") from error
    if position != end:
        raise DecodeError(f"body ends after {position - start} of {end - start} bytes")
    return request


# Hot path: inlined on purpose.
@may_pause
def _decode_flexible(
    api_version: int, frame: bytes | bytearray, position: int, end: int
) -> tuple[RequestBatches, int]:
    size = frame[position]
    position += 1
    transactional_id = None
    if size:
        if size >= 0x80:
            size, position = read_unsigned_varint(frame, position - 1)
        transactional_id = frame[position : position + size - 1].decode()
        position += size - 1
    acks, timeout_ms, topic_count = _unpack_acks_timeout_count(frame, position)
    position += 7
    if topic_count >= 0x80:
        topic_count, position = read_unsigned_varint(frame, position - 1)
    if topic_count == 0:
        raise DecodeError("field topic_data must not be null")
    is_plain = topic_count == 2 and transactional_id is None
    topics: list[TopicBatches] = []
    for _ in range(topic_count - 1) if topic_count <= LOOK_EVERY else paced_range(topic_count - 1):
        name, topic_id = "", None
        if api_version >= TOPIC_ID_VERSION_MIN:
            topic_id = UUID(bytes=bytes(frame[position : position + 16]))
            position += 16
        else:
            size = frame[position]
            position += 1
            if size >= 0x80:
                size, position = read_unsigned_varint(frame, position - 1)
            if size == 0:
                raise DecodeError("field name must not be null")
            name = frame[position : position + size - 1].decode()
            position += size - 1
        count = frame[position]
        position += 1
        if count >= 0x80:
            count, position = read_unsigned_varint(frame, position - 1)
        if count == 0:
            raise DecodeError("field partition_data must not be null")
        parts, position, is_whole, is_transactional = read_partitions(
            frame, position, end, count - 1
        )
        is_plain = is_plain and is_whole and not is_transactional
        topics.append((name, topic_id, parts))
        position = skip_tagged_fields(frame, position, end) if frame[position] else position + 1
    position = skip_tagged_fields(frame, position, end) if frame[position] else position + 1
    return (transactional_id, acks, timeout_ms, topics, is_plain), position


@may_pause
def read_partitions(
    frame: bytes | bytearray, position: int, end: int, count: int
) -> tuple[list[PartitionBatch], int, bool, bool]:
    """Read the partitions of a topic from version 9 on; return them and the position behind them.

    Then, whether there is at least one partition, each once and with a header of its batch, and
    whether any batch with a header is transactional.

    Raises:
        DecodeError, IndexError, struct.error: the bytes are not so many partitions.
    """
    parts: list[PartitionBatch] = []
    is_whole, is_transactional = True, False
    for _ in range(count) if count <= LOOK_EVERY else paced_range(count):
        index, size, second = _unpack_index_size(frame, position)
        if size < 0x80:
            start = position + 5
        elif second < 0x80:
            size += (second << 7) - 0x80
            start = position + 6
        else:
            size, start = read_unsigned_varint(frame, position + 4)
        if size > HEADER_BYTES:
            header = unpack_header(frame, start)
            position = start + size - 1
            if header[1] + _SIZE_WITHOUT_LENGTH == size and header[3] == MAGIC:
                parts.append((index, start, position, header))
                if header[5] & TRANSACTIONAL_FLAG:
                    is_transactional = True
            else:
                parts.append((index, start, position, None))
                is_whole = False
        else:
            is_whole = False
            position = start + size - 1 if size else start
            parts.append((index, start, position, None) if size else (index, -1, -1, None))
        position = skip_tagged_fields(frame, position, end) if frame[position] else position + 1
    if count != 1 and is_whole:
        is_whole = 0 < len({part[0] for part in parts}) == count
    return parts, position, is_whole, is_transactional


def _read_string(frame: bytes | bytearray, position: int) -> tuple[str | None, int]:
    (size,) = _unpack_int16(frame, position)
    position += 2
    if size < 0:
        return None, position
    return frame[position : position + size].decode(), position + size


@may_pause
def _decode_classic(
    api_version: int, frame: bytes | bytearray, position: int
) -> tuple[RequestBatches, int]:
    transactional_id, position = _read_string(frame, position)
    acks, timeout_ms = _unpack_acks_timeout(frame, position)
    (topic_count,) = _unpack_int32(frame, position + 6)
    if topic_count < 0:
        raise DecodeError("field topic_data must not be null")
    position += 10
    # Older versions do not know zstd, so the codec of each batch is looked at.
    is_plain = topic_count == 1 and transactional_id is None and api_version >= ZSTD_VERSION_MIN
    topics: list[TopicBatches] = []
    for _ in range(topic_count) if topic_count <= LOOK_EVERY else paced_range(topic_count):
        name, position = _read_string(frame, position)
        if name is None:
            raise DecodeError("field name must not be null")
        (count,) = _unpack_int32(frame, position)
        if count < 0:
            raise DecodeError("field partition_data must not be null")
        position += 4
        parts: list[PartitionBatch] = []
        for _ in range(count) if count <= LOOK_EVERY else paced_range(count):
            index, size = _unpack_index_long_size(frame, position)
            position += 8
            start = position
            if size >= HEADER_BYTES:
                header = unpack_header(frame, start)
                position += size
                if header[1] + LOG_OVERHEAD_BYTES == size and header[3] == MAGIC:
                    parts.append((index, start, position, header))
                    is_plain = is_plain and not header[5] & TRANSACTIONAL_FLAG
                else:
                    parts.append((index, start, position, None))
                    is_plain = False
            else:
                is_plain = False
                position += max(0, size)
                parts.append((index, -1, -1, None) if size < 0 else (index, start, position, None))
        if count != 1 and is_plain:
            is_plain = 0 < len({part[0] for part in parts}) == len(parts)
        topics.append((name, None, parts))
    return (transactional_id, acks, timeout_ms, topics, is_plain), position
