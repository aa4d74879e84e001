"""All that a connection can ask of its shell."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from broker.pending_response import Parked


class ThrottlingQuota(Protocol):
    """A quota that counts the waits it causes."""

    queue_size: int
    """Connections that are mute on its account."""

    def note_throttle(
        self, user: str, client_id: str | None, throttle_time_ms: int, now_ms: int
    ) -> None:
        """A client was told to wait."""
        ...


class Effects(NamedTuple):
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
    """An answer of a handler: end this connection, and say why in the log.

    `answer` is a last response that the client gets before, or None: a message from the handler,
    its frame from the dispatcher.
    """

    reason: str
    answer: Any = None


@dataclass(frozen=True, slots=True)
class Throttled:
    """A response frame (None for acks=0), behind which the connection is mute for a while."""

    frame: bytes | None
    throttle_time_ms: int
    throttled_by: ThrottlingQuota


LateAnswer = bytes | Throttled | Close | None
"""An answer that has come: a response frame, one that ends in silence, the end, or nothing."""


class Waiting(NamedTuple):
    """An answer that is parked, and how to make a frame of it when it comes."""

    parked: Parked
    encode: Callable[[Any], LateAnswer]


Answer = Waiting | LateAnswer
"""What becomes of a request: an answer now or later."""

NOTHING = Effects(b"", None, has_more=False)
