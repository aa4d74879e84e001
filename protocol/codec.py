"""Decode and encode headers and bodies of requests and responses.

kafka-python's compiled codecs decode the bodies. The headers are decoded by hand, since every
request has one and it is a few integers.
"""

import sys
from collections.abc import Callable
from functools import cache
from struct import Struct
from typing import Any, NamedTuple

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.message_schema import schema_of
from protocol.nullability import Check, null_check
from protocol.pacing import MessageTooLargeError, current_turn, may_pause

_ONE_BYTE = tuple(bytes((value,)) for value in range(128))
_HEADER = Struct(">hhih")
_unpack_header = _HEADER.unpack_from
_FRAME_HEADER = Struct(">ii")
_pack_flexible_header = Struct(">iiB").pack
"""Packs the size of a response, the correlation id, and no tagged fields."""
_UNSUPPORTED_VERSION = ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")

SCHEMA_BODY_BYTES_MAX = 16 * 1024 * 1024
"""Largest body that is decoded field by field.

Every field becomes a Python object many times its size on the wire, so this bounds the cost of a
hostile request. Only Produce carries more, and it has its own decoder.
"""

LONG_BODY_BYTES = 32 * 1024
"""A longer request may have many elements: it is decoded by loops that pause."""

TAGGED_FIELDS_MAX = 10_000
"""Most tagged fields of one section (Kafka's `MessageUtil`, since 4.4)."""

BOUNDED_BODY_BYTES = 2 * TAGGED_FIELDS_MAX
"""A longer request may have more of them: its elements are counted before it is decoded."""


class DecodeError(Exception):
    """The bytes are not the expected message."""


