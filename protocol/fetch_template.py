"""What Fetch requests of a session have in common (KIP-227): all but epoch and fetch offsets."""

from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple

from protocol.codec import DecodeError, header_fields
from protocol.fetch import (
    FLEXIBLE_VERSION_MIN,
    LEADER_EPOCH_VERSION_MIN,
    ShortFetch,
    read_fetch,
    session_epoch_at,
)
from protocol.framing import SIZE_BYTES
from protocol.pacing import may_pause

_CORRELATION_AT = 8
_EPOCH_BYTES = 4
_OFFSET_BYTES = 8
_NO_SESSION = bytes(4)
"""The session id, which precedes the epoch, of a request without a session."""


class FetchTemplate(NamedTuple):
    """The bytes of a frame around its correlation id, session epoch and fetch offsets."""

    unpack: Callable[[bytes], tuple[Any, ...]]
    """Returns the constants of a frame of this size, and between them what differs."""
    constants: tuple[bytes, ...]
    api_version: int
    client_id: str | None
    request: ShortFetch
    """The request that it was made of."""

    @classmethod
    @may_pause
    def of(cls, buffer: bytes | bytearray, start: int, end: int) -> "FetchTemplate | None":
        """Return the template of the request in `buffer[start:end]`, which its size precedes.

        None for one that is in no session, or has rare fields.
        """
        try:
            _key, version, _id, client_id, body_at = header_fields(buffer, start, end)
            if version >= FLEXIBLE_VERSION_MIN:
                if buffer[body_at]:
                    return None
                body_at += 1
        except (DecodeError, IndexError):
            return None
        if version < LEADER_EPOCH_VERSION_MIN:
            return None
        epoch_at = body_at + session_epoch_at(version)
        if buffer[epoch_at - len(_NO_SESSION) : epoch_at] == _NO_SESSION:
            return None  # as all requests of many clients: it is not read twice
        request = read_fetch(version, buffer, body_at, end)
        if request is None or request.session_id <= 0 or request.session_epoch <= 0:
            return None
        frame_at = start - SIZE_BYTES
        changing = [(frame_at + _CORRELATION_AT, "i", 4)]
        changing.append((epoch_at, "i", _EPOCH_BYTES))
        for topic in request.topics:
            positions = topic.partitions.offset_positions()
            changing += [(position, "q", _OFFSET_BYTES) for position in positions]
        layout, constants, position = ">", [], frame_at
        for changing_at, kind, size in changing:
            constants.append(bytes(buffer[position:changing_at]))
            layout += f"{changing_at - position}s{kind}"
            position = changing_at + size
        constants.append(bytes(buffer[position:end]))
        frame = Struct(f"{layout}{end - position}s")
        return cls(frame.unpack, tuple(constants), version, client_id, request)
