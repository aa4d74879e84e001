"""Respond to EndTxn requests that equal the last one of their connection, except for the producer.

A transactional producer sends one after each of its transactions, alone in a read: the same bytes
with another correlation id and epoch (ADR 25). What it does is the same as in the handler. While
requests are timed for a quota or subject to fault rules, the dispatcher handles them.
"""

from struct import Struct
from typing import NamedTuple

from broker.cluster.cluster import Cluster
from broker.cluster.transactions import takes_long_to_end
from broker.cluster.usual_transaction import end_transaction
from broker.dispatch.produce_services import ProduceServices
from broker.handlers.k26_end_txn import BUMP_VERSION_MIN, end_txn_body
from broker.request.client_charge import open_time_rate
from broker.request.context import Sender, context_of_frame
from broker.request.session import Peer, Session
from broker.responses import Close
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.end_txn import (
    FLEXIBLE_VERSION_MIN,
    encode_response,
    encode_with_producer,
    read_end_txn,
)
from protocol.framing import SIZE_BYTES

_KEY = ApiKey.END_TXN.to_bytes(2, "big")
_START_BYTES = SIZE_BYTES + 4
"""The size of the frame, API key and version."""
_CORRELATION_ID_BYTES = 4
_PIECE_AT = _START_BYTES + _CORRELATION_ID_BYTES
_FIELDS_BYTES = 11
_TAGS = b"\x00"
FRAME_BYTES_MAX = 1024
"""Longer requests are not remembered, to bound memory."""


class EndTxnShape(NamedTuple):
    """What equal requests have in common while `Cluster.produce_version` is `produce_version`."""

    produce_version: int
    broker_id: int
    layout: Struct
    """Unpacks all of a frame: the bytes below, and the fields that differ."""
    start: bytes
    """The size of the frame, API key and version."""
    piece: bytes
    """From the client id to the transactional id."""
    rest: bytes
    """Behind producer id, producer epoch and result."""
    response_start: bytes
    """The size of the response."""
    between: bytes
    """What the header of the response has after the correlation id."""
    api_version: int
    client_id: str | None
    transactional_id: str


class EndTxnCache:
    """The shape of the latest EndTxn of one connection."""

    __slots__ = ("_cluster", "_faults", "_journal", "_sender", "_services", "_session", "_shape")

    def __init__(self, services: ProduceServices, session: Session) -> None:
        """`session` is that of the connection."""
        self._services = services
        self._cluster = services.cluster
        self._faults = services.faults
        self._journal = services.journal
        self._session = session
        self._shape: EndTxnShape | None = None
        self._sender: Sender | None = None
        """Who sends requests of the shape, for the journal."""

    def respond(self, data: bytes, now_ms: int) -> bytes | None:
        """Handle a read that is an EndTxn like the latest one; None changes nothing.

        Pass an exception to `close_after_bug`.
        """
        shape, cluster, journal = self._shape, self._cluster, self._journal
        if (
            shape is None
            or shape.produce_version != cluster.produce_version
            or self._faults.is_enabled
            or (journal.is_enabled and len(data) > journal.run_bytes_max)
            or self._session.limited_from_ms <= now_ms
        ):
            return None
        time_rate = None
        if cluster.quotas.clients.request_percentage.is_enabled:
            client = self._session.principal, shape.client_id
            time_rate = open_time_rate(cluster, shape.broker_id, *client, now_ms)
            if time_rate is None:
                return None
        if time_rate is None and not journal.is_enabled:
            return self._response(shape, data, now_ms)
        started_ns = self._services.now_ns()
        response = self._response(shape, data, now_ms)
        if response is None:
            return None
        ended_ns = self._services.now_ns()
        if time_rate is not None:
            time_rate.record(ended_ns - started_ns, now_ms)
        if journal.is_enabled:
            assert self._sender is not None
            journal.add_one(self._sender, data, response, now_ms, started_ns, ended_ns)
        return response

    def _response(self, shape: EndTxnShape, data: bytes, now_ms: int) -> bytes | None:
        """Handle a read that may be an EndTxn of a shape; None changes nothing."""
        _, broker_id, layout, start, piece, rest, before, between, api_version, _, name = shape
        if len(data) != layout.size:
            return None
        found, correlation_id, found_piece, producer_id, epoch, result, found_rest = layout.unpack(
            data
        )
        if found != start or found_piece != piece or found_rest != rest or result > 1:
            return None
        cluster = self._cluster
        if api_version >= BUMP_VERSION_MIN and end_transaction(
            cluster, broker_id, name, producer_id, epoch, now_ms, is_commit=result == 1
        ):
            body = encode_with_producer(0, 0, producer_id, epoch + 1)
        elif takes_long_to_end(cluster, name):
            return None  # the dispatcher lets it take turns
        else:
            body = end_txn_body(
                cluster, broker_id, api_version, name, producer_id, epoch, result == 1, now_ms
            )
        response: bytes = before + correlation_id + between + body
        return response

    def respond_to_read(
        self, data: bytes, peer: Peer, now_ms: int, responses: list[bytes]
    ) -> int | Close:
        """Handle a read as `respond` does; return its size, or 0 for one that others handle.

        They handle the first EndTxn, of which the shape is remembered.
        """
        if not data.startswith(_KEY, SIZE_BYTES):
            return 0
        if self._sender is None:
            self._sender = Sender(peer)
        try:
            response = self.respond(data, now_ms)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not hurt other clients
            return self.close_after_bug(error, data, peer, now_ms)
        if response is not None:
            responses.append(response)
            return len(data)
        if not self._faults.is_enabled:
            self._shape = shape_of(self._cluster, peer.broker_id, data)
        return 0

    def close_after_bug(self, error: Exception, data: bytes, peer: Peer, now_ms: int) -> Close:
        """Report an exception of `respond`, which must not hurt other clients."""
        context = context_of_frame(data, peer, now_ms)
        self._services.report_bug(error, context)
        return Close(f"internal error in END_TXN v{context.api_version}: {error!r}")


def shape_of(cluster: Cluster, broker_id: int, data: bytes) -> EndTxnShape | None:
    """Return the shape of the EndTxn that a read consists of; None for one that is not usual."""
    end = len(data)
    if end > FRAME_BYTES_MAX:
        return None
    try:
        header = codec.decode_header(data, SIZE_BYTES, end)
    except codec.DecodeError:
        return None
    version, position = header.api_version, header.end
    route = cluster.routes[broker_id].get(ApiKey.END_TXN)
    if (
        int.from_bytes(data[:SIZE_BYTES]) != end - SIZE_BYTES
        or route is None
        or not route.version_min <= version <= route.version_max
    ):
        return None
    tags = _TAGS if version >= FLEXIBLE_VERSION_MIN else b""
    if not data.startswith(tags, position):
        return None
    request = read_end_txn(version, data, position + len(tags), end)
    if request is None:
        return None
    fields_at = end - len(tags) - _FIELDS_BYTES
    piece = data[_PIECE_AT:fields_at]
    response_bytes = _CORRELATION_ID_BYTES + len(tags) + len(encode_response(version, 0, 0, 0))
    return EndTxnShape(
        cluster.produce_version,
        broker_id,
        Struct(f">{_START_BYTES}s{_CORRELATION_ID_BYTES}s{len(piece)}sqhB{len(tags)}s"),
        data[:_START_BYTES],
        piece,
        tags,
        response_bytes.to_bytes(SIZE_BYTES, "big"),
        tags,
        version,
        header.client_id,
        request.transactional_id,
    )
