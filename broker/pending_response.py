"""A response that comes later: how a handler waits without being asynchronous.

A handler that cannot respond now (Fetch below `min_bytes`, JoinGroup in a rebalance) returns a
`PendingResponse`, as Kafka creates a delayed operation. The connection handles no further request
until the owner of the state calls `complete`, and then writes the response. If the client
disconnects first, the connection calls `cancel`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from protocol.pacing import may_pause


@dataclass(frozen=True, slots=True)
class Failed:
    """Stands for a response that could not be made; to encode it raises `error`."""

    error: Exception


class PendingResponse:
    """One pending response; the first `complete` counts, all later ones are ignored."""

    __slots__ = ("_deliver", "_on_cancel", "_on_force_complete", "_response", "is_done")

    def __init__(
        self,
        on_cancel: Callable[[], None] | None = None,
        on_force_complete: Callable[[int], None] | None = None,
    ) -> None:
        """`on_force_complete(now_ms)`, if given, completes it at once with the data available."""
        self._on_force_complete = on_force_complete
        self._deliver: Callable[[Any], None] | None = None
        self._on_cancel = on_cancel
        self._response: Any = None
        self.is_done = False

    @may_pause
    def complete(self, response: Any) -> None:
        """Set the response: a value such as a handler returns directly."""
        if self.is_done:
            return
        deliver = self._deliver
        self._forget_all()
        if deliver is None:
            self._response = response
        else:
            deliver(response)

    @may_pause
    def attempt(self, work: Callable[[], object]) -> None:
        """Do what completes it; if that raises, the response is `Failed`.

        Who calls this is a timer or the request of another client: a bug must not hurt them, and
        the client that waits must not wait for ever.
        """
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the dispatcher reports it
            self.complete(Failed(error))

    @may_pause
    def cancel(self) -> None:
        """Inform the owner of the state that the client is gone."""
        if self.is_done:
            return
        on_cancel = self._on_cancel
        self._forget_all()
        if on_cancel is not None:
            on_cancel()

    @may_pause
    def force_complete(self, now_ms: int) -> None:
        """Ask the owner to complete it at once, because the broker stops."""
        if not self.is_done and self._on_force_complete is not None:
            self._on_force_complete(now_ms)

    def follow(self, other: "PendingResponse") -> None:
        """Pass `cancel` and `force_complete` on to another pending response from now on."""
        self._on_cancel = other.cancel
        self._on_force_complete = other.force_complete

    def attach(self, deliver: Callable[[Any], None]) -> None:
        """Set the receiver of the response. The connection calls this, before it is done."""
        self._deliver = deliver

    def _forget_all(self) -> None:
        # All of them refer to this object: reference counting alone frees it, and its request.
        self.is_done = True
        self._on_cancel = self._on_force_complete = self._deliver = None

    @property
    def response(self) -> Any:
        """The response, if it was completed before `attach`. Only the connection reads this."""
        return self._response
