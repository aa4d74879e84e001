"""The requests of a transactional producer, in any version, with short answers.

`call` sends a request in a version and returns the response, whatever is between: a handler, a
connection without a socket, or a socket.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from protocol import messages
from tests.batches import NOW_MS, make_batch
from tests.produce_requests import produce_request

Call = Callable[[Any, int], Any]
NO_PRODUCER = (-1, -1)
READ_COMMITTED = 1


class Producer(NamedTuple):
    """A producer id with its epoch."""

    producer_id: int
    producer_epoch: int


class Fetched(NamedTuple):
    """A partition of a Fetch; `offsets` are the base offsets of the batches."""

    last_stable_offset: int
    high_watermark: int
    records: bytes
    aborted: list[tuple[int, int]] | None


class TransactionRequests:
    """Requests for one topic and one transactional id."""

    def __init__(self, call: Call, topic: str = "t", transactional_id: str = "tx") -> None:
        self.call = call
        self.topic = topic
        self.transactional_id = transactional_id
        self.timestamp_ms = NOW_MS

    def init(
        self,
        version: int = 5,
        producer: tuple[int, int] = NO_PRODUCER,
        timeout_ms: int = 60_000,
        **fields: Any,
    ) -> tuple[int, Producer]:
        """InitProducerId: the error code and the producer."""
        request = messages.InitProducerIdRequest(
            version=version,
            transactional_id=self.transactional_id,
            transaction_timeout_ms=timeout_ms,
            producer_id=producer[0],
            producer_epoch=producer[1],
            **fields,
        )
        response = self.call(request, version)
        return response.error_code, Producer(response.producer_id, response.producer_epoch)

    def add(self, producer: tuple[int, int], *indexes: int, version: int = 3) -> list[int]:
        """AddPartitionsToTxn before v4: an error code for each partition."""
        topic = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(
            version=version, name=self.topic, partitions=list(indexes)
        )
        request = messages.AddPartitionsToTxnRequest(
            version=version,
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=[topic],
        )
        (result,) = self.call(request, version).results_by_topic_v3_and_below
        return [part.partition_error_code for part in result.results_by_partition]

    def produce(
        self,
        producer: tuple[int, int],
        base_sequence: int,
        *values: bytes,
        index: int = 0,
        version: int = 11,
        is_transactional: bool = True,
    ) -> tuple[int, int]:
        """Produce one batch: the error code and the base offset."""
        values = values or (b"v",)
        batch = make_batch(
            *values,
            timestamps=[self.timestamp_ms] * len(values),
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=base_sequence,
            is_transactional=is_transactional,
        )
        request = produce_request(
            [(index, batch)],
            version=version,
            topic=self.topic,
            transactional_id=self.transactional_id if is_transactional else None,
        )
        part = self.call(request, version).responses[0].partition_responses[0]
        return part.error_code, part.base_offset

    def end(
        self, producer: tuple[int, int], *, commit: bool, version: int = 4
    ) -> tuple[int, Producer]:
        """EndTxn: the error code, and from v5 on the next producer."""
        request = messages.EndTxnRequest(
            version=version,
            transactional_id=self.transactional_id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            committed=commit,
        )
        response = self.call(request, version)
        return response.error_code, Producer(response.producer_id, response.producer_epoch)

    def add_offsets(self, producer: tuple[int, int], group_id: str, version: int = 3) -> int:
        """AddOffsetsToTxn: the error code."""
        request = messages.AddOffsetsToTxnRequest(
            version=version,
            transactional_id=self.transactional_id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            group_id=group_id,
        )
        return int(self.call(request, version).error_code)

    def commit_offset(
        self,
        producer: tuple[int, int],
        group_id: str,
        offset: int,
        version: int = 3,
        *,
        topic_id: UUID | None = None,
        **fields: Any,
    ) -> int:
        """TxnOffsetCommit for partition 0: the error code. v6 needs the topic's id."""
        topic_class = messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
        part = topic_class.TxnOffsetCommitRequestPartition(
            version=version, partition_index=0, committed_offset=offset, committed_metadata=""
        )
        request = messages.TxnOffsetCommitRequest(
            version=version,
            transactional_id=self.transactional_id,
            group_id=group_id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            topics=[
                topic_class(version=version, name=self.topic, topic_id=topic_id, partitions=[part])
            ],
            **fields,
        )
        (topic,) = self.call(request, version).topics
        assert (topic.topic_id == topic_id) if version >= 6 else (topic.name == self.topic)
        return int(topic.partitions[0].error_code)

    def fetch_offset(self, group_id: str, *, require_stable: bool = True) -> tuple[int, int]:
        """OffsetFetch v7 for partition 0: the error code and the offset."""
        request = messages.OffsetFetchRequest(
            version=7,
            group_id=group_id,
            topics=[
                messages.OffsetFetchRequest.OffsetFetchRequestTopic(
                    version=7, name=self.topic, partition_indexes=[0]
                )
            ],
            require_stable=require_stable,
        )
        response = self.call(request, 7)
        if response.error_code:
            return response.error_code, -1
        part = response.topics[0].partitions[0]
        return part.error_code, part.committed_offset

    def fetch(self, offset: int, isolation_level: int = READ_COMMITTED, index: int = 0) -> Fetched:
        """Fetch v11 of one partition."""
        version = 11
        topic_class = messages.FetchRequest.FetchTopic
        part = topic_class.FetchPartition(
            version=version,
            partition=index,
            current_leader_epoch=-1,
            fetch_offset=offset,
            partition_max_bytes=1_000_000,
        )
        request = messages.FetchRequest(
            version=version,
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1_000_000,
            isolation_level=isolation_level,
            session_id=0,
            session_epoch=-1,
            topics=[topic_class(version=version, topic=self.topic, partitions=[part])],
            forgotten_topics_data=[],
            rack_id="",
        )
        found = self.call(request, version).responses[0].partitions[0]
        assert found.error_code == 0
        aborted = found.aborted_transactions
        return Fetched(
            found.last_stable_offset,
            found.high_watermark,
            bytes(found.records or b""),
            None
            if aborted is None
            else [(aborted_one.producer_id, aborted_one.first_offset) for aborted_one in aborted],
        )

    def list_offset(self, timestamp: int = -1, isolation_level: int = READ_COMMITTED) -> int:
        """ListOffsets v7 of partition 0: the offset."""
        return int(self._list_offset(0, timestamp, isolation_level).offset)

    def is_led(self, index: int) -> bool:
        """Whether the broker leads a partition of the topic."""
        return bool(self._list_offset(index, -1, 0).error_code == 0)

    def _list_offset(self, index: int, timestamp: int, isolation_level: int) -> Any:
        version = 7
        topic_class = messages.ListOffsetsRequest.ListOffsetsTopic
        part = topic_class.ListOffsetsPartition(
            version=version, partition_index=index, current_leader_epoch=-1, timestamp=timestamp
        )
        request = messages.ListOffsetsRequest(
            version=version,
            replica_id=-1,
            isolation_level=isolation_level,
            topics=[topic_class(version=version, name=self.topic, partitions=[part])],
        )
        return self.call(request, version).topics[0].partitions[0]

    def describe(self) -> Any:
        """DescribeTransactions of the transactional id."""
        request = messages.DescribeTransactionsRequest(
            version=0, transactional_ids=[self.transactional_id]
        )
        (state,) = self.call(request, 0).transaction_states
        return state

    def list_transactions(
        self,
        version: int = 2,
        states: Sequence[str] = (),
        producer_ids: Sequence[int] = (),
        duration_ms: int = -1,
        pattern: str | None = None,
    ) -> Any:
        """ListTransactions."""
        request = messages.ListTransactionsRequest(
            version=version,
            state_filters=list(states),
            producer_id_filters=list(producer_ids),
            duration_filter=duration_ms,
            transactional_id_pattern=pattern,
        )
        return self.call(request, version)

    def producers(self) -> list[tuple[int, int, int, int]]:
        """DescribeProducers of partition 0: id, epoch, last sequence, begin of the transaction."""
        topic = messages.DescribeProducersRequest.TopicRequest(
            version=0, name=self.topic, partition_indexes=[0]
        )
        request = messages.DescribeProducersRequest(version=0, topics=[topic])
        part = self.call(request, 0).topics[0].partitions[0]
        return [
            (
                state.producer_id,
                state.producer_epoch,
                state.last_sequence,
                state.current_txn_start_offset,
            )
            for state in part.active_producers
        ]

    def write_marker(
        self,
        producer: tuple[int, int],
        *,
        commit: bool,
        coordinator_epoch: int = 0,
        index: int = 0,
        version: int = 1,
        transaction_version: int = 0,
    ) -> int:
        """WriteTxnMarkers of one partition: the error code."""
        marker_class = messages.WriteTxnMarkersRequest.WritableTxnMarker
        topic = marker_class.WritableTxnMarkerTopic(
            version=version, name=self.topic, partition_indexes=[index]
        )
        marker = marker_class(
            version=version,
            producer_id=producer[0],
            producer_epoch=producer[1],
            transaction_result=commit,
            topics=[topic],
            coordinator_epoch=coordinator_epoch,
            transaction_version=transaction_version,
        )
        request = messages.WriteTxnMarkersRequest(version=version, markers=[marker])
        (result,) = self.call(request, version).markers
        return int(result.topics[0].partitions[0].error_code)
