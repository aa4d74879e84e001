"""How long each phase of a run takes."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from loadgen import clock


class Phases:
    """The phases of a run in the order of their starts; some run at the same time.

    Times are in seconds since the command started.
    """

    def __init__(self, age_us: int = 0) -> None:
        """Begin; the command started `age_us` ago."""
        self._zero_us = clock.now_us() - age_us
        self._lock = threading.Lock()
        self._found: list[dict[str, Any]] = []
        if age_us:
            self.add("imports", self._zero_us, clock.now_us())

    @contextmanager
    def measured(self, phase: str) -> Iterator[None]:
        """Measure the block, also one that fails."""
        started_us = clock.now_us()
        try:
            yield
        finally:
            self.add(phase, started_us, clock.now_us())

    def add(self, phase: str, started_us: int, ended_us: int) -> None:
        """Add a phase with its times of `clock.now_us`."""
        start_s, end_s = ((time_us - self._zero_us) / 1e6 for time_us in (started_us, ended_us))
        with self._lock:
            self._found.append(
                {"phase": phase, "start_s": round(start_s, 2), "end_s": round(end_s, 2)}
            )

    def as_rows(self) -> list[dict[str, Any]]:
        """Return the phases so far as JSON values."""
        with self._lock:
            return sorted(self._found, key=lambda row: row["start_s"])
