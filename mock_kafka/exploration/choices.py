"""Where the values of a schedule come from: a seed, or the examples of Hypothesis."""

from collections.abc import Sequence
from random import Random
from typing import Protocol, TypeVar

T = TypeVar("T")


class Choices(Protocol):
    """Choose values. The first option and the lowest number are the simplest ones."""

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        ...

    def between(self, first: int, last: int) -> int:
        """Return a number from the first to the last one."""
        ...


class SeededChoices:
    """Choices of a seed: equal seeds choose alike, in every process and Python release."""

    def __init__(self, seed: int) -> None:
        """Nothing but the seed decides."""
        self._random = Random(seed)  # noqa: S311 - repeatable, not secret

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[self.between(0, len(options) - 1)]

    def between(self, first: int, last: int) -> int:
        """Return a number from the first to the last one, evenly distributed."""
        # Only `random` keeps its results over releases of Python.
        return first + int(self._random.random() * (last - first + 1))
