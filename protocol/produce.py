"""Decode Produce requests and encode responses, versions 3 to 13.

Produce is the most frequent request, and the general codec costs several times as much as the rest
of its path. This decoder returns positions: the record batches stay in the frame until the log
copies them once. Kafka's schema: `ProduceRequest.json`.
"""

from collections.abc import Sequence
from struct import Struct
from struct import error as StructError
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from protocol import messages
from protocol.codec import (
    DecodeError,
    encode_body,
    encode_unsigned_varint,
    read_unsigned_varint,
    skip_tagged_fields,
)
from protocol.pacing import LOOK_EVERY, paced_elements, paced_range
from protocol.records import (
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    TRANSACTIONAL_FLAG,
    HeaderFields,
    unpack_header,
)

FLEXIBLE_VERSION_MIN = 9
CURRENT_LEADER_VERSION_MIN = 10
TOPIC_ID_VERSION_MIN = 13
ZSTD_VERSION_MIN = 7
"""The first version whose batches may be compressed with zstd (KIP-110)."""

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_INDEX_SIZE = Struct(">ii")
_unpack_int32 = _INT32.unpack_from
_unpack_acks_timeout = Struct(">hi").unpack_from
_unpack_acks_timeout_count = Struct(">hiB").unpack_from
_unpack_index_size = Struct(">iBB").unpack_from
"""Unpacks an index, and the two bytes that the size of most batches has."""
_SIZE_WITHOUT_LENGTH = LOG_OVERHEAD_BYTES + 1
"""What the size of compact records has beside the length of their batch; it is one more."""
_RESULT = Struct(">ihqqq")
_RESULT_V3 = Struct(">ihqq")
_pack_result_start = Struct(">ihqqqB").pack
"""Packs the fields of a result, and one byte for no record errors."""
_pack_result = Struct(">ihqqqBBB").pack
"""The same with no message and no tagged fields."""
_ONE_BYTE = tuple(encode_unsigned_varint(value) for value in range(0x80))
# No throttle time, no tagged fields.
_NOT_THROTTLED = b"\x00\x00\x00\x00\x00"
_NO_TOPIC_ID = UUID(int=0)


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


class RecordError(NamedTuple):
    """A record of a batch that was refused, and the reason."""

    batch_index: int
    message: str | None


ResultFields: TypeAlias = tuple[
    int, int, int, int, int, str | None, tuple[RecordError, ...], tuple[int, int] | None
]
"""The fields of a `PartitionResult` as a plain tuple, for the hot path."""
TopicResultFields: TypeAlias = tuple[str, UUID | None, Sequence[ResultFields]]
"""The fields of a `TopicResult`."""


class PartitionResult(NamedTuple):
    """The response for one partition; -1 for an absent offset, time or leader.

    Message, record errors and current leader are sent with an error only.
    """

    partition_index: int
    error_code: int
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    error_message: str | None = None
    record_errors: tuple[RecordError, ...] = ()
    current_leader: tuple[int, int] | None = None
    """Leader id and leader epoch (version 10 and later, KIP-951)."""


class TopicResult(NamedTuple):
    """The results of one topic, by name or id as in the request."""

    name: str
    topic_id: UUID | None
    partitions: list[PartitionResult]


