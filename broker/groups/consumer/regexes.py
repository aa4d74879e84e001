"""Subscriptions by regular expression: RE2's syntax, and a match of the whole topic name.

Sources: Kafka's `GroupMetadataManager.refreshRegularExpressions`, and the messages of RE2/J.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

# Messages of RE2 (C++), and those of RE2/J, which Kafka uses.
_DESCRIPTIONS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}


class ResolvedRegex(NamedTuple):
    """The topics that an expression matched at a time, when there had been `created_count`."""

    topic_names: frozenset[str]
    created_count: int
    resolved_ms: int


def regex_problem(regex: str) -> str | None:
    """Return why an expression is invalid, in RE2/J's words, or None."""
    compiled = _compile(regex)
    return compiled if isinstance(compiled, str) else None


def matching(regex: str, topic_names: Iterable[str]) -> frozenset[str]:
    """Return the names that a valid expression matches as a whole."""
    compiled = _compile(regex)
    return frozenset(name for name in topic_names if compiled.fullmatch(name))


@lru_cache(maxsize=256)
def _compile(regex: str) -> Any:
    """Return the compiled expression, or a description of its error."""
    import re2  # noqa: PLC0415 - not needed before the first such subscription

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(regex, options=options)
    except re2.error as error:
        return _description(error)


def _description(error: Exception) -> str:
    message = error.args[0]
    text = message.decode(errors="replace") if isinstance(message, bytes) else str(message)
    for described, description in _DESCRIPTIONS.items():
        if text.startswith(described):
            return description
    return text.partition(":")[0]
