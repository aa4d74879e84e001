"""All that a connection can ask of its shell."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from broker.pending_response import PendingResponse


class ThrottlingQuota(Protocol):
    """A quota that counts the waits it causes."""

    queue_size: int
    """Connections that are mute on its account."""

    def note_throttle(
        self, user: str, client_id: str | None, throttle_time_ms: int, now_ms: int
    ) -> None:
        """A client was told to wait."""
        ...


class ConnectionOutput(NamedTuple):
    """What to do after a read or a wake-up, in this order: write, then perhaps close.

    `muted_until_ms` is when to call `resume` again if a quota says that the client must wait
    (KIP-219), 0 if none does. `has_more` says that requests are left which can be handled at once:
    call `resume` when it is this connection's turn again and its client takes what was written.
    """

    write: bytes
    close_reason: str | None
    has_more: bool
    muted_until_ms: int = 0


@dataclass(frozen=True, slots=True)
class Close:
    """A response of a handler: end this connection, and say why in the log.

    `response` is a last response that the client gets before, or None: a message from the handler,
    its frame from the dispatcher.
    """

    reason: str
    response: Any = None


@dataclass(frozen=True, slots=True)
class Throttled:
    """A response frame (None for acks=0), behind which the connection is mute for a while."""

    frame: bytes | None
    throttle_time_ms: int
    throttled_by: ThrottlingQuota


CompletedResponse = bytes | Throttled | Close | None
"""A response that has come: a response frame, one that ends in silence, the end, or nothing."""


class PendingFrame(NamedTuple):
    """A response that is parked, and how to make a frame of it when it comes."""

    pending: PendingResponse
    encode: Callable[[Any], CompletedResponse]


DispatchResult = PendingFrame | CompletedResponse
"""What becomes of a request: a response now or later."""

NOTHING = ConnectionOutput(b"", None, has_more=False)
