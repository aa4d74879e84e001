"""Near misses: requests that come nearest to conditions that none fits, and where they differ."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from protocol.pacing import may_pause, paced

REQUESTS_MAX = 1_000
"""The newest requests that are compared."""
NEAR_MISSES_MAX = 5
_VALUES_SHOWN = 5
_TEXT_SHOWN = 200
API = "api"
NOT_RECORDED = "This request was not recorded"
"""How the fault of a request begins that a strict world has refused."""
_UNQUOTED = frozenset({API, "outcome", "error"})
"""Fields with words of Kafka and of the journal."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A condition that a request does not fit: the field, and how it differs, in words."""

    field: str
    text: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A request, and how it differs from some conditions.

    Attributes:
        number: of its line in the journal.
        held: how many of the conditions it fits.
        differences: those that it does not fit; empty if it fits all.
    """

    number: int
    api: str
    version: int
    client_id: str | None
    held: int
    differences: tuple[Difference, ...]

    @property
    def is_of_api(self) -> bool:
        """Whether it does not differ in its API."""
        return all(difference.field != API for difference in self.differences)


@dataclass(frozen=True, slots=True)
class NearMiss:
    """Some requests of an API and of a client that differ alike; `newest` is one of them."""

    newest: Comparison
    count: int

    def __str__(self) -> str:
        """Return one line, such as `#42 Produce v9 of 'orders': partition was 0 (3 times)`."""
        newest = self.newest
        client = "no client id" if newest.client_id is None else repr(newest.client_id)
        how = ", ".join(difference.text for difference in newest.differences)
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"#{newest.number} {newest.api} v{newest.version} of {client}: {how}{times}"


def was(field: str, values: Any) -> Difference:
    """Return the difference of a field that has another value, or values.

    None and an empty list stand for a request that has no such field, or no value in it.
    """
    listed = list(values) if isinstance(values, list | tuple | set | frozenset) else [values]
    shown = [_shown(field, value) for value in listed[:_VALUES_SHOWN] if value is not None]
    if len(listed) > _VALUES_SHOWN:
        shown.append(f"{len(listed) - _VALUES_SHOWN} others")
    return Difference(field, f"{field} was {', '.join(shown) or 'none'}")


def refusal(fault: str | None) -> Difference | None:
    """Return that a strict world has refused a request, with the nearest recorded one, or None.

    `fault` is that of the request in the journal.
    """
    if fault is None or NOT_RECORDED not in fault:
        return None
    return Difference("fault", f"it was refused: {fault[fault.index(NOT_RECORDED) :]}")


def _shown(field: str, value: Any) -> str:
    text = value if isinstance(value, str) and field in _UNQUOTED else repr(value)
    return text if len(text) <= _TEXT_SHOWN else f"{text[:_TEXT_SHOWN]}..."


@may_pause
def nearest(compared: Iterable[Comparison]) -> list[NearMiss]:
    """Return the requests that fit the most conditions, the newest of equal ones first.

    `compared` are requests, newest first. Those that differ in nothing are left out, and those of
    another API if there are any of the right one. Those that differ alike are together.
    """
    newest: dict[object, Comparison] = {}
    counts: dict[object, int] = {}
    for one in paced(compared):
        if one.differences:
            key = (one.api, one.client_id, one.differences)
            newest.setdefault(key, one)
            counts[key] = counts.get(key, 0) + 1
    ranked = sorted(newest.items(), key=lambda item: (-item[1].held, -item[1].number))
    of_api = [item for item in ranked if item[1].is_of_api] or ranked
    return [NearMiss(one, counts[key]) for key, one in of_api[:NEAR_MISSES_MAX]]
