"""One request's way through the faults that fired on it: before it is handled, and its response.

What waits is a timer and a `PendingResponse`, so later requests of the connection wait behind it as they do
behind any response, and a clock that is moved brings it.
"""

from collections.abc import Callable
from dataclasses import replace
from struct import Struct

from broker.cluster.brokers import Availability
from broker.cluster.cluster import Cluster
from broker.faults import response_bytes
from broker.faults.cluster_actions import act
from broker.faults.rule import BEFORE_HANDLING, BEFORE_RESPONSE, WITHIN_RESPONSE
from broker.faults.stale_view import StaleView
from broker.faults.table import FaultTable, Firing, Verdict
from broker.pending_response import PendingResponse
from broker.request.context import RequestContext
from broker.responses import Close, CompletedResponse, DispatchResult, PendingFrame, Throttled
from broker.timers import Timer
from protocol import codec, messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

_INT32 = Struct(">i")
MS_PER_S = 1000


class FaultThrottle:
    """Stands where a quota would, for waits that a rule asks for."""

    def __init__(self) -> None:
        self.queue_size = 0

    def note_throttle(
        self, user: str, client_id: str | None, throttle_time_ms: int, now_ms: int
    ) -> None:
        """Nobody counts these."""


_THROTTLE = FaultThrottle()


