"""An answer that is not there yet: how a handler waits without being asynchronous.

A handler that cannot answer now (Fetch below `min_bytes`, JoinGroup in a rebalance) returns a
`Parked`. The connection holds it, takes no further request meanwhile, and writes the response when
the owner of the state calls `complete`. If the client goes away first, the connection calls
`abandon`, and the state forgets the wait.
"""

from collections.abc import Callable
from typing import Any


class Parked:
    """One pending answer; the first `complete` counts, all later ones are ignored."""

    __slots__ = ("_deliver", "_on_abandon", "_on_hurry", "_response", "is_done")

    def __init__(
        self,
        on_abandon: Callable[[], None] | None = None,
        on_hurry: Callable[[int], None] | None = None,
    ) -> None:
        """`on_hurry(now_ms)` should complete it with what there is; without it nothing can."""
        self._on_hurry = on_hurry
        self._deliver: Callable[[Any], None] | None = None
        self._on_abandon = on_abandon
        self._response: Any = None
        self.is_done = False

    def complete(self, response: Any) -> None:
        """Give the answer: the same kind of value a handler returns directly."""
        if self.is_done:
            return
        self.is_done = True
        self._on_abandon = None
        if self._deliver is None:
            self._response = response
        else:
            self._deliver(response)

    def abandon(self) -> None:
        """Tell the owner of the state that nobody waits any more."""
        if self.is_done:
            return
        self.is_done = True
        if self._on_abandon is not None:
            self._on_abandon()

    def hurry(self, now_ms: int) -> None:
        """Ask for an answer at once, because the broker stops."""
        if not self.is_done and self._on_hurry is not None:
            self._on_hurry(now_ms)

    def attach(self, deliver: Callable[[Any], None]) -> None:
        """For the connection: where to send the answer. Not to be called on a done one."""
        self._deliver = deliver

    @property
    def response(self) -> Any:
        """For the connection: the answer given before anybody attached."""
        return self._response
