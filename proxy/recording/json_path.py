"""Paths into JSON documents, such as `$.customer.email`, `$.items[*].note` and `$..password`.

They are a part of RFC 9535: names (`.name`, `['name']`), indexes (`[0]`, `[-1]`), all members
(`.*`, `[*]`), and `..name` for a name at any depth.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Removed(Enum):
    """What a change returns in place of a value that goes away."""

    REMOVED = "removed"


REMOVED = Removed.REMOVED

Change = Callable[[Any], Any]
"""Returns another value of JSON for a value, or `REMOVED`."""

_STEP = re.compile(
    r"""
    (?P<deep>\.\.)(?P<deep_name>[^\s.\[\]'"*]+)
    | \.(?P<name>[^\s.\[\]'"*]+)
    | \[(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\]
    | \[(?P<index>-?[0-9]+)\]
    | (?P<all>\.\*|\[\*\])
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class _Step:
    """One step: a name, an index, or all members if `selector` is None."""

    selector: str | int | None
    is_deep: bool = False


class JsonPath:
    """A path that selects values of a document."""

    def __init__(self, text: str) -> None:
        """Read a path.

        Raises:
            ValueError: it does not begin with `$`, or a part of it has another form.
        """
        if not text.startswith("$"):
            raise ValueError(f"{text!r} is no path: it has to begin with $, such as $.customer")
        steps = []
        position = 1
        while position < len(text):
            match = _STEP.match(text, position)
            if match is None:
                rest = text[position:]
                raise ValueError(f"{rest!r} is not like .name, ['name'], [0], [*] or ..name")
            steps.append(_step(match))
            position = match.end()
        self._steps = tuple(steps)

    def change(self, document: Any, change: Change) -> Any:
        """Return the document with the selected values changed, or `REMOVED`.

        Its objects and arrays are changed in place. A value that is not there is no error.
        """
        return _changed(document, self._steps, change)


def _step(match: re.Match[str]) -> _Step:
    if match["deep"]:
        return _Step(match["deep_name"], is_deep=True)
    if match["index"]:
        return _Step(int(match["index"]))
    if match["all"]:
        return _Step(None)
    return _Step(match["name"] if match["name"] is not None else match["quoted"])


def _changed(value: Any, steps: tuple[_Step, ...], change: Change) -> Any:
    if not steps:
        return change(value)
    step, rest = steps[0], steps[1:]
    selected = _members(value, step.selector)
    for member in selected:
        value[member] = _changed(value[member], rest, change)
    if step.is_deep:
        for member in _members(value, None):
            # What was selected as a whole is not selected again inside.
            if value[member] is not REMOVED and (rest or member not in selected):
                value[member] = _changed(value[member], steps, change)
    if isinstance(value, dict):
        for member in [name for name in value if value[name] is REMOVED]:
            del value[member]
    elif isinstance(value, list):
        value[:] = [element for element in value if element is not REMOVED]
    return value


def _members(value: Any, selector: str | int | None) -> list[Any]:
    """Return the names or indexes of the selected members, if they are there."""
    if isinstance(value, dict):
        names = list(value)
        return names if selector is None else [selector] if selector in value else []
    if isinstance(value, list):
        if selector is None:
            return list(range(len(value)))
        if isinstance(selector, int) and -len(value) <= selector < len(value):
            return [selector % len(value)]
    return []
