"""Take the passwords out of a plan's text before it is written to a result."""

import re

_KEYS = (
    r"[\w.]*password|sasl\.users|sasl\.jaas\.config"
    r"|broker\.admin\.token|delegation\.token\.secret\.key"
)
_SECRET = re.compile(
    rf"""
    (?P<key> (?<![\w.]) ["']? (?:{_KEYS}) ["']? \s* : [ \t]* )
    (?: "(?:[^"\\]|\\.)*" | '(?:[^']|'')*' | [^\s#,\]}}][^#,\]}}\n]* )
    """,
    re.VERBOSE,
)


def without_passwords(plan_text: str) -> str:
    """Return the YAML text with `"***"` for each password, list of users and token."""
    return _SECRET.sub(r'\g<key>"***"', plan_text)
