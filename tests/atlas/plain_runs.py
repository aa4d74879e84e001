"""Experiments whose outcome is known: every workload without a fault, and one lost response."""

from atlas.experiment import Experiment, Result
from atlas.lane import Lane
from atlas.situation import Expectation, Situation
from atlas.warm_up import plain


def run(lane: Lane, given: Situation) -> Result:
    """Run a situation with the client of the lane."""
    return lane.run(Experiment("", given))


def check_plain(lane: Lane, workload: str) -> None:
    """Check that a workload succeeds without faults, and that the client closes."""
    result = run(lane, plain(workload))
    seen = result.manners
    found = (result.cell, seen.reported, seen.usable, seen.closed)
    assert found == ("as_expected", "success", True, "cleanly"), (found, seen, result.log[-2000:])
    has_data = workload not in {"create_topic", "admin"}
    assert result.data == ("kept" if has_data else "none")


def lost_response(*, idempotent: bool, workload: str = "produce_each") -> Situation:
    """Return a situation in which a batch is appended and the connection closes."""
    return plain(
        workload,
        arguments={"records": 2, "idempotent": idempotent, "acks": -1},
        faults=({"api": "Produce", "drop": "before_response", "times": 1},),
        expect=Expectation(data=("kept",), reported=("success",), usable=True),
    )


def refused(workload: str = "produce") -> Situation:
    """Return a situation in which a Produce is refused with an error that is not retriable."""
    return plain(
        workload,
        faults=({"api": "Produce", "error": "MESSAGE_TOO_LARGE", "times": 1},),
        arguments={"records": 1},
    )
