"""The dispatcher, as far as a replay of requests needs it."""

from collections.abc import Callable
from typing import Any, Protocol

from broker.faults.table import FaultTable
from broker.journal.lines import Entry
from broker.request.context import RequestContext
from broker.request.encoding import BugReporter
from broker.request.session import Peer
from broker.responses import DispatchResult
from broker.routes import Route
from protocol.api_keys import ApiKey
from protocol.fetch_template import FetchTemplate
from protocol.produce_template import ProduceTemplate

PAUSE_MAX = 1023
"""Requests between two that are learnt, for a client whose requests are never alike."""


class OrdinaryPath(Protocol):
    """The dispatcher, as far as a replay needs it."""

    faults: FaultTable
    report_bug: BugReporter

    @property
    def notes_requests(self) -> bool:
        """Whether `begin` and `end` note anything."""
        ...

    def begin(
        self, context: RequestContext, buffer: bytes | bytearray, start: int, end: int
    ) -> Entry | None:
        """Begin to note a request."""
        ...

    def end(
        self, context: RequestContext, entry: Entry | None, response: DispatchResult
    ) -> DispatchResult:
        """Note the response to a request."""
        ...

    def start_stopwatch(self, context: RequestContext) -> None:
        """Measure the time of a request, if a quota needs it."""
        ...

    def lap_stopwatch(self) -> Callable[[], int] | None:
        """Return what measures requests one after the other, if a quota needs it."""
        ...

    def framed(self, route: Route, context: RequestContext, response: Any) -> DispatchResult:
        """Return the frame of what a handler returned."""
        ...


def replayed_context(
    api_key: ApiKey,
    template: ProduceTemplate | FetchTemplate,
    peer: Peer,
    correlation_id: int,
    size_bytes: int,
    now_ms: int,
) -> RequestContext:
    """Return the context of a request that is like the one of a template."""
    session = peer.session
    # fmt: off
    return RequestContext(
        api_key, template.api_version, correlation_id, template.client_id, now_ms,
        size_bytes, peer.broker_id, peer.connection_id, peer.client_host, session.principal,
        session,
    )
    # fmt: on
