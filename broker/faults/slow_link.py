"""What a slow link does to a response: it comes late, or in small pieces."""

from dataclasses import replace

from broker.faults.transfer_actions import (
    Trickle,
)
from broker.pending_response import PendingResponse
from broker.responses import Beginning, Close, CompletedResponse, Throttled, frame_of
from broker.timers import Timers

MS_PER_S = 1000


def sending_ms(size_bytes: int, bytes_per_second: int) -> int:
    """Return how long a link of this rate takes for so many bytes, in ms, rounded up."""
    return -(-size_bytes * MS_PER_S // bytes_per_second)


def trickled(
    response: CompletedResponse, trickle: Trickle, timers: Timers, now_ms: int
) -> CompletedResponse:
    """Return the first piece of a response that is written now; timers bring the others.

    A response that ends its connection is not divided.
    """
    frame = frame_of(response)
    if frame is None or isinstance(response, Close):
        return response
    return _Trickling(response, frame, trickle, timers).piece(0, now_ms)


class _Trickling:
    """One response in pieces; each completes a pending response with the next one."""

    def __init__(
        self, response: CompletedResponse, frame: bytes, trickle: Trickle, timers: Timers
    ) -> None:
        self._response = response
        self._frame = frame
        self._trickle = trickle
        self._timers = timers

    def piece(self, start: int, now_ms: int) -> CompletedResponse:
        """Return the piece that begins at a byte of the response."""
        end = start + self._trickle.trickle_bytes
        if end >= len(self._frame):
            return self._last(start)
        timers = self._timers
        rest = PendingResponse(
            on_cancel=lambda: timers.cancel(timer),
            on_force_complete=lambda _now_ms: rest.complete(self._last(end)),
        )
        timer = timers.schedule(
            now_ms + self._trickle.trickle_ms,
            lambda now_ms: rest.complete(self.piece(end, now_ms)),
        )
        return Beginning(self._frame[start:end], rest, self._frame)

    def _last(self, start: int) -> CompletedResponse:
        """Return all of the response from a byte on."""
        written = self._frame[start:]
        if isinstance(self._response, Throttled):
            return replace(self._response, frame=written)
        return written
