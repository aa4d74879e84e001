"""Handle a Produce request of a known shape that quotas may throttle, or that is audited."""

from broker.dispatch.produce_services import ProduceServices
from broker.produce.acknowledge import note_batch
from broker.produce.batch_layout import FittingBatches
from broker.produce.fitting_batches import store_fitting
from broker.produce.request_shape import RequestShape
from broker.request.context import RequestContext
from broker.request.encoding import close_on_error, throttled_response
from broker.request.session import Peer
from broker.request.throttling import charge_produce
from broker.responses import CompletedResponse
from protocol.api_keys import ApiKey
from protocol.framing import Frame
from protocol.produce_template import correlation_id_of
from protocol.records import read_header

NO_RESPONSE = b""
"""The response to a request with acks=0 that was handled."""


def respond_accounted(
    services: ProduceServices,
    shape: RequestShape,
    batches: FittingBatches,
    frame: Frame,
    peer: Peer,
    now_ms: int,
    started_ns: int,
) -> CompletedResponse:
    """Append the batches, charge quotas, and note the request in journal and audit.

    The ordinary path does the same. With acks=0 the response is `NO_RESPONSE`.
    """
    journal, acknowledgements = services.journal, services.acknowledgements
    context = context_of_shape(shape, frame, peer, now_ms)
    if acknowledgements.is_enabled:
        context.acknowledgements = []
    if services.cluster.quotas.clients.request_percentage.is_enabled:
        context.stopwatch = lambda: services.now_ns() - started_ns
    entry = journal.begin(context, *frame, started_ns) if journal.is_enabled else None
    response = close_on_error(
        context,
        services.report_bug,
        lambda: _store_and_charge(services, shape, batches, frame, context),
    )
    if acknowledgements.is_enabled:
        acknowledgements.follow(context, response)
    if entry is not None:
        journal.end(entry, response, services.now_ns())
    return NO_RESPONSE if response is None else response


def _store_and_charge(
    services: ProduceServices,
    shape: RequestShape,
    batches: FittingBatches,
    frame: Frame,
    context: RequestContext,
) -> CompletedResponse:
    cluster, now_ms = services.cluster, context.now_ms
    start_offsets = store_fitting(cluster, shape, batches, frame[2] - frame[1], now_ms)
    if context.acknowledgements is not None:
        for target, stored in zip(shape.targets, batches.stored, strict=True):
            header = read_header(stored, 0)
            base_offset = header.base_offset
            note_batch(context, target.topic, target.partition, header, base_offset, is_append=True)
    if cluster.quotas.clients.is_enabled:
        charge_produce(context, cluster, expects_response=shape.acks != 0)
    response = None
    if shape.acks:
        response = shape.response.encode(
            context.correlation_id,
            batches.base_offsets,
            start_offsets,
            context.throttle_time_ms,
        )
    quota = context.throttled_by
    return response if quota is None else throttled_response(context, quota, response)


def context_of_shape(shape: RequestShape, frame: Frame, peer: Peer, now_ms: int) -> RequestContext:
    """Return the context of a request."""
    buffer, start, end = frame
    return RequestContext(
        ApiKey.PRODUCE,
        shape.api_version,
        correlation_id_of(buffer, start),
        shape.client_id,
        now_ms,
        end - start,
        peer.broker_id,
        peer.connection_id,
        peer.client_host,
        peer.session.principal,
        peer.session,
    )
