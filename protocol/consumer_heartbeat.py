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
_TEXT_LENGTH_MAX = 0x7F - 1
"""The longest text whose length is one byte."""


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
    if frame[max(instance_start, start) : end] != unchanged:
        return None
    try:
        group_end = start + frame[start]
        member_start, member_end = group_end, group_end + frame[group_end]
        epoch_end = member_end + 4
        instance_size = frame[epoch_end]
        if (
            max(frame[start], frame[group_end], instance_size) > _TEXT_LENGTH_MAX + 1
            or min(frame[start], frame[group_end]) < 1
            or epoch_end + max(instance_size, 1) != instance_start
        ):
            return None
        return UnchangedHeartbeat(
            frame[start + 1 : group_end].decode(),
            frame[member_start + 1 : member_end].decode(),
            _EPOCH.unpack_from(frame, member_end)[0],
            frame[epoch_end + 1 : instance_start].decode() if instance_size else None,
            bytes(frame[member_start:member_end]),
        )
    except (IndexError, UnicodeDecodeError):
        return None


def encode_unchanged(
    heartbeat: UnchangedHeartbeat, member_epoch: int, heartbeat_interval_ms: int
) -> bytes:
    """Return the response body to a member that has its assignment already, for v0 and v1."""
    end = _RESPONSE_END.pack(member_epoch, heartbeat_interval_ms, _NO_ASSIGNMENT, 0)
    return b"".join((_RESPONSE_START, heartbeat.encoded_member_id, end))
