"""A planted limit is found for any start, range and precision."""

from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.limit_search.bisection import Bracket, ProbeOutcome, Range, find_limit
from tests.examples import examples


@settings(max_examples=examples(200))
@given(
    limit=st.floats(0.5, 5e5),
    start=st.floats(0.2, 1e6),
    precision=st.floats(0.01, 0.2),
)
def test_a_planted_limit_is_found_to_the_precision(
    limit: float, start: float, precision: float
) -> None:
    probes: list[float] = []

    def probe(value: float) -> ProbeOutcome:
        probes.append(value)
        return "held" if value <= limit else "broke"

    bracket = find_limit(probe, Range(start, 0.1, 2e6), precision)
    assert bracket.held is not None
    assert bracket.broke is not None
    assert bracket.held <= limit < bracket.broke <= bracket.held * (1 + precision)
    assert len(set(probes)) == len(probes) < 40


@given(limit=st.integers(1, 5000), start=st.integers(1, 5000))
def test_whole_numbers_are_found_exactly_when_they_are_small(limit: int, start: int) -> None:
    values = Range(start, 1, 10_000, is_whole=True)
    bracket = find_limit(lambda value: "held" if value <= limit else "broke", values, 0.05)
    assert bracket.held is not None
    assert bracket.broke is not None
    assert bracket.held <= limit < bracket.broke
    assert bracket.broke - bracket.held <= max(1, 0.05 * limit)


def test_what_always_holds_has_no_limit_up_to_the_highest_value() -> None:
    assert find_limit(lambda _: "held", Range(3, 1, 100), 0.05) == Bracket(100, None)


def test_what_never_holds_breaks_at_the_lowest_value() -> None:
    assert find_limit(lambda _: "broke", Range(30, 1, 100), 0.05) == Bracket(None, 1)


def test_a_late_generator_is_no_limit_of_the_target() -> None:
    bracket = find_limit(lambda v: "held" if v < 50 else "invalid", Range(10, 1, 1000), 0.05)
    assert bracket.held is not None
    assert bracket.held < 50
    assert not bracket.is_target


def test_a_target_that_breaks_below_a_late_generator_is_the_limit() -> None:
    def probe(value: float) -> ProbeOutcome:
        if value >= 70:
            return "invalid"
        return "held" if value < 50 else "broke"

    bracket = find_limit(probe, Range(40, 1, 1000), 0.05)
    assert bracket.held is not None
    assert 47 < bracket.held < 50
    assert bracket.is_target
