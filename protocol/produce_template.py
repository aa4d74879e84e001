"""What Produce requests for a topic have in common, and their responses: versions 9 to 13."""

from struct import Struct
from typing import NamedTuple
from uuid import UUID

from protocol.codec import DecodeError, encode_unsigned_varint, header_fields
from protocol.produce import FLEXIBLE_VERSION_MIN, ResultFields
from protocol.produce_decoder import decode_batches

_API_BYTES = 4
_CONSTANT_AT = 8
"""Where a frame goes on behind API key, version and correlation id."""
_pack_header = Struct(">iiB").pack
_pack_result = Struct(">ihqqqBBB").pack
_HEADER_BYTES, _RESULT_BYTES = 5, 33
_END = b"\0" * 6
"""No tagged fields of the topic, no throttle time, no tagged fields of the response."""


class ProduceTemplate(NamedTuple):
    """A request for one topic up to its partitions, and its response up to the results."""

    api: int
    """API key and version as one number."""
    prefix: bytes
    """From the client id up to the number of partitions."""
    partition_count: int
    api_version: int
    client_id: str | None
    transactional_id: str | None
    acks: int
    name: str
    topic_id: UUID | None
    response_start: bytes
    response_bytes: int

    @property
    def takes_transactional(self) -> bool:
        """Whether a batch may be transactional: with several, they need a look at all of them."""
        return self.transactional_id is not None and self.partition_count == 1

    @classmethod
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
        response_start = b"\x02" + encoded_topic + encode_unsigned_varint(len(parts) + 1)
        prefix = bytes(buffer[start + _CONSTANT_AT : rows_at])
        if records_at < 0 or not prefix.endswith(response_start):
            return None
        return cls(
            int.from_bytes(buffer[start : start + _API_BYTES]),
            prefix,
            len(parts),
            version,
            client_id,
            transactional_id,
            acks,
            name,
            topic_id,
            response_start,
            _HEADER_BYTES + len(response_start) + len(parts) * _RESULT_BYTES + len(_END),
        )

    def response(self, correlation_id: int, results: list[ResultFields]) -> bytes:
        """Return the frame of a response without errors and throttle time."""
        start = _pack_header(self.response_bytes, correlation_id, 0) + self.response_start
        packed = [
            _pack_result(index, 0, base_offset, append_time_ms, start_offset, 1, 0, 0)
            for index, _, base_offset, append_time_ms, start_offset, _, _, _ in results
        ]
        return b"".join((start, *packed, _END))
