"""The requests with which transaction coordinators write markers, for fault rules that name them.

Without such a rule a marker is written directly (`broker/cluster/transactions.py`). With one it is
a WriteTxnMarkers request of one partition, which the dispatcher handles as if it came from a
connection. So every action of a rule does to it what it does to a client's request.

Source: Kafka's `TransactionMarkerChannelManager`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from broker.cluster.cluster import Cluster
from broker.faults.table import FaultTable
from broker.journal.journal import Journal
from broker.pending_response import PendingResponse
from broker.request.session import Peer, Session
from broker.responses import CompletedResponse, DispatchResult, PendingFrame, frame_of
from broker.transactions.marker import Marker, MarkerRequest
from protocol import codec, messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.framing import Frame
from protocol.pacing import may_pause

_VERSION_MIN = 1
_VERSION_MAX = 2
_SIZE_BYTES = 4

Dispatch = Callable[[Frame, Peer, int], DispatchResult]
"""Handles a frame of a connection at a time."""


@dataclass(slots=True)
class _BrokerConnection:
    """The connection of a coordinator to the leader of a partition, for one request."""

    broker_id: int
    connection_id: int
    client_host: str
    session: Session = field(default_factory=Session)


class MarkerChannel:
    """Sends markers to the brokers of a cluster."""

    def __init__(
        self, cluster: Cluster, faults: FaultTable, journal: Journal, dispatch: Dispatch
    ) -> None:
        self._cluster = cluster
        self._faults = faults
        self._journal = journal
        self._dispatch = dispatch
        self._connection_ids = count(-1, -1)

    @property
    def is_needed(self) -> bool:
        """Whether a fault rule may fire on a marker."""
        return ApiKey.WRITE_TXN_MARKERS in self._faults.named_apis

    @may_pause
    def send(
        self, node_id: int, topic: str, partition_index: int, marker: Marker, now_ms: int
    ) -> MarkerRequest:
        """Send a marker to a broker."""
        host = self._cluster.brokers[node_id].host
        connection = _BrokerConnection(node_id, next(self._connection_ids), host)
        version = self._version(node_id)
        frame = codec.encode_request(
            correlation_id=0,
            client_id="txn-marker-sender",
            api_key=ApiKey.WRITE_TXN_MARKERS,
            api_version=version,
            request=_request(topic, partition_index, marker, version),
        )
        result = self._dispatch((frame, 0, len(frame)), connection, now_ms)

        def disconnect() -> None:
            reason = "the coordinator closed the connection"
            self._journal.disconnected(connection, reason, self._cluster.timers.latest_ms)
            if isinstance(result, PendingFrame):
                result.pending.cancel()

        pending = PendingResponse(on_cancel=disconnect)
        if isinstance(result, PendingFrame):
            result.pending.attach(
                lambda late: pending.complete(_error_code(result.encode(late), version))
            )
        else:
            pending.complete(_error_code(result, version))
        return MarkerRequest(marker, node_id, now_ms, pending)

    def _version(self, node_id: int) -> int:
        """Return the highest version that a broker serves; brokers may have different releases."""
        route = self._cluster.routes[node_id].get(ApiKey.WRITE_TXN_MARKERS)
        return _VERSION_MIN if route is None else min(_VERSION_MAX, route.version_max)


def _request(topic: str, partition_index: int, marker: Marker, version: int) -> Any:
    marker_class = messages.WriteTxnMarkersRequest.WritableTxnMarker
    topics = [
        marker_class.WritableTxnMarkerTopic(
            version=version, name=topic, partition_indexes=[partition_index]
        )
    ]
    return messages.WriteTxnMarkersRequest(
        version=version,
        markers=[
            marker_class(
                version=version,
                producer_id=marker.producer_id,
                producer_epoch=marker.producer_epoch,
                transaction_result=marker.is_commit,
                topics=topics,
                coordinator_epoch=marker.coordinator_epoch,
                transaction_version=marker.transaction_version,
            )
        ],
    )


def _error_code(response: CompletedResponse, version: int) -> ErrorCode | None:
    """Return the error code of the partition; None for a lost connection or broken bytes."""
    frame = frame_of(response)
    if frame is None or int.from_bytes(frame[:_SIZE_BYTES]) != len(frame) - _SIZE_BYTES:
        return None
    try:
        message = codec.decode_response(frame, ApiKey.WRITE_TXN_MARKERS, version)
        [error_code] = {
            ErrorCode(partition.error_code)
            for marker in message.markers
            for topic in marker.topics
            for partition in topic.partitions
        }
    except (codec.DecodeError, ValueError):  # or no single error code
        return None
    return error_code
