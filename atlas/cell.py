"""The cell of the matrix: what was seen against what the sources of a situation demand."""

from collections.abc import Iterator, Mapping

from atlas.data_verdict import DataVerdict
from atlas.experiment import Cell, Manners, Observation
from atlas.manners import judged_api
from atlas.situation import Expectation, Situation

SEVERITY: Mapping[Cell, int] = {
    "unsupported": 0,
    "as_expected": 1,
    "differs": 2,
    "crashed": 3,
    "wrong": 4,
}
"""How bad a cell is: a larger number than before is a regression."""
ESSENTIAL = frozenset(
    {
        "acks",
        "assignor",
        "auto_offset_reset",
        "compression",
        "group_protocol",
        "instance_id",
        "isolation",
        "security",
        "token_auth",
        "transaction_timeout_ms",
        "transactional_id",
    }
)
"""Settings without which a situation is another one; `idempotent` is one where it is about ids."""
_DELIVERY_TIMEOUT = ("delivery_timeout_ms", "KIP-91")
_IDEMPOTENT = "idempotent"
_PRODUCER_ID_FAMILIES = frozenset({"INIT_PRODUCER_ID", "KIP-758", "KIP-936"})
_PRODUCER_STATE_ERRORS = frozenset(
    {
        "DUPLICATE_SEQUENCE_NUMBER",
        "INVALID_PRODUCER_EPOCH",
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "UNKNOWN_PRODUCER_ID",
    }
)
_REPEATED = frozenset({"duplicated", "reordered"})
"""What retries do to the data of a producer that is not idempotent."""
_BACKOFF_SLACK_MS = 1.5


def cell(
    situation: Situation, observation: Observation, data: DataVerdict, behaviour: Manners
) -> tuple[Cell, tuple[str, ...]]:
    """Return the cell, and why it is not `as_expected`.

    `wrong` needs a source: data, or what the caller heard and when, is not what it demands. All
    else that is not as expected `differs`, as does what a retry has stored twice where the library
    has no idempotent producer, and a success behind an error that no other attempt should follow.
    """
    if observation.has_crashed:
        return "crashed", ("the process of the adapter ended",)
    missing = tuple(unsupported(situation, observation))
    if missing:
        return "unsupported", missing
    if not observation.has_happened:
        return "unsupported", ("it did not happen: the client sent no request that a rule fits",)
    is_due = data.data in _REPEATED and _IDEMPOTENT in _ignored(observation)
    on_data = tuple(_data_harm(situation.expect, data))
    on_report = tuple(_report_harm(situation.expect, behaviour))
    harm = tuple(_delay(situation.expect, behaviour))
    other = tuple(_other(situation.expect, observation, behaviour))
    if _has_succeeded_again(situation, observation, behaviour):
        on_data, kept = ((), on_data) if data.data == "kept" else (on_data, ())
        on_report, other = (), (*kept, *on_report, *other)
    harm = (*on_report, *harm)
    if on_data and is_due:
        other = (*on_data, f"the library has no setting {_IDEMPOTENT}", *other)
    else:
        harm = (*on_data, *harm)
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
        if command.outcome == "unsupported" and "ignored" not in command.values:
            yield f"it has no {command.name}"
            return
        for setting in command.values.get("ignored", ()):
            if setting == _IDEMPOTENT:
                is_essential = _is_about_producer_ids(situation)
            elif setting == _DELIVERY_TIMEOUT[0]:
                is_essential = _DELIVERY_TIMEOUT[1] in names
            else:
                is_essential = setting in ESSENTIAL
            if is_essential and setting in situation.arguments:
                yield f"it has no setting {setting}"


def _is_about_producer_ids(situation: Situation) -> bool:
    """Return whether it can only happen to a producer with an id and sequence numbers."""
    errors = {rule.get("error") for rule in situation.faults}
    return situation.family in _PRODUCER_ID_FAMILIES or bool(errors & _PRODUCER_STATE_ERRORS)


def _ignored(observation: Observation) -> set[str]:
    """Return the settings that the library lacks."""
    return {name for one in observation.commands for name in one.values.get("ignored", ())}


def _has_succeeded_again(
    situation: Situation, observation: Observation, behaviour: Manners
) -> bool:
    """Return whether a failed request was sent again and carried out: the success is no lie.

    In a transaction it may be one: a producer that is fenced must not go on.
    """
    if behaviour.reported != "success" or not behaviour.retries or situation.area == "transaction":
        return False
    api = judged_api(situation)
    judged = [one for one in observation.requests if one.phase == "main" and one.api == api]
    return bool(judged) and not judged[-1].errors and judged[-1].latency_ms is not None


def _data_harm(expect: Expectation, data: DataVerdict) -> Iterator[str]:
    if expect.data and data.data not in expect.data:
        found = "; ".join(data.reasons) or data.data
        yield f"data: {found}, expected {' or '.join(expect.data)}"


def _report_harm(expect: Expectation, behaviour: Manners) -> Iterator[str]:
    if expect.reported and not _fits(behaviour.reported, expect.reported):
        error = f" ({behaviour.error})" if behaviour.error else ""
        yield f"reported {behaviour.reported}{error}, expected {' or '.join(expect.reported)}"


def _delay(expect: Expectation, behaviour: Manners) -> Iterator[str]:
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
