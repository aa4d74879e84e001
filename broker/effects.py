"""All that a connection can ask of its shell."""

from dataclasses import dataclass
from typing import Any, NamedTuple


class Effects(NamedTuple):
    """What to do after a read or a wake-up, in this order: write, then perhaps close.

    `has_more` says that requests are left which can be handled at once: call `resume` when it is
    this connection's turn again and its client takes what was written.
    """

    write: bytes
    close_reason: str | None
    has_more: bool


@dataclass(frozen=True, slots=True)
class Close:
    """An answer of a handler: end this connection, and say why in the log.

    `answer` is a last response that the client gets before, or None: a message from the handler,
    its frame from the dispatcher.
    """

    reason: str
    answer: Any = None


NOTHING = Effects(b"", None, has_more=False)
