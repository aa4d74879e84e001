"""Suggest the nearest known name for a misspelled one, with the standard library only."""

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean X?" with the nearest known name, or "" when none is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for an error

    nearest = get_close_matches(name, list(known), n=1)
    return f"; did you mean {nearest[0]}?" if nearest else ""
