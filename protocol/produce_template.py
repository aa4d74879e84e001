"""What Produce requests for a topic have in common, and their responses: versions 9 to 13."""

from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from protocol.codec import DecodeError, encode_unsigned_varint, header_fields
from protocol.pacing import may_pause
from protocol.produce import FLEXIBLE_VERSION_MIN, RESULT_FORMAT, AppendedFields
from protocol.produce_decoder import decode_batches
from protocol.records import HEADER_FORMAT

_API_BYTES = 4
_CONSTANT_AT = 8
"""Where a frame goes on behind API key, version and correlation id."""
_HEADER = "iix"
"""Size of the frame, correlation id, no tagged fields."""
_END = "6x"
"""No tagged fields of the topic, no throttle time, no tagged fields of the response."""
_SIZE_BYTES = 4

PackResponse: TypeAlias = Callable[[int, AppendedFields], bytes]
"""Returns the frame of a response without errors and throttle time, of a correlation id."""

UnpackFrame: TypeAlias = Callable[[bytes, int], tuple[Any, ...]]
"""Unpacks the start of a request at a position.

Returns the size of the frame, API and version, correlation id, prefix; then the index of the first
partition, two bytes that say how long its records are, and the header of their batch.
"""


class ProduceTemplate(NamedTuple):
    """A request for one topic up to its partitions, and its response up to the results."""

    api: int
    """API key and version as one number."""
    prefix: bytes
    """From the client id up to the number of partitions."""
    partition_count: int
    transactional_id: str | None
    acks: int
    pack_response: PackResponse
    unpack_frame: UnpackFrame
    frame_bytes_min: int
    """What `unpack_frame` reads."""
    has_row: bool
    """Whether there is one partition, with records whose size has two bytes."""
    api_version: int
    client_id: str | None
    name: str
    topic_id: UUID | None

    @classmethod
    @may_pause
    def of(cls, buffer: bytes | bytearray, start: int, end: int) -> "ProduceTemplate | None":
        """Return the template of a Produce request; None for one that is not usual.

        Usual are requests for one topic without tagged fields.
        """
        try:
            _key, version, _correlation_id, client_id, body_at = header_fields(buffer, start, end)
            if version < FLEXIBLE_VERSION_MIN or buffer[body_at]:
                return None
            request = decode_batches(version, buffer, body_at + 1, end)
        except (DecodeError, IndexError):
            return None
        transactional_id, acks, _timeout_ms, topics, _is_plain = request
        if len(topics) != 1 or not topics[0][2]:
            return None
        name, topic_id, parts = topics[0]
        _index, records_at, records_end, _header = parts[0]
        size = encode_unsigned_varint(records_end - records_at + 1)
        rows_at = records_at - len(size) - 4
        encoded_name = name.encode()
        encoded_topic = (
            encode_unsigned_varint(len(encoded_name) + 1) + encoded_name
            if topic_id is None
            else topic_id.bytes
        )
        topic_start = b"\x02" + encoded_topic + encode_unsigned_varint(len(parts) + 1)
        prefix = bytes(buffer[start + _CONSTANT_AT : rows_at])
        if records_at < 0 or not prefix.endswith(topic_start):
            return None
        has_row = len(parts) == 1 and len(size) == 2
        frame = Struct(f">iii{len(prefix)}siBB{HEADER_FORMAT}")
        return cls(
            int.from_bytes(buffer[start : start + _API_BYTES]),
            prefix,
            len(parts),
            transactional_id,
            acks,
            _response_packer(topic_start, len(parts)),
            frame.unpack_from,
            frame.size,
            has_row,
            version,
            client_id,
            name,
            topic_id,
        )


def _response_packer(topic_start: bytes, partition_count: int) -> PackResponse:
    frame = Struct(f">{_HEADER}{len(topic_start)}s{RESULT_FORMAT * partition_count}{_END}")
    pack, size = frame.pack, frame.size - _SIZE_BYTES

    def pack_all(correlation_id: int, appended: AppendedFields) -> bytes:
        return pack(size, correlation_id, topic_start, *appended)

    return pack_all
