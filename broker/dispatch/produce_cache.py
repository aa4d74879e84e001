"""Respond to Produce requests that equal an earlier one of their connection, except for batches.

An inline cache, as interpreters have them (ADR 25). The ordinary path handles the first requests
and everything unusual; `broker/produce/request_shape.py` knows what is usual. No cached request
takes turns: it is short, and nothing in it pauses.
"""

from struct import Struct
from typing import TYPE_CHECKING

from broker.dispatch.accounted_run import AccountedRun, Note, note_of, take_note
from broker.dispatch.produce_services import ProduceServices
from broker.dispatch.shared_run import SharedRun
from broker.produce.acknowledge import note_batch
from broker.produce.batch_layout import FittingBatches
from broker.produce.fitting_batches import belong_to_transaction, fitting_batches, store_fitting
from broker.produce.request_shape import INDEX_BYTES, RequestShape, shape_of, shape_of_partition
from broker.request.context import RequestContext, Sender, current_sender
from broker.request.encoding import close_on_error, throttled_response
from broker.request.session import NEVER_MS, Peer, Session
from broker.request.throttling import charge_produce
from broker.responses import Close, CompletedResponse
from protocol.api_keys import ApiKey
from protocol.codec import LONG_BODY_BYTES, DecodeError
from protocol.framing import SIZE_BYTES as FRAME_SIZE_BYTES
from protocol.framing import Frame
from protocol.produce_template import API_BYTES, CONSTANT_AT, correlation_id_of
from protocol.records import read_header

if TYPE_CHECKING:
    from broker.dispatch.end_txn_cache import EndTxnCache

_API_END = FRAME_SIZE_BYTES + API_BYTES
_END_TXN_KEY = ApiKey.END_TXN.to_bytes(2, "big")
_CONSTANT_AT = FRAME_SIZE_BYTES + CONSTANT_AT
TARGETS_MAX = 64
"""Partitions of all shapes of a connection, to bound memory."""
PAUSE_MAX = 1023
"""Requests between two that are learnt, for a client whose requests never have the same shape."""
_unpack_size = Struct(">i").unpack_from
NO_RESPONSE = b""
"""The response to a request with acks=0 that was handled."""


