"""Show what passes through the proxy to the shadow of its cluster."""

from broker.clock import Clock
from broker.log import log
from broker.request.context import RequestContext
from protocol.framing import SIZE_BYTES
from protocol.json_view import api_name
from proxy.diff.field_comparison import FieldDifference
from proxy.diff.shadow import Shadow
from proxy.diff.shadow_connection import ShadowConnection
from proxy.forwarding import ForwardingDispatcher


class Watcher:
    """Gets the requests and responses of a proxy. An error of ours ends no client's request."""

    def __init__(self, shadow: Shadow, clock: Clock) -> None:
        self._shadow = shadow
        self._clock = clock
        self._connections: dict[int, ShadowConnection] = {}
        shadow.report.on_difference = _log_difference

    def watch(self, dispatcher: ForwardingDispatcher) -> None:
        """See all requests from now on."""
        dispatcher.on_sent.append(self._sent)
        dispatcher.observers.append(self._answered)
        dispatcher.on_closed.append(self._closed)
        dispatcher.on_refusing.append(self._refusing)

    def _sent(self, context: RequestContext, request: bytes) -> None:
        connection = self._connections.get(context.connection_id)
        if connection is None:
            connection = ShadowConnection(self._shadow, context.broker_id, context.client_host)
            self._connections[context.connection_id] = connection
        if connection.session.principal != context.principal:
            connection.see_principal(context.principal)
        try:
            connection.see_request(request, context.now_ms)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not hurt the client
            self._failed(context, error)

    def _answered(self, context: RequestContext, _request: bytes, frame: bytes | None) -> None:
        connection = self._connections.get(context.connection_id)
        if connection is None or frame is None:
            return
        try:
            connection.see_response(frame[SIZE_BYTES:], self._clock.now_ms())
        except Exception as error:  # noqa: BLE001 - a bug of ours must not hurt the client
            self._failed(context, error)

    def _closed(self, connection_id: int) -> None:
        connection = self._connections.pop(connection_id, None)
        if connection is not None:
            connection.close(self._clock.now_ms())

    def _refusing(self, node_id: int) -> None:
        self._shadow.lose_broker(node_id, self._clock.now_ms())

    def _failed(self, context: RequestContext, error: Exception) -> None:
        api = api_name(context.api_key)
        self._shadow.report.not_compared(api, "the comparison itself failed")
        log.error("the comparison failed", api=api, exc_info=error)


def _log_difference(difference: FieldDifference) -> None:
    log.warning(
        "our broker differs",
        api=difference.api,
        place=difference.place,
        real=difference.text(difference.kafka),
        ours=difference.text(difference.ours),
    )
