"""Regular expressions of clients and configurations, matched by RE2.

Python's `re` may take years for a short expression such as `(a+)+$`, and no other client is served
until then. RE2 takes time in proportion to the expression times the text. Both are bounded here:
an expression by its length and by the size of its program, and a match by the product of program
and text, so that it takes 25 ms at most.

Sources: RE2/J, which Kafka uses for subscriptions and ListTransactions. For client metrics and
`ssl.principal.mapping.rules` Kafka uses `java.util.regex`, whose lookaround, backreferences and
possessive quantifiers RE2 has not.
"""

import re
from functools import lru_cache
from typing import Any

EXPRESSION_BYTES_MAX = 2_048
UNICODE_CLASSES_MAX = 32
r"""Classes such as `\pL`: to compile one takes 0.2 ms, even if the program gets too large.

Within both bounds no known expression takes more than about 20 ms to compile, once.
"""
PROGRAM_SIZE_MAX = 4_000
"""Instructions of RE2's program; all of them fit to a topic name of 249 bytes."""
STEPS_MAX = 1_000_000
"""Instructions times bytes of the text times groups of one match; a step takes up to 29 ns."""
MEMORY_BYTES_MAX = 1 << 20
"""Of one expression; `_COMPILED_MAX` of them are kept."""
_COMPILED_MAX = 128

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
_TOO_LARGE = "expression too large"
_ESCAPE = re.compile(r"\\(.?)", re.DOTALL)


def load() -> None:
    """Import RE2, which takes 30 ms: otherwise the first expression does.

    Raises:
        ImportError: it is not there.
    """
    import re2  # noqa: F401, PLC0415 - a broker starts without it


def regex_problem(regex: str) -> str | None:
    """Return why an expression is invalid, in RE2/J's words, or None."""
    compiled = _compile(regex, has_groups=False)
    return compiled if isinstance(compiled, str) else None


def full_match(regex: str, text: str) -> bool:
    """Return whether an expression matches a text as a whole.

    False if it is invalid, and for a text so long that the match would exceed `STEPS_MAX`.
    """
    return _match(_compile(regex, has_groups=False), text) is not None


def groups_of_match(regex: str, text: str) -> tuple[str, ...] | None:
    """Return what the groups of an expression match, or None where `full_match` is False.

    The first is the whole text; a group that takes no part is empty. More groups need more steps.
    """
    found = _match(_compile(regex, has_groups=True), text)
    return None if found is None else (text, *found.groups(default=""))


def replaced(regex: str, replacement: str, text: str) -> str:
    r"""Return a text with a replacement for all that an expression finds.

    `\1` to `\9` are the groups of the expression, `\0` is all of the match and `\\` a backslash.

    There is no bound of the time: it is for expressions and texts of the same owner.

    Raises:
        ValueError: the expression is invalid, or the replacement names a group that it lacks.
    """
    compiled = _compile(regex, has_groups=True)
    if isinstance(compiled, str):
        raise ValueError(compiled)  # noqa: TRY004 - a description of the error
    for escaped in _ESCAPE.findall(replacement):
        is_group = escaped.isdecimal() and int(escaped) <= compiled.groups
        if not is_group and escaped != "\\":
            raise ValueError(f"{replacement!r}: the expression has no group {escaped}")
    # The templates of google-re2 garble text that is not ASCII.
    changed: str = compiled.sub(
        lambda match: _ESCAPE.sub(lambda found: _expanded(match, found[1]), replacement), text
    )
    return changed


def _expanded(match: Any, escaped: str) -> str:
    return (match[int(escaped)] or "") if escaped.isdecimal() else escaped


def _match(compiled: Any, text: str) -> Any:
    if isinstance(compiled, str):
        return None
    group_count = 0 if compiled.options.never_capture else compiled.groups
    steps = compiled.programsize * len(text.encode()) * (1 + group_count)
    return compiled.fullmatch(text) if steps <= STEPS_MAX else None


@lru_cache(maxsize=_COMPILED_MAX)
def _compile(regex: str, *, has_groups: bool) -> Any:
    """Return the compiled expression, or a description of its error."""
    import re2  # noqa: PLC0415 - not needed before the first expression

    class_count = regex.count("\\p") + regex.count("\\P")
    if len(regex.encode()) > EXPRESSION_BYTES_MAX or class_count > UNICODE_CLASSES_MAX:
        return _TOO_LARGE
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY_BYTES_MAX
    options.never_capture = not has_groups
    try:
        compiled = re2.compile(regex, options=options)
    except re2.error as error:
        return _description(error)
    return compiled if compiled.programsize <= PROGRAM_SIZE_MAX else _TOO_LARGE


def _description(error: Exception) -> str:
    message = error.args[0]
    text = message.decode(errors="replace") if isinstance(message, bytes) else str(message)
    if text.startswith("pattern too large"):
        return _TOO_LARGE
    for described, description in _DESCRIPTIONS.items():
        if text.startswith(described):
            return description
    return text.partition(":")[0]
