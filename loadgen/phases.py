"""How long each phase of a run takes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from loadgen import clock


class Phases:
    """The phases of a run in the order of their starts; some run at the same time.

    Times are in seconds since the command started.
    """

    def __init__(self, age_us: int = 0, show: Callable[[str], None] = lambda _: None) -> None:
        """Begin; the command started `age_us` ago. `show` gets the name of each phase in time."""
        self._show = show
        self._zero_us = clock.now_us() - age_us
        self._found: list[dict[str, Any]] = []
        if age_us:
            self.add("imports", self._zero_us, clock.now_us())

    @contextmanager
    def measured(self, phase: str) -> Iterator[None]:
        """Measure the block, also one that fails."""
        started_us = clock.now_us()
        self._show(phase)
        try:
            yield
        finally:
            self.add(phase, started_us, clock.now_us())

    def add(self, phase: str, started_us: int, ended_us: int) -> None:
        """Add a phase with its times of `clock.now_us`."""
        start_s, end_s = ((time_us - self._zero_us) / 1e6 for time_us in (started_us, ended_us))
        self._found.append({"phase": phase, "start_s": round(start_s, 2), "end_s": round(end_s, 2)})

    def as_rows(self) -> list[dict[str, Any]]:
        """Return the phases so far as JSON values."""
        return sorted(self._found, key=lambda row: row["start_s"])

    def as_line(self) -> str:
        """Return how long each phase has taken, as text."""
        parts = [f"{row['phase']} {row['end_s'] - row['start_s']:.1f} s" for row in self.as_rows()]
        total_s = (clock.now_us() - self._zero_us) / 1e6
        return f"{total_s:.1f} s: {', '.join(parts)}"
