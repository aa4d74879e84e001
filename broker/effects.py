"""All that a connection can ask of its shell."""

from dataclasses import dataclass
from typing import NamedTuple


class Effects(NamedTuple):
    """What to do after a read or a wake-up, in this order: write, then perhaps close."""

    write: bytes
    close_reason: str | None


@dataclass(frozen=True, slots=True)
class Close:
    """An answer of a handler: end this connection, and say why in the log."""

    reason: str


NOTHING = Effects(b"", None)
