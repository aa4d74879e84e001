"""KIP-599's token bucket, in exact arithmetic.

A balance of tokens refills at a rate, up to a burst. It may go below zero by one charge: what is
refused is the next one. Source: Kafka's `TokenBucket` statistic, with two differences. Kafka counts
in doubles and finds full only a bucket whose clock began long ago; here the balance is a whole
number of units, chosen so that a millisecond brings a whole number of them, and a bucket is made
full. And a wait is rounded up, never down, so that whoever keeps it is not refused again.
"""

from fractions import Fraction
from math import lcm

THROTTLE_MAX_MS = 2**31 - 1
"""`throttle_time_ms` is an int32 on the wire; a longer wait is told as this one."""


def exact(number: float) -> Fraction:
    """The number that was meant by a float64: 0.1 is a tenth."""
    return Fraction(repr(number))


class TokenBucket:
    """The tokens one client may still take; times are in ms and never run backwards here."""

    __slots__ = ("_balance", "_capacity", "_last_ms", "_refill", "_scale")

    def __init__(self, rate: Fraction, burst: Fraction, now_ms: int) -> None:
        """A full bucket: `rate` tokens (more than 0) come every second, up to `burst`."""
        self._scale = 1
        self._balance = 0
        self._last_ms = now_ms
        self.set_rate(rate, burst)
        self._balance = self._capacity

    def set_rate(self, rate: Fraction, burst: Fraction) -> None:
        """Change rate and burst; the tokens stay.

        The new rate counts for all the time since the bucket was last touched, and the new burst
        from its next touch on, as in Kafka.
        """
        scale = lcm(self._scale, 1000 * rate.denominator, burst.denominator)
        self._balance *= scale // self._scale
        self._scale = scale
        self._refill = rate.numerator * (scale // (1000 * rate.denominator))
        self._capacity = burst.numerator * (scale // burst.denominator)

    def tokens(self, now_ms: int) -> Fraction:
        """The balance; below zero the next charge is refused."""
        return Fraction(self._refilled(now_ms), self._scale)

    def throttle_time_ms(self, now_ms: int) -> int:
        """How long until the balance is no longer below zero; 0 when it isn't."""
        return self._wait_ms(self._refilled(now_ms))

    def full_in_ms(self, now_ms: int) -> int:
        """How long until the bucket is full, if nobody charges it."""
        return -((self._refilled(now_ms) - self._capacity) // self._refill)

    def try_charge(self, cost: int, now_ms: int) -> int:
        """Take `cost` tokens, or none and say for how many ms there are none to take.

        0 means that they were taken; a charge larger than the balance is, whole.
        """
        balance = self._refilled(now_ms)
        if balance < 0:
            return self._wait_ms(balance)
        self._balance = balance - cost * self._scale
        return 0

    def charge(self, cost: int, now_ms: int) -> int:
        """Take `cost` tokens in any case (a negative cost gives back); the wait after it in ms."""
        balance = self._refilled(now_ms) - cost * self._scale
        self._balance = balance = min(balance, self._capacity)
        return self._wait_ms(balance)

    def _refilled(self, now_ms: int) -> int:
        balance = self._balance
        if now_ms > self._last_ms:
            balance += (now_ms - self._last_ms) * self._refill
            self._last_ms = now_ms
        balance = min(balance, self._capacity)
        self._balance = balance
        return balance

    def _wait_ms(self, balance: int) -> int:
        if balance >= 0:
            return 0
        return min(-(balance // self._refill), THROTTLE_MAX_MS)
