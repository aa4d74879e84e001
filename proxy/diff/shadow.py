"""Our broker beside a real cluster: what is played with it, and what is compared.

`ShadowConnection` has the order of one connection, `Shadow` what all of them share.
"""

from collections.abc import Callable
from itertools import count
from typing import Any

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.json_view import decode_request_frame
from protocol.pacing import may_pause
from proxy.diff.id_map import IdMap
from proxy.diff.live_comparison import LiveComparison
from proxy.diff.lost_batches import LostBatches
from proxy.diff.not_ready import leave_out_failed, why_not_ready
from proxy.diff.placement import (
    adopt_brokers,
    adopt_coordinators,
    adopt_placement,
    create_internal_topics,
    lose_coordinator,
    pair_topics,
    topic_name,
)
from proxy.diff.played_request import PlayedRequest
from proxy.diff.reassignments import adopt_reassignments, allowed_in_election, hold_reassignments
from proxy.diff.recent_changes import RecentChanges, named_topics
from proxy.diff.record_comparison import RecordComparison
from proxy.diff.report import Report
from proxy.diff.request_ids import with_our_ids
from proxy.diff.shadow_broker import Peer, ShadowBroker


class Shadow:
    """The shadow of a cluster. It has no clock and no sockets."""

    def __init__(self, broker: ShadowBroker, *, release: str = "4.4") -> None:
        """`broker` has the world of the real cluster already; `release` is the real one's."""
        self.broker = broker
        self.ids = IdMap()
        self.report = Report()
        self.connection_ids = count(1)
        """Ids of new connections."""
        self._parked: list[Peer] = []
        self._is_advancing = False
        self.changes = RecentChanges(broker.cluster, self.ids)
        self.records = RecordComparison(broker, self.ids, self.report)
        self.lost = LostBatches(broker, self.ids, self.records)
        self.comparison = LiveComparison(
            self.ids, self.report, len(broker.cluster.brokers), release, self.changes
        )
        self.comparison.allowances += [
            self.records.allowed_before,
            self.records.allowed_later,
            self.lost.allowed,
            lambda _compared, difference: allowed_in_election(broker.cluster, difference),
        ]
        hold_reassignments(broker.cluster)

    def later(self, due_ms: int, callback: Callable[[int], None]) -> None:
        """Call back at a time."""
        self.broker.cluster.timers.schedule(due_ms, callback)

    def end(self) -> Report:
        """Return the report; what has waited is compared with what there is."""
        self.records.end()
        self.comparison.end()
        return self.report

    # What is played ------------------------------------------------------------------------

    def prepared(self, compared: PlayedRequest) -> bytes | None:
        """Return the frame of a request for our broker, or None if it is not played."""
        if compared.api_key is None:
            self.report.not_compared(compared.api, "our broker does not know this version")
            return None
        if compared.request is None:
            return compared.frame
        reason = why_not_ready(compared)
        if reason is not None and compared.api_key is not ApiKey.INIT_PRODUCER_ID:
            self.report.not_compared(compared.api, reason)
            return None
        self.changes.note(compared)
        if compared.api_key is ApiKey.DELETE_TOPICS:
            for name in named_topics(compared.request):
                self.records.forget(name)
        self._adopt(compared)
        pair_topics(self.broker.cluster, self.ids)
        request = decode_request_frame(compared.frame)
        if compared.api_key is ApiKey.PRODUCE and compared.real_response is not None:
            leave_out_failed(request, compared)
            self.lost.take_again(compared, self._stored(compared))
        if compared.api_key in {ApiKey.FETCH, ApiKey.SHARE_FETCH}:
            request.max_wait_ms = request.min_bytes = 0
        return compared.frame_of(with_our_ids(request, self.ids))

    @may_pause
    def _adopt(self, compared: PlayedRequest) -> None:
        """Have our brokers lead and coordinate what the response of the real cluster says."""
        if compared.real_response is None:
            return
        cluster, now_ms = self.broker.cluster, compared.answered_ms
        request, response = compared.request, compared.real_response
        match compared.api_key:
            case ApiKey.FIND_COORDINATOR:
                adopt_coordinators(cluster, request, response, now_ms)
            case ApiKey.LIST_PARTITION_REASSIGNMENTS:
                adopt_reassignments(cluster, request, response, now_ms)
            case ApiKey.METADATA:
                create_internal_topics(cluster, response)
                adopt_brokers(cluster, response, now_ms)
                adopt_placement(cluster, response, self.ids, now_ms)
            case ApiKey.DESCRIBE_TOPIC_PARTITIONS:
                adopt_placement(cluster, response, self.ids, now_ms)
            case _:
                pass

    @may_pause
    def lose_broker(self, node_id: int, now_ms: int) -> None:
        """Note that a broker of the real cluster refuses connections: it has ended."""
        lose_coordinator(self.broker.cluster, node_id, now_ms)

    # The order of batches ------------------------------------------------------------------

    def is_next(self, compared: PlayedRequest) -> bool:
        """Whether our logs are as long as the real ones were before a Produce request."""
        for topic, partition in self._stored(compared):
            end_offset = self.broker.log_end_offset(topic, partition.index)
            if end_offset is not None and end_offset < partition.base_offset:
                return False
        return True

    def end_wait(self, compared: PlayedRequest) -> None:
        """Play batches without a response that a Produce request has waited for long enough."""
        if compared.api_key is ApiKey.PRODUCE:
            self.lost.play_until(self._stored(compared))

    def _stored(self, compared: PlayedRequest) -> list[tuple[str, Any]]:
        """Return topic and result of each partition that the real cluster has stored."""
        response = compared.real_response
        return [
            (self._name_of(topic.name or str(topic.topic_id)), partition)
            for topic in (() if response is None else response.responses)
            for partition in topic.partition_responses
            if partition.error_code == ErrorCode.NONE and partition.base_offset >= 0
        ]

    def lose(self, connection: Peer, compared: PlayedRequest, now_ms: int) -> None:
        """Note a request whose connection ended before its response."""
        self.report.not_compared(compared.api, "the connection ended before the response")
        if compared.api_key is ApiKey.PRODUCE and compared.request is not None:
            self.lost.add(connection, compared, now_ms)

    def park(self, connection: Peer) -> None:
        """Advance a connection again when something was played."""
        if connection not in self._parked:
            self._parked.append(connection)

    def advance_parked(self, now_ms: int) -> None:
        """Advance the connections that wait for what others play."""
        if self._is_advancing or not self._parked:
            return
        self._is_advancing = True
        try:
            played_count = -1
            while self._parked and played_count != self.broker.played_count:
                played_count = self.broker.played_count
                pending, self._parked = self._parked, []
                for connection in pending:
                    connection.advance(now_ms)
        finally:
            self._is_advancing = False

    # What is compared ----------------------------------------------------------------------

    def compare(self, connection: Peer, compared: PlayedRequest, now_ms: int) -> None:
        """Compare the two responses to a request."""
        reason = why_not_ready(compared)
        if compared.real is None:
            self.report.not_compared(compared.api, "it has no response (acks=0)")
        elif reason is not None:
            # JoinGroup and SyncGroup may be played before the real response. InitProducerId is
            # played in any case: it also aborts an open transaction, and then is sent again.
            self.report.not_compared(compared.api, reason)
        else:
            real, _ours = self.comparison.compare(compared, now_ms)
            if compared.api_key is ApiKey.FETCH and isinstance(real, dict):
                self.records.take(connection, compared, real)
                self.lost.play_read(now_ms)
        if compared.api_key in {ApiKey.PRODUCE, ApiKey.END_TXN}:
            self.records.grow()

    def _name_of(self, topic: str) -> str:
        return topic_name(self.broker.cluster, self.ids, topic)
