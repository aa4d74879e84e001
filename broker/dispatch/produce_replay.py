"""Respond to Produce requests whose bytes in front of the partitions equal those of an earlier one.

A producer sends the same header, acks and topic again and again (ADR 25). What a request does is
done by the functions of the ordinary path: `accept_batches`, `charge_produce`, `Dispatcher.begin`
and `Dispatcher.end`. Any other request takes the ordinary path, which decodes all of it.
"""

from collections.abc import Sequence
from struct import error as StructError
from typing import TypeAlias

from broker.authorization.checks import WRITE_TOPIC, WRITE_TRANSACTIONAL_ID
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.dispatch.ordinary_path import PAUSE_MAX, OrdinaryPath, replayed_context
from broker.handlers.k00_produce import encode_results
from broker.journal.lines import Entry
from broker.produce.append import accept_batches
from broker.request.authorization import is_allowed
from broker.request.charged_run import ChargedRun
from broker.request.context import RequestContext
from broker.request.encoding import closed_by
from broker.request.session import Peer
from broker.request.throttling import charge_produce, end_run
from broker.responses import DispatchResult
from protocol.api_keys import ApiKey
from protocol.codec import LONG_BODY_BYTES, DecodeError
from protocol.framing import SIZE_BYTES, Frame
from protocol.pacing import may_pause
from protocol.produce import AppendedFields, Refusals, partition_results
from protocol.produce_decoder import PartitionBatch, read_partitions
from protocol.produce_template import PackResponse, ProduceTemplate, UnpackFrame
from protocol.records import LOG_OVERHEAD_BYTES, MAGIC, TRANSACTIONAL_FLAG

_START_BYTES = 12
"""The size of a frame, API key and version, and the correlation id."""
_ROW_START_BYTES = 6
"""In front of the records: the index of the partition, and their size in two bytes."""
_SIZE_OFFSET = 0x80 + LOG_OVERHEAD_BYTES + 1
"""How much a size of two bytes, both taken as they are, is more than the length of its batch."""
_NO_TAGS = b"\0\0\0"
"""Of the partition, the topic and the request."""


# fmt: off
_Learnt: TypeAlias = tuple[
    int, Topic, int, int, int, bytes, int, str | None, int, PackResponse, UnpackFrame, int, bool
]
# fmt: on
"""What is looked up for the requests of a template while `Cluster.generation` stays.

Until then the client may write, too: each change of a rule is a new generation.
The generation, the topic as it is on the broker of the connection, where the records begin in a
frame with its size if theirs has two bytes, and the largest size; then the first fields of the
template. It is a plain tuple, for the hot path.
"""


