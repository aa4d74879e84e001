"""KIP-599's token bucket, in exact arithmetic.

A balance of tokens refills at a rate, up to a burst. One charge may take it below zero; the next
one is refused. Source: Kafka's `TokenBucket`, with three differences. Kafka counts in doubles. Here
the balance is an integral number of units, and every millisecond adds an integral number of them. A
new bucket is full; in Kafka only if the clock began long ago. A throttle time is rounded up, so
that a client that waits that long is not refused again.
"""

from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import TYPE_CHECKING

THROTTLE_MAX_MS = 2**31 - 1
"""Maximum of `throttle_time_ms`, an int32 on the wire."""


def exact(number: float) -> Fraction:
    """Return the shortest decimal number of a float64 as a fraction: 0.1 is 1/10."""
    return Fraction(repr(number))


class Bucket:
    """What a token bucket does, for objects that have its fields; times in ms never go back.

    `_units` has the units of a token, those of a millisecond, and those of the burst. Buckets of
    one rate share it, so that more of them fit into the processor's cache.
    """

    if not TYPE_CHECKING:  # the fields are slots of other classes
        __slots__ = ()

    _balance: int
    _refilled_ms: int
    _units: tuple[int, ...]

    def fill(self, rate: Fraction, burst: Fraction, now_ms: int) -> None:
        """Become a full bucket that gains `rate` tokens (above 0) per second, up to `burst`."""
        self._units = units = _in_units(rate, burst, 1)
        self._balance = units[2]
        self._refilled_ms = now_ms

    def set_rate(self, rate: Fraction, burst: Fraction) -> None:
        """Change rate and burst; keep the tokens.

        The new rate applies to all the time since the last use of the bucket, and the new burst
        from the next use, as in Kafka.
        """
        scale_before = self._units[0]
        self._units = units = _in_units(rate, burst, scale_before)
        self._balance *= units[0] // scale_before

    def tokens(self, now_ms: int) -> Fraction:
        """Return the balance; below zero the next charge is refused."""
        return Fraction(self._refilled(now_ms), self._units[0])

    def full_in_ms(self, now_ms: int) -> int:
        """Return how long the bucket takes to fill without charges, in ms."""
        _scale, refill, capacity = self._units
        return -((self._refilled(now_ms) - capacity) // refill)

    def try_charge(self, cost: int, now_ms: int) -> int:
        """Take `cost` tokens and return 0; or, below zero, take none and return the wait in ms.

        At zero or above a charge of any size is taken completely.
        """
        balance = self._refilled(now_ms)
        if balance < 0:
            return self._wait_ms(balance)
        self._balance = balance - cost * self._units[0]
        return 0

    def charge(self, cost: int, now_ms: int) -> int:
        """Always take `cost` tokens (negative: return them); return the wait in ms."""
        scale, _refill, capacity = self._units
        balance = self._refilled(now_ms) - cost * scale
        self._balance = balance = min(balance, capacity)
        return self._wait_ms(balance)

    def _refilled(self, now_ms: int) -> int:
        _scale, refill, capacity = self._units
        balance = self._balance
        if now_ms > self._refilled_ms:
            balance += (now_ms - self._refilled_ms) * refill
            self._refilled_ms = now_ms
        if balance > capacity:  # noqa: PLR1730 - a call of min takes three times as long
            balance = capacity
        self._balance = balance
        return balance

    def _wait_ms(self, balance: int) -> int:
        if balance >= 0:
            return 0
        return min(-(balance // self._units[1]), THROTTLE_MAX_MS)


class TokenBucket(Bucket):
    """The tokens of one client."""

    __slots__ = ("_balance", "_refilled_ms", "_units")

    def __init__(self, rate: Fraction, burst: Fraction, now_ms: int) -> None:
        """Create a full bucket that gains `rate` tokens (above 0) per second, up to `burst`."""
        self.fill(rate, burst, now_ms)

    def throttle_time_ms(self, now_ms: int) -> int:
        """Return how long the balance stays below zero, in ms."""
        return self._wait_ms(self._refilled(now_ms))


@lru_cache(maxsize=1024)
def _in_units(rate: Fraction, burst: Fraction, scale: int) -> tuple[int, int, int]:
    """Return the units of a token, those of a millisecond and those of the burst.

    A token gets a multiple of `scale` units.
    """
    scale = lcm(scale, 1000 * rate.denominator, burst.denominator)
    refill = rate.numerator * (scale // (1000 * rate.denominator))
    return scale, refill, burst.numerator * (scale // burst.denominator)
