"""What the handling of a request results in, up to the output of its connection."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from broker.pending_response import PendingResponse


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
    """What to do after a read or a wake-up, in this order: write, then close if there is a reason.

    `muted_until_ms` is when to call `resume` if a quota mutes the connection (KIP-219), else 0.
    `has_more`: requests are left that can be handled at once. Call `resume` when it is this
    connection's turn again and its client reads.
    """

    write: bytes
    close_reason: str | None
    has_more: bool
    muted_until_ms: int = 0


@dataclass(frozen=True, slots=True)
class Close:
    """Close the connection, with a reason for the log.

    `response` is a last response before that, or None: a message from the handler, its frame from
    the dispatcher.
    """

    reason: str
    response: Any = None


@dataclass(frozen=True, slots=True)
class Throttled:
    """A response frame (None for acks=0), behind which the connection is muted."""

    frame: bytes | None
    throttle_time_ms: int
    throttled_by: ThrottlingQuota


CompletedResponse = bytes | Throttled | Close | None
"""A response frame, one with a mute behind it, the end of the connection, or no response."""


class PendingFrame(NamedTuple):
    """A pending response, and how to encode it when it arrives."""

    pending: PendingResponse
    encode: Callable[[Any], CompletedResponse]


DispatchResult = PendingFrame | CompletedResponse
"""A response now or later."""

NOTHING = ConnectionOutput(b"", None, has_more=False)
