"""Our broker beside a real cluster: what is played with it, and what is compared.

`ShadowConnection` has the order of one connection, `Shadow` what all of them share.
"""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Protocol
from uuid import UUID

from broker.request.session import Session
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_request
from protocol.errors import ErrorCode
from protocol.json_view import decode_request_frame, error_name
from proxy.diff.fetched_records import FetchedRange, FetchedRanges, Rows, rows_of
from proxy.diff.field_comparison import FieldDifference
from proxy.diff.id_map import IdMap
from proxy.diff.live_comparison import LiveComparison
from proxy.diff.placement import adopt_placement
from proxy.diff.played_request import PlayedRequest, error_codes
from proxy.diff.report import Report
from proxy.diff.request_ids import with_our_ids
from proxy.diff.shadow_broker import Answer, ShadowBroker
from proxy.diff.timing import CHANGED_TOPIC_MS

NOT_READY = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    }
)
"""Errors with which a cluster says that it can't do it now: the client asks again."""
_ASKED_ANYWAY = frozenset({ApiKey.FETCH, ApiKey.METADATA, ApiKey.SHARE_FETCH})
"""They change nothing that a second one would change again, and have a session or create topics."""
_CHANGES_TOPICS = frozenset(
    {
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.ELECT_LEADERS,
    }
)
_READ_VERSION = 11
_READ_BYTES_MAX = 64 * 1024 * 1024


class Peer(Protocol):
    """A connection whose requests are played; `ShadowConnection` is one."""

    session: Session
    fetch_offsets: dict[tuple[str, int], int]
    """From where the client has last read each partition."""

    def advance(self, now_ms: int) -> None:
        """Play the requests whose turn has come."""


class _Reader:
    """The connection that reads our log, with the rights of the client whose records it reads."""

    connection_id = -1
    client_host = "127.0.0.1"

    def __init__(self, broker_id: int, session: Session) -> None:
        self.broker_id = broker_id
        self.session = session


