"""The sections of a failing test: the last requests of its cluster, and near misses."""

import json
from typing import Any

from mock_kafka.cluster import MockKafka
from mock_kafka.fault import Fault
from mock_kafka.views import Request

_DECODED_BY_DEFAULT = 5
_CHARACTERS_MAX = 400
_RULES_SHOWN = 5


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


def near_misses(kafka: MockKafka) -> str:
    """Return what came instead of what a test looked for, or "" if it found all of it.

    These are the rules that never fired, and the filters of `requests()` that fitted none.
    """
    try:
        views = kafka.control.ask("GET", "/v1/faults")
        silent = [Fault(kafka.control, view) for view in views if not view["fired"]]
        found = [(repr(fault), fault.near_misses()) for fault in silent[:_RULES_SHOWN]]
        for query in kafka.control.unanswered:
            described = ", ".join(f"{name}={value!r}" for name, value in query.items())
            found.append((f"requests({described})", kafka.near_misses(**query)))
    except (OSError, RuntimeError) as error:
        return f"not available: {error}"
    lines: list[str] = []
    for head, nearest in found:
        lines += [head, *(f"    {line}" for line in nearest or ["no request came near"])]
    return "\n".join(lines)


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
