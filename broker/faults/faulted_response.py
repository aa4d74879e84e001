"""Change a response as fault rules require: an error, other values, other bytes."""

from collections.abc import Sequence
from dataclasses import replace
from struct import Struct
from typing import Any

from broker.cluster.cluster import Cluster
from broker.faults import response_bytes
from broker.faults.actions import (
    BEFORE_HANDLING,
    WITHIN_RESPONSE,
)
from broker.faults.decision import FaultDecision, RuleMatch
from broker.faults.error_arrays import PART
from broker.faults.error_responses import Framed, error_response
from broker.faults.fetched_changes import with_changed_records
from broker.faults.partial_errors import Split, merged
from broker.faults.response_patch import patched_response
from broker.faults.stored_changes import Selected
from broker.faults.table import FaultTable
from broker.faults.transfer_actions import (
    AnnounceSize,
    Corrupt,
    Oversize,
    Truncate,
)
from broker.request.context import RequestContext
from broker.request.encoding import BugReporter, close_on_error, encode_response
from broker.responses import Close, CompletedResponse, Throttled, frame_of
from broker.routes import Route
from protocol import codec, messages
from protocol.api_keys import ApiKey
from protocol.pacing import may_pause

_INT32 = Struct(">i")


class FaultedResponse:
    """Changes the response of one request as a decision says. No method raises."""

    def __init__(
        self,
        cluster: Cluster,
        report_bug: BugReporter,
        route: Route,
        context: RequestContext,
        decision: FaultDecision,
        failing: Any,
        parts: Split | None,
        selected: Sequence[Selected],
        table: FaultTable,
    ) -> None:
        """`selected` are the rules that change records.

        `failing` is the part of the request that fails, decoded; None without an error.

        With `parts` the rest of the request is handled, and the error is merged into its response.
        """
        self._cluster = cluster
        self._report_bug = report_bug
        self._route = route
        self._context = context
        self._decision = decision
        self._failing = failing
        self._parts = parts
        self._selected = selected
        self._table = table

    @property
    def is_partial(self) -> bool:
        """Whether an error is for a part of the request."""
        return self._parts is not None

    @may_pause
    def with_error(self, response: CompletedResponse) -> CompletedResponse:
        """Return the error response, or for a partial error `response` with the error in it."""
        frame = frame_of(response)
        failed = close_on_error(self._context, self._report_bug, lambda: self._error(frame))
        return _with_frame(response, failed) if isinstance(response, Throttled) else failed

    @may_pause
    def _error(self, frame: bytes | None) -> CompletedResponse:
        error, context, parts = self._decision.error, self._context, self._parts
        assert error is not None
        level = error.level if parts is None else PART
        is_of_partitions = parts is not None and parts.is_of_partitions
        response = error_response(
            context,
            self._failing,
            error.error_code,
            self._cluster,
            level,
            is_of_partitions=is_of_partitions,
        )
        if isinstance(response, Framed):
            return response.frame
        if frame is not None and parts is not None:
            is_of_rest = error.stage(context.api_key) == BEFORE_HANDLING
            return merged(context, frame, response, parts, is_of_rest=is_of_rest)
        return encode_response(self._route, context, response)

    def with_patch(self, response: CompletedResponse) -> CompletedResponse:
        """Return the response with the values of the rule."""
        patch, frame = self._decision.patch, frame_of(response)
        if patch is None or frame is None:
            return response
        patched = close_on_error(
            self._context,
            self._report_bug,
            lambda: patched_response(self._context, frame, patch.response),
        )
        return _with_frame(response, patched)

    def with_changed_records(self, response: CompletedResponse) -> CompletedResponse:
        """Return a response to Fetch with the records that the rules change."""
        frame, context = frame_of(response), self._context
        if context.api_key != ApiKey.FETCH or not self._selected or frame is None:
            return response
        done: set[int] = set()

        def change() -> bytes:
            changed, ids = with_changed_records(
                context, frame, self._selected, self._table.topic_name
            )
            done.update(ids)
            return changed

        changed = close_on_error(context, self._report_bug, change)
        for one in self._selected:
            if one.match.state.rule_id not in done:
                self._table.undo(one.match)
                context.fault = f"{context.fault} (nothing was done: no batch can be changed)"
        return _with_frame(response, changed)

    def with_wrong_bytes(self, response: CompletedResponse) -> CompletedResponse:
        """Return the response with the throttle time and the wrong bytes of the rules.

        With `within_response` it is cut, and the connection closes after it.
        """
        frame = frame_of(response)
        is_cut = self._decision.drop == WITHIN_RESPONSE
        if frame is None:
            return self.dropped() if is_cut else response
        if self._decision.throttle_time_ms:
            frame = self._with_throttle_time(frame)
        for match in self._decision.matches:
            frame = _with_wrong_bytes(frame, match)
        if is_cut:
            beginning = response_bytes.beginning(frame, self._decision.drop_after_bytes)
            return replace(self.dropped(), response=beginning)
        return _with_frame(response, frame)

    def dropped(self) -> Close:
        """Return a `Close` without a response."""
        return Close(f"fault {self._decision.description}", manner=self._decision.close_manner)

    def _with_throttle_time(self, frame: bytes) -> bytes:
        """Set the throttle time in a response that its handler has encoded already."""
        context = self._context
        api_key, version = ApiKey(context.api_key), context.api_version
        if not messages.begins_with_throttle(api_key, version):
            return frame
        start = codec.response_body_start(api_key, version)
        throttle_time = _INT32.pack(context.throttle_time_ms)
        return frame[:start] + throttle_time + frame[start + len(throttle_time) :]


def _with_frame(response: CompletedResponse, frame: CompletedResponse) -> CompletedResponse:
    """Replace the frame of a response; a `Close` in place of the frame replaces all of it."""
    if not isinstance(frame, bytes):
        return frame
    if isinstance(response, Throttled):
        return replace(response, frame=frame)
    return replace(response, response=frame) if isinstance(response, Close) else frame


def _with_wrong_bytes(frame: bytes, match: RuleMatch) -> bytes:
    rule = match.rule
    if (corrupt := rule.action(Corrupt)) is not None:
        seed = rule.trigger.seed
        frame = response_bytes.corrupted(frame, corrupt.corrupt_bytes, seed, match.number)
    if (truncate := rule.action(Truncate)) is not None:
        frame = response_bytes.truncated(frame, truncate.truncate_bytes)
    if (oversize := rule.action(Oversize)) is not None:
        frame = response_bytes.oversized(frame, oversize.oversize_bytes)
    if (announce := rule.action(AnnounceSize)) is not None:
        frame = response_bytes.announced(frame, announce.announce_bytes)
    return frame
