"""The section of a failing test: the last requests of its cluster, and what they say."""

import json
from typing import Any

from mock_kafka.cluster import MockKafka
from mock_kafka.views import Request

_DECODED_BY_DEFAULT = 5
_CHARACTERS_MAX = 400


def last_requests(kafka: MockKafka, count: int, verbosity: int) -> str:
    """Return the last requests, one per line, the newest last; some with their decoded messages.

    These are the newest five and those with an error or a fault; with `-v` all, with `-vv` without
    a limit of their length.
    """
    try:
        lines = [*kafka.requests(limit=count), *kafka.requests(kind="connection", limit=count)]
    except (OSError, RuntimeError) as error:  # the report of the test is still needed
        return f"not available: {error}"
    lines.sort(key=lambda line: line.number)
    lines = lines[-count:]
    characters_max = None if verbosity > 1 else _CHARACTERS_MAX
    shown: list[str] = []
    for place, line in enumerate(lines):
        shown.append(str(line))
        is_newest = place >= len(lines) - _DECODED_BY_DEFAULT
        if verbosity > 0 or is_newest or line.errors or line.fault:
            shown += _decoded(line, characters_max)
    return "\n".join(shown) or "no requests"


def _decoded(line: Request, characters_max: int | None) -> list[str]:
    messages = {"request": line.request, "response": line.response}
    return [
        f"    {name}: {_short(message, characters_max)}"
        for name, message in messages.items()
        if message is not None
    ]


def _short(message: Any, characters_max: int | None) -> str:
    text = message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
    if characters_max is None or len(text) <= characters_max:
        return text
    return f"{text[:characters_max]} ... ({len(text)} characters; -vv shows all)"
