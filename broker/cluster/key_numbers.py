"""Draw the keys of synthetic records: numbers from 0 on, by a distribution.

Source: W. Hörmann and G. Derflinger, Rejection-inversion to generate variates from monotone
discrete distributions, 1996: Zipf's law in constant time and memory.
"""

import math
from collections.abc import Callable
from random import Random
from typing import Final

from broker.config.synthetic_keys import Distribution

Draw = Callable[[Random, int], list[int]]
"""Returns so many numbers."""


def number_drawer(distribution: Distribution) -> Draw:
    """Return a function that draws numbers below the first parameter of a distribution."""
    match distribution:
        case Distribution("uniform", (int(count),)):
            return lambda random, number: [random.randrange(count) for _ in range(number)]
        case Distribution("zipf", (int(count), exponent)):
            return Zipf(count, exponent).draw
        case _:
            raise AssertionError(f"keys are not drawn: {distribution}")


class Zipf:
    """Numbers k from 0 on with a probability proportional to 1 / (k + 1) ** exponent."""

    def __init__(self, count: int, exponent: float) -> None:
        self._count: Final = count
        self._exponent: Final = exponent
        self._first = self._integral(1.5) - 1.0
        self._last = self._integral(count + 0.5)
        self._accepted = 2.0 - self._inverse(self._integral(2.5) - self._weight(2.0))

    def draw(self, random: Random, number: int) -> list[int]:
        """Return so many numbers."""
        return [self._one(random.random) for _ in range(number)]

    def _one(self, uniform: Callable[[], float]) -> int:
        while True:
            u = self._last + uniform() * (self._first - self._last)
            x = self._inverse(u)
            k = min(max(1, int(x + 0.5)), self._count)
            if k - x <= self._accepted or u >= self._integral(k + 0.5) - self._weight(k):
                return k - 1

    def _weight(self, x: float) -> float:
        return math.exp(-self._exponent * math.log(x))

    def _integral(self, x: float) -> float:
        """Return an integral of the weight: (x ** (1 - e) - 1) / (1 - e), ln x for e = 1."""
        log_x = math.log(x)
        power = (1.0 - self._exponent) * log_x
        return log_x * (math.expm1(power) / power if abs(power) > 1e-8 else 1.0 + power / 2)

    def _inverse(self, y: float) -> float:
        power = max(-1.0 + 1e-15, y * (1.0 - self._exponent))
        return math.exp(y * (math.log1p(power) / power if abs(power) > 1e-8 else 1.0 - power / 2))
