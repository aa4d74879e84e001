"""Respond to Produce requests that equal an earlier one of their connection, except for batches.

An inline cache, as interpreters have them (ADR 25). The ordinary path handles the first requests
and everything unusual; `broker/produce/request_shape.py` knows what is usual. No cached request
takes turns: it is short, and nothing in it pauses.
"""

from typing import TYPE_CHECKING

from broker.dispatch.accounted_request import NO_RESPONSE, context_of_shape, respond_accounted
from broker.dispatch.accounted_run import AccountedRun
from broker.dispatch.charged_run import ChargedRun
from broker.dispatch.frame_run import append_frames
from broker.dispatch.produce_charge import ProduceCharge, is_none_known
from broker.dispatch.produce_services import ProduceServices
from broker.dispatch.shared_run import SharedRun
from broker.produce.batch_layout import IsKnownProducer
from broker.produce.fitting_batches import belong_to_transaction, fitting_batches, store_fitting
from broker.produce.request_shape import INDEX_BYTES, RequestShape, shape_of, shape_of_partition
from broker.request.context import Sender
from broker.request.session import NEVER_MS, Peer, Session
from broker.responses import Close, CompletedResponse
from protocol.api_keys import ApiKey
from protocol.codec import LONG_BODY_BYTES, DecodeError
from protocol.framing import SIZE_BYTES as FRAME_SIZE_BYTES
from protocol.framing import Frame
from protocol.produce_template import API_BYTES, CONSTANT_AT, correlation_id_of

if TYPE_CHECKING:
    from broker.dispatch.end_txn_cache import EndTxnCache

_API_END = FRAME_SIZE_BYTES + API_BYTES
_END_TXN_KEY = ApiKey.END_TXN.to_bytes(2, "big")
_CONSTANT_AT = FRAME_SIZE_BYTES + CONSTANT_AT
TARGETS_MAX = 64
"""Partitions of all shapes of a connection, to bound memory."""
PAUSE_MAX = 1023
"""Requests between two that are learnt, for a client whose requests never have the same shape."""


