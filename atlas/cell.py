"""The cell of the matrix: what was seen against what the sources of a situation demand."""

from collections.abc import Iterator

from atlas.data_verdict import DataVerdict
from atlas.experiment import Cell, Manners, Observation
from atlas.situation import Expectation, Situation

ESSENTIAL = frozenset(
    {
        "acks",
        "assignor",
        "compression",
        "group_protocol",
        "idempotent",
        "instance_id",
        "isolation",
        "security",
        "transactional_id",
    }
)
"""Settings without which a situation is another one."""
_DELIVERY_TIMEOUT = ("delivery_timeout_ms", "KIP-91")
_BACKOFF_SLACK_MS = 1.5


def cell(
    situation: Situation, observation: Observation, data: DataVerdict, behaviour: Manners
) -> tuple[Cell, tuple[str, ...]]:
    """Return the cell, and why it is not `as_expected`.

    `wrong` needs a source: data, or what the caller heard and when, is not what it demands. All
    else that is not as expected `differs`.
    """
    if observation.has_crashed:
        return "crashed", ("the process of the adapter ended",)
    missing = tuple(unsupported(situation, observation))
    if missing:
        return "unsupported", missing
    if not observation.has_happened:
        return "unsupported", ("it did not happen: the client sent no request that a rule fits",)
    harm = tuple(_harm(situation.expect, data, behaviour))
    other = tuple(_other(situation.expect, observation, behaviour))
    if harm and situation.sources:
        return "wrong", (*harm, *other)
    if harm or other:
        return "differs", (*harm, *other)
    return "as_expected", ()


def unsupported(situation: Situation, observation: Observation) -> Iterator[str]:
    """Yield what the library lacks for this situation."""
    names = {source.name for source in situation.sources}
    for command in observation.commands:
        if command.phase != "main":
            continue
        if command.outcome == "unsupported":
            yield f"it has no {command.name}"
            return
        for setting in command.values.get("ignored", ()):
            is_essential = setting in ESSENTIAL or (
                setting == _DELIVERY_TIMEOUT[0] and _DELIVERY_TIMEOUT[1] in names
            )
            if is_essential and setting in situation.arguments:
                yield f"it has no setting {setting}"


def _harm(expect: Expectation, data: DataVerdict, behaviour: Manners) -> Iterator[str]:
    if expect.data and data.data not in expect.data:
        found = "; ".join(data.reasons) or data.data
        yield f"data: {found}, expected {' or '.join(expect.data)}"
    if expect.reported and not _fits(behaviour.reported, expect.reported):
        error = f" ({behaviour.error})" if behaviour.error else ""
        yield f"reported {behaviour.reported}{error}, expected {' or '.join(expect.reported)}"
    if expect.within_ms is not None:
        if behaviour.outcome_ms is None:
            yield f"no outcome, expected within {expect.within_ms} ms"
        elif behaviour.outcome_ms > expect.within_ms:
            late = f"{behaviour.outcome_ms:.0f} ms, expected within {expect.within_ms} ms"
            yield f"the outcome came after {late}"


def _fits(reported: str, allowed: tuple[str, ...]) -> bool:
    """Return whether a report is allowed.

    A timeout is a `RetriableException` in Kafka. A library without classes of errors fits any.
    """
    if reported == "timeout" and "retriable" in allowed:
        return True
    return reported in allowed or (reported == "unknown" and set(allowed) != {"success"})


def _other(expect: Expectation, observation: Observation, behaviour: Manners) -> Iterator[str]:
    for api, (least, most) in expect.requests.items():
        count = sum(
            request.api == api and request.phase == "main" for request in observation.requests
        )
        if count < least or (most is not None and count > most):
            bounds = f"at least {least}" if most is None else f"{least} to {most}"
            yield f"{count} requests {api}, expected {bounds}"
    if expect.throttle is not None and behaviour.throttle not in {None, expect.throttle}:
        yield f"throttle: {behaviour.throttle}"
    if (
        expect.backoff_ms_min is not None
        and behaviour.backoff_ms is not None
        and behaviour.backoff_ms < expect.backoff_ms_min - _BACKOFF_SLACK_MS
    ):
        yield f"retried after {behaviour.backoff_ms} ms, expected {expect.backoff_ms_min} ms"
    if expect.usable is not None and behaviour.usable is not expect.usable:
        state = {True: "usable", False: "not usable", None: "not asked again"}[behaviour.usable]
        yield f"afterwards it is {state}"
