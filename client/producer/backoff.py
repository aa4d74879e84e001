"""How long to wait before the next try."""

from collections.abc import Callable

_JITTER = 0.2
_EXPONENT_MAX = 30
"""Above it every sensible maximum is reached, and floats would only grow."""


def backoff_ms(base_ms: int, max_ms: int, attempts: int, random: Callable[[], float]) -> int:
    """The wait after `attempts` (at least 1) failures: doubling, 20 % more or less, bounded.

    As Kafka's `ExponentialBackoff` (KIP-580). `random` gives floats in [0, 1).
    """
    jitter = 1 - _JITTER + 2 * _JITTER * random()
    return int(min(max_ms, base_ms * 2 ** min(attempts - 1, _EXPONENT_MAX) * jitter))
