r"""Parse the text of a Java `.properties` file.

Comments start with `#` or `!`; a key ends at the first unescaped `=`, `:` or blank; a line that
ends in an odd number of backslashes continues in the next one; `\t`, `\n`, `\r`, `\f` and `\uXXXX`
are escapes, and a backslash before any other character is dropped. The last of several equal keys
wins.
"""

import re
from collections.abc import Iterator

_BLANKS = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_HEX = re.compile(r"[0-9a-fA-F]{4}")


class PropertiesError(ValueError):
    """A syntax error, as one line with the line number."""


def parse_properties(text: str) -> dict[str, str]:
    """Return the keys and values; a PropertiesError names the line, counted from 1."""
    properties: dict[str, str] = {}
    for line_number, line in _logical_lines(text):
        raw_key, raw_value = _split_key(line)
        if not raw_key:
            raise PropertiesError(f"line {line_number}: no key before the separator")
        key = _unescape(raw_key, line_number)
        properties[key] = _unescape(raw_value, line_number)
    return properties


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines joined with their continuations, with the number of the first line."""
    pending: str | None = None
    first_number = 0
    for line_number, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        stripped = line.lstrip(_BLANKS)
        if pending is None:
            if not stripped or stripped[0] in "#!":
                continue
            pending, first_number = "", line_number
        pending += stripped
        if _is_continued(stripped):
            pending = pending[:-1]
            continue
        yield first_number, pending
        pending = None
    if pending:
        yield first_number, pending


def _is_continued(line: str) -> bool:
    backslash_count = len(line) - len(line.rstrip("\\"))
    return backslash_count % 2 == 1


def _split_key(line: str) -> tuple[str, str]:
    index = 0
    while index < len(line) and line[index] not in "=:" + _BLANKS:
        index += 2 if line[index] == "\\" else 1
    key, rest = line[:index], line[index:].lstrip(_BLANKS)
    if rest[:1] in {"=", ":"}:
        rest = rest[1:].lstrip(_BLANKS)
    return key, rest


def _unescape(text: str, line_number: int) -> str:
    if "\\" not in text:
        return text
    characters: list[str] = []
    index = 0
    while index < len(text):
        character = text[index]
        index += 1
        if character != "\\":
            characters.append(character)
            continue
        escaped = text[index : index + 1]
        index += 1
        if escaped == "u":
            digits = text[index : index + 4]
            if not _HEX.fullmatch(digits):
                raise PropertiesError(
                    f"line {line_number}: \\u must be followed by four hex digits"
                )
            characters.append(chr(int(digits, 16)))
            index += 4
        else:
            characters.append(_ESCAPES.get(escaped, escaped))
    # Java text is UTF-16: two \\u escapes may be the halves of one character.
    joined = "".join(characters)
    return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
