"""Regular expressions in RE2's syntax, which Kafka uses for the names of topics.

Sources: the messages of RE2/J, the library of Apache Kafka.
"""

from functools import lru_cache
from typing import Any

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


def regex_problem(regex: str) -> str | None:
    """Return why an expression is invalid, in RE2/J's words, or None."""
    compiled = _compile(regex)
    return compiled if isinstance(compiled, str) else None


def full_match(regex: str, text: str) -> bool:
    """Return whether a valid expression matches a text as a whole."""
    return _compile(regex).fullmatch(text) is not None


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
