"""A probe breaks by a check of its run or by an objective, and says which."""

import pytest

from loadgen.limit_search.objectives import Objective, figures_of, judge, parse_objective, worst_of
from tests.loadgen.limit_search.summaries_of_probes import FAILED, LATE, PASSED, summary_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p99=50ms", Objective("p99", 50)),
        ("p99.9=1.5s", Objective("p99.9", 1500)),
        ("max=800us", Objective("max", 0.8)),
        ("shop:p50=2ms", Objective("p50", 2, "shop")),
        ("a:b:errors=1%", Objective("errors", 1, "a:b")),
        ("throttled=0%", Objective("throttled", 0)),
    ],
)
def test_an_objective_has_a_name_a_limit_and_perhaps_a_tenant(
    text: str, expected: Objective
) -> None:
    assert parse_objective(text) == expected
    assert parse_objective(str(expected)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p98=1ms", "p50, p90, p99, p99.9, p99.99, max, errors, throttled"),
        ("p99<1ms", "is not .TENANT:.NAME=LIMIT"),
        ("p99=50", "is not .TENANT:.NAME=LIMIT|needs a number with one of us, ms, s"),
        ("p99=5%", "needs a number with one of us, ms, s"),
        ("errors=5ms", "needs a number with one of %"),
        ("p99=1.2.3ms", "needs a number"),
    ],
)
def test_a_wrong_objective_says_what_is_valid(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        parse_objective(text)


def test_figures_are_in_ms_and_percent() -> None:
    summary = summary_of()
    found = {name: figures_of(summary, name) for name in ("p50", "p99", "max", "errors")}
    assert found == {"p50": {"a": 1}, "p99": {"a": 3}, "max": {"a": 10}, "errors": {"a": 3}}
    assert worst_of(summary, "throttled") == 5


def test_an_objective_that_is_met_exactly_holds() -> None:
    assert judge(summary_of(), [Objective("p99", 3), Objective("errors", 3)]) == ("held", [])


def test_an_objective_that_is_exceeded_breaks_with_its_figure() -> None:
    outcome, reasons = judge(summary_of(60.0), [Objective("p99", 50), Objective("errors", 2)])
    assert outcome == "broke"
    assert reasons == ["tenant a: p99 60 ms, over 50 ms", "tenant a: errors 3 %, over 2 %"]


def test_an_objective_of_another_tenant_does_not_count() -> None:
    assert judge(summary_of(60.0), [Objective("p99", 50, "b")]) == ("held", [])


@pytest.mark.parametrize(("name", "events_min"), [("p99", 100), ("p99.9", 1000)])
def test_a_percentile_of_too_few_events_is_not_judged(name: str, events_min: int) -> None:
    [tenant] = summary_of(60.0)["tenants"]
    few = summary_of(tenants=[tenant | {"events": events_min - 1}])
    assert judge(few, [Objective(name, 1)]) == (
        "held",
        [
            f"tenant a: {name} of {events_min - 1} events is not judged: it needs {events_min}",
        ],
    )
    assert judge(few, [Objective("p50", 0.5)])[0] == "broke"
    enough = summary_of(tenants=[tenant | {"events": events_min}])
    assert judge(enough, [Objective(name, 1)])[0] == "broke"


def test_a_tenant_without_an_event_breaks_its_objective() -> None:
    [tenant] = summary_of()["tenants"]
    summary = summary_of(tenants=[tenant | {"response_us": None}])
    assert judge(summary, [Objective("p99", 50)])[0] == "broke"


def test_a_check_or_an_incomplete_run_breaks_without_an_objective() -> None:
    assert judge(summary_of(verdicts=[PASSED, FAILED]), []) == (
        "broke",
        ["tenant a: stored once: 1"],
    )
    behind = "tenant a is more than 5 s behind: the target cannot keep up with this rate"
    assert judge(summary_of(abort_reasons=[behind]), []) == ("broke", [behind])


def test_a_late_generator_is_invalid_unless_a_check_failed() -> None:
    assert judge(summary_of(90.0, verdicts=[LATE]), [Objective("p99", 50)])[0] == "invalid"
    assert judge(summary_of(verdicts=[LATE, FAILED]), [])[0] == "broke"
    for own in (
        "the load generator is 5.1 s behind its schedule",
        "worker 0 cannot write its results: No space left on device",
    ):
        assert judge(summary_of(abort_reasons=[own]), []) == ("invalid", [own])
