"""Apply the rules that fired on one request, before and after it is handled.

A delay is a timer and a `PendingResponse`: later requests of the connection wait behind it, as they
do behind any delayed response in Kafka, and moving the clock ends it.
"""

from collections.abc import Callable
from typing import Any

from broker.cluster.brokers import Availability
from broker.cluster.cluster import Cluster
from broker.faults.actions import BEFORE_HANDLING, BEFORE_RESPONSE
from broker.faults.cluster_actions import act
from broker.faults.decision import FaultDecision
from broker.faults.faulted_response import FaultedResponse
from broker.faults.held_requests import HeldRequest
from broker.faults.stale_view import StaleView
from broker.faults.table import FaultTable
from broker.pending_response import PendingResponse
from broker.request.context import RequestContext
from broker.responses import (
    CompletedResponse,
    DispatchResult,
    PendingFrame,
    frame_of,
    unchanged,
)
from broker.timers import Timer
from protocol.pacing import may_pause

MS_PER_S = 1000


class FaultThrottle:
    """A stand-in for the quota that caused a throttle, for the throttle time of a rule."""

    def __init__(self) -> None:
        self.queue_size = 0

    def note_throttle(
        self, user: str, client_id: str | None, throttle_time_ms: int, now_ms: int
    ) -> None:
        """Do nothing: no metric counts these throttles."""


_THROTTLE = FaultThrottle()


