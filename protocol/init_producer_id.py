"""InitProducerIdResponse with the window of KIP-758: one tagged field more than Kafka's schema has.

The field says how many sequence numbers before the newest one the broker recognises as duplicates.
Producers that don't know it ignore it, like any unknown tag (KIP-482).
"""

from struct import Struct
from typing import Any

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_message

WINDOW_TAG = 10_000
"""Tag of the field, an int32; far above the tags that Kafka uses."""

_NO_TAGGED_FIELDS = b"\x00"
# One field; its tag, 10 000, as an unsigned varint; its size; the value.
_WINDOW_SECTION = Struct(">B2sBi")
_WINDOW = Struct(">i")
_WINDOW_TAG_VARINT = bytes((WINDOW_TAG & 0x7F | 0x80, WINDOW_TAG >> 7))


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
    return body[:-1] + _WINDOW_SECTION.pack(1, _WINDOW_TAG_VARINT, 4, window)


def window_of(response: Any) -> int | None:
    """Return the window of a decoded response, or None if it has none or an invalid one."""
    tags = response.unknown_tags or {}
    value = tags.get(f"_{WINDOW_TAG}")
    if value is None or len(value) != _WINDOW.size:
        return None
    window: int = _WINDOW.unpack(value)[0]
    return window if window > 0 else None
