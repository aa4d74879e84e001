"""ConsumerGroupHeartbeat of a member that has nothing to report, without the schema's codec.

Almost all heartbeats are of this kind: group, member, epoch and instance id, and every other field
null or -1. Source: ConsumerGroupHeartbeatRequest.json and ConsumerGroupHeartbeatResponse.json.
"""

from struct import Struct
from typing import NamedTuple

_EPOCH = Struct(">i")
_RESPONSE_END = Struct(">iibb")
_RESPONSE_START = bytes(4 + 2 + 1)
"""No throttle time, no error code, no error message."""
_NO_ASSIGNMENT = -1

# Rack, rebalance timeout, topic names, from v1 on the expression, assignor, partitions, tags.
_UNCHANGED = (
    b"\x00\xff\xff\xff\xff\x00\x00\x00\x00",
    b"\x00\xff\xff\xff\xff\x00\x00\x00\x00\x00",
)
_LENGTH_MAX = 0x7F
"""The largest length, which is that of the text and one more, in one byte."""


class UnchangedHeartbeat(NamedTuple):
    """A heartbeat that reports nothing; `encoded_member_id` has the length before the text."""

    group_id: str
    member_id: str
    member_epoch: int
    group_instance_id: str | None
    encoded_member_id: bytes


def read_unchanged(
    api_version: int, frame: bytes | bytearray, start: int, end: int
) -> UnchangedHeartbeat | None:
    """Return the heartbeat in `frame[start:end]`, or None if it reports anything.

    It is None, too, for texts that are longer than 126 bytes or invalid.
    """
    unchanged = _UNCHANGED[api_version]
    instance_start = end - len(unchanged)
    if not frame.endswith(unchanged, start, end):
        return None
    try:
        group_size = frame[start]
        group_end = start + group_size
        member_size = frame[group_end]
        member_end = group_end + member_size
        instance_size = frame[member_end + 4]
        texts_end = member_end + 4 + (instance_size or 1)
        if (
            texts_end != instance_start
            or not 0 < group_size <= _LENGTH_MAX
            or not 0 < member_size <= _LENGTH_MAX
            or instance_size > _LENGTH_MAX
        ):
            return None
        encoded_member_id = bytes(frame[group_end:member_end])
        return UnchangedHeartbeat(
            frame[start + 1 : group_end].decode(),
            encoded_member_id[1:].decode(),
            _EPOCH.unpack_from(frame, member_end)[0],
            frame[member_end + 5 : instance_start].decode() if instance_size else None,
            encoded_member_id,
        )
    except (IndexError, UnicodeDecodeError):
        return None


def encode_unchanged(
    heartbeat: UnchangedHeartbeat, member_epoch: int, heartbeat_interval_ms: int
) -> bytes:
    """Return the response body to a member that has its assignment already, for v0 and v1."""
    end = _RESPONSE_END.pack(member_epoch, heartbeat_interval_ms, _NO_ASSIGNMENT, 0)
    return b"".join((_RESPONSE_START, heartbeat.encoded_member_id, end))
