"""Find the largest value that holds: double until one breaks, then bisect the logarithm."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Literal

ProbeOutcome = Literal["held", "broke", "invalid"]
"""`invalid`: the load generator was late, so the value says nothing about the target."""
STEP = 2.0


@dataclass(slots=True)
class Bracket:
    """Where the limit is: `held` is the largest value that held, `broke` the smallest other one."""

    held: float | None = None
    broke: float | None = None
    is_target: bool = True
    """Whether `broke` is a limit of the target; False if the load generator was late there."""

    def is_narrow(self, precision: float) -> bool:
        """Return whether the limit is known to this share of it."""
        return (
            self.held is not None
            and self.broke is not None
            and self.broke <= self.held * (1 + precision)
        )


@dataclass(frozen=True, slots=True)
class Range:
    """The values that a search may try."""

    start: float
    lowest: float
    highest: float
    is_whole: bool = False
    """Whether only whole numbers are values."""

    def nearest(self, value: float) -> float:
        """Return the value to try for a number."""
        value = round(value) if self.is_whole else value
        return min(self.highest, max(self.lowest, value))


def find_limit(probe: Callable[[float], ProbeOutcome], values: Range, precision: float) -> Bracket:
    """Return the bracket of the limit, which `probe` judges value by value.

    Without a value that holds (or that breaks) the bracket has only its other end, which is the
    lowest (or highest) value.
    """
    bracket = Bracket()
    value: float | None = values.nearest(values.start)
    while value is not None:
        outcome = probe(value)
        if outcome == "held":
            bracket.held = value
        else:
            bracket.broke, bracket.is_target = value, outcome == "broke"
        value = _next_value(bracket, values, precision)
    return bracket


def _next_value(bracket: Bracket, values: Range, precision: float) -> float | None:
    held, broke = bracket.held, bracket.broke
    if bracket.is_narrow(precision):
        return None
    if broke is None:
        assert held is not None
        return values.nearest(held * STEP) if held < values.highest else None
    if held is None:
        return values.nearest(broke / STEP) if broke > values.lowest else None
    middle = values.nearest(sqrt(held * broke))
    return middle if held < middle < broke else None
