"""How long to wait before the next try."""

from collections.abc import Callable

_JITTER = 0.2
_EXPONENT_MAX = 30
"""Above it every usual maximum is reached."""


def backoff_ms(base_ms: int, max_ms: int, attempts: int, random: Callable[[], float]) -> int:
    """Return the wait after `attempts` (at least 1) failures: doubling, jitter of 20 %, bounded.

    As Kafka's `ExponentialBackoff` (KIP-580). `random` gives floats in [0, 1).
    """
    jitter = 1 - _JITTER + 2 * _JITTER * random()
    return int(min(max_ms, base_ms * 2 ** min(attempts - 1, _EXPONENT_MAX) * jitter))
