"""The faults on the time line of a plan: what happens to the cluster, when, and what is expected.

docs/load.md describes the fields. Times are those of the plan: seconds from the beginning of the
measured part.
"""

import re
from collections.abc import Iterable
from typing import Annotated, Any

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from loadgen.plan.yaml_reader import FieldPath, YamlDocument

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0}
NodeId = Annotated[int, Meta(ge=0, le=0x7FFFFFFF)]
_Duration = float | str
"""A number of seconds, or a text such as `30s`, `500ms` or `2m`."""


class MoveLeader(Struct, frozen=True, forbid_unknown_fields=True):
    """A partition and the broker that is to lead it."""

    topic: str
    partition: Annotated[int, Meta(ge=0)]
    to: NodeId


class CutBroker(Struct, frozen=True, forbid_unknown_fields=True):
    """A broker, and whether its partitions get other leaders."""

    broker: NodeId
    elect: bool | None = None
    """None: yes, unless only the port of a proxy for the broker is cut."""


class Expectation(Struct, frozen=True, forbid_unknown_fields=True):
    """How soon after the end of the fault each tenant has its rate back."""

    recovered_within: _Duration


class FaultEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A fault as a plan file has it."""

    at: _Duration
    lasts: _Duration | None = field(default=None, name="for")
    name: str | None = None
    rule: dict[str, Any] | None = None
    move_leader: MoveLeader | None = None
    stop_broker: CutBroker | None = None
    isolate_broker: CutBroker | None = None
    expect: Expectation | None = None


ACTIONS = ("rule", "move_leader", "stop_broker", "isolate_broker")


class Fault(Struct, frozen=True):
    """A fault of a plan; exactly one of the actions has a value."""

    name: str
    at_s: float
    for_s: float | None = None
    """How long it lasts. None: a rule stays until the end of the run, a move is not undone, and a
    broker is away until the end of the run."""
    rule: dict[str, Any] | None = None
    move_leader: MoveLeader | None = None
    stop_broker: CutBroker | None = None
    isolate_broker: CutBroker | None = None
    recovered_within_s: float | None = None

    @property
    def action(self) -> str:
        """The name of the action."""
        return next(name for name in ACTIONS if getattr(self, name) is not None)

    @property
    def cut_broker(self) -> CutBroker | None:
        """The broker that it stops or isolates."""
        return self.stop_broker or self.isolate_broker


def faults_of(
    entries: Iterable[FaultEntry], duration_s: float, document: YamlDocument
) -> tuple[Fault, ...]:
    """Return the faults of a plan file, in the order of time.

    Raises:
        PlanError: a fault has no action or several, a duration is invalid, or it is after the end.
    """
    found: list[Fault] = []
    for index, entry in enumerate(entries):
        path = ("faults", index)
        given = [name for name in ACTIONS if getattr(entry, name) is not None]
        if len(given) != 1:
            document.refuse(path, f"a fault needs one of {', '.join(ACTIONS)}")
        at_s = _seconds(entry.at, (*path, "at"), document)
        if at_s >= duration_s:
            document.refuse((*path, "at"), f"{at_s:g} s is not before the end at {duration_s:g} s")
        for_s = within_s = None
        if entry.lasts is not None:
            for_s = _seconds(entry.lasts, (*path, "for"), document)
            if at_s + for_s > duration_s:
                document.refuse(
                    (*path, "for"),
                    f"it ends at {at_s + for_s:g} s, after the end at {duration_s:g} s",
                )
        if entry.expect is not None:
            within_path = (*path, "expect", "recovered_within")
            within_s = _seconds(entry.expect.recovered_within, within_path, document)
        name = entry.name or f"{given[0].replace('_', ' ')} at {at_s:g} s"
        if name in {fault.name for fault in found}:
            document.refuse((*path, "name"), f"another fault has the name {name!r}")
        actions = {action: getattr(entry, action) for action in given}
        found.append(Fault(name, at_s, for_s, **actions, recovered_within_s=within_s))
    return tuple(sorted(found, key=lambda fault: fault.at_s))


def faults_until(faults: Iterable[Fault], duration_s: float) -> tuple[Fault, ...]:
    """Return the faults that begin before another end of the plan; none lasts longer."""
    return tuple(
        fault
        if fault.for_s is None or fault.at_s + fault.for_s <= duration_s
        else replace(fault, for_s=duration_s - fault.at_s)
        for fault in faults
        if fault.at_s < duration_s
    )


def merged_faults(plans: Iterable[tuple[str, Iterable[Fault]]]) -> tuple[Fault, ...]:
    """Return the faults of several plans; one whose name is taken gets its plan's before it."""
    found: dict[str, Fault] = {}
    for plan, faults in plans:
        for fault in faults:
            name = fault.name if fault.name not in found else f"{plan}: {fault.name}"
            found[name] = replace(fault, name=name)
    return tuple(sorted(found.values(), key=lambda fault: fault.at_s))


def _seconds(given: _Duration, path: FieldPath, document: YamlDocument) -> float:
    match = _DURATION.fullmatch(str(given))
    if match is None:
        document.refuse(
            path,
            f"a duration is a number of seconds, or as 30s, 500ms or 2m, not {given!r}",
        )
    return float(match[1]) * _SECONDS[match[2] or "s"]
