"""The entry point of fault injection: the dispatcher passes a request and gets its response."""

from collections.abc import Callable
from typing import Any

from broker.cluster.cluster import Cluster
from broker.faults import fetch_requests
from broker.faults.actions import BEFORE_HANDLING
from broker.faults.error_arrays import TOP
from broker.faults.faulted_response import FaultedResponse
from broker.faults.injection import Injection
from broker.faults.partial_errors import encoded, split
from broker.faults.stale_view import StaleView
from broker.faults.table import FaultTable
from broker.pending_response import Failed
from broker.request.context import RequestContext
from broker.request.encoding import BugReporter, close_on_error
from broker.responses import CompletedResponse, DispatchResult, PendingFrame
from broker.routes import Route
from protocol import codec, produce_decoder
from protocol.pacing import may_pause

Handle = Callable[[Route, RequestContext, bytes | bytearray, int, int, Any], DispatchResult]
"""Handles the body `buffer[start:end]` of a request on a cluster, or on a stale view of it."""


class Injector:
    """Handles requests under the fault rules of a table."""

    def __init__(self, cluster: Cluster, table: FaultTable, report_bug: BugReporter) -> None:
        self._cluster = cluster
        self._table = table
        self._report_bug = report_bug

    @may_pause
    def intercept(
        self,
        route: Route,
        context: RequestContext,
        buffer: bytes | bytearray,
        start: int,
        end: int,
        handle: Handle,
    ) -> DispatchResult:
        """Handle a request under the rules that fire on it, if any.

        `buffer[start:end]` is the body of the request.

        Raises:
            DecodeError: the body is malformed, and a rule needs it decoded.
        """

        def decode_by_schema() -> Any:
            request = codec.decode_request(route.api_key, context.api_version, buffer, start, end)
            return fetch_requests.complete(context, request, self._cluster)

        def decode() -> Any:
            if route.is_raw:
                return produce_decoder.decode_request(context.api_version, buffer, start, end)
            return decode_by_schema()

        decision = self._table.evaluate(context, decode, decode_by_schema)
        if decision is None:
            return handle(route, context, buffer, start, end, self._cluster)
        context.fault = decision.description
        context.falsified_by = decision.falsifying_rule_ids
        # A copy: the request may be handled later, when the buffer holds other bytes.
        body = bytes(buffer[start:end])
        full = fetch_requests.full_request(context, decision, decode_by_schema, self._cluster)
        if full is not None:
            body = encoded(full, context.api_version)
            buffer, start, end = body, 0, len(body)
        failing = parts = withheld = None
        error, deciding, selection = decision.error, decision.deciding, decision.selection
        if error is not None and deciding is not None and selection is not None:
            if error.level != TOP:
                parts = split(context, body, deciding.match, selection, self._cluster)
            failing = decode() if parts is None else parts.failing
            if parts is not None and error.stage(context.api_key) == BEFORE_HANDLING:
                body = parts.rest_body
                withheld = failing
        response = FaultedResponse(
            self._cluster,
            self._report_bug,
            route,
            context,
            decision,
            failing,
            parts,
        )

        handle_body = self._handler(route, context, body, handle, withheld)
        result = Injection(
            self._cluster, self._table, context, decision, handle_body, response
        ).begin()
        if not isinstance(result, PendingFrame):
            return result
        return PendingFrame(
            result.pending,
            lambda late: close_on_error(context, self._report_bug, lambda: _raise_if_failed(late)),
        )

    def _handler(
        self, route: Route, context: RequestContext, body: bytes, handle: Handle, withheld: Any
    ) -> Callable[[Cluster | StaleView], DispatchResult]:
        """Return a function that handles a request on a cluster, and raises nothing.

        `withheld` is the part of it that fails before it is handled, or None.
        """

        def run(cluster: Cluster | StaleView) -> DispatchResult:
            with fetch_requests.withholding(context, withheld, self._cluster):
                return handle(route, context, body, 0, len(body), cluster)

        return lambda cluster: close_on_error(context, self._report_bug, lambda: run(cluster))


def _raise_if_failed(response: CompletedResponse | Failed) -> CompletedResponse:
    if isinstance(response, Failed):
        raise response.error
    return response
