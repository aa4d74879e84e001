"""Parse --add-config and --delete-config as kafka-configs.sh does."""

import re

from client.tools.session import ToolError

# A comma, unless the next bracket after it is a closing one: then it is within a list.
_OUTSIDE_BRACKETS = re.compile(r",(?![^\[\]]*\])")


def parse_added(text: str) -> dict[str, str]:
    """Parse `k1=v1,k2=[v1,v2],k3=` to values by key; brackets enclose a list and are removed.

    Raises:
        ToolError: an entry is not KEY=VALUE.
    """
    values: dict[str, str] = {}
    for word in _OUTSIDE_BRACKETS.split(text):
        key, separator, value = word.partition("=")
        if not separator or not key.strip():
            raise ToolError(
                f"Invalid entity config: all configs to be added must be in the format"
                f' "key=val", not "{word.strip()}"'
            )
        values[key.strip()] = re.sub(r"[\[\]]", "", value).strip()
    return values


def parse_deleted(texts: list[str]) -> list[str]:
    """Return all keys of entries `k1,k2`."""
    return [key.strip() for text in texts for key in text.split(",") if key.strip()]
