"""Schedules shrink to the rules and numbers that a failure needs."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mock_kafka.exploration.shrinking import shrink

Rules = list[dict[str, Any]]


def shrunk(rules: Rules, is_failing: Callable[[Rules], bool]) -> tuple[Rules, int]:
    """Return the shrunk rules, and how many different schedules were tried."""
    tried: list[Rules] = []
    shrinking = shrink(rules)
    candidate = next(shrinking)
    try:
        while True:
            tried += [candidate] if candidate not in tried else []
            candidate = shrinking.send(is_failing(candidate))
    except StopIteration as stop:
        return stop.value, len(tried)


def lists(rules: Rules, name: str) -> list[Any]:
    return [rule[name] for rule in rules if name in rule]


def test_what_fails_without_rules_shrinks_to_none() -> None:
    assert shrunk([{"api": "Fetch", "delay_ms": 5}] * 3, lambda _rules: True) == ([], 1)


@given(
    count=st.integers(1, 8),
    needed=st.sets(st.integers(0, 7), min_size=1, max_size=3),
    data=st.data(),
)
def test_only_the_needed_rules_are_left(count: int, needed: set[int], data: Any) -> None:
    needed = {number % count for number in needed}
    rules = [{"api": "Fetch", "error": str(number)} for number in range(count)]
    found, tried = shrunk(rules, lambda some: needed <= set(map(int, lists(some, "error"))))
    assert set(map(int, lists(found, "error"))) == needed
    assert tried <= 50


@given(skip=st.integers(1, 200), least=st.integers(0, 200), times=st.integers(1, 9))
def test_counters_shrink_to_the_least_that_fails(skip: int, least: int, times: int) -> None:
    least = min(skip, least)
    rule = {
        "api": "Produce",
        "client_id": "a",
        "skip": skip,
        "times": times,
        "drop": "within_response",
    }
    found, tried = shrunk([rule], lambda rules: bool(rules) and rules[0].get("skip", 0) >= least)
    expected = {"api": "Produce", "times": 1, "drop": "before_response"}
    assert found == [expected | ({"skip": least} if least else {})]
    assert tried <= 20


@given(duration_ms=st.integers(1, 1000), least_ms=st.integers(1, 1000))
def test_durations_are_halved_while_it_fails(duration_ms: int, least_ms: int) -> None:
    least_ms = min(duration_ms, least_ms)
    rule = {"api": "Produce", "throttle_time_ms": duration_ms}
    found, _tried = shrunk(
        [rule], lambda rules: bool(rules) and rules[0]["throttle_time_ms"] >= least_ms
    )
    (value_ms,) = lists(found, "throttle_time_ms")
    assert value_ms >= least_ms
    assert value_ms == 1 or value_ms // 2 < least_ms or value_ms // 2 <= 1


def test_the_rule_that_is_passed_is_not_changed() -> None:
    rules: Rules = [{"api": "Produce", "skip": 9, "times": 3, "delay_ms": 300}]
    shrunk(rules, bool)
    assert rules == [{"api": "Produce", "skip": 9, "times": 3, "delay_ms": 300}]
