"""The problem of a name that the cluster does not have: what is near, and what there is."""

from collections.abc import Collection

from broker.http_admin.operation import Problem, Remedy
from protocol.suggestions import did_you_mean

LISTED_MAX = 10
"""Names that a message has; for more it has the operation that lists them."""
COMPARED_MAX = 1000
"""Names of which the nearest is looked for, because that takes 10 us for each."""


def no_such(kind: str, name: str, known: Collection[str], list_operation: str) -> Problem:
    """Return the problem that there is no `kind` of this name; `list_operation` lists all."""
    reason = f"there is no {kind} {name!r}"
    if not known:
        return Problem(404, f"{reason}, and no other")
    if len(known) <= COMPARED_MAX:
        reason += did_you_mean(name, known)
    if len(known) <= LISTED_MAX:
        return Problem(404, f"{reason}; there are: {', '.join(sorted(known))}")
    return Problem(404, reason, remedy=Remedy(list_operation, "lists them"))


def unknown_key_hint(name: str, known: Collection[str]) -> str:
    """Return what to add to the message about an unknown key: the nearest one, or all keys."""
    return did_you_mean(name, known) or f"; there are: {', '.join(sorted(known))}"