class Shadow:
    """The shadow of a cluster. It has no clock and no sockets."""

    def __init__(self, broker: ShadowBroker, *, release: str = "4.4") -> None:
        """`broker` has the world of the real cluster already; `release` is the real one's."""
        self.broker = broker
        self.ids = IdMap()
        self.report = Report()
        self._recorded: dict[tuple[str, int], tuple[int, int]] = {}
        """The first recorded offset of each partition, and the offset behind the last one."""
        self._changed_ms: dict[str, int] = {}
        """When topics were last created or deleted, by name and by real id."""
        self.connection_ids = count(1)
        """Ids of new connections."""
        self._parked: list[Peer] = []
        self._is_advancing = False
        self._lost: list[tuple[Peer, PlayedRequest]] = []
        """Produce requests without a response, which the real cluster may have stored."""
        self._known_topics = {topic.name for topic in broker.cluster.topics.all()}
        self.comparison = LiveComparison(
            self.ids, self.report, len(broker.cluster.brokers), release, self._changed_topics
        )
        self.comparison.is_not_recorded = self._is_not_recorded
        self.ranges = FetchedRanges(self._read)

    def note_recorded(self, key: tuple[str, int], offsets: Sequence[int], end_offset: int) -> None:
        """Note which offsets of a partition, by topic and index, are in the recorded world."""
        self._recorded[key] = offsets[0] if offsets else end_offset, end_offset

    def later(self, due_ms: int, callback: Callable[[int], None]) -> None:
        """Call back at a time."""
        self.broker.cluster.timers.schedule(due_ms, callback)

    def end(self) -> Report:
        """Return the report; what has waited is compared with what there is."""
        self.ranges.end()
        self.comparison.end()
        self.report.compared_records = self.ranges.compared_records
        self.report.records_left_out = self.ranges.left_out
        return self.report

    # What is played ------------------------------------------------------------------------

    def prepared(self, compared: PlayedRequest) -> bytes | None:
        """Return the frame of a request for our broker, or None if it is not played."""
        if compared.api_key is None:
            self.report.not_compared(compared.api, "our broker does not know this version")
            return None
        if compared.request is None:
            return compared.frame
        reason = self._not_ready(compared)
        if reason is not None:
            self.report.not_compared(compared.api, reason)
            return None
        self._note_changes(compared)
        request = decode_request_frame(compared.frame)
        if compared.api_key is ApiKey.PRODUCE and compared.real_response is not None:
            self._keep_stored(request, compared)
        if compared.api_key in {ApiKey.FETCH, ApiKey.SHARE_FETCH}:
            request.max_wait_ms = request.min_bytes = 0
        return compared.frame_of(with_our_ids(request, self.ids))

    def _not_ready(self, compared: PlayedRequest) -> str | None:
        """Return why a request is not played: the real cluster could not do it then."""
        if compared.real is None or compared.api_key in _ASKED_ANYWAY:
            return None
        if compared.real_response is None:
            return "the response of the cluster is malformed"
        codes = error_codes(compared.real_response)
        if codes and codes <= NOT_READY:
            return f"the cluster was not ready: {', '.join(sorted(map(error_name, codes)))}"
        return None

    def _keep_stored(self, request: Any, compared: PlayedRequest) -> None:
        """Leave out the partitions of a Produce request that the client will send again."""
        failed = {
            (topic.name or topic.topic_id, partition.index)
            for topic in compared.real_response.responses
            for partition in topic.partition_responses
            if partition.error_code in NOT_READY
        }
        for topic in request.topic_data if failed else ():
            name = topic.name or topic.topic_id
            topic.partition_data = [
                partition
                for partition in topic.partition_data
                if (name, partition.index) not in failed
            ]

    def _note_changes(self, compared: PlayedRequest) -> None:
        request = compared.request
        if compared.api_key in _CHANGES_TOPICS:
            topics = getattr(request, "topics", None) or getattr(request, "topic_partitions", None)
            names = [*(topics or ()), *(getattr(request, "topic_names", None) or ())]
        elif compared.api_key is ApiKey.METADATA:
            names = list(request.topics or ())
        else:
            return
        for entry in names:
            name = entry if isinstance(entry, str) else getattr(entry, "name", None)
            if name is None:
                name = getattr(entry, "topic", None) or ""
            if compared.api_key in _CHANGES_TOPICS or name not in self._known_topics:
                self._known_topics.add(name)
                self._changed_ms[name] = compared.received_ms
                topic = self.broker.cluster.topics.get(name)
                real_id = topic and self.ids.known_real("topic_id", str(topic.topic_id))
                if real_id:
                    self._changed_ms[real_id] = compared.received_ms
            if compared.api_key is ApiKey.DELETE_TOPICS:
                self.ranges.forget(name)

    def _changed_topics(self, now_ms: int) -> set[str]:
        """Return names and real ids of the topics that were created or deleted a moment ago."""
        return {
            topic
            for topic, changed_ms in self._changed_ms.items()
            if now_ms - changed_ms < CHANGED_TOPIC_MS
        }

    # The order of batches ------------------------------------------------------------------

    def is_next(self, compared: PlayedRequest) -> bool:
        """Whether our logs are as long as the real ones were before a Produce request."""
        for topic, partition in self._stored(compared):
            end_offset = self.broker.log_end_offset(topic, partition.index)
            if end_offset is not None and end_offset < partition.base_offset:
                return self._play_lost(topic, partition)
        return True

    def _stored(self, compared: PlayedRequest) -> list[tuple[str, Any]]:
        """Return topic and result of each partition that the real cluster has stored."""
        response = compared.real_response
        return [
            (self._name_of(topic.name or str(topic.topic_id)), partition)
            for topic in (() if response is None else response.responses)
            for partition in topic.partition_responses
            if partition.error_code == ErrorCode.NONE and partition.base_offset >= 0
        ]

    def _play_lost(self, topic: str, following: Any) -> bool:
        """Play a request without a response whose batch must be the one that is missing.

        Return whether the log is long enough now.
        """
        for connection, compared in list(self._lost):
            names = {
                self._name_of(one.name or str(one.topic_id)) for one in compared.request.topic_data
            }
            if topic not in names:
                continue
            self._lost.remove((connection, compared))
            frame = compared.frame_of(with_our_ids(decode_request_frame(compared.frame), self.ids))
            self.broker.play(frame, connection, compared.received_ms, _ignore)
            end_offset = self.broker.log_end_offset(topic, following.index)
            if end_offset is None or end_offset >= following.base_offset:
                return True
        return False

    def lose(self, connection: Peer, compared: PlayedRequest) -> None:
        """Note a request whose connection ended before its response."""
        self.report.not_compared(compared.api, "the connection ended before the response")
        if compared.api_key is ApiKey.PRODUCE and compared.request is not None:
            self._lost.append((connection, compared))

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
        if compared.real is None:
            self.report.not_compared(compared.api, "it has no response (acks=0)")
        else:
            real, _ours = self.comparison.compare(compared, now_ms)
            if compared.api_key is ApiKey.METADATA and compared.real_response is not None:
                cluster = self.broker.cluster
                adopt_placement(cluster, compared.real_response, self.ids, now_ms)
            if compared.api_key is ApiKey.FETCH and isinstance(real, dict):
                self._take_records(connection, compared, real)
        if compared.api_key in {ApiKey.PRODUCE, ApiKey.END_TXN}:
            for topic, partition in self.ranges.waiting():
                self.ranges.grown(topic, partition)

    def _take_records(
        self, connection: Peer, compared: PlayedRequest, real: dict[str, Any]
    ) -> None:
        level = compared.request.isolation_level
        offsets = self._fetch_offsets(connection, compared)
        for topic in real.get("responses", ()):
            name = self._name_of(topic.get("topic") or topic["topic_id"])
            for partition in topic["partitions"]:
                index, batches = partition["partition_index"], partition["records"]
                if not batches or partition["error_code"]:
                    continue
                first_offset = offsets.get((name, index), 0)
                rows = rows_of(batches, first_offset, self._real_producer)
                rows = self._recorded_rows((name, index), rows)
                if not rows:
                    continue
                aborted = frozenset(
                    one["first_offset"]
                    for one in partition.get("aborted_transactions") or ()
                    if min(rows) <= one["first_offset"] <= max(rows)
                )

                def note(field: str, real: Any, ours: Any, place: str = f"{name}-{index}") -> None:
                    path = f"records[].{field.partition('.')[2]}".rstrip(".")
                    found = FieldDifference("Fetch", path, f"{place} {field}", real, ours)
                    self.report.differs(compared, found)

                end = self._recorded.get((name, index), (0, 0))[1]
                size_bytes = sum(batch.get("batch_length", 0) for batch in batches)
                found = FetchedRange(
                    name, index, level, rows, aborted, size_bytes, note, end, connection
                )
                self.ranges.add(found)

    def _recorded_rows(self, key: tuple[str, int], rows: Rows) -> Rows:
        """Return the rows that our log can have; of those before the start only the records.

        Markers, and who has produced a record, are not recorded.
        """
        first_offset, end_offset = self._recorded.get(key, (0, 0))
        kept: Rows = {}
        for offset, row in rows.items():
            if offset >= end_offset:
                kept[offset] = row
            elif offset >= first_offset and not row["is_control"]:
                kept[offset] = {**row, "producer": None}
        self.ranges.left_out += len(rows) - len(kept)
        return kept

    def _fetch_offsets(
        self, connection: Peer, compared: PlayedRequest
    ) -> dict[tuple[str, int], int]:
        """Return from which offset each partition is read; a session remembers them."""
        remembered = connection.fetch_offsets
        for topic in compared.request.topics or ():
            name = self._name_of(topic.topic or str(topic.topic_id))
            for partition in topic.partitions:
                remembered[name, partition.partition] = partition.fetch_offset
        return remembered

    def _read(self, found: FetchedRange) -> tuple[Rows, frozenset[int]] | None:
        """Read a range of offsets from our log as a consumer does; see `FetchedRanges`."""
        topic = self.broker.cluster.topics.get(found.topic)
        partition = None if topic is None else topic.partition(found.partition)
        if partition is None or partition.log.log_end_offset < found.end_offset:
            return None
        request = messages.FetchRequest(
            version=_READ_VERSION, replica_id=-1, max_wait_ms=0, min_bytes=0,
            max_bytes=_READ_BYTES_MAX, isolation_level=found.isolation_level, session_id=0,
            session_epoch=-1, topics=[], forgotten_topics_data=[], rack_id="",
        )  # fmt: skip
        topic_class = messages.FetchRequest.FetchTopic
        part = topic_class.FetchPartition(
            partition=found.partition, current_leader_epoch=-1, fetch_offset=found.first_offset,
            log_start_offset=-1, partition_max_bytes=_READ_BYTES_MAX,
        )  # fmt: skip
        request.topics = [topic_class(topic=found.topic, partitions=[part])]
        frame = encode_request(0, "diff", ApiKey.FETCH, _READ_VERSION, request)
        answers: list[Answer] = []
        reader = _Reader(partition.leader_id, found.connection.session)
        self.broker.play(frame, reader, self.broker.cluster.timers.latest_ms, answers.append)
        values = PlayedRequest(frame, 0).values_of(answers[0] if answers else None)
        if not isinstance(values, dict) or not values.get("responses"):
            return None
        read = values["responses"][0]["partitions"][0]
        if read["error_code"]:
            return None
        rows = rows_of(read["records"] or [], found.first_offset, self._our_producer)
        if not rows or max(rows) + 1 < found.end_offset:
            return None
        aborted = {one["first_offset"] for one in read["aborted_transactions"] or ()}
        return rows, frozenset(n for n in aborted if found.first_offset <= n < found.end_offset)

    def _real_producer(self, producer_id: int, epoch: int) -> Any:
        is_known = self.ids.known_ours("producer_id", producer_id) is not None
        return (producer_id, epoch) if is_known else None

    def _our_producer(self, producer_id: int, epoch: int) -> Any:
        real_id = self.ids.known_real("producer_id", producer_id)
        if real_id is None:
            return None
        return real_id, self.ids.real("producer_epoch", epoch, real_id)

    def _is_not_recorded(self, compared: PlayedRequest, difference: FieldDifference) -> str | None:
        """Return a reason if a difference is about offsets before the first recorded one."""
        if compared.api != "Fetch" or not difference.path.endswith("error_code"):
            return None
        offsets = compared.request.topics or ()
        for topic in offsets:
            name = self._name_of(topic.topic or str(topic.topic_id))
            for part in topic.partitions:
                first_offset, end_offset = self._recorded.get((name, part.partition), (0, 0))
                if part.fetch_offset < first_offset <= end_offset:
                    return "the first records of the partition are not recorded"
        return None

    def _name_of(self, topic: str) -> str:
        """Return the name of a topic that is named by its name or by the real id."""
        try:
            found = self.broker.cluster.topics.name_of(UUID(self.ids.ours("topic_id", topic)))
        except ValueError:
            return topic
        return found or topic


def _ignore(_answer: Answer) -> None:
    """Take no answer."""
