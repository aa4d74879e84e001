"""Send of a list what has changed since its reader last saw it.

An element gets a number when it is first sent in a new state. So nobody counts changes where they
happen, and a change of what no reader looks at costs nothing.
"""

from collections.abc import Mapping
from hashlib import blake2b
from itertools import islice
from secrets import token_hex
from typing import TypeVar

import msgspec

from broker.http_admin.operation import encode_result
from protocol.pacing import may_pause, no_pause, paced

REMEMBERED_MAX = 4_096
"""Elements whose states are remembered; one that was forgotten is sent again."""

_T = TypeVar("_T", bound=msgspec.Struct)


class Changes:
    """The states in which elements of lists were sent last, and their numbers."""

    def __init__(self) -> None:
        # A reader may have a version of a broker that listened here before.
        self._run = token_hex(4)
        self._last_number = 0
        self._sent: dict[tuple[str, str], tuple[bytes, int]] = {}

    @may_pause
    def since(
        self, version: str, kind: str, elements: Mapping[str, _T]
    ) -> tuple[list[_T], str, bool]:
        """Return the elements to send, the version of the list, and whether they are changes.

        `version` is one that this returned for the same list. If it is another text, or the list
        has other names since, all elements are sent. `elements` are those of one `kind` by name.
        """
        states = {name: _digest(encode_result(view)) for name, view in paced(elements.items())}
        names = _digest(encode_result(list(elements))).hex()
        # Two lists that are made at the same time may have different states of an element.
        with no_pause():
            numbers = self._numbers(kind, states)
            new_version = f"{self._run}-{self._last_number}-{names}"
        run, number, names_before = [*version.split("-"), "", ""][:3]
        if (run, names_before) != (self._run, names) or not number.isdecimal():
            return list(elements.values()), new_version, False
        changed = [view for name, view in elements.items() if numbers[name] > int(number)]
        return changed, new_version, True

    def _numbers(self, kind: str, states: Mapping[str, bytes]) -> dict[str, int]:
        """Return the number of the present state of each element."""
        numbers: dict[str, int] = {}
        for name, state in states.items():
            # Removed and set, it is the last one to be forgotten.
            before, number = self._sent.pop((kind, name), (b"", 0))
            if state != before:
                self._last_number += 1
                number = self._last_number
            self._sent[kind, name] = state, number
            numbers[name] = number
        for key in list(islice(self._sent, max(0, len(self._sent) - REMEMBERED_MAX))):
            del self._sent[key]
        return numbers


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=8).digest()
