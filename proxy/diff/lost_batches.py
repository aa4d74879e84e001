"""Batches of Produce requests without a response, which the real cluster may have stored.

A broker that crashes, or a connection that breaks, leaves it open. Later responses show it: records
that a consumer has read, the answer to the same batch when it is sent again, or a later offset.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from broker.request.session import Session
from protocol.json_view import decode_request_frame
from proxy.diff.fetched_records import Rows, rows_of
from proxy.diff.field_comparison import FieldDifference
from proxy.diff.id_map import IdMap
from proxy.diff.live_differences import MOVING_END
from proxy.diff.placement import topic_name
from proxy.diff.played_request import PlayedRequest
from proxy.diff.record_comparison import RecordComparison
from proxy.diff.request_ids import with_our_ids
from proxy.diff.shadow_broker import Answer, LeaderPeer, Peer, ShadowBroker

ORDER_WAIT_MS_MAX = 1000
"""How long a batch waits for those that came before it in the real log."""
LATE = "a batch without a response may be in the epoch of a later leader"
LOST_MAX = 1000
"""So many partitions of requests are remembered."""
Stored = Sequence[tuple[str, Any]]
"""Topic and result of each partition of a Produce request that the real cluster has stored."""
_COMPARED = ("key", "value", "headers", "producer")


@dataclass(slots=True, eq=False)
class _LostBatch:
    """The records for one partition of a request."""

    topic: str
    index: int
    batches: list[dict[str, Any]]
    compared: PlayedRequest
    session: Session
    read_ms: int | None = None
    """When it was first seen that a consumer has read it."""


class LostBatches:
    """Plays batches that the real cluster has stored as soon as a response shows it."""

    def __init__(self, broker: ShadowBroker, ids: IdMap, records: RecordComparison) -> None:
        self._broker = broker
        self._ids = ids
        self._records = records
        self._lost: deque[_LostBatch] = deque(maxlen=LOST_MAX)
        self._late: dict[tuple[str, int], list[range]] = {}
        """Where each batch of a partition begins and ends that was appended late."""

    def add(self, connection: Peer, compared: PlayedRequest, now_ms: int) -> None:
        """Note a Produce request whose connection ended before its response."""
        self._lost += [
            _LostBatch(topic, index, batches, compared, connection.session)
            for topic, index, batches in self._parts(compared)
        ]
        self.play_read(now_ms)

    def play_read(self, now_ms: int) -> None:
        """Play those whose records consumers have read at the end of our log.

        The same batch may have been sent again, and its response is on the way: it has some time.
        """
        for lost in list(self._lost):
            end_offset = self._broker.log_end_offset(lost.topic, lost.index)
            row = self._records.waiting_row((lost.topic, lost.index), end_offset)
            if row is None or not _is_first(row, self._rows(lost)):
                continue
            if lost.read_ms is None:
                lost.read_ms = now_ms
                due_ms = now_ms + ORDER_WAIT_MS_MAX
                self._broker.cluster.timers.schedule(due_ms, self.play_read)
            elif now_ms - lost.read_ms >= ORDER_WAIT_MS_MAX:
                self._play(lost)
                self.play_read(now_ms)
                return

    def take_again(self, compared: PlayedRequest, stored: Stored) -> None:
        """Take an answered Produce request, which may send lost batches again.

        They are played before it if the real cluster calls the second ones duplicates, which shows
        in the time at which they were appended.
        """
        results = {(topic, result.index): result for topic, result in stored}
        for topic, index, batches in self._parts(compared) if self._lost else ():
            result = results.get((topic, index))
            for lost in list(self._lost):
                is_same = (lost.topic, lost.index, lost.batches) == (topic, index, batches)
                if is_same and result is not None and result.log_append_time_ms >= 0:
                    self._play(lost)
                elif is_same and result is not None:
                    self._lost.remove(lost)

    def play_until(self, stored: Stored) -> None:
        """Play those that must come before what an answered Produce request has stored."""
        for topic, result in stored:
            for lost in list(self._lost):
                end_offset = self._broker.log_end_offset(topic, result.index)
                is_short = end_offset is not None and end_offset < result.base_offset
                if is_short and (lost.topic, lost.index) == (topic, result.index):
                    self._play(lost)

    def allowed(self, compared: PlayedRequest, difference: FieldDifference) -> str | None:
        """Return why the end of a leader epoch may be another one here, or None."""
        if compared.api != "OffsetForLeaderEpoch" or not difference.path.endswith("end_offset"):
            return None
        for topic in compared.request.topics:
            for part in topic.partitions:
                place = f"topics[{topic.topic}].partitions[{part.partition}].end_offset"
                if difference.place != place:
                    continue
                if difference.ours == self._broker.log_end_offset(topic.topic, part.partition):
                    return MOVING_END
                late = self._late.get((topic.topic, part.partition), ())
                if any({difference.kafka, difference.ours} <= {*ends} for ends in late):
                    return LATE
        return None

    def _play(self, lost: _LostBatch) -> None:
        """Append a batch at the leader; it may be another one since the request was sent."""
        self._lost.remove(lost)
        found = self._broker.cluster.topics.get(lost.topic)
        partition = None if found is None else found.partition(lost.index)
        if partition is None:
            return
        compared, request = lost.compared, decode_request_frame(lost.compared.frame)
        for topic in request.topic_data:
            name = topic_name(self._broker.cluster, self._ids, topic.name or str(topic.topic_id))
            topic.partition_data = [
                part
                for part in topic.partition_data
                if (name, part.index) == (lost.topic, lost.index)
            ]
        request.topic_data = [topic for topic in request.topic_data if topic.partition_data]
        frame = compared.frame_of(with_our_ids(request, self._ids))
        peer = LeaderPeer(partition.leader_id, lost.session)
        start_offset = partition.log.log_end_offset
        self._broker.play(frame, peer, compared.received_ms, _ignore)
        late = self._late.setdefault((lost.topic, lost.index), [])
        late.append(range(start_offset, partition.log.log_end_offset + 1))
        self._records.grow()

    def _rows(self, lost: _LostBatch) -> Rows:
        return rows_of(lost.batches, 0, self._records.real_producer)

    def _parts(self, compared: PlayedRequest) -> Iterator[tuple[str, int, list[dict[str, Any]]]]:
        """Yield topic, index and batches of each partition in a Produce request."""
        for topic in compared.arguments.get("topic_data") or ():
            name = topic_name(
                self._broker.cluster, self._ids, topic.get("name") or topic["topic_id"]
            )
            for part in topic["partition_data"]:
                if part["records"]:
                    yield name, part["index"], part["records"]


def _is_first(row: dict[str, Any], rows: Rows) -> bool:
    """Whether a record that was read is the first one of a batch that was sent."""
    first = rows.get(min(rows, default=-1), {})
    return all(name in first and first[name] == row.get(name) for name in _COMPARED)


def _ignore(_answer: Answer) -> None:
    """Take no answer."""