class Injection:
    """Has a request handled as a verdict says, in the order of `Verdict`'s actions in time."""

    def __init__(
        self,
        cluster: Cluster,
        faults: FaultTable,
        context: RequestContext,
        verdict: Verdict,
        handle: Callable[[Cluster | StaleView], DispatchResult],
        fail: Callable[[ErrorCode, bytes | None], CompletedResponse],
        apply_patch: Callable[[bytes], CompletedResponse],
        is_partial: bool,
    ) -> None:
        """`handle` has the request handled on a cluster; `fail` makes the response that refuses it.

        `apply_patch` puts the rule's values into the frame of a response. None of them raises.
        `is_partial`: the rule's error is for a part of the request; `handle` has the rest handled,
        and `fail` puts the errors into the frame that came of it.
        """
        self._cluster = cluster
        self._faults = faults
        self._context = context
        self._verdict = verdict
        self._handle_request = handle
        self._fail = fail
        self._apply_patch = apply_patch
        self._is_partial = is_partial
        self._pending = PendingResponse(
            on_cancel=self._cancel, on_force_complete=self._force_complete
        )
        self._inner: PendingResponse | None = None
        self._timer: Timer | None = None
        self._next_step: Callable[[int], None] | None = None
        self._is_forced = False

    def begin(self) -> DispatchResult:
        """The response, if it is there at once; or where it will come."""
        self._start(self._context.now_ms)
        if self._pending.is_done:
            response: CompletedResponse = self._pending.response
            return response
        return PendingFrame(self._pending, _as_it_is)

    # Steps, each of which leads to the next at once or by a timer -----------------------------

    def _start(self, now_ms: int) -> None:
        verdict = self._verdict
        deciding = verdict.deciding
        if self._is_broker_gone_after(BEFORE_HANDLING, now_ms):
            return
        if deciding.hang == BEFORE_HANDLING:
            return
        if deciding.drop == BEFORE_HANDLING:
            self._pending.complete(self._dropped())
            return
        self._wait(verdict.delay_request_ms, now_ms, self._handle)

    def _handle(self, now_ms: int) -> None:
        context, verdict = self._context, self._verdict
        context.now_ms = now_ms
        if verdict.throttle_time_ms and verdict.mute:
            context.throttle(verdict.throttle_time_ms, _THROTTLE, now_ms)
        elif verdict.throttle_time_ms:
            context.throttle_time_ms = verdict.throttle_time_ms
        error_code = verdict.deciding.error_code
        is_early = verdict.deciding.at == BEFORE_HANDLING
        if error_code is not None and is_early and not self._is_partial:
            self._response(self._fail(error_code, None), now_ms)
            return
        result = self._handle_request(verdict.view or self._cluster)
        if not isinstance(result, PendingFrame):
            self._response(result, now_ms)
        elif result.pending.is_done:
            self._response(result.encode(result.pending.response), now_ms)
        else:
            self._inner, encode = result
            self._inner.attach(lambda response: self._response(encode(response), self._now_ms()))
            if self._is_forced:
                self._inner.force_complete(now_ms)

    def _response(self, response: CompletedResponse, now_ms: int) -> None:
        verdict = self._verdict
        deciding = verdict.deciding
        self._inner = None
        error_code = deciding.error_code
        if error_code is not None and (deciding.at == BEFORE_RESPONSE or self._is_partial):
            failed = self._fail(error_code, _frame_of(response))
            response = _with_frame(response, failed) if isinstance(response, Throttled) else failed
        frame = _frame_of(response) if deciding.response is not None else None
        if frame is not None:
            response = _with_frame(response, self._apply_patch(frame))
        if self._is_broker_gone_after(BEFORE_RESPONSE, now_ms) or deciding.hang == BEFORE_RESPONSE:
            return
        if deciding.drop == BEFORE_RESPONSE:
            self._pending.complete(self._dropped())
            return
        wrong = self._distort(response)
        delay_ms = verdict.delay_ms
        if verdict.bytes_per_second is not None:
            size_bytes = self._context.size_bytes + _size_bytes(wrong)
            delay_ms += -(-size_bytes * MS_PER_S // verdict.bytes_per_second)
        self._wait(delay_ms, now_ms, lambda _now_ms: self._pending.complete(wrong))

    # ------------------------------------------------------------------------------------------

    def _wait(self, delay_ms: int, now_ms: int, then: Callable[[int], None]) -> None:
        if not delay_ms or self._is_forced:
            then(now_ms)
            return

        def run(now_ms: int) -> None:
            self._timer = self._next_step = None
            then(now_ms)

        self._next_step = run
        self._timer = self._cluster.timers.schedule(now_ms + delay_ms, run)

    def _force_complete(self, now_ms: int) -> None:
        self._is_forced = True
        if self._next_step is not None:
            self._cluster.timers.cancel(self._timer)
            self._next_step(now_ms)
        elif self._inner is not None:
            self._inner.force_complete(now_ms)

    def _cancel(self) -> None:
        self._cluster.timers.cancel(self._timer)
        if self._inner is not None:
            self._inner.cancel()

    def _now_ms(self) -> int:
        """The time at which a parked response came: a timer's, or that of another's request."""
        cluster = self._cluster
        return max(self._context.now_ms, cluster.timers.latest_ms, self._faults.latest_ms)

    def _is_broker_gone_after(self, at: str, now_ms: int) -> bool:
        """Do what rules do to the cluster; whether that ended the broker that was asked."""
        firings = self._verdict.cluster_firings(at)
        for firing in firings:
            obstacle = act(firing.rule, self._cluster, self._context.broker_id, now_ms)
            if obstacle is not None:
                self._faults.take_back(firing)
                self._context.fault = f"{self._context.fault} (nothing was done: {obstacle})"
        broker = self._cluster.brokers.get(self._context.broker_id)
        if firings and (broker is None or broker.availability is Availability.DOWN):
            self._pending.complete(self._dropped())
            return True
        return False

    def _dropped(self) -> Close:
        return Close(f"fault {self._verdict.description}")

    def _distort(self, response: CompletedResponse) -> CompletedResponse:
        frame = _frame_of(response)
        is_cut = self._verdict.deciding.drop == WITHIN_RESPONSE
        if frame is None:
            return self._dropped() if is_cut else response
        if self._verdict.throttle_time_ms:
            frame = self._with_throttle(frame)
        for firing in self._verdict.firings:
            frame = _distorted(frame, firing)
        if is_cut:
            beginning = response_bytes.beginning(frame, self._verdict.deciding.drop_after_bytes)
            return replace(self._dropped(), response=beginning)
        return _with_frame(response, frame)

    def _with_throttle(self, frame: bytes) -> bytes:
        """Tell the wait in a response whose handler has encoded it already."""
        context = self._context
        api_key, version = ApiKey(context.api_key), context.api_version
        if not messages.begins_with_throttle(api_key, version):
            return frame
        start = codec.response_body_start(api_key, version)
        told = _INT32.pack(context.throttle_time_ms)
        return frame[:start] + told + frame[start + len(told) :]


def _as_it_is(response: CompletedResponse) -> CompletedResponse:
    return response


def _frame_of(response: CompletedResponse) -> bytes | None:
    if isinstance(response, Throttled):
        return response.frame
    if isinstance(response, Close):
        frame: bytes | None = response.response
        return frame
    return response


def _with_frame(response: CompletedResponse, frame: CompletedResponse) -> CompletedResponse:
    """The same with another frame; with the end of the connection in its place it is that."""
    if not isinstance(frame, bytes):
        return frame
    if isinstance(response, Throttled):
        return replace(response, frame=frame)
    return replace(response, response=frame) if isinstance(response, Close) else frame


def _size_bytes(response: CompletedResponse) -> int:
    return len(_frame_of(response) or b"")


def _distorted(frame: bytes, firing: Firing) -> bytes:
    rule = firing.rule
    if rule.corrupt_bytes is not None:
        frame = response_bytes.corrupted(frame, rule.corrupt_bytes, rule.seed, firing.number)
    if rule.truncate_bytes is not None:
        frame = response_bytes.truncated(frame, rule.truncate_bytes)
    if rule.oversize_bytes is not None:
        frame = response_bytes.oversized(frame, rule.oversize_bytes)
    if rule.announce_bytes is not None:
        frame = response_bytes.announced(frame, rule.announce_bytes)
    return frame
