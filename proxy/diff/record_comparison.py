"""Compare the records that the real cluster returns to consumers with those of our log."""

from collections.abc import Callable, Sequence
from typing import Any

from broker.fetch.dead_letter_queue import TOPIC_SWITCH_KEY
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_request
from protocol.errors import ErrorCode
from proxy.diff.fetched_records import FetchedRange, FetchedRanges, Rows, rows_of
from proxy.diff.field_comparison import ERROR_CODE, FieldDifference
from proxy.diff.id_map import IdMap
from proxy.diff.placement import topic_name
from proxy.diff.played_request import PlayedRequest
from proxy.diff.report import Report
from proxy.diff.shadow_broker import Answer, LeaderPeer, Peer, ShadowBroker

DEAD_LETTER_TIME = "each broker writes into a dead letter queue in its own time"
NOT_RECORDED = "the first records of the partition are not recorded"
LATER = "our log gets the records before it a moment later"
_READ_VERSION = 11
_READ_BYTES_MAX = 64 * 1024 * 1024


class RecordComparison:
    """Takes the records of each Fetch, and compares them when our log has their offsets."""

    def __init__(self, broker: ShadowBroker, ids: IdMap, report: Report) -> None:
        self._broker = broker
        self._ids = ids
        self._report = report
        self._recorded: dict[tuple[str, int], tuple[int, int]] = {}
        """The first recorded offset of each partition, and the offset behind the last one."""
        self._ranges = FetchedRanges(self._read)

    def note_recorded(self, key: tuple[str, int], offsets: Sequence[int], end_offset: int) -> None:
        """Note which offsets of a partition, by topic and index, are in the recorded world."""
        self._recorded[key] = offsets[0] if offsets else end_offset, end_offset

    def forget(self, topic: str) -> None:
        """Compare nothing of a topic that is deleted."""
        self._ranges.forget(topic)

    def grow(self) -> None:
        """Compare what has waited for our logs, which may be longer now."""
        for topic, partition in self._ranges.waiting():
            self._ranges.grown(topic, partition)

    def waiting_row(self, key: tuple[str, int], offset: int | None) -> dict[str, Any] | None:
        """Return a record that consumers have read before our log has it, or None."""
        return self._ranges.waiting_row(key, offset)

    def end(self) -> None:
        """Compare what has waited with what there is, and report how many were compared."""
        self._ranges.end()
        self._report.compared_records = self._ranges.compared_records
        self._report.records_left_out = self._ranges.left_out

    def allowed_later(self, compared: PlayedRequest, difference: FieldDifference) -> str | None:
        """Return a reason if Fetch asks our log for an offset behind records that wait for it.

        They are compared when our log has them, and differ if it never does.
        """
        is_error = compared.api == "Fetch" and difference.path.endswith(ERROR_CODE)
        if not is_error or difference.ours != ErrorCode.OFFSET_OUT_OF_RANGE:
            return None
        for name, index in self._ranges.waiting():
            topic = self._broker.cluster.topics.get(name)
            topic_id = "" if topic is None else str(topic.topic_id)
            names = {name, self._ids.known_real("topic_id", topic_id)}
            if difference.place in {f"responses[{n}-{index}].{ERROR_CODE}" for n in names}:
                return LATER
        return None

    def allowed_before(self, compared: PlayedRequest, difference: FieldDifference) -> str | None:
        """Return a reason if a difference is about offsets before the first recorded one."""
        if compared.api != "Fetch" or not difference.path.endswith(ERROR_CODE):
            return None
        for topic in compared.request.topics or ():
            name = self._name_of(topic.topic or str(topic.topic_id))
            for part in topic.partitions:
                first_offset, end_offset = self._recorded.get((name, part.partition), (0, 0))
                if part.fetch_offset < first_offset <= end_offset:
                    return NOT_RECORDED
        return None

    def take(self, connection: Peer, compared: PlayedRequest, real: dict[str, Any]) -> None:
        """Take the records in the real response to a Fetch, given by its fields."""
        level = compared.request.isolation_level
        offsets = self._fetch_offsets(connection, compared)
        for topic in real.get("responses", ()):
            name = self._name_of(topic.get("topic") or topic["topic_id"])
            for partition in topic["partitions"]:
                index, batches = partition["partition_index"], partition["records"]
                if not batches or partition["error_code"]:
                    continue
                first_offset = offsets.get((name, index), 0)
                rows = rows_of(batches, first_offset, self.real_producer)
                rows = self._recorded_rows((name, index), rows)
                if not rows:
                    continue
                aborted = frozenset(
                    one["first_offset"]
                    for one in partition.get("aborted_transactions") or ()
                    if min(rows) <= one["first_offset"] <= max(rows)
                )

                note = self._note_of(compared, name, index)
                end = self._recorded.get((name, index), (0, 0))[1]
                size_bytes = sum(batch.get("batch_length", 0) for batch in batches)
                found = FetchedRange(
                    name, index, level, rows, aborted, size_bytes, note, end, connection
                )
                self._ranges.add(found)

    def _note_of(
        self, compared: PlayedRequest, name: str, index: int
    ) -> Callable[[str, Any, Any], None]:
        """Return what notes a difference in the records of a partition."""
        topic = self._broker.cluster.topics.get(name)
        is_dead_letter_queue = topic is not None and topic.config[TOPIC_SWITCH_KEY]

        def note(field: str, real: Any, ours: Any) -> None:
            if is_dead_letter_queue and field.endswith(".timestamp"):
                self._report.of("Fetch").allowed[DEAD_LETTER_TIME] += 1
                return
            path = f"records[].{field.partition('.')[2]}".rstrip(".")
            place = f"{name}-{index} {field}"
            self._report.differs(compared, FieldDifference("Fetch", path, place, real, ours))

        return note

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
        self._ranges.left_out += len(rows) - len(kept)
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
        topic = self._broker.cluster.topics.get(found.topic)
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
        reader = LeaderPeer(partition.leader_id, found.connection.session)
        self._broker.play(frame, reader, self._broker.cluster.timers.latest_ms, answers.append)
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

    def real_producer(self, producer_id: int, epoch: int) -> Any:
        """Return what names a producer of the real cluster, None if ours does not know it."""
        is_known = self._ids.known_ours("producer_id", producer_id) is not None
        return (producer_id, epoch) if is_known else None

    def _our_producer(self, producer_id: int, epoch: int) -> Any:
        real_id = self._ids.known_real("producer_id", producer_id)
        if real_id is None:
            return None
        return real_id, self._ids.real("producer_epoch", epoch, real_id)

    def _name_of(self, topic: str) -> str:
        return topic_name(self._broker.cluster, self._ids, topic)