class NodeEndpoint(NamedTuple):
    """The address of a current leader (version 10 and later, KIP-951)."""

    node_id: int
    host: str
    port: int
    rack: str | None


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
def _decode_flexible(  # noqa: C901, PLR0912, PLR0915
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
        parts: list[PartitionBatch] = []
        for _ in range(count - 1) if count <= LOOK_EVERY else paced_range(count - 1):
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
                if header[1] + _SIZE_WITHOUT_LENGTH != size or header[3] != MAGIC:
                    header, is_plain = None, False
                elif header[5] & TRANSACTIONAL_FLAG:
                    is_plain = False
                parts.append((index, start, position, header))
            else:
                is_plain = False
                position = start + size - 1 if size else start
                parts.append((index, start, position, None) if size else (index, -1, -1, None))
            position = (
                position + 1 if frame[position] == 0 else skip_tagged_fields(frame, position, end)
            )
        if count != 2 and is_plain:
            is_plain = 0 < len({part[0] for part in parts}) == len(parts)
        topics.append((name, topic_id, parts))
        position = (
            position + 1 if frame[position] == 0 else skip_tagged_fields(frame, position, end)
        )
    position = skip_tagged_fields(frame, position, end) if frame[position] else position + 1
    return (transactional_id, acks, timeout_ms, topics, is_plain), position


def _read_string(frame: bytes | bytearray, position: int) -> tuple[str | None, int]:
    (size,) = _INT16.unpack_from(frame, position)
    position += 2
    if size < 0:
        return None, position
    return frame[position : position + size].decode(), position + size


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
            index, size = _INDEX_SIZE.unpack_from(frame, position)
            position += 8
            start = position
            if size >= HEADER_BYTES:
                header = unpack_header(frame, start)
                position += size
                if header[1] + LOG_OVERHEAD_BYTES != size or header[3] != MAGIC:
                    header, is_plain = None, False
                elif header[5] & TRANSACTIONAL_FLAG:
                    is_plain = False
                parts.append((index, start, position, header))
            else:
                is_plain = False
                position += max(0, size)
                parts.append((index, -1, -1, None) if size < 0 else (index, start, position, None))
        if count != 1 and is_plain:
            is_plain = 0 < len({part[0] for part in parts}) == len(parts)
        topics.append((name, None, parts))
    return (transactional_id, acks, timeout_ms, topics, is_plain), position


def encode_response(
    api_version: int,
    topics: Sequence[TopicResultFields],
    throttle_time_ms: int = 0,
    node_endpoints: Sequence[NodeEndpoint] = (),
    *,
    has_error: bool = True,
) -> bytes | bytearray:
    """Encode the body of a response; without `has_error` no result is an error."""
    if has_error and (node_endpoints or _has_details(topics)):
        return _encode_with_details(api_version, topics, throttle_time_ms, node_endpoints)
    if api_version >= FLEXIBLE_VERSION_MIN:
        return _encode_flexible(api_version, topics, throttle_time_ms)
    return _encode_classic(api_version, topics, throttle_time_ms)


def _has_details(topics: Sequence[TopicResultFields]) -> bool:
    """Return whether any error has record errors or a current leader."""
    for _name, _topic_id, results in paced_elements(topics):
        for _, error_code, _, _, _, _, record_errors, current_leader in paced_elements(results):
            if error_code and (record_errors or current_leader):
                return True
    return False


def _encode_flexible(
    api_version: int, topics: Sequence[TopicResultFields], throttle_time_ms: int
) -> bytes:
    parts = [encode_unsigned_varint(len(topics) + 1)]
    for name, topic_id, results in topics if len(topics) <= LOOK_EVERY else paced_elements(topics):
        if api_version >= TOPIC_ID_VERSION_MIN:
            parts.append((topic_id or _NO_TOPIC_ID).bytes)
        else:
            encoded_name = name.encode()
            size = len(encoded_name) + 1
            parts.append(_ONE_BYTE[size] if size < 0x80 else encode_unsigned_varint(size))
            parts.append(encoded_name)
        count = len(results) + 1
        parts.append(_ONE_BYTE[count] if count < 0x80 else encode_unsigned_varint(count))
        for index, error_code, base_offset, append_time_ms, start_offset, message, _, _ in (
            results if len(results) <= LOOK_EVERY else paced_elements(results)
        ):
            if message is None:
                parts.append(
                    _pack_result(
                        index, error_code, base_offset, append_time_ms, start_offset, 1, 0, 0
                    )
                )
            else:
                parts.append(
                    _pack_result_start(
                        index, error_code, base_offset, append_time_ms, start_offset, 1
                    )
                )
                parts.append(_flexible_message(message))
        parts.append(b"\x00")
    parts.append(_INT32.pack(throttle_time_ms) + b"\x00" if throttle_time_ms else _NOT_THROTTLED)
    return b"".join(parts)


def _flexible_message(text: str) -> bytes:
    encoded = text.encode()
    return encode_unsigned_varint(len(encoded) + 1) + encoded + b"\x00"


def _encode_classic(
    api_version: int, topics: Sequence[TopicResultFields], throttle_time_ms: int
) -> bytes:
    parts = [_INT32.pack(len(topics))]
    for name, _topic_id, results in topics if len(topics) <= LOOK_EVERY else paced_elements(topics):
        encoded_name = name.encode()
        parts.append(_INT16.pack(len(encoded_name)) + encoded_name + _INT32.pack(len(results)))
        for result in results if len(results) <= LOOK_EVERY else paced_elements(results):
            if api_version >= 8:
                parts.append(_RESULT.pack(*result[:5]) + b"\x00\x00\x00\x00")
                parts.append(_classic_message(result[5]))
            elif api_version >= 5:
                parts.append(_RESULT.pack(*result[:5]))
            else:
                parts.append(_RESULT_V3.pack(*result[:4]))
    parts.append(_INT32.pack(throttle_time_ms))
    return b"".join(parts)


def _classic_message(text: str | None) -> bytes:
    if text is None:
        return b"\xff\xff"
    encoded = text.encode()
    return _INT16.pack(len(encoded)) + encoded


def _encode_with_details(
    api_version: int,
    topics: Sequence[TopicResultFields],
    throttle_time_ms: int,
    node_endpoints: Sequence[NodeEndpoint],
) -> bytes | bytearray:
    topic_class = messages.ProduceResponse.TopicProduceResponse
    partition_class = topic_class.PartitionProduceResponse
    responses = []
    for name, topic_id, results in paced_elements(topics):
        partition_responses = []
        for result in map(PartitionResult._make, paced_elements(results)):
            fields: dict[str, Any] = {
                "index": result.partition_index,
                "error_code": result.error_code,
                "base_offset": result.base_offset,
                "log_append_time_ms": result.log_append_time_ms,
                "log_start_offset": result.log_start_offset,
                "record_errors": [
                    partition_class.BatchIndexAndErrorMessage(
                        batch_index=record_error.batch_index,
                        batch_index_error_message=record_error.message,
                    )
                    for record_error in result.record_errors
                ],
                "error_message": result.error_message,
            }
            if result.current_leader is not None:
                leader_id, leader_epoch = result.current_leader
                fields["current_leader"] = partition_class.LeaderIdAndEpoch(
                    leader_id=leader_id, leader_epoch=leader_epoch
                )
            partition_responses.append(partition_class(version=api_version, **fields))
        responses.append(
            topic_class(
                version=api_version,
                name=name,
                topic_id=topic_id or _NO_TOPIC_ID,
                partition_responses=partition_responses,
            )
        )
    response: Any = messages.ProduceResponse(
        version=api_version, responses=responses, throttle_time_ms=throttle_time_ms
    )
    if node_endpoints and api_version >= CURRENT_LEADER_VERSION_MIN:
        response.node_endpoints = [
            messages.ProduceResponse.NodeEndpoint(**endpoint._asdict())
            for endpoint in node_endpoints
        ]
    return encode_body(response, api_version)
