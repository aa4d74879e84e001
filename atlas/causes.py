"""Why cells are not as expected: what was found in the logs and the sources of clients."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec
import yaml

RED = frozenset({"crashed", "differs", "wrong"})
"""Cells that need a cause."""


class Cause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One cause of cells that are not as expected.

    Attributes:
        id: a name that no other cause has.
        cause: what the client does, in words.
        read: `source` if it was looked up in the client's source, `log` if it was read from the
            timeline and the client's log.
        clients: patterns of ids of clients, as of a shell.
        situations: patterns of ids of situations.
    """

    id: str
    cause: str
    read: Literal["source", "log"]
    clients: tuple[str, ...]
    situations: tuple[str, ...]

    def fits(self, client: str, situation: str) -> bool:
        """Return whether it is about this pair."""
        return any(fnmatchcase(client, one) for one in self.clients) and any(
            fnmatchcase(situation, one) for one in self.situations
        )


@cache
def causes() -> Sequence[Cause]:
    """Return all causes that are known; the first that fits a cell is the cell's."""
    text = (files(__package__) / "causes.yaml").read_text(encoding="utf-8")
    return msgspec.convert(yaml.safe_load(text), tuple[Cause, ...])


def cause_of(client: str, situation: str, cell: str) -> str | None:
    """Return the cause of a cell, or None if it is as expected or nobody has looked at it."""
    if cell not in RED:
        return None
    return next((one.cause for one in causes() if one.fits(client, situation)), None)
