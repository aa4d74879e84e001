"""The timeline of an experiment: what the client was asked, what the broker saw, what was heard."""

from collections.abc import Iterator

from atlas.experiment import Observation, Result, SeenRequest


def timeline(observation: Observation) -> list[str]:
    """Return a line for each command, request and report, in the order of time."""
    return [line for _, line in sorted(_lines(observation), key=lambda line: line[0])]


def _lines(observation: Observation) -> Iterator[tuple[float, str]]:
    for command in observation.commands:
        details = " ".join(
            f"{name}={value}" for name, value in command.arguments.items() if value is not None
        )
        yield command.sent_ms, _line(command.sent_ms, "asks", f"{command.name} {details}")
        if command.ended_ms is None:
            continue
        values = dict(command.values)
        if "records" in values:
            values["records"] = len(values["records"])
        ending = " ".join(f"{name}={value}" for name, value in values.items() if value != [])
        text = f"{command.name} {command.outcome} {ending}"
        yield command.ended_ms, _line(command.ended_ms, "hears", text)
    for delivery in observation.deliveries:
        outcome = (
            f"delivered at offset {delivery.offset}"
            if delivery.error is None
            else f"undelivered: {delivery.error} ({delivery.error_class})"
        )
        yield delivery.at_ms, _line(delivery.at_ms, "hears", f"send {delivery.send} {outcome}")
    for request in observation.requests:
        yield request.at_ms, _line(request.at_ms, "broker", _request_text(request))


def _request_text(request: SeenRequest) -> str:
    targets = " ".join((*request.topics, *request.groups, *request.transactional_ids))
    parts = [f"#{request.number}", f"{request.api} v{request.api_version}", targets]
    parts += ["->", request.outcome, *request.errors]
    if request.latency_ms is not None:
        parts.append(f"after {request.latency_ms:.1f} ms")
    if request.throttle_time_ms:
        parts.append(f"throttled {request.throttle_time_ms} ms")
    if request.fault:
        parts.append(f"[{request.fault}]")
    return " ".join(part for part in parts if part)


def _line(at_ms: float, who: str, text: str) -> str:
    return f"{at_ms:9.1f} ms  {who:7} {text}".rstrip()


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
