"""Heartbeat without the schema's codec: members of a group of the classic protocol send it often.

Source: HeartbeatRequest.json and HeartbeatResponse.json.
"""

from functools import cache
from struct import Struct
from typing import NamedTuple

from protocol.short_fields import MALFORMED, end_of_tags, read_compact_text, read_text

THROTTLE_VERSION_MIN = 1
INSTANCE_VERSION_MIN = 3
FLEXIBLE_VERSION_MIN = 4

_GENERATION = Struct(">i")
_NO_THROTTLE_TIME = bytes(4)


class ShortHeartbeat(NamedTuple):
    """A Heartbeat request."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None


def read_heartbeat(
    api_version: int, frame: bytes | bytearray, start: int, end: int
) -> ShortHeartbeat | None:
    """Return the request in `frame[start:end]`, or None if the schema's codec has to read it."""
    is_flexible = api_version >= FLEXIBLE_VERSION_MIN
    read = read_compact_text if is_flexible else read_text
    try:
        group_id, position = read(frame, start)
        (generation_id,) = _GENERATION.unpack_from(frame, position)
        member_id, position = read(frame, position + _GENERATION.size)
        group_instance_id = None
        if api_version >= INSTANCE_VERSION_MIN:
            group_instance_id, position = read(frame, position)
        if is_flexible:
            position = end_of_tags(frame, position)
    except MALFORMED:
        return None
    if position != end or group_id is None or member_id is None:
        return None
    return ShortHeartbeat(group_id, generation_id, member_id, group_instance_id)


@cache
def encode_response(api_version: int, error_code: int) -> bytes:
    """Return the body of the response, without a throttle time."""
    throttle_time = _NO_THROTTLE_TIME if api_version >= THROTTLE_VERSION_MIN else b""
    tagged_fields = b"\x00" if api_version >= FLEXIBLE_VERSION_MIN else b""
    return throttle_time + int(error_code).to_bytes(2, "big", signed=True) + tagged_fields
