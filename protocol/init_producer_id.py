"""InitProducerIdResponse with the window of KIP-758: one tagged field more than Kafka's schema has.

A producer that knows the field learns how many sequence numbers behind its last one the broker
still recognises as duplicates. One that doesn't passes over it, as over any unknown tag (KIP-482).
"""

from struct import Struct
from typing import Any

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_message

WINDOW_TAG = 10_000
"""Number of the tagged field, an int32; far above those that Kafka gives out one by one."""

_NO_TAGGED_FIELDS = b"\x00"
# One field; its tag, 10 000, as an unsigned varint; its size; the value.
_WINDOW_SECTION = Struct(">B2sBi")
_WINDOW = Struct(">i")
_WINDOW_TAG_VARINT = bytes((WINDOW_TAG & 0x7F | 0x80, WINDOW_TAG >> 7))


def encode_response(
    response: messages.InitProducerIdResponse, api_version: int, window: int | None
) -> bytes:
    """The body of a response; in flexible versions with the window, unless it is None.

    `window` is `max.in.flight.sequence.number.per.connection`. Tagged fields of a response come
    last, and the schema knows none: its body ends with the count 0, in whose place ours goes.
    """
    body = encode_message(response, api_version)
    if window is None or not messages.is_flexible(ApiKey.INIT_PRODUCER_ID, api_version):
        return body
    assert body.endswith(_NO_TAGGED_FIELDS)
    return body[:-1] + _WINDOW_SECTION.pack(1, _WINDOW_TAG_VARINT, 4, window)


def window_of(response: Any) -> int | None:
    """The window in a decoded response, or None when the broker told none that makes sense."""
    tags = response.unknown_tags or {}
    told = tags.get(f"_{WINDOW_TAG}")
    if told is None or len(told) != _WINDOW.size:
        return None
    window: int = _WINDOW.unpack(told)[0]
    return window if window > 0 else None