class ProduceReplay:
    """What the latest Produce requests of one connection have in common."""

    __slots__ = (
        "_cluster",
        "_context",
        "_dispatcher",
        "_is_used",
        "_learnt",
        "_pause",
        "_peer",
        "_run",
        "_skip",
        "_template",
    )

    def __init__(self, dispatcher: OrdinaryPath, cluster: Cluster, peer: Peer) -> None:
        self._dispatcher = dispatcher
        self._cluster = cluster
        self._peer = peer
        self._learnt: _Learnt | None = None
        self._template: ProduceTemplate
        self._context: RequestContext
        """The context of each request that is like no other only in its correlation id and size."""
        self._run = ChargedRun()
        self._is_used = False
        self._pause, self._skip = 0, 1  # a connection with a single request learns nothing

    @may_pause
    def learn(self, frame: Frame, now_ms: int, frame_bytes_max: int) -> None:
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
            self._template = template
            context = self._renew_context(now_ms)
            if not _may_write(context, self._cluster, topic, template.transactional_id):
                self._learnt = None
                return
            self._learnt = (
                self._cluster.generation,
                topic.on_broker(self._peer.broker_id),
                _START_BYTES + len(template.prefix) + _ROW_START_BYTES,
                min(frame_bytes_max, LONG_BODY_BYTES),
                *template[:9],
            )

    # Hot path: inlined on purpose.
    @may_pause
    def respond(  # noqa: C901, PLR0912, PLR0915
        self, data: bytes, now_ms: int, responses: list[bytes]
    ) -> tuple[int, DispatchResult]:
        """Handle the requests at the beginning of a read; return where others begin.

        Responses are added to `responses`, except for one that ends or mutes the connection: that
        is returned too, and nothing behind it is handled.
        """
        if self._learnt is None:
            return 0, None
        # fmt: off
        (
            generation, topic, records_at, size_max, api, prefix, count, transactional_id, acks,
            pack_response, unpack_frame, frame_bytes_min, has_row,
        ) = self._learnt
        # fmt: on
        context = self._context
        cluster, dispatcher, session = self._cluster, self._dispatcher, self._peer.session
        if (
            generation != cluster.generation
            or dispatcher.faults.is_enabled
            or session.limited_from_ms <= now_ms
        ):
            return 0, None
        has_quotas, is_noted = cluster.quotas.clients.is_enabled, dispatcher.notes_requests
        if context.principal != session.principal:
            return 0, None
        context.now_ms, context.acknowledgements = now_ms, None
        is_plain, has_response = transactional_id is None, acks != 0
        parts: Sequence[PartitionBatch]
        response: DispatchResult = None
        stopwatch = dispatcher.lap_stopwatch() if has_quotas else None
        position, last = 0, len(data) - frame_bytes_min
        context.run = self._run if has_quotas and has_response and last >= frame_bytes_min else None
        while position <= last:
            row = unpack_frame(data, position)
            size, found_api, correlation_id, found_prefix, index, low, high = row[:7]
            header = row[7:]
            start, end = position + SIZE_BYTES, position + SIZE_BYTES + size
            if found_prefix != prefix or found_api != api or size > size_max or end > len(data):
                break
            records_start = position + records_at
            records_end = records_start + LOG_OVERHEAD_BYTES + header[1]
            if (
                has_row
                and 0 < high < 0x80 <= low
                and low + (high << 7) == header[1] + _SIZE_OFFSET
                and header[3] == MAGIC
                and data[records_end:end] == _NO_TAGS
            ):
                parts = ((index, records_start, records_end, header),)
                is_transactional = header[5] & TRANSACTIONAL_FLAG
            else:
                found = _read_parts(data, records_at + position - _ROW_START_BYTES, end, count)
                if found is None:
                    break
                parts, is_transactional = found
            # Transactional batches of several partitions need a look at all of them.
            if is_transactional and (is_plain or count > 1):
                break
            position = end
            context.correlation_id, context.size_bytes = correlation_id, size
            entry = dispatcher.begin(context, data, start, end) if is_noted else None
            try:
                context.stopwatch = stopwatch
                appended, refusals = accept_batches(
                    context, cluster, topic, parts, data, acks, transactional_id, is_plain
                )
                if has_quotas:
                    charge_produce(context, cluster, expects_response=has_response)
                if refusals or (has_quotas and (context.throttle_time_ms or context.shadow)):
                    response = self._unusual(context, appended, refusals)
                    self._keep_context(context, entry)
                elif has_response:
                    response = pack_response(correlation_id, appended)
            except Exception as error:  # noqa: BLE001 - a bug of ours must not hurt other clients
                response = closed_by(error, context, dispatcher.report_bug)
                self._keep_context(context, entry)
            if is_noted:
                response = dispatcher.end(context, entry, response)
            if not context.is_shared:
                context = self._renew_context(now_ms, context.run)
            if type(response) is bytes:
                responses.append(response)
            elif response is not None:
                break
        if context.run is not None:
            end_run(context, cluster, context.run)
        self._is_used |= position > 0
        return position, None if type(response) is bytes else response

    @staticmethod
    def _keep_context(context: RequestContext, entry: Entry | None) -> None:
        """Use a context that quotas or a refusal have changed for no other request."""
        context.is_shared = False
        if entry is not None:
            entry.context = context

    def _renew_context(self, now_ms: int, run: ChargedRun | None = None) -> RequestContext:
        """Return the context of further requests."""
        context = replayed_context(ApiKey.PRODUCE, self._template, self._peer, 0, 0, now_ms)
        context.is_shared, context.run = True, run
        # An attribute of the object is found faster than one of its class.
        context.throttle_time_ms, context.shadow, context.stopwatch = 0, None, None
        context.acknowledgements = None
        self._context = context
        return context

    @may_pause
    def _unusual(
        self, context: RequestContext, appended: AppendedFields, refusals: Refusals
    ) -> DispatchResult:
        """Return the response with errors or a throttle time, as `handle_produce` does."""
        cluster, template = self._cluster, self._template
        results = partition_results(appended, refusals)
        topic_results = [(template.name, template.topic_id, results)]
        has_error = bool(refusals)
        body = encode_results(context, cluster, template.acks, topic_results, has_error=has_error)
        route = cluster.routes[context.broker_id][ApiKey.PRODUCE]
        return self._dispatcher.framed(route, context, body)


def _may_write(
    context: RequestContext, cluster: Cluster, topic: Topic, transactional_id: str | None
) -> bool:
    """Whether the client may do what requests of a template do, while the generation stays."""
    return is_allowed(context, cluster, WRITE_TOPIC, topic.name, is_noted=False) and (
        transactional_id is None
        or is_allowed(context, cluster, WRITE_TRANSACTIONAL_ID, transactional_id, is_noted=False)
    )


@may_pause
def _read_parts(
    data: bytes, position: int, end: int, count: int
) -> tuple[Sequence[PartitionBatch], bool] | None:
    """Return the partitions of a request, and whether a batch is transactional.

    Returns None for what is no such request, or has not one whole batch for each partition.
    """
    try:
        parts, rest_at, is_whole, is_transactional = read_partitions(data, position, end, count)
    except (DecodeError, IndexError, StructError):
        return None
    if not is_whole or data[rest_at:end] != _NO_TAGS[1:]:
        return None
    return parts, is_transactional
