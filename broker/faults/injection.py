"""One request's way through the faults that fired on it: before it is handled, and its answer.

What waits is a timer and a `Parked`, so later requests of the connection wait behind it as they do
behind any answer, and a clock that is moved brings it.
"""

from collections.abc import Callable
from dataclasses import replace
from struct import Struct
from typing import TYPE_CHECKING

from broker.cluster.brokers import Reach
from broker.faults import response_bytes as answer_bytes
from broker.faults.cluster_actions import act
from broker.faults.rule import BEFORE_ANSWER, BEFORE_HANDLING, WITHIN_ANSWER
from broker.faults.table import Firing, Verdict
from broker.pending_response import Parked
from broker.responses import Close, Throttled, Waiting
from protocol import messages
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from broker.cluster.cluster import Cluster
    from broker.faults.stale_view import StaleView
    from broker.faults.table import FaultTable
    from broker.request.context import RequestContext
    from broker.responses import Answer, LateAnswer
    from broker.timers import Timer
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
        cluster: "Cluster",
        faults: "FaultTable",
        context: "RequestContext",
        verdict: Verdict,
        handle: "Callable[[Cluster | StaleView], Answer]",
        fail: "Callable[[ErrorCode, bytes | None], LateAnswer]",
        lay_over: "Callable[[bytes], LateAnswer]",
        is_partial: bool,
    ) -> None:
        """`handle` has the request handled on a cluster; `fail` makes the answer that refuses it.

        `lay_over` puts the rule's values into the frame of an answer. None of them raises.
        `is_partial`: the rule's error is for a part of the request; `handle` has the rest handled,
        and `fail` puts the errors into the frame that came of it.
        """
        self._cluster = cluster
        self._faults = faults
        self._context = context
        self._verdict = verdict
        self._handle_request = handle
        self._fail = fail
        self._lay_over = lay_over
        self._is_partial = is_partial
        self._parked = Parked(on_abandon=self._abandon, on_hurry=self._hurry)
        self._inner: Parked | None = None
        self._timer: Timer | None = None
        self._next_step: Callable[[int], None] | None = None
        self._is_hurried = False

    def begin(self) -> "Answer":
        """The answer, if it is there at once; or where it will come."""
        self._start(self._context.now_ms)
        if self._parked.is_done:
            answer: LateAnswer = self._parked.response
            return answer
        return Waiting(self._parked, _as_it_is)

    # Steps, each of which leads to the next at once or by a timer -----------------------------

    def _start(self, now_ms: int) -> None:
        verdict = self._verdict
        deciding = verdict.deciding
        if self._is_broker_gone_after(BEFORE_HANDLING, now_ms):
            return
        if deciding.hang == BEFORE_HANDLING:
            return
        if deciding.drop == BEFORE_HANDLING:
            self._parked.complete(self._dropped())
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
            self._answer(self._fail(error_code, None), now_ms)
            return
        answer = self._handle_request(verdict.view or self._cluster)
        if not isinstance(answer, Waiting):
            self._answer(answer, now_ms)
        elif answer.parked.is_done:
            self._answer(answer.encode(answer.parked.response), now_ms)
        else:
            self._inner, encode = answer
            self._inner.attach(lambda response: self._answer(encode(response), self._now_ms()))
            if self._is_hurried:
                self._inner.hurry(now_ms)

    def _answer(self, answer: "LateAnswer", now_ms: int) -> None:
        verdict = self._verdict
        deciding = verdict.deciding
        self._inner = None
        error_code = deciding.error_code
        if error_code is not None and (deciding.at == BEFORE_ANSWER or self._is_partial):
            failed = self._fail(error_code, _frame_of(answer))
            answer = _with_frame(answer, failed) if isinstance(answer, Throttled) else failed
        frame = _frame_of(answer) if deciding.answer is not None else None
        if frame is not None:
            answer = _with_frame(answer, self._lay_over(frame))
        if self._is_broker_gone_after(BEFORE_ANSWER, now_ms) or deciding.hang == BEFORE_ANSWER:
            return
        if deciding.drop == BEFORE_ANSWER:
            self._parked.complete(self._dropped())
            return
        wrong = self._distort(answer)
        delay_ms = verdict.delay_ms
        if verdict.bytes_per_second is not None:
            size_bytes = self._context.size_bytes + _size_bytes(wrong)
            delay_ms += -(-size_bytes * MS_PER_S // verdict.bytes_per_second)
        self._wait(delay_ms, now_ms, lambda _now_ms: self._parked.complete(wrong))

    # ------------------------------------------------------------------------------------------

    def _wait(self, delay_ms: int, now_ms: int, then: Callable[[int], None]) -> None:
        if not delay_ms or self._is_hurried:
            then(now_ms)
            return

        def run(now_ms: int) -> None:
            self._timer = self._next_step = None
            then(now_ms)

        self._next_step = run
        self._timer = self._cluster.timers.schedule(now_ms + delay_ms, run)

    def _hurry(self, now_ms: int) -> None:
        self._is_hurried = True
        if self._next_step is not None:
            self._cluster.timers.cancel(self._timer)
            self._next_step(now_ms)
        elif self._inner is not None:
            self._inner.hurry(now_ms)

    def _abandon(self) -> None:
        self._cluster.timers.cancel(self._timer)
        if self._inner is not None:
            self._inner.abandon()

    def _now_ms(self) -> int:
        """The time at which a parked answer came: a timer's, or that of another's request."""
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
        if firings and (broker is None or broker.reach is Reach.REFUSES):
            self._parked.complete(self._dropped())
            return True
        return False

    def _dropped(self) -> Close:
        return Close(f"fault {self._verdict.description}")

    def _distort(self, answer: "LateAnswer") -> "LateAnswer":
        frame = _frame_of(answer)
        is_cut = self._verdict.deciding.drop == WITHIN_ANSWER
        if frame is None:
            return self._dropped() if is_cut else answer
        if self._verdict.throttle_time_ms:
            frame = self._with_throttle(frame)
        for firing in self._verdict.firings:
            frame = _distorted(frame, firing)
        if is_cut:
            beginning = answer_bytes.beginning(frame, self._verdict.deciding.drop_after_bytes)
            return replace(self._dropped(), answer=beginning)
        return _with_frame(answer, frame)

    def _with_throttle(self, frame: bytes) -> bytes:
        """Tell the wait in an answer whose handler has encoded it already."""
        context = self._context
        api_key, version = ApiKey(context.api_key), context.api_version
        if not messages.begins_with_throttle(api_key, version):
            return frame
        start = answer_bytes.HEADER_BYTES + messages.is_flexible(api_key, version)
        told = _INT32.pack(context.throttle_time_ms)
        return frame[:start] + told + frame[start + len(told) :]


def _as_it_is(answer: "LateAnswer") -> "LateAnswer":
    return answer


def _frame_of(answer: "LateAnswer") -> bytes | None:
    if isinstance(answer, Throttled):
        return answer.frame
    if isinstance(answer, Close):
        frame: bytes | None = answer.answer
        return frame
    return answer


def _with_frame(answer: "LateAnswer", frame: "LateAnswer") -> "LateAnswer":
    """The same with another frame; with the end of the connection in its place it is that."""
    if not isinstance(frame, bytes):
        return frame
    if isinstance(answer, Throttled):
        return replace(answer, frame=frame)
    return replace(answer, answer=frame) if isinstance(answer, Close) else frame


def _size_bytes(answer: "LateAnswer") -> int:
    return len(_frame_of(answer) or b"")


def _distorted(frame: bytes, firing: Firing) -> bytes:
    rule = firing.rule
    if rule.corrupt_bytes is not None:
        frame = answer_bytes.corrupted(frame, rule.corrupt_bytes, rule.seed, firing.number)
    if rule.truncate_bytes is not None:
        frame = answer_bytes.truncated(frame, rule.truncate_bytes)
    if rule.oversize_bytes is not None:
        frame = answer_bytes.oversized(frame, rule.oversize_bytes)
    if rule.announce_bytes is not None:
        frame = answer_bytes.announced(frame, rule.announce_bytes)
    return frame