class Injection:
    """Applies a decision to one request, step by step in the order of time."""

    def __init__(
        self,
        cluster: Cluster,
        table: FaultTable,
        context: RequestContext,
        decision: FaultDecision,
        handle: Callable[[Cluster | StaleView], DispatchResult],
        response: FaultedResponse,
    ) -> None:
        """`handle` handles the request on a cluster; it raises no exception.

        With a partial error it handles the rest of the request.
        """
        self._cluster = cluster
        self._table = table
        self._context = context
        self._decision = decision
        self._handle_request = handle
        self._faulted = response
        self._pending = PendingResponse(
            on_cancel=self._cancel, on_force_complete=self._force_complete
        )
        self._inner: PendingResponse | None = None
        self._timer: Timer | None = None
        self._held: HeldRequest | None = None
        self._next_step: Callable[[int], None] | None = None
        self._is_forced = False

    @may_pause
    def begin(self) -> DispatchResult:
        """Start with the first step; return the response or a pending one."""
        self._start(self._context.now_ms)
        if self._pending.is_done:
            response: CompletedResponse = self._pending.response
            return response
        return PendingFrame(self._pending, unchanged)

    # Steps: each calls the next one, at once or by a timer ------------------------------------

    @may_pause
    def _start(self, now_ms: int) -> None:
        self._hold(BEFORE_HANDLING, self._context.size_bytes, now_ms, self._begin_handling)

    @may_pause
    def _begin_handling(self, now_ms: int) -> None:
        decision = self._decision
        if self._is_broker_down_after(BEFORE_HANDLING, now_ms):
            return
        if decision.hang == BEFORE_HANDLING:
            return
        if decision.drop == BEFORE_HANDLING:
            self._pending.complete(self._faulted.dropped())
            return
        self._wait(decision.delay_request_ms, now_ms, self._handle)

    @may_pause
    def _handle(self, now_ms: int) -> None:
        context, decision = self._context, self._decision
        context.now_ms = now_ms
        if decision.throttle_time_ms and decision.mute:
            context.throttle(decision.throttle_time_ms, _THROTTLE, now_ms)
        elif decision.throttle_time_ms:
            context.throttle_time_ms = decision.throttle_time_ms
        error = decision.error
        if (
            error is not None
            and error.stage(context.api_key) == BEFORE_HANDLING
            and not self._faulted.is_partial
        ):
            self._respond(self._faulted.with_error(None), now_ms)
            return
        result = self._handle_request(decision.view or self._cluster)
        if not isinstance(result, PendingFrame):
            self._on_response(result, now_ms)
        elif result.pending.is_done:
            self._on_response(result.encode(result.pending.response), now_ms)
        else:
            self._inner, encode = result
            self._inner.attach(lambda late: self._on_late_response(encode, late))
            if self._is_forced:
                self._inner.force_complete(now_ms)

    @may_pause
    def _on_late_response(
        self, encode: Callable[[Any], CompletedResponse], response: object
    ) -> None:
        self._pending.attempt(lambda: self._on_response(encode(response), self._now_ms()))

    @may_pause
    def _on_response(self, response: CompletedResponse, now_ms: int) -> None:
        self._inner = None
        # An error before handling gets here only if it is partial.
        if self._decision.error is not None:
            response = self._faulted.with_error(response)
        self._respond(response, now_ms)

    @may_pause
    def _respond(self, response: CompletedResponse, now_ms: int) -> None:
        if not self._decision.holding(BEFORE_RESPONSE):
            self._end(response, now_ms)
            return
        size_bytes = self._context.size_bytes + len(frame_of(response) or b"")
        self._hold(BEFORE_RESPONSE, size_bytes, now_ms, lambda now_ms: self._end(response, now_ms))

    @may_pause
    def _end(self, response: CompletedResponse, now_ms: int) -> None:
        decision = self._decision
        response = self._faulted.with_patch(response)
        if self._is_broker_down_after(BEFORE_RESPONSE, now_ms) or decision.hang == BEFORE_RESPONSE:
            return
        if decision.drop == BEFORE_RESPONSE:
            self._pending.complete(self._faulted.dropped())
            return
        sent = self._faulted.with_wrong_bytes(response)
        delay_ms = decision.delay_ms
        if decision.bytes_per_second is not None:
            size_bytes = self._context.size_bytes + len(frame_of(sent) or b"")
            delay_ms += -(-size_bytes * MS_PER_S // decision.bytes_per_second)
        self._wait(delay_ms, now_ms, lambda _now_ms: self._pending.complete(sent))

    # ------------------------------------------------------------------------------------------

    @may_pause
    def _wait(self, delay_ms: int, now_ms: int, then: Callable[[int], None]) -> None:
        if not delay_ms or self._is_forced:
            then(now_ms)
            return

        def run(now_ms: int) -> None:
            self._timer = self._next_step = None
            self._pending.attempt(lambda: then(now_ms))

        self._next_step = run
        self._timer = self._cluster.timers.schedule(now_ms + delay_ms, run)

    @may_pause
    def _hold(self, at: str, size_bytes: int, now_ms: int, then: Callable[[int], None]) -> None:
        """Continue when every rule that holds the request at this point has released it."""
        matches = iter(self._decision.holding(at))

        def hold_next(now_ms: int) -> None:
            match = next((match for match in matches if not match.state.is_released), None)
            if match is None or self._is_forced:
                then(now_ms)
                return
            obstacle = self._table.held.obstacle(size_bytes)
            if obstacle is not None:
                self._table.undo(match)
                self._context.fault = f"{self._context.fault} (not held: {obstacle})"
                hold_next(now_ms)
                return
            self._next_step = go_on
            self._held = self._table.held.hold(match.state, size_bytes, go_on)
            self._table.note_held(self._context, is_held=True)

        def go_on(now_ms: int) -> None:
            held, self._held = self._held, None
            if held is None:
                return  # the client is gone, or the broker has stopped
            self._next_step = None
            self._table.held.forget(held)
            self._table.note_held(self._context, is_held=False)
            self._pending.attempt(lambda: hold_next(now_ms))

        hold_next(now_ms)

    @may_pause
    def _force_complete(self, now_ms: int) -> None:
        self._is_forced = True
        if self._next_step is not None:
            self._cluster.timers.cancel(self._timer)
            self._next_step(now_ms)
        elif self._inner is not None:
            self._inner.force_complete(now_ms)

    @may_pause
    def _cancel(self) -> None:
        self._cluster.timers.cancel(self._timer)
        held, self._held = self._held, None
        if held is not None:
            self._table.held.forget(held)
            self._table.note_held(self._context, is_held=False)
        if self._inner is not None:
            self._inner.cancel()

    def _now_ms(self) -> int:
        """Return the time at which a pending response arrived: of a timer or another request."""
        cluster = self._cluster
        return max(self._context.now_ms, cluster.timers.latest_ms, self._table.latest_ms)

    @may_pause
    def _is_broker_down_after(self, at: str, now_ms: int) -> bool:
        """Change the cluster as the rules say; return whether that stopped the request's broker."""
        matches = self._decision.cluster_matches(at)
        for match in matches:
            obstacle = act(match.rule, self._cluster, self._context.broker_id, now_ms)
            if obstacle is not None:
                self._table.undo(match)
                self._context.fault = f"{self._context.fault} (nothing was done: {obstacle})"
        broker = self._cluster.brokers.get(self._context.broker_id)
        if matches and (broker is None or broker.availability is Availability.DOWN):
            self._pending.complete(self._faulted.dropped())
            return True
        return False
