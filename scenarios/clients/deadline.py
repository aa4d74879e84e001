"""A bound for loops that poll."""

from client import clock

DEADLINE_S = 20.0
"""How long a wrapper waits for a response, unless the caller says otherwise."""


class Deadline:
    """A time limit for a loop that polls: `while deadline.holds("...")`."""

    def __init__(self, seconds: float = DEADLINE_S) -> None:
        self._end_ms = clock.now_ms() + seconds * 1_000

    def holds(self, awaited: str) -> bool:
        """Return True until the time is over.

        Raises:
            TimeoutError: the time is over; the message says what is missing.
        """
        if clock.now_ms() >= self._end_ms:
            raise TimeoutError(f"not in time: {awaited}")
        return True