class RequestHeader(NamedTuple):
    """The fields of a request header, and the position after them."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    end: int


def decode_header(frame: bytes | bytearray, start: int, end: int) -> RequestHeader:
    """Decode a request header like `header_fields`, for those who read it by names.

    Raises:
        DecodeError: as `header_fields`.
    """
    return RequestHeader(*header_fields(frame, start, end))


def header_fields(
    frame: bytes | bytearray, start: int, end: int
) -> tuple[int, int, int, str | None, int]:
    """Decode a request header (versions 1 and 2) without its tagged fields.

    Whether tagged fields follow depends on the API and version; see `skip_tagged_fields`.
    The result has the fields of a `RequestHeader`, as a plain tuple for the hot path.

    Raises:
        DecodeError: the frame is too short, or the client id is not UTF-8.
    """
    if end - start < 10:
        raise DecodeError(f"frame of {end - start} bytes is too short for a request header")
    api_key, api_version, correlation_id, client_id_size = _unpack_header(frame, start)
    position = start + 10
    if client_id_size < 0:
        return api_key, api_version, correlation_id, None, position
    header_end = position + client_id_size
    if header_end > end:
        raise DecodeError(f"client id of {client_id_size} bytes does not fit into its frame")
    try:
        client_id = frame[position:header_end].decode()
    except UnicodeDecodeError as error:
        raise DecodeError("client id is not UTF-8") from error
    return api_key, api_version, correlation_id, client_id, header_end


def read_unsigned_varint(frame: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """Return an unsigned varint of at most five bytes, and the position after it.

    Raises:
        DecodeError: it has more than five bytes.
        IndexError: the buffer ends within it.
    """
    value = frame[position]
    position += 1
    if value < 0x80:
        return value, position
    value &= 0x7F
    for shift in (7, 14, 21, 28):
        byte = frame[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise DecodeError("unsigned varint is longer than five bytes")


def encode_unsigned_varint(value: int) -> bytes:
    """Return the bytes that `read_unsigned_varint` reads."""
    if value < 0x80:
        return _ONE_BYTE[value]
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def skip_tagged_fields(frame: bytes | bytearray | memoryview, position: int, end: int) -> int:
    """Return the position after a section of tagged fields; their values are ignored.

    Raises:
        DecodeError: the section does not fit into the frame, or has too many fields.
    """
    try:
        count, position = read_unsigned_varint(frame, position)
        if count > TAGGED_FIELDS_MAX:
            raise DecodeError(f"more than {TAGGED_FIELDS_MAX} tagged fields")
        for _ in range(count):
            _tag, position = read_unsigned_varint(frame, position)
            size, position = read_unsigned_varint(frame, position)
            position += size
            if position > end:
                break
    except IndexError as error:
        raise DecodeError("tagged fields run past the end of the frame") from error
    if position > end:
        raise DecodeError("tagged fields run past the end of the frame")
    return position


@may_pause
def decode_request(
    api_key: ApiKey, api_version: int, frame: bytes | bytearray, start: int, end: int
) -> Any:
    """Decode the body of a request from the beginning of `frame[start:end]`.

    Bytes after it are ignored, as in Kafka: librdkafka up to 2.16 requests all topics (Metadata
    v9+) with a count of four bytes instead of one, and its last three bytes stay unread.

    Raises:
        DecodeError: the frame is too short, or is not such a body.
    """
    if end - start > SCHEMA_BODY_BYTES_MAX:
        raise DecodeError(f"body of {end - start} bytes is larger than {SCHEMA_BODY_BYTES_MAX}")
    body = memoryview(frame)[start:end]
    request_class = messages.request_class(api_key)
    if end - start > LONG_BODY_BYTES:
        request = _decoded(_paced_decoder(api_key, api_version), body)
    else:
        request = decode_body(request_class, api_version, body)
    check = _null_check(api_key, api_version)
    null_field = None if check is None else check(request)
    if null_field is not None:
        raise DecodeError(f"field {null_field} must not be null")
    return request


def decode_body(message_class: Any, api_version: int, body: memoryview) -> Any:
    """Decode the fields of a message without any check of their values.

    Raises:
        DecodeError: the bytes are not such a body, or end within it.
    """
    # The `decode` of ApiVersions would decode every error as version 0.
    flexible = bool(message_class.flexible_version_q(api_version))
    decode = schema_of(message_class).compiled_decode_from(
        api_version, compact=flexible, tagged=flexible, data_class=message_class
    )
    return _decoded(decode, body)


@may_pause
def _decoded(decode: Callable[[memoryview, int], Any], body: memoryview) -> Any:
    try:
        message, decoded_end = decode(body, 0)
    except Exception as error:  # generated decoders raise many kinds of errors
        raise DecodeError(f"{type(error).__name__} while decoding: {error}") from error
    if decoded_end > len(body):
        raise DecodeError(f"body ends after {decoded_end} of {len(body)} bytes")
    return message


@cache
def _paced_decoder(api_key: ApiKey, api_version: int) -> Callable[[memoryview, int], Any]:
    from protocol.paced_codec import paced_decoder  # noqa: PLC0415 - see ADR 24

    return paced_decoder(messages.request_class(api_key), api_version)


@cache
def _null_check(api_key: ApiKey, api_version: int) -> Check | None:
    return null_check(schema_of(messages.request_class(api_key)), api_version)


def has_tagged_header(api_key: ApiKey, api_version: int) -> bool:
    """Return whether the header of this response ends with tagged fields.

    That of a flexible response does (KIP-482), but that of ApiVersions never (KIP-511): a client
    reads it before it knows which versions the broker speaks.
    """
    return api_key != ApiKey.API_VERSIONS and messages.is_flexible(api_key, api_version)


def response_body_start(api_key: ApiKey, api_version: int) -> int:
    """Return where the body begins in a frame of `frame_response`, in bytes."""
    return _FRAME_HEADER.size + has_tagged_header(api_key, api_version)


@may_pause
def encode_body(message: Any, api_version: int) -> bytes | bytearray:
    """Encode the body of a response, with loops that pause if its request has worked for long.

    Raises:
        MessageTooLargeError: a request that takes turns has too long a response. Fetch bounds its
            records itself, and one batch may be as long as it likes.
    """
    turn = current_turn()
    bytes_max = sys.maxsize
    if turn is not None and message.API_KEY != ApiKey.FETCH:
        bytes_max = turn.response_bytes_max
    if turn is not None and turn.is_long:
        from protocol.paced_codec import encode_paced  # noqa: PLC0415 - see ADR 24

        return encode_paced(message, api_version, bytes_max)
    body: bytes | bytearray = message.encode(version=api_version)
    if len(body) > bytes_max:
        raise MessageTooLargeError(f"more than {bytes_max} bytes")
    return body


def encode_request(
    correlation_id: int,
    client_id: str,
    api_key: ApiKey,
    api_version: int,
    request: "messages.Message",
) -> bytes:
    """Return the frame of a request, without its size."""
    name = client_id.encode()
    header = _HEADER.pack(api_key, api_version, correlation_id, len(name)) + name
    tagged_fields = b"\0" if messages.is_flexible(api_key, api_version) else b""
    return header + tagged_fields + encode_message(request, api_version)


def encode_message(message: Any, api_version: int) -> bytes:
    """Encode the body of a message, whether new or decoded."""
    # kafka-python's decoder doesn't set an attribute that its encoder reads.
    message._header = None  # noqa: SLF001
    return bytes(message.encode(version=api_version))


def encode_response(
    correlation_id: int,
    api_key: ApiKey,
    api_version: int,
    response: "messages.Message | bytes | bytearray",
) -> bytes:
    """Return the frame of a response: a message, or a body that is encoded already."""
    if not isinstance(response, bytes | bytearray):
        response = encode_message(response, api_version)
    return frame_response(
        correlation_id,
        response,
        has_tagged_header=has_tagged_header(api_key, api_version),
    )


def decode_response(frame: bytes | memoryview, api_key: ApiKey, api_version: int) -> Any:
    """Decode the body of a response frame that begins with its size, as in `encode_response`.

    `api_version` is the request's. A broker refuses an unknown version of ApiVersions with
    UNSUPPORTED_VERSION in version 0 (KIP-511); the message's `version` then says so. All other
    errors of ApiVersions come in the request's version.

    Raises:
        DecodeError: it is not a response of this API and version.
    """
    position = _FRAME_HEADER.size
    if api_key == ApiKey.API_VERSIONS:
        if frame[position : position + 2] == _UNSUPPORTED_VERSION:
            api_version = 0
    elif messages.is_flexible(api_key, api_version):
        position = skip_tagged_fields(frame, position, len(frame))
    body = memoryview(frame)[position:]
    return decode_body(messages.response_class(api_key), api_version, body)


def frame_response(
    correlation_id: int, body: bytes | bytearray, *, has_tagged_header: bool
) -> bytes:
    """Return a response frame around an encoded body; the header's tagged fields are empty.

    For callers that know whether the header has them, unlike `encode_response`.
    """
    if has_tagged_header:
        return _pack_flexible_header(len(body) + 5, correlation_id, 0) + body
    return _FRAME_HEADER.pack(len(body) + 4, correlation_id) + body


def frame_header(correlation_id: int, body_bytes: int, *, has_tagged_header: bool) -> bytes:
    """Return what `frame_response` puts before a body of so many bytes."""
    if has_tagged_header:
        return _pack_flexible_header(body_bytes + 5, correlation_id, 0)
    return _FRAME_HEADER.pack(body_bytes + 4, correlation_id)
