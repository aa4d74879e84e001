"""A response that is not there yet: how a handler waits without being asynchronous.

A handler that cannot answer now (Fetch below `min_bytes`, JoinGroup in a rebalance) returns a
`PendingResponse`. The connection holds it, takes no further request meanwhile, and writes the response when
the owner of the state calls `complete`. If the client goes away first, the connection calls
`cancel`, and the state forgets the wait.
"""

from collections.abc import Callable
from typing import Any


class PendingResponse:
    """One pending answer; the first `complete` counts, all later ones are ignored."""

    __slots__ = ("_deliver", "_on_cancel", "_on_force_complete", "_response", "is_done")

    def __init__(
        self,
        on_cancel: Callable[[], None] | None = None,
        on_force_complete: Callable[[int], None] | None = None,
    ) -> None:
        """`on_force_complete(now_ms)` should complete it with what there is; without it nothing can."""
        self._on_force_complete = on_force_complete
        self._deliver: Callable[[Any], None] | None = None
        self._on_cancel = on_cancel
        self._response: Any = None
        self.is_done = False

    def complete(self, response: Any) -> None:
        """Give the response: the same kind of value a handler returns directly."""
        if self.is_done:
            return
        self.is_done = True
        self._on_cancel = None
        if self._deliver is None:
            self._response = response
        else:
            self._deliver(response)

    def cancel(self) -> None:
        """Tell the owner of the state that nobody waits any more."""
        if self.is_done:
            return
        self.is_done = True
        if self._on_cancel is not None:
            self._on_cancel()

    def force_complete(self, now_ms: int) -> None:
        """Ask for a response at once, because the broker stops."""
        if not self.is_done and self._on_force_complete is not None:
            self._on_force_complete(now_ms)

    def attach(self, deliver: Callable[[Any], None]) -> None:
        """For the connection: where to send the response. Not to be called on a done one."""
        self._deliver = deliver

    @property
    def response(self) -> Any:
        """For the connection: the response given before anybody attached."""
        return self._response
