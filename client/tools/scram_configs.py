"""Describe and alter the SCRAM credentials of users, as kafka-configs.sh does (KIP-554)."""

import re
from collections.abc import Iterable, Mapping, Sequence

from client.admin import Admin
from client.credential_admin import MECHANISM_CODES
from client.errors import ApiError
from client.resources import ScramUpsertion
from client.sasl import ITERATIONS_MIN
from client.tools.session import ToolError, one_line

ITERATIONS_DEFAULT = 4096
_CREDENTIAL = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)", re.ASCII)


def is_scram(names: Iterable[str]) -> bool:
    """Return whether one of the names is that of a SCRAM mechanism."""
    return not MECHANISM_CODES.keys().isdisjoint(names)


def alter(admin: Admin, user: str | None, added: Mapping[str, str], deleted: Sequence[str]) -> None:
    """Set and delete credentials of a user; all names have to be mechanisms.

    Raises:
        ToolError: a value or a name is invalid, or there is no user.
        ApiError: the broker refuses the change.
    """
    if user is None:
        raise ToolError(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM"
            " Credentials using --bootstrap-server."
        )
    others = [name for name in (*added, *deleted) if name not in MECHANISM_CODES]
    if others:
        raise ToolError(
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using"
            f" --bootstrap-server. Unexpected config names: {', '.join(others)}"
        )
    upsertions = [_upsertion(user, mechanism, text) for mechanism, text in added.items()]
    outcomes = admin.alter_user_scram_credentials(upsertions, [(user, name) for name in deleted])
    for error in outcomes.values():
        if error is not None:
            raise error


def describe(admin: Admin, users: Sequence[str]) -> list[str]:
    """Return a line for each user with credentials: of these users, or of all."""
    return [
        _described(user, found)
        for user, found in admin.describe_user_scram_credentials(users).items()
    ]


def _described(user: str, found: Mapping[str, int] | ApiError) -> str:
    if isinstance(found, ApiError):
        what = f"SCRAM credential configs for user-principal '{user}'"
        return f"Error retrieving {what}: {one_line(found)}"
    texts = (f"{mechanism}=iterations={iterations}" for mechanism, iterations in found.items())
    return f"SCRAM credential configs for user-principal '{user}' are {', '.join(texts)}"


def _upsertion(user: str, mechanism: str, text: str) -> ScramUpsertion:
    match = _CREDENTIAL.fullmatch(text)
    if match is None:
        # The text may be a password.
        raise ToolError(
            f"Invalid credential property {mechanism}; it must be [iterations=N,password=...]"
        )
    try:
        given = ITERATIONS_DEFAULT if match[1] in {None, "-1"} else int(match[1])
    except ValueError:
        raise ToolError(f"Invalid iterations of {mechanism}: {match[1]!r}") from None
    if given < ITERATIONS_MIN:
        raise ToolError(
            f"Iterations {given} is less than the minimum {ITERATIONS_MIN} required for {mechanism}"
        )
    return ScramUpsertion(user, mechanism, given, match[2])