class ProduceCache:
    """The shapes of the Produce requests of one connection."""

    __slots__ = (
        "_accounted",
        "_ends",
        "_key_lengths",
        "_latest",
        "_pause",
        "_run",
        "_sender",
        "_services",
        "_session",
        "_shape",
        "_shapes",
        "_skip",
    )

    def __init__(self, services: ProduceServices, session: Session) -> None:
        """`session` is that of the connection."""
        self._services = services
        self._session = session
        self._shape: RequestShape | None = None
        """The shape that was used last; it is as old as all others."""
        self._run: SharedRun | None = None
        """That of the shape that was used last by a run."""
        self._accounted: AccountedRun | None = None
        """The same run while the journal records requests, or quotas of clients are set."""
        self._sender: Sender | None = None
        """Who sends the requests, for journal and quotas."""
        self._shapes: dict[bytes, RequestShape] = {}
        """All of them, by API key, version and key; for one partition, any that was used so."""
        self._key_lengths: set[int] = set()
        self._latest: RequestShape | None = None
        """The shape that was learnt last."""
        self._pause = 0
        """Requests that were let pass, or will be, before the next one that is learnt."""
        self._ends: EndTxnCache | None = None
        # A connection with a single request learns nothing.
        self._skip = 1

    # Hot path: inlined on purpose.
    def respond(  # noqa: C901, PLR0912
        self, frame: Frame, peer: Peer, now_ms: int
    ) -> CompletedResponse:
        """Handle a request, or return None: the ordinary path has to take it.

        Nothing has changed then but what the ordinary path will change as well: a batch of a
        transaction may be verified, and that may have added its partition.

        `peer` is always the same connection. With acks=0 the response is `NO_RESPONSE`.
        """
        shape = self._shape
        if shape is None:
            return None
        buffer, start, end = frame
        services, session = self._services, peer.session
        cluster = services.cluster
        if (
            buffer[start : start + API_BYTES] != shape.api
            or services.faults.is_enabled
            or session.limited_from_ms <= now_ms
        ):
            return None
        if shape.produce_version != cluster.produce_version:
            self._forget()
            return None
        quotas = cluster.quotas.clients
        is_known_producer = None
        if quotas.is_enabled and quotas.producer_ids_rate.is_enabled:
            if session.producer_ids is None:
                return None
            is_known_producer = session.producer_ids.is_known
        batches = fitting_batches(shape, buffer, start, end, now_ms, is_known_producer)
        if batches is None:
            shape = self._find(buffer, start, peer.broker_id)
            if shape is None or shape is self._shape:
                return None
            batches = fitting_batches(shape, buffer, start, end, now_ms, is_known_producer)
            if batches is None:
                return None
            self._shape = shape
        if shape.transactional_id is not None and not belong_to_transaction(
            cluster, shape, batches.produced, now_ms
        ):
            return None
        shape.is_used = True
        note = None
        if quotas.is_enabled or services.journal.is_enabled or services.acknowledgements.is_enabled:
            note = self._note_of(shape, end - start, peer, now_ms)
            if note is None:
                return self._respond_accounted(shape, batches, frame, peer, now_ms)
        try:
            start_offsets = store_fitting(cluster, shape, batches, end - start, now_ms)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not hurt other clients
            services.report_bug(error, _context(shape, frame, peer, now_ms))
            return Close(f"internal error in PRODUCE v{shape.api_version}: {error!r}")
        response = NO_RESPONSE
        if shape.acks:
            correlation_id = correlation_id_of(buffer, start)
            response = shape.response.encode(correlation_id, batches.base_offsets, start_offsets, 0)
        if note is not None:
            take_note(services, note, frame, response, now_ms)
        return response

    def _note_of(
        self, shape: RequestShape, size_bytes: int, peer: Peer, now_ms: int
    ) -> Note | None:
        """Return how to account for a request, if it has no need of `_respond_accounted`."""
        sender = self._sender = current_sender(self._sender, peer)
        return note_of(self._services, sender, shape.client_id, size_bytes, now_ms)

    @property
    def responder(self) -> "SharedRun | AccountedRun | ProduceCache | None":
        """What may respond at once to reads like those that `respond_to_run` handles.

        It is the run if the connection ends no transactions and its session has no end; only a
        request of the connection can change that. Pass an exception to `close_after_bug`.
        """
        if self._ends is not None or self._session.limited_from_ms != NEVER_MS:
            return self
        run = self._run
        if run is None or run.shape is not self._shape:
            return None
        return self._accounted or run

    def respond_at_once(self, data: bytes, now_ms: int) -> bytes | None:
        """Handle a read that is one request of the latest run, or an EndTxn; None changes nothing.

        Call it only if `respond_to_run` has handled a whole read since others handled one.
        """
        if self._ends is not None and data.startswith(_END_TXN_KEY, FRAME_SIZE_BYTES):
            return self._ends.respond(data, now_ms)
        run = self._accounted or self._run
        if run is None or self._session.limited_from_ms <= now_ms:
            return None
        return run.respond_at_once(data, now_ms)

    def close_after_bug(self, error: Exception, data: bytes, peer: Peer, now_ms: int) -> Close:
        """Report an exception of `respond_at_once`, which must not hurt other clients."""
        if self._ends is not None and data.startswith(_END_TXN_KEY, FRAME_SIZE_BYTES):
            return self._ends.close_after_bug(error, data, peer, now_ms)
        assert self._run is not None
        shape = self._run.shape
        frame = data, FRAME_SIZE_BYTES, len(data)
        self._services.report_bug(error, _context(shape, frame, peer, now_ms))
        return Close(f"internal error in PRODUCE v{shape.api_version}: {error!r}")

    def respond_to_run(
        self, data: bytes, peer: Peer, now_ms: int, responses: list[bytes]
    ) -> int | Close:
        """Handle the requests at the beginning of a read, as `respond`; return where others begin.

        These are requests of the latest shape, or one EndTxn of a transactional producer. It
        handles none if the shape has one partition, and each would be noted in the audit, passed to
        a listener of the journal, or timed for a quota.
        """
        shape = self._shape
        if shape is not None and shape.layouts:
            return self._respond_to_frames(shape, data, peer, now_ms, responses)
        if (
            shape is None
            or data[FRAME_SIZE_BYTES:_API_END] != shape.api
            or len(shape.targets) > 1
            or not data.startswith(shape.key, _CONSTANT_AT)
        ):
            if shape is None or not shape.is_transactional:
                return 0
            return self._end_txn_cache.respond_to_read(data, peer, now_ms, responses)
        services = self._services
        cluster = services.cluster
        if (
            shape.produce_version != cluster.produce_version
            or peer.session.limited_from_ms <= now_ms
            or cluster.limits_producer_ids
            or services.acknowledgements.is_enabled
            or services.faults.is_enabled
        ):
            return 0
        run = self._run
        if run is None or run.shape is not shape:
            run = self._run = services.run_of(shape)
            shape = self._take_shape(run.shape)
        accounted = self._accounted = self._accounted_run(run, peer)
        try:
            if not data.startswith(shape.targets[0].piece, _CONSTANT_AT):
                return self._append_elsewhere(accounted or run, data, now_ms, responses)
            if accounted is not None:
                return accounted.append(data, now_ms, responses)
            return run.append(cluster, data, now_ms, responses)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not hurt other clients
            return self.close_after_bug(error, data, peer, now_ms)

    def _respond_to_frames(
        self, shape: RequestShape, data: bytes, peer: Peer, now_ms: int, responses: list[bytes]
    ) -> int | Close:
        """Handle the requests for several partitions that have a size with a layout."""
        quotas = self._services.cluster.quotas.clients
        if quotas.is_enabled and self._note_of(shape, len(data), peer, now_ms) is None:
            return 0  # one of them may mute the connection
        layouts, position, data_end = shape.layouts, 0, len(data)
        while data_end - position > FRAME_SIZE_BYTES:
            start = position + FRAME_SIZE_BYTES
            end = start + _unpack_size(data, position)[0]
            if end - start not in layouts or end > data_end:
                break
            response = self.respond((data, start, end), peer, now_ms)
            if not isinstance(response, bytes):
                return response if isinstance(response, Close) else position
            responses.append(response)
            position = end
        return position

    def _accounted_run(self, run: SharedRun, peer: Peer) -> AccountedRun | None:
        """Return the run of this connection for journal and quotas; None while it needs neither."""
        services = self._services
        if not (services.journal.is_enabled or services.cluster.quotas.clients.is_enabled):
            return None
        accounted, sender = self._accounted, current_sender(self._sender, peer)
        self._sender = sender
        if accounted is None or accounted.run is not run or accounted.sender is not sender:
            accounted = AccountedRun(run, sender, services)
        return accounted

    def _append_elsewhere(
        self, run: SharedRun | AccountedRun, data: bytes, now_ms: int, responses: list[bytes]
    ) -> int:
        """Handle a read that is one request for another partition of the topic."""
        response = run.respond_at_once(data, now_ms)
        if response is None:
            return 0
        assert self._shape is not None
        self._shape.is_used = True
        responses.append(response)
        return len(data)

    @property
    def _end_txn_cache(self) -> "EndTxnCache":
        """The cache of what ends the transactions of a connection, once it has some."""
        if self._ends is None:
            from broker.dispatch.end_txn_cache import EndTxnCache  # noqa: PLC0415 - see ADR 24

            self._ends = EndTxnCache(self._services, self._session)
        return self._ends

    def _respond_accounted(
        self,
        shape: RequestShape,
        batches: FittingBatches,
        frame: Frame,
        peer: Peer,
        now_ms: int,
    ) -> CompletedResponse:
        """Charge quotas and note the request in journal and audit, as the ordinary path does."""
        services = self._services
        journal, acknowledgements = services.journal, services.acknowledgements
        context = _context(shape, frame, peer, now_ms)
        if acknowledgements.is_enabled:
            context.acknowledgements = []
        entry = journal.begin(context, *frame, services.now_ns()) if journal.is_enabled else None
        response = close_on_error(
            context,
            services.report_bug,
            lambda: self._store_and_charge(shape, batches, frame, context),
        )
        if acknowledgements.is_enabled:
            acknowledgements.follow(context, response)
        if entry is not None:
            journal.end(entry, response, services.now_ns())
        return NO_RESPONSE if response is None else response

    def _store_and_charge(
        self,
        shape: RequestShape,
        batches: FittingBatches,
        frame: Frame,
        context: RequestContext,
    ) -> CompletedResponse:
        services = self._services
        cluster, now_ms = services.cluster, context.now_ms
        is_limited = cluster.quotas.clients.is_enabled
        if is_limited:
            services.start_stopwatch(context)
        start_offsets = store_fitting(cluster, shape, batches, frame[2] - frame[1], now_ms)
        if context.acknowledgements is not None:
            for target, stored in zip(shape.targets, batches.stored, strict=True):
                header = read_header(stored, 0)
                base_offset = header.base_offset
                note_batch(
                    context, target.topic, target.partition, header, base_offset, is_append=True
                )
        if is_limited:
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

    def learn(self, frame: Frame, broker_id: int) -> None:
        """Remember the shape of a Produce request that the ordinary path has handled."""
        buffer, start, end = frame
        cluster = self._services.cluster
        if self._shape is not None and self._shape.produce_version != cluster.produce_version:
            self._forget()
        if end - start > LONG_BODY_BYTES:
            return
        known = self._find(buffer, start, broker_id)
        if known is not None:
            self._shape = known  # `respond` does not look for one of another version
            return
        if self._latest is not None and self._latest.is_used:
            self._pause = 0
        elif self._skip:
            self._skip -= 1
            return
        self._skip = self._pause = min(2 * self._pause + 1, PAUSE_MAX)
        try:
            shape = shape_of(cluster, broker_id, buffer, start, end)
        except DecodeError:  # a fault rule responded to it
            shape = None
        self._latest = shape
        if shape is None:
            return
        target_count = sum(len(known.targets) for known in self._shapes.values())
        if target_count + len(shape.targets) > TARGETS_MAX:
            self._forget()
        self._shapes[shape.api + shape.key] = self._shape = shape
        self._key_lengths.add(len(shape.key))

    def _find(self, buffer: bytes | bytearray, start: int, broker_id: int) -> RequestShape | None:
        """Return a known shape that begins as this request, or that of another partition."""
        api = bytes(buffer[start : start + API_BYTES])
        position = start + CONSTANT_AT
        for length in self._key_lengths:
            end = position + length
            shape = self._shapes.get(api + buffer[position:end])
            if shape is None:
                continue
            if len(shape.targets) > 1:
                return shape
            index_bytes = bytes(buffer[end : end + INDEX_BYTES])
            if shape.targets[0].piece.endswith(index_bytes):
                return shape
            shape.is_used = True
            other = shape_of_partition(shape, broker_id, index_bytes)
            if other is not None:
                self._shapes[api + shape.key] = other
            return other
        return None

    def _take_shape(self, shape: RequestShape) -> RequestShape:
        """Use a shape that may be another connection's, in place of an equal one."""
        if self._latest is self._shape:
            self._latest = shape
        self._shapes[shape.api + shape.key] = self._shape = shape
        return shape

    def _forget(self) -> None:
        self._shape = None
        self._shapes.clear()
        self._key_lengths.clear()


def _context(shape: RequestShape, frame: Frame, peer: Peer, now_ms: int) -> RequestContext:
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
