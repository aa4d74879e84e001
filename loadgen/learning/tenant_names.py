"""Name tenants after the clients of a trace."""

import re
from collections.abc import Collection, Sequence

_NOT_IN_TOPICS = re.compile(r"[^A-Za-z0-9._-]+")


def free_name(words: Sequence[str], distinction: str, taken: Collection[str]) -> str:
    """Return the words as a name that is not taken, with `distinction` or a number if it needs one.

    It has only characters that names of topics may have, since such names begin with a tenant's.
    """
    name, other = _joined(words), _joined([*words, distinction])
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return next(found for found in (name, other, *numbered) if found not in taken)


def _joined(words: Sequence[str]) -> str:
    parts = (_NOT_IN_TOPICS.sub("-", word).strip("-") for word in words)
    return "-".join(part for part in parts if part)[:100] or "tenant"
