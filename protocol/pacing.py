"""Loops that let other requests in between: a request that has much to do takes turns.

What runs a request says with `taking_turns` whose turn it is. Outside of such a request every
function here does nothing: a test or a tool runs a handler in one go.

A function that may pause says `@may_pause`. What must not be interrupted is in `with no_pause():`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

InTurns = Callable[[Callable[[], None]], None]
"""Runs work that takes long, in turns with requests."""

LOOK_EVERY = 64
"""Numbers of a range between two looks at the time."""

_T = TypeVar("_T")
_Function = TypeVar("_Function", bound=Callable[..., object])


def may_pause(function: _Function) -> _Function:
    """Mark a function in which the turn of a request may end; return it unchanged.

    What it has read before a call of another such function may be different after it.
    `tests/test_pausing_functions.py` finds functions that should be marked, and those that should
    not be.
    """
    return function


class PauseError(Exception):
    """A bug: a request would have paused where it must not, or where no reader expects it."""


class MessageTooLargeError(Exception):
    """A message is larger than the turn of its request allows; it was not encoded to its end."""


class Turn(Protocol):
    """What a request that takes turns is run by."""

    response_bytes_max: int
    """How long its response may be."""
    no_pause_depth: int
    """How many `no_pause` the running request is in."""

    @property
    def is_long(self) -> bool:
        """Whether the request has worked for a while already."""
        ...

    def pause(self) -> None:
        """Return at once, or after the others if the turn is over.

        Raises:
            PauseError: the turn is over within `no_pause`.
        """
        ...


_turn: ContextVar[Turn | None] = ContextVar("turn", default=None)


def at_once(work: Callable[[], None]) -> None:
    """Do work in one go: an `InTurns` where nothing takes turns."""
    work()


def take_turns(turn: Turn) -> None:
    """Have all that runs from now on in this context take turns."""
    _turn.set(turn)


def current_turn() -> Turn | None:
    """Return the turn of the running request, or None for a request that takes no turns."""
    return _turn.get()


class _NoPause:
    """Keeps the turn of a request from its end."""

    __slots__ = ("_turn",)

    def __init__(self, turn: Turn | None) -> None:
        self._turn = turn

    def __enter__(self) -> None:
        if self._turn is not None:
            self._turn.no_pause_depth += 1

    def __exit__(self, *_error: object) -> None:
        if self._turn is not None:
            self._turn.no_pause_depth -= 1


def no_pause() -> _NoPause:
    """Return a context in which a pause raises PauseError.

    It is around what no other request may interrupt: what is read in it is what changes in it.
    """
    return _NoPause(_turn.get())


@contextmanager
def in_one_go() -> Iterator[None]:
    """Have all that runs in this context take no turns: nothing else runs before its end."""
    token = _turn.set(None)
    try:
        yield
    finally:
        _turn.reset(token)


@may_pause
def paced(items: Iterable[_T]) -> Iterable[_T]:
    """Return the items for a loop that may pause before each of them.

    They are copied first. While the loop pauses, other requests change the cluster: what was read
    before a pause may be different after it.
    """
    turn = _turn.get()
    copied = tuple(items)
    return copied if turn is None else _paced(copied, turn)


@may_pause
def _paced(items: tuple[_T, ...], turn: Turn) -> Iterator[_T]:
    pause = turn.pause
    for item in items:
        pause()
        yield item


@may_pause
def paced_elements(items: Sequence[_T]) -> Iterable[_T]:
    """Return the elements of an array for a loop with little work for each of them.

    Nothing may change the array while the loop pauses.
    """
    if len(items) <= LOOK_EVERY or _turn.get() is None:
        return items
    return map(items.__getitem__, paced_range(len(items)))


@may_pause
def paced_stream(items: Iterable[_T], look_every: int = LOOK_EVERY) -> Iterable[_T]:
    """Return the items of an iterator for a loop with little work for each of them.

    The iterator must not depend on what other requests change. `look_every` is the number of items
    between two looks at the time.
    """
    turn = _turn.get()
    return items if turn is None else _paced_stream(items, turn, look_every)


@may_pause
def _paced_stream(items: Iterable[_T], turn: Turn, look_every: int) -> Iterator[_T]:
    for number, item in enumerate(items):
        if number % look_every == 0:
            turn.pause()
        yield item


@may_pause
def paced_range(stop: int) -> Iterable[int]:
    """Return `range(stop)` for a loop with little work for each number."""
    turn = _turn.get()
    return range(stop) if turn is None or stop <= LOOK_EVERY else _paced_range(stop, turn)


@may_pause
def _paced_range(stop: int, turn: Turn) -> Iterator[int]:
    for start in range(0, stop, LOOK_EVERY):
        turn.pause()
        yield from range(start, min(start + LOOK_EVERY, stop))
