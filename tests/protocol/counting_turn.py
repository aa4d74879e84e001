"""Count how often work could pause for other requests."""

from collections.abc import Callable
from contextvars import copy_context

from protocol.pacing import PauseError, current_turn, take_turns


class CountingTurn:
    """Counts how often a loop could have paused."""

    is_long = True
    response_bytes_max = 1
    no_pause_depth = 0

    def __init__(self) -> None:
        self.pauses = 0

    def pause(self) -> None:
        if self.no_pause_depth:
            raise PauseError("a pause within no_pause()")
        self.pauses += 1


def pauses_of(work: Callable[[], object]) -> int:
    """Call `work` in a request that takes turns; return how often it could have paused."""
    turn = CountingTurn()

    def run() -> None:
        take_turns(turn)
        assert current_turn() is turn
        work()

    copy_context().run(run)
    assert current_turn() is None
    return turn.pauses
