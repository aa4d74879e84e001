"""InitProducerId without the schema's codec, and the window of KIP-758 in its response.

The window is one tagged field more than Kafka's schema has. It says how many sequence numbers
before the newest one the broker recognises as duplicates. Producers that don't know it ignore it,
like any unknown tag (KIP-482).
"""

from struct import Struct
from typing import NamedTuple

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_message
from protocol.short_fields import MALFORMED, end_of_tags, read_compact_text, read_text

WINDOW_TAG = 10_000
"""Tag of the field, an int32; far above the tags that Kafka uses."""
FLEXIBLE_VERSION_MIN = 2
PRODUCER_VERSION_MIN = 3
TWO_PHASE_VERSION_MIN = 6

_USUAL = Struct(">BiqhB")
"""No transactional id, timeout, producer id and epoch, no tagged fields: versions 3 to 5."""
_TIMEOUT = Struct(">i")
_PRODUCER = Struct(">qh")
_PRODUCER_RESPONSE = Struct(">ihqh")
_NO_ONGOING_TRANSACTION = _PRODUCER.pack(-1, -1)
_NO_TAGGED_FIELDS = b"\x00"
# One field; its tag, 10 000, as an unsigned varint; its size; the value.
_WINDOW_SECTION = Struct(">B2sBi")
_WINDOW = Struct(">i")
_WINDOW_TAG_VARINT = bytes((WINDOW_TAG & 0x7F | 0x80, WINDOW_TAG >> 7))


class ShortInitProducerId(NamedTuple):
    """The request of a producer without a transactional id."""

    transaction_timeout_ms: int
    producer_id: int = -1
    producer_epoch: int = -1
    transactional_id: None = None


def read_init_producer_id(
    api_version: int, frame: bytes | bytearray, start: int, end: int
) -> ShortInitProducerId | None:
    """Return the request in `frame[start:end]`, or None if the schema's codec has to read it.

    That is so with a transactional id: the abort of a large transaction takes long.
    """
    if end - start == _USUAL.size and PRODUCER_VERSION_MIN <= api_version < TWO_PHASE_VERSION_MIN:
        null, timeout_ms, producer_id, producer_epoch, tag_count = _USUAL.unpack_from(frame, start)
        if not null and not tag_count:
            return ShortInitProducerId(timeout_ms, producer_id, producer_epoch)
    is_flexible = api_version >= FLEXIBLE_VERSION_MIN
    try:
        transactional_id, position = (read_compact_text if is_flexible else read_text)(frame, start)
        (timeout_ms,) = _TIMEOUT.unpack_from(frame, position)
        position += _TIMEOUT.size
        producer_id, producer_epoch = -1, -1
        if api_version >= PRODUCER_VERSION_MIN:
            producer_id, producer_epoch = _PRODUCER.unpack_from(frame, position)
            position += _PRODUCER.size
        if api_version >= TWO_PHASE_VERSION_MIN:
            position += 2
        if is_flexible:
            position = end_of_tags(frame, position)
    except MALFORMED:
        return None
    if position != end or transactional_id is not None:
        return None
    return ShortInitProducerId(timeout_ms, producer_id, producer_epoch)


def encode_producer(
    api_version: int, error_code: int, producer_id: int, producer_epoch: int, window: int | None
) -> bytes:
    """Encode the body of a response, as `encode_response`, without a message of the schema."""
    body = _PRODUCER_RESPONSE.pack(0, error_code, producer_id, producer_epoch)
    if api_version < FLEXIBLE_VERSION_MIN:
        return body
    if api_version >= TWO_PHASE_VERSION_MIN:
        body += _NO_ONGOING_TRANSACTION
    return body + (_NO_TAGGED_FIELDS if window is None else _window_section(window))


def encode_response(
    response: "messages.InitProducerIdResponse", api_version: int, window: int | None
) -> bytes:
    """Encode the body of a response; in flexible versions with the window, unless it is None.

    `window` is `max.in.flight.sequence.number.per.connection`. Tagged fields come last, and the
    schema has none: our section replaces the final count of 0.
    """
    body = encode_message(response, api_version)
    if window is None or not messages.is_flexible(ApiKey.INIT_PRODUCER_ID, api_version):
        return body
    assert body.endswith(_NO_TAGGED_FIELDS)
    return body[:-1] + _window_section(window)


def _window_section(window: int) -> bytes:
    return _WINDOW_SECTION.pack(1, _WINDOW_TAG_VARINT, 4, window)


def window_of(response: "messages.Message") -> int | None:
    """Return the window of a decoded response, or None if it has none or an invalid one."""
    tags = response.unknown_tags or {}
    value = tags.get(f"_{WINDOW_TAG}")
    if value is None or len(value) != _WINDOW.size:
        return None
    window: int = _WINDOW.unpack(value)[0]
    return window if window > 0 else None
