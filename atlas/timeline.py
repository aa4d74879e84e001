"""The timeline of an experiment: what the client was asked, what the broker saw, what was heard.

It is made from rows as `atlas/rows.py` writes them, so that a run can be looked at later.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from atlas.experiment import Result
from atlas.rows import events_of, request_rows

Line = tuple[float, str, str]
"""Ms since the experiment began; who: `asks`, `hears` or `broker`; and what."""


def timeline(
    events: Iterable[Mapping[str, Any]], requests: Iterable[Mapping[str, Any]]
) -> list[Line]:
    """Return a line for each command, request and report, in the order of time."""
    return sorted(_lines(events, requests), key=lambda line: line[0])


def timeline_of(result: Result) -> list[Line]:
    """Return the timeline of an experiment that has just ended."""
    return timeline(events_of(result.observation), request_rows("", result.observation))


def as_text(lines: Iterable[Line]) -> list[str]:
    """Return the lines for a terminal."""
    return [f"{at_ms:9.1f} ms  {who:7} {text}".rstrip() for at_ms, who, text in lines]


def _lines(
    events: Iterable[Mapping[str, Any]], requests: Iterable[Mapping[str, Any]]
) -> Iterator[Line]:
    for event in events:
        yield from _command_lines(event) if "command" in event else _delivery_lines(event)
    for request in requests:
        yield request["at_ms"], "broker", _request_text(request)


def _command_lines(event: Mapping[str, Any]) -> Iterator[Line]:
    name = event["command"]
    yield event["at_ms"], "asks", f"{name} {_assignments(event.get('arguments', {}))}".rstrip()
    if "ended_ms" in event:
        values = dict(event.get("values", {}))
        if "records" in values:
            values["records"] = len(values["records"])
        text = f"{name} {event['outcome']} {_assignments(values)}"
        yield event["ended_ms"], "hears", text.rstrip()


def _assignments(values: Mapping[str, Any]) -> str:
    shown = {name: value for name, value in values.items() if value not in (None, [])}
    return " ".join(f"{name}={value}" for name, value in shown.items())


def _delivery_lines(event: Mapping[str, Any]) -> Iterator[Line]:
    if "error" in event:
        outcome = f"undelivered: {event['error']} ({event.get('class')})"
    else:
        outcome = f"delivered at offset {event.get('offset')}"
    yield event["at_ms"], "hears", f"send {event['send']} {outcome}"


def _request_text(request: Mapping[str, Any]) -> str:
    targets = (*request["topics"], *request["groups"], *request["transactional_ids"])
    parts = [f"#{request['number']}", f"{request['api']} v{request['api_version']}", *targets]
    parts += ["->", request["outcome"], *request["errors"]]
    if request["latency_ms"] is not None:
        parts.append(f"after {request['latency_ms']:.1f} ms")
    if request["throttle_time_ms"]:
        parts.append(f"throttled {request['throttle_time_ms']} ms")
    if request["fault"]:
        parts.append(f"[{request['fault']}]")
    return " ".join(parts)


def summary(result: Result) -> list[str]:
    """Return the verdicts of an experiment, one a line."""
    seen = result.manners
    error = f" ({seen.error})" if seen.error else ""
    rows = {
        "cell": result.cell,
        "data": result.data,
        "reported": f"{seen.reported}{error}",
        "outcome": "none" if seen.outcome_ms is None else f"after {seen.outcome_ms:.0f} ms",
        "retries": str(seen.retries),
        "backoff": "none" if seen.backoff_ms is None else f"{seen.backoff_ms} ms",
        "throttle": seen.throttle or "none",
        "usable": {True: "yes", False: "no", None: "not asked"}[seen.usable],
        "closed": seen.closed,
        "duration": f"{result.duration_ms} ms",
    }
    lines = [f"{name:9} {value}" for name, value in rows.items()]
    return [*lines, *(f"  {reason}" for reason in result.reasons)]
