"""What a simulated network needs of its surroundings: time, and addresses."""

from collections.abc import Callable
from typing import Protocol


class SocketAddress(Protocol):
    """Where a server listens."""

    @property
    def host(self) -> str:
        """Its name."""

    @property
    def port(self) -> int:
        """Its port."""


class Scheduled(Protocol):
    """A scheduled call."""

    def cancel(self) -> None:
        """Cancel the call."""


class Timeline(Protocol):
    """Virtual time, and what happens later in it."""

    @property
    def time_ms(self) -> int:
        """The time now, in ms since the epoch."""

    def at(self, time_ms: int, callback: Callable[[], None]) -> Scheduled:
        """Call a function at a time, or soon if that has passed."""

    def after(self, delay_ms: int, callback: Callable[[], None]) -> Scheduled:
        """Call a function after a delay."""

    def call_soon(self, callback: Callable[[], None]) -> Scheduled:
        """Call a function after the current event."""
