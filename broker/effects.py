"""All that a connection can ask of its shell."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from broker.throttling import ThrottlingQuota


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
    muted_until_ms: int
    throttled_by: "ThrottlingQuota"


NOTHING = Effects(b"", None, has_more=False)
