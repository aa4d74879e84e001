"""Shrink a schedule: find fewer and simpler rules with which a program still fails.

Sources: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input (ddmin).
"""

from collections.abc import Generator, Sequence
from typing import Any

from mock_kafka.exploration.disturbances import Rule

Shrinking = Generator[list[Rule], bool, list[Rule]]
"""Yields schedules to try, is sent whether the program fails with each, returns the last that did.

A schedule may be tried twice; keep the results."""

COUNTERS: dict[str, int] = {"skip": 0, "times": 1}
"""The lowest value of each counter; the lowest with which the program fails is searched for."""
DURATIONS: dict[str, int] = {
    "delay_ms": 1,
    "restart_after_ms": 0,
    "throttle_time_ms": 1,
    "advance_ms": 1,
}
"""The lowest value of each duration.

They are only halved: at the very lowest with which the program fails it would fail sometimes.
"""
SIMPLEST: dict[str, Any] = {"drop": "before_response"}
LEFT_OUT = ("client_id", "drop_by")
"""Fields without which a rule is simpler: it matches more requests, or does what is usual."""


def shrink(rules: Sequence[Rule]) -> Shrinking:
    """Try schedules, from the rules with which a program has failed.

    First none, then fewer rules, then simpler ones.
    """
    if (yield []):
        return []
    fewer = yield from _fewer(list(rules))
    for index in range(len(fewer)):
        fewer = yield from _simpler(fewer, index)
    return fewer


def _fewer(rules: list[Rule]) -> Shrinking:
    """Remove rules: ddmin, with parts that get smaller."""
    part_count = 2
    while len(rules) > 1:
        size = -(-len(rules) // part_count)
        starts = range(0, len(rules), size)
        parts = [(rules[start : start + size], 2) for start in starts]
        rests = [
            (rules[:start] + rules[start + size :], max(2, len(starts) - 1)) for start in starts
        ]
        for candidate, next_part_count in (*parts, *rests):
            if (yield candidate):
                rules, part_count = candidate, next_part_count
                break
        else:
            if size == 1:
                break
            part_count = min(len(rules), 2 * part_count)
    return rules


def _simpler(rules: list[Rule], index: int) -> Shrinking:
    """Make one rule simpler, a field at a time."""
    for name in LEFT_OUT:
        rule = rules[index]
        if name in rule:
            candidate = _with(rules, index, {key: rule[key] for key in rule if key != name})
            if (yield candidate):
                rules = candidate
    for name, value in SIMPLEST.items():
        rule = rules[index]
        if rule.get(name, value) != value:
            candidate = _with(rules, index, {**rule, name: value})
            if (yield candidate):
                rules = candidate
    for name, least in COUNTERS.items():
        if name in rules[index]:
            rules = yield from _lower(rules, index, name, least)
    for name, least in DURATIONS.items():
        if name in rules[index]:
            rules = yield from _halve(rules, index, name, least)
    return rules


def _lower(rules: list[Rule], index: int, name: str, least: int) -> Shrinking:
    """Lower a counter: to the least, or else between what passes and what fails."""
    passes, trial = least - 1, least
    while passes < trial < rules[index].get(name, least):
        candidate = _with(rules, index, _valued(rules[index], name, trial))
        if (yield candidate):
            rules = candidate
        else:
            passes = trial
        trial = (passes + rules[index].get(name, least)) // 2
    return rules


def _halve(rules: list[Rule], index: int, name: str, least: int) -> Shrinking:
    """Lower a duration: to the least, or else to its half while the program fails."""
    trial = least
    while trial < rules[index][name]:
        candidate = _with(rules, index, _valued(rules[index], name, trial))
        if (yield candidate):
            rules = candidate
        elif trial > least:
            break
        trial = rules[index][name] // 2
        if trial <= least:
            break
    return rules


def _valued(rule: Rule, name: str, value: int) -> Rule:
    if name == "skip" and value == 0:
        return {key: rule[key] for key in rule if key != name}
    return {**rule, name: value}


def _with(rules: list[Rule], index: int, rule: Rule) -> list[Rule]:
    return [*rules[:index], rule, *rules[index + 1 :]]
