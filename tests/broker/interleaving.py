"""A request that pauses wherever it may, and another one that comes in each pause."""

from collections.abc import Callable
from contextvars import Context
from typing import TypeVar

from protocol.pacing import PauseError, take_turns

_T = TypeVar("_T")


class _Pauses:
    """A turn that ends at every look at the time."""

    is_long = True
    response_bytes_max = 1 << 20
    no_pause_depth = 0

    def __init__(self, other: Callable[[], object]) -> None:
        self._other = other

    def pause(self) -> None:
        if self.no_pause_depth:
            raise PauseError("a pause within no_pause()")
        Context().run(self._other)


def run_with_pauses(work: Callable[[], _T], other: Callable[[], object]) -> _T:
    """Return what `work` returns; in each of its pauses `other` runs in one go."""

    def run() -> _T:
        take_turns(_Pauses(other))
        return work()

    return Context().run(run)


def once(other: Callable[[], object]) -> Callable[[], None]:
    """Return a function that calls `other` the first time only."""
    remaining = [other]

    def call() -> None:
        if remaining:
            remaining.pop()()

    return call


def at_pause(number: int, other: Callable[[], object]) -> Callable[[], None]:
    """Return a function that calls `other` when it is called for the given time, from 1."""
    count = 0

    def call() -> None:
        nonlocal count
        count += 1
        if count == number:
            other()

    return call
