"""Respond to Produce requests whose bytes in front of the partitions equal those of an earlier one.

A producer sends the same header, acks and topic again and again (ADR 25). What a request does is
done by the functions of the ordinary path: `append_batches`, `charge_produce`, `Dispatcher.begin`
and `Dispatcher.end`. Any other request takes the ordinary path, which decodes all of it.
"""

from struct import Struct
from struct import error as StructError
from typing import Any, Protocol

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.faults.table import FaultTable
from broker.handlers.k00_produce import append_batches, encode_results
from broker.journal.lines import Entry
from broker.request.context import RequestContext
from broker.request.encoding import BugReporter, closed_by
from broker.request.session import Peer
from broker.request.throttling import charge_produce
from broker.responses import DispatchResult
from broker.routes import Route
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError
from protocol.framing import Frame
from protocol.produce_decoder import PartitionBatch, read_partitions
from protocol.produce_template import ProduceTemplate

PAUSE_MAX = 1023
"""Requests between two that are learnt, for a client whose requests never begin alike."""
_unpack_start = Struct(">iii").unpack_from
"""Unpacks the size of a frame, API key and version as one number, and the correlation id."""
_START_BYTES = 12
_SIZE_BYTES = 4
_NO_TAGS = b"\0\0"
_NOT_DECODED = (DecodeError, IndexError, StructError)


class OrdinaryPath(Protocol):
    """The dispatcher, as far as a replay needs it."""

    faults: FaultTable
    report_bug: BugReporter

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

    def framed(self, route: Route, context: RequestContext, response: Any) -> DispatchResult:
        """Return the frame of what a handler returned."""
        ...


class ProduceReplay:
    """What the latest Produce requests of one connection have in common."""

    __slots__ = ("_cluster", "_dispatcher", "_is_used", "_pause", "_peer", "_skip", "_template")

    def __init__(self, dispatcher: OrdinaryPath, cluster: Cluster, peer: Peer) -> None:
        self._dispatcher = dispatcher
        self._cluster = cluster
        self._peer = peer
        self._template: tuple[int, ProduceTemplate, Topic] | None = None
        """With the `Cluster.produce_version` for which it is good, and the topic on this broker."""
        self._is_used = False
        self._pause, self._skip = 0, 1  # a connection with a single request learns nothing

    def learn(self, frame: Frame) -> None:
        """Remember a request that the ordinary path has handled."""
        if self._is_used:
            self._pause = 0
        elif self._skip:
            self._skip -= 1
            return
        self._is_used = False
        self._skip = self._pause = min(2 * self._pause + 1, PAUSE_MAX)
        template = ProduceTemplate.of(*frame)
        if template is None:
            return
        topic = self._cluster.topics.find(template.name, template.topic_id)
        if topic is not None:
            topic = topic.on_broker(self._peer.broker_id)
            self._template = self._cluster.produce_version, template, topic

    def respond(
        self, data: bytes, now_ms: int, frame_bytes_max: int, responses: list[bytes]
    ) -> tuple[int, DispatchResult]:
        """Handle the requests at the beginning of a read; return where others begin.

        Responses are added to `responses`, except for one that ends or mutes the connection: that
        is returned too, and nothing behind it is handled.
        """
        if self._template is None:
            return 0, None
        produce_version, template, topic = self._template
        cluster, dispatcher, peer = self._cluster, self._dispatcher, self._peer
        if (
            produce_version != cluster.produce_version
            or dispatcher.faults.is_enabled
            or peer.session.limited_from_ms <= now_ms
        ):
            return 0, None
        api, prefix, count = template.api, template.prefix, template.partition_count
        rows_at, size_max = _START_BYTES + len(prefix), min(frame_bytes_max, codec.LONG_BODY_BYTES)
        position, last = 0, len(data) - rows_at
        while position < last:
            size, found_api, correlation_id = _unpack_start(data, position)
            end = position + _SIZE_BYTES + size
            if (
                found_api != api
                or size > size_max
                or not data.startswith(prefix, position + _START_BYTES)
            ):
                break
            try:
                parts, rest_at, is_whole, is_transactional = read_partitions(
                    data, position + rows_at, end, count
                )
            except _NOT_DECODED:
                break
            if (
                not is_whole
                or (is_transactional and not template.takes_transactional)
                or data[rest_at:end] != _NO_TAGS
            ):
                break
            self._is_used = True
            # fmt: off
            context = RequestContext(
                ApiKey.PRODUCE, template.api_version, correlation_id, template.client_id, now_ms,
                size, peer.broker_id, peer.connection_id, peer.client_host,
                peer.session.principal, peer.session,
            )
            # fmt: on
            start, position = position + _SIZE_BYTES, end
            response = self._handle(context, template, topic, data, start, end, parts)
            if type(response) is bytes:
                responses.append(response)
            elif response is not None:
                return position, response
        return position, None

    def _handle(
        self,
        context: RequestContext,
        template: ProduceTemplate,
        topic: Topic,
        data: bytes,
        start: int,
        end: int,
        parts: list[PartitionBatch],
    ) -> DispatchResult:
        """Handle one request as `Dispatcher.dispatch` and `handle_produce` do."""
        cluster, dispatcher = self._cluster, self._dispatcher
        acks, has_quotas = template.acks, cluster.quotas.clients.is_enabled
        entry = dispatcher.begin(context, data, start, end)
        response: DispatchResult = None
        try:
            if has_quotas:
                dispatcher.start_stopwatch(context)
            results, has_error = append_batches(
                context, cluster, topic, parts, data, acks, template.transactional_id
            )
            if has_quotas:
                charge_produce(context, cluster, expects_response=acks != 0)
            if has_error or context.throttle_time_ms:
                topic_results = [(template.name, template.topic_id, results)]
                body = encode_results(context, cluster, acks, topic_results, has_error=has_error)
                route = cluster.routes[context.broker_id][ApiKey.PRODUCE]
                response = dispatcher.framed(route, context, body)
            elif acks:
                response = template.response(context.correlation_id, results)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not hurt other clients
            response = closed_by(error, context, dispatcher.report_bug)
        return dispatcher.end(context, entry, response)
