"""The result of a request, and the output of its connection."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple, Protocol

from broker.pending_response import PendingResponse
from protocol.pacing import may_pause, paced


class ThrottlingQuota(Protocol):
    """A quota that counts the throttles it causes."""

    queue_size: int
    """The number of connections that it mutes."""

    def note_throttle(
        self, user: str, client_id: str | None, throttle_time_ms: int, now_ms: int
    ) -> None:
        """Record a throttled response."""
        ...


class ConnectionOutput(NamedTuple):
    """What a connection does after a read or a timer: write, then close if there is a reason.

    `muted_until_ms` is when to call `resume` if a quota mutes the connection (KIP-219), else 0.
    `has_more`: more requests can be handled now. Call `resume` after other connections were served
    and when the client reads. A connection that `writes_parts` may have `parts` in place of
    `write`.
    """

    write: bytes
    close_reason: str | None
    has_more: bool
    muted_until_ms: int = 0
    parts: Sequence[bytes] = ()


new_output: Callable[[tuple[bytes, str | None, bool, int, Sequence[bytes]]], ConnectionOutput]
new_output = partial(tuple.__new__, ConnectionOutput)
"""Make an output from all its fields, in less time than the class takes."""


PARTS_BYTES_MIN = 64 * 1024
"""A response with fewer bytes of records is joined: one write of few bytes takes less time."""
PART_BYTES_MIN = 4 * 1024
"""Parts that have fewer bytes on average are joined."""
JOINED_PARTS_MAX = 4096
"""As many parts at most are joined without a pause."""


class EncodedParts(NamedTuple):
    """An encoded response body, or its frame, with many records: its parts are written as they are.

    To join them would copy all records, which are in the log already.
    """

    parts: list[bytes]
    size_bytes: int

    @staticmethod
    @may_pause
    def of(parts: list[bytes], record_bytes: int) -> "bytes | EncodedParts":
        """Return parts with so many bytes of records, joined if that takes less time.

        Very many are joined piece by piece, with pauses.
        """
        count = len(parts)
        if count <= JOINED_PARTS_MAX or record_bytes >= PART_BYTES_MIN * count:
            if record_bytes < PARTS_BYTES_MIN or record_bytes < PART_BYTES_MIN * count:
                return b"".join(parts)
            return EncodedParts(parts, sum(map(len, parts)))
        starts = paced(range(0, len(parts), JOINED_PARTS_MAX))
        pieces = [b"".join(parts[start : start + JOINED_PARTS_MAX]) for start in starts]
        return EncodedParts(pieces, sum(map(len, pieces)))

    def joined(self) -> bytes:
        """Return all bytes."""
        return b"".join(self.parts)


class CloseManner(StrEnum):
    """How a connection ends."""

    CLOSE = "close"
    """It closes in both directions."""
    RESET = "reset"
    """It is reset: an RST, and unsent bytes are lost."""
    HALF_CLOSE = "half_close"
    """Only the direction to the client closes. What the client sends is read and ignored."""
    STOP_READING = "stop_reading"
    """It stays open, and nothing is read from it any more."""


@dataclass(frozen=True, slots=True)
class Close:
    """Close the connection, with a reason for the log.

    `response` is a last response before the close, or None. A handler sets a message, the
    dispatcher its frame.
    """

    reason: str
    response: Any = None
    manner: CloseManner = CloseManner.CLOSE


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first bytes of a response whose rest comes later; `frame` is all of it."""

    written: bytes
    rest: PendingResponse
    frame: bytes


@dataclass(frozen=True, slots=True)
class Throttled:
    """A response frame (None for acks=0), after which the connection is muted."""

    frame: bytes | None
    throttle_time_ms: int
    throttled_by: ThrottlingQuota


CompletedResponse = bytes | EncodedParts | Throttled | Close | Beginning | None
"""A response frame, one followed by a mute, the end of the connection, or no response."""


class PendingFrame(NamedTuple):
    """A pending response, and how to encode it when it arrives."""

    pending: PendingResponse
    encode: Callable[[Any], CompletedResponse]


def unchanged(response: Any) -> Any:
    """Return a response that is encoded already, as the `encode` of a `PendingFrame`."""
    return response


DispatchResult = PendingFrame | CompletedResponse
"""A response now or later."""

NOTHING = ConnectionOutput(b"", None, has_more=False)
WAITING = ConnectionOutput(b"", None, has_more=False)
"""The same if the read was one request, which waits: with no bytes left nothing is to be done."""


def frame_of(response: CompletedResponse) -> bytes | None:
    """Return the frame that a response sends, or None."""
    if isinstance(response, Throttled | Beginning):
        return response.frame
    if isinstance(response, EncodedParts):
        return response.joined()
    if isinstance(response, Close):
        frame: bytes | None = response.response
        return frame
    return response
