"""Record what passes between clients and a cluster: requests by kind, and records."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from broker.http_admin.asked_requests import AskedRequests, asked_of
from protocol.errors import ErrorCode
from protocol.records import Record
from protocol.request_targets import TopicNames, name_of_topic
from proxy.recording.fetched_records import (
    FoundBatch,
    Marker,
    ReadBatch,
    Unreadable,
    committed_batches,
    next_offset,
    read_batches,
)
from proxy.recording.kept_records import KeptRecords, PartitionKey
from proxy.recording.scrubbing import NO_RECORDS, RecordScrubber, Scrubbing

if TYPE_CHECKING:
    from protocol import messages

    _FetchedPartition = messages.FetchResponse.FetchableTopicResponse.PartitionData
    _ProducedTopic = messages.ProduceResponse.TopicProduceResponse

_READ_COMMITTED = 1
_NO_TIMESTAMP = -1
_NO_ID = UUID(int=0)


class Recorder:
    """Takes decoded requests and responses; does no I/O, and keeps only scrubbed records.

    A record of a transaction is kept when its commit was seen: the marker in a response to Fetch,
    a response to EndTxn, or a Fetch with read_committed that has the record.
    """

    def __init__(
        self,
        scrubbing: Scrubbing,
        kept: KeptRecords,
        topic_name: TopicNames,
        *,
        has_aborted: bool = False,
    ) -> None:
        """`topic_name` returns the name of a topic id.

        With `has_aborted` the records of open and aborted transactions are kept, too.
        """
        self.kept = kept
        self.requests = AskedRequests()
        self.unscrubbed_topics: set[str] = set()
        """Topics whose records were seen and not kept, because no rule is for them."""
        self.unreadable: set[tuple[str, int, int]] = set()
        """Batches that cannot be decoded: topic, partition and base offset."""
        self._scrubbing = scrubbing
        self._topic_name = topic_name
        self._has_aborted = has_aborted
        self._scrubbers: dict[str, RecordScrubber | None] = {}

    def see_request(self, api_key: int, version: int, request: Any, user: str) -> None:
        """Note a request of a user such as `User:alice`; it is None if it was not decoded."""
        self.requests.see(asked_of(api_key, version, request, user, self._topic_name))

    def see_produce(
        self, request: "messages.ProduceRequest", response: "messages.ProduceResponse"
    ) -> None:
        """Keep the records that a cluster has stored; those of acks=0 have no response."""
        stored = {
            (name, part.index): part
            for topic in response.responses
            if (name := self._name_of(topic.name, topic.topic_id)) is not None
            for part in topic.partition_responses
            if part.error_code == ErrorCode.NONE and part.base_offset >= 0
        }
        for topic in request.topic_data:
            name = self._name_of(topic.name, topic.topic_id)
            for sent in topic.partition_data:
                part = None if name is None else stored.get((name, sent.index))
                if name is not None and part is not None and sent.records:
                    batches = _at_offset(
                        bytes(sent.records), part.base_offset, part.log_append_time_ms
                    )
                    self._see((name, sent.index), batches)

    def see_fetch(
        self, request: "messages.FetchRequest", response: "messages.FetchResponse"
    ) -> None:
        """Keep the records of a response; of aborted transactions only if they are recorded."""
        is_committed = request.isolation_level == _READ_COMMITTED
        for topic in response.responses:
            name = self._name_of(topic.topic, topic.topic_id)
            if name is None:
                continue
            for part in topic.partitions:
                if part.records:
                    self.see_fetched((name, part.partition_index), part, is_committed=is_committed)

    def see_fetched(
        self, key: PartitionKey, part: "_FetchedPartition", *, is_committed: bool
    ) -> int | None:
        """Keep the records of one partition; `is_committed` if it was read with read_committed.

        Return the offset after the last whole batch, or None if there is none.
        """
        buffer = bytes(part.records or b"")
        found: Iterable[FoundBatch] = read_batches(buffer)
        if is_committed:
            aborted = [
                (aborted.first_offset, aborted.producer_id)
                for aborted in part.aborted_transactions or ()
            ]
            found = map(_without_transaction, committed_batches(found, aborted))
        self._see(key, (_from_offset(batch, part.log_start_offset) for batch in found))
        return next_offset(buffer)

    def see_end_txn(
        self, request: "messages.EndTxnRequest", response: "messages.EndTxnResponse"
    ) -> None:
        """Take the outcome of a transaction."""
        if response.error_code == ErrorCode.NONE:
            self.kept.decide_all(request.producer_id, is_committed=request.committed)

    def _see(self, key: PartitionKey, found: Iterable[FoundBatch]) -> None:
        scrubber = self._scrubber_of(key[0])
        if scrubber is None:
            return
        for batch in found:
            if isinstance(batch, Marker):
                self.kept.decide(
                    key, batch.producer_id, batch.offset, is_committed=batch.is_committed
                )
                continue
            if isinstance(batch, Unreadable):
                self.unreadable.add((*key, batch.base_offset))
                continue
            records = map(scrubber.scrub, batch.records)
            if batch.producer_id is None or self._has_aborted:
                self.kept.add(key, records)
            else:
                self.kept.add_undecided(key, batch.producer_id, records)

    def _scrubber_of(self, topic: str) -> RecordScrubber | None:
        if topic not in self._scrubbers:
            self._scrubbers[topic] = self._scrubbing.of_topic(topic)
        scrubber = self._scrubbers[topic]
        if scrubber is None and self._scrubbing is not NO_RECORDS:
            self.unscrubbed_topics.add(topic)
        return scrubber

    def _name_of(self, name: str, topic_id: UUID | None) -> str | None:
        if name or topic_id in {None, _NO_ID}:
            return name or None
        return name_of_topic(topic_id, self._topic_name)


def _from_offset(batch: FoundBatch, log_start_offset: int) -> FoundBatch:
    """Return a batch without the records that were deleted: a log begins inside of a batch."""
    if not isinstance(batch, ReadBatch) or batch.header.base_offset >= log_start_offset:
        return batch
    records = tuple(record for record in batch.records if record.offset >= log_start_offset)
    return batch._replace(records=records)


def _without_transaction(batch: FoundBatch) -> FoundBatch:
    """Return a batch whose transaction was committed, as one without a transaction."""
    return batch._replace(producer_id=None) if isinstance(batch, ReadBatch) else batch


def _at_offset(buffer: bytes, base_offset: int, append_time_ms: int) -> Iterable[FoundBatch]:
    """Yield the batches of a request as they were stored."""
    for batch in read_batches(buffer):
        if isinstance(batch, ReadBatch):
            shift = base_offset - batch.header.base_offset
            records = tuple(
                Record(
                    record.offset + shift,
                    record.timestamp if append_time_ms == _NO_TIMESTAMP else append_time_ms,
                    *record[2:],
                )
                for record in batch.records
            )
            yield batch._replace(records=records)
            base_offset += batch.header.last_offset_delta + 1
