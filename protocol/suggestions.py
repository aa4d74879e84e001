"""Suggest the nearest known name for a misspelled one in an error message."""

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean X?" with the nearest known name, or "" when none is near.

    Case and underscores don't count: the nearest to `notcontroler` is `NOT_CONTROLLER`.
    """
    import difflib  # noqa: PLC0415 - rarely used

    names = {_letters(name): name for name in known}
    nearest = difflib.get_close_matches(_letters(word), names, n=1)
    return f"; did you mean {names[nearest[0]]}?" if nearest else ""


def _letters(name: str) -> str:
    return name.replace("_", "").lower()
