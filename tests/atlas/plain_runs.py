"""Experiments whose outcome is known: every workload without a fault, and one lost response."""

from typing import Any

from atlas.experiment import Experiment, Result
from atlas.lane import Lane
from atlas.situation import Expectation, Situation, Topic

_ARGUMENTS: dict[str, dict[str, Any]] = {
    "produce_idle": {"idle_ms": 20},
    "admin": {"call": "describe_topic", "topic": "orders"},
    "process": {"output": "invoices"},
    "streams": {"output": "invoices"},
}
_CONFIG: dict[str, dict[str, Any]] = {
    # By default a member gets its partitions with its second heartbeat, after five seconds.
    "share": {
        "group.share.heartbeat.interval.ms": 200,
        "group.share.min.heartbeat.interval.ms": 200,
    },
    "streams": {
        "group.streams.heartbeat.interval.ms": 200,
        "group.streams.min.heartbeat.interval.ms": 200,
    },
}
_READING = {"consume", "group", "rebalance", "process", "share", "streams"}


def situation(workload: str, **fields: Any) -> Situation:
    """Return a situation with the topics orders, with 4 records if it is read, and invoices."""
    return Situation(
        id="BROKER-1",
        title="a situation of a test",
        area="producer",
        workload=workload,
        **{
            "arguments": _ARGUMENTS.get(workload, {}),
            "config": _CONFIG.get(workload, {}),
            "topics": {"orders": Topic(), "invoices": Topic()},
            "records": {"orders": 4} if workload in _READING else {},
            "expect": Expectation(),
            **fields,
        },
    )


def run(lane: Lane, given: Situation) -> Result:
    """Run a situation with the client of the lane."""
    return lane.run(Experiment("", given))


def check_plain(lane: Lane, workload: str) -> None:
    """Check that a workload succeeds without faults, and that the client closes."""
    result = run(lane, situation(workload))
    seen = result.manners
    found = (result.cell, seen.reported, seen.usable, seen.closed)
    assert found == ("as_expected", "success", True, "cleanly"), (found, seen, result.log[-2000:])
    has_data = workload not in {"create_topic", "admin"}
    assert result.data == ("kept" if has_data else "none")


def lost_response(*, idempotent: bool, workload: str = "produce_each") -> Situation:
    """Return a situation in which a batch is appended and the connection closes."""
    return situation(
        workload,
        arguments={"records": 2, "idempotent": idempotent, "acks": -1},
        faults=({"api": "Produce", "drop": "before_response", "times": 1},),
        expect=Expectation(data=("kept",), reported=("success",), usable=True),
    )


def refused(workload: str = "produce") -> Situation:
    """Return a situation in which a Produce is refused with an error that is not retriable."""
    return situation(
        workload,
        faults=({"api": "Produce", "error": "MESSAGE_TOO_LARGE", "times": 1},),
        arguments={"records": 1},
    )
