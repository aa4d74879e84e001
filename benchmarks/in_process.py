"""A broker and connections to it in this process: no sockets, no event loop."""

import time
from collections.abc import Callable
from typing import Any

from benchmarks import request_bytes
from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.request.context import RequestContext
from tests.broker.cluster_builder import make_cluster

FRAME_BYTES_MAX = 100 << 20


class ClosedError(Exception):
    """The broker closed a connection."""


class InProcessBroker:
    """A cluster of one broker; groups are rebalanced at once."""

    def __init__(self) -> None:
        self.now_ms = int(time.time() * 1000)  # the batches of the load have the machine's time
        self.cluster = make_cluster(1, **{"group.initial.rebalance.delay.ms": "0"})
        # A stopwatch that stands still, so that no request takes a turn more on a slow machine.
        self.dispatcher = Dispatcher(self.cluster, _raise, lambda: 0)
        self._connection_count = 0

    def create_topic(self, name: str, partition_count: int) -> None:
        """Create a topic."""
        self.cluster.create_topic(name, [(1,)] * partition_count, {})

    def connect(self, principal: str | None = None) -> "InProcessConnection":
        """Return a new connection, of an authenticated user if there is one."""
        self._connection_count += 1
        connection = Connection(
            self.dispatcher,
            broker_id=1,
            connection_id=self._connection_count,
            client_host="127.0.0.1",
            frame_bytes_max=FRAME_BYTES_MAX,
            on_ready=lambda: None,
        )
        if principal is not None:
            connection.session.authenticate(principal, None)
        return InProcessConnection(self, connection)


def _raise(error: BaseException, _context: RequestContext) -> None:
    raise error


class InProcessConnection:
    """A connection whose requests are all handled at once."""

    def __init__(self, broker: InProcessBroker, connection: Connection) -> None:
        self._broker = broker
        self._connection = connection

    def ask(self, request: Any) -> Any:
        """Return the decoded response to a request, in the version that it has."""
        response = self.receive(request_bytes.frame_request(request, 0))
        return request_bytes.decode_response(request.API_KEY, request.API_VERSION, response)

    def receive(self, data: bytes) -> bytes:
        """Return the responses to the bytes of some requests."""
        return self.receiving(data)()

    def receiving(self, data: bytes) -> Callable[[], bytes]:
        """Return a function that hands over the bytes and returns the responses."""
        connection, broker = self._connection, self._broker
        now_ms = broker.now_ms

        def receive() -> bytes:
            output = connection.receive(data, now_ms)
            written = output.write
            while output.has_more or not written:
                if output.close_reason is not None:
                    raise ClosedError(output.close_reason)
                broker.cluster.timers.run_due(now_ms)
                output = connection.resume(now_ms)
                written += output.write
            return written

        return receive
