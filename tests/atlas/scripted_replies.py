"""A broker and a client in a list: the replies to the steps of a workload."""

from collections.abc import Callable, Mapping
from typing import Any

from atlas.steps import HEAL, LANE_STEPS, Reply, Session, Step, Steps

Answers = Callable[[Step], Reply | None]


def follow(steps: Steps, session: Session, answers: Answers = lambda _step: None) -> list[Step]:
    """Run a workload; every command succeeds, but for those to which `answers` has a reply."""
    given: list[Step] = []
    reply: Reply | None = None
    while True:
        try:
            step = steps.send(reply)  # type: ignore[arg-type]
        except StopIteration:
            return given
        given.append(step)
        number = len(given)
        answer = answers(step)
        reply = (answer or Reply(0, "done", {}))._replace(number=number)
        if step.name == "send":
            session.delivered[number] = reply.is_done


def names(steps: list[Step]) -> list[str]:
    """Return the names of the steps, with their phase if they are not of the main one."""
    return [
        step.name if step.phase == "main" or step.name == HEAL else f"{step.name} {step.phase}"
        for step in steps
    ]


def failing(*commands: str) -> Answers:
    """Have these commands fail."""
    return lambda step: Reply(0, "failed", {}) if step.name in commands else None


def polling(*polls: list[int], after: bool = True) -> Answers:
    """Have polls return the records at these offsets, one list a poll, and then the last record."""
    remaining = list(polls)

    def answer(step: Step) -> Reply | None:
        if step.name in LANE_STEPS or step.name != "poll":
            return None
        offsets = remaining.pop(0) if remaining and step.phase == "main" else []
        records = [record(offset) for offset in offsets]
        if step.phase == "afterwards" and after:
            records.append(record(99, "after"))
        return Reply(0, "done", {"records": records})

    return answer


def record(offset: int, value: str | None = None) -> Mapping[str, Any]:
    """Return a record of orders-0."""
    return {"topic": "orders", "partition": 0, "offset": offset, "value": value or str(offset)}