class ProduceCache:
    """The shapes of the Produce requests of one connection."""

    __slots__ = (
        "_accounted",
        "_charge",
        "_charged",
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
        self._charged: ChargedRun | None = None
        """The same run while quotas are set, or the journal records it."""
        self._accounted: AccountedRun | None = None
        """The same run while the journal records it, or a quota counts producer ids."""
        self._charge: ProduceCharge | None = None
        """Where quotas charge requests that no run handles."""
        self._sender: Sender | None = None
        """Who sends the requests, for the journal."""
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
        quotas, journal = cluster.quotas.clients, services.journal
        is_accounted = (
            quotas.is_enabled or journal.is_enabled or services.acknowledgements.is_enabled
        )
        started_ns = services.now_ns() if is_accounted else 0
        is_known_producer = self._is_known_producer(session)
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
        charge = None
        if is_accounted:
            charge = self._charge_of(shape, peer, now_ms)
            if (
                services.acknowledgements.is_enabled
                or (journal.is_enabled and end - start + FRAME_SIZE_BYTES > journal.run_bytes_max)
                or (charge.time_rate is not None and not shape.acks)
                or not charge.allows(end - start, now_ms)
            ):
                return respond_accounted(services, shape, batches, frame, peer, now_ms, started_ns)
        try:
            start_offsets = store_fitting(cluster, shape, batches, end - start, now_ms)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not hurt other clients
            services.report_bug(error, context_of_shape(shape, frame, peer, now_ms))
            return Close(f"internal error in PRODUCE v{shape.api_version}: {error!r}")
        response = NO_RESPONSE
        if shape.acks:
            correlation_id = correlation_id_of(buffer, start)
            response = shape.response.encode(correlation_id, batches.base_offsets, start_offsets, 0)
        if charge is not None:
            charge.record(end - start, now_ms)
            charge.record_time(services.now_ns() - started_ns, now_ms)
        if journal.is_enabled:
            data = (end - start).to_bytes(FRAME_SIZE_BYTES, "big") + buffer[start:end]
            sender = self._sender_of(peer)
            journal.add_one(sender, data, response, now_ms, started_ns, services.now_ns())
        return response

    def _charge_of(self, shape: RequestShape, peer: Peer, now_ms: int) -> ProduceCharge:
        """Return where quotas charge the requests of a shape."""
        charge, client_id = self._charge, shape.client_id
        if charge is None or charge.client_id != client_id:
            cluster, principal = self._services.cluster, peer.session.principal
            charge = ProduceCharge(cluster, peer.broker_id, principal, client_id, now_ms)
            self._charge = charge
        return charge

    @property
    def responder(self) -> "SharedRun | ChargedRun | AccountedRun | ProduceCache | None":
        """What may respond at once to reads like those that `respond_to_run` handles.

        It is the run if the connection ends no transactions and its session has no end; only a
        request of the connection can change that. Pass an exception to `close_after_bug`.
        """
        if self._ends is not None or self._session.limited_from_ms != NEVER_MS:
            return self
        run = self._run
        if run is None or run.shape is not self._shape:
            return None
        return self._accounted or self._charged or run

    def respond_at_once(self, data: bytes, now_ms: int) -> bytes | None:
        """Handle a read that is one request of the latest run, or an EndTxn; None changes nothing.

        Call it only if `respond_to_run` has handled a whole read since others handled one.
        """
        if self._ends is not None and data.startswith(_END_TXN_KEY, FRAME_SIZE_BYTES):
            return self._ends.respond(data, now_ms)
        run = self._accounted or self._charged or self._run
        if run is None or self._session.limited_from_ms <= now_ms:
            return None
        return run.respond_at_once(data, now_ms)

    def close_after_bug(self, error: Exception, data: bytes, peer: Peer, now_ms: int) -> Close:
        """Report an exception of `respond_at_once`, which must not hurt other clients."""
        if self._ends is not None and data.startswith(_END_TXN_KEY, FRAME_SIZE_BYTES):
            return self._ends.close_after_bug(error, data, peer, now_ms)
        assert self._run is not None
        return self._close_after_bug(error, self._run.shape, data, peer, now_ms)

    def _close_after_bug(
        self, error: Exception, shape: RequestShape, data: bytes, peer: Peer, now_ms: int
    ) -> Close:
        frame = data, FRAME_SIZE_BYTES, len(data)
        self._services.report_bug(error, context_of_shape(shape, frame, peer, now_ms))
        return Close(f"internal error in PRODUCE v{shape.api_version}: {error!r}")

    def respond_to_run(
        self, data: bytes, peer: Peer, now_ms: int, responses: list[bytes]
    ) -> int | Close:
        """Handle the requests at the beginning of a read, as `respond`; return where others begin.

        These are requests of the latest shape, or one EndTxn of a transactional producer. It
        handles none if each would be noted in the audit or passed to a listener of the journal, or
        if a quota may throttle one.
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
        accounted = self._accounted_run(run, peer, now_ms)
        if accounted is not None:
            assert self._charged is not None
            if not self._charged.charge.allows(len(data) - FRAME_SIZE_BYTES, now_ms):
                return 0
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
        services = self._services
        cluster, journal, charge = services.cluster, services.journal, None
        is_recorded = journal.is_enabled
        if (
            shape.produce_version != cluster.produce_version
            or peer.session.limited_from_ms <= now_ms
            or services.acknowledgements.is_enabled
            or services.faults.is_enabled
            or (is_recorded and len(data) > journal.run_bytes_max)
        ):
            return 0
        if cluster.quotas.clients.is_enabled:
            charge = self._charge_of(shape, peer, now_ms)
            if not shape.acks or not charge.allows(len(data), now_ms):
                return 0  # one of them may mute the connection
        shape.is_used = True
        started_ns = services.now_ns() if is_recorded or charge is not None else 0
        try:
            is_known_producer = self._is_known_producer(peer.session)
            end = append_frames(cluster, shape, data, now_ms, responses, is_known_producer)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not hurt other clients
            return self._close_after_bug(error, shape, data, peer, now_ms)
        if charge is not None and end:
            charge.record(end - len(responses) * FRAME_SIZE_BYTES, now_ms)
            charge.record_time(services.now_ns() - started_ns, now_ms)
        if end and is_recorded:
            handled = self._sender_of(peer), data[:end], tuple(responses)
            journal.add_run(*handled, now_ms, started_ns, services.now_ns())
        return end

    def _sender_of(self, peer: Peer) -> Sender:
        if self._sender is None:
            self._sender = Sender(peer)
        return self._sender

    def _is_known_producer(self, session: Session) -> IsKnownProducer | None:
        """Return the function that says whose batches may be appended; None if all may be."""
        if not self._services.cluster.quotas.clients.producer_ids_rate.is_enabled:
            return None
        producer_ids = session.producer_ids
        return is_none_known if producer_ids is None else producer_ids.is_known

    def _accounted_run(
        self, run: SharedRun, peer: Peer, now_ms: int
    ) -> ChargedRun | AccountedRun | None:
        """Return the run of this connection for journal and quotas; None while it needs neither."""
        services, producer_ids = self._services, peer.session.producer_ids
        is_recorded = services.journal.is_enabled
        if not is_recorded and not services.cluster.quotas.clients.is_enabled:
            self._charged = self._accounted = None
            return None
        charged = self._charged
        if charged is None or charged.run is not run:
            charged = self._charged = services.charged_run_of(run, peer, now_ms)
        if not is_recorded and producer_ids is None:
            self._accounted = None
            return charged
        accounted = self._accounted
        if (
            accounted is None
            or accounted.charged is not charged
            or accounted.producer_ids is not producer_ids
        ):
            sender = self._sender_of(peer)
            accounted = self._accounted = AccountedRun(charged, sender, producer_ids)
        return accounted

    def _append_elsewhere(
        self,
        run: SharedRun | ChargedRun | AccountedRun,
        data: bytes,
        now_ms: int,
        responses: list[bytes],
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
        self._shape = self._charge = None
        self._shapes.clear()
        self._key_lengths.clear()
