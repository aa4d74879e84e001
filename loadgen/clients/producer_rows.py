"""The rows of a `client.Producer`: one per request, for Produce one per part of a batch."""

from collections import deque
from collections.abc import Callable

from client.producer.actions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    MetadataRequest,
    ProduceRequest,
    ProduceResponse,
    Request,
    Response,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from client.producer.batch import Batch, TopicPartition
from loadgen import clock
from loadgen.clients.batch_parts import BatchPart, parts_of
from loadgen.clients.load_client import NO_EVENT, Event, Run
from loadgen.clients.produce_frames import next_sequence
from loadgen.expected_answers import NO_ERRORS
from loadgen.rows import Kind
from protocol.api_keys import ApiKey

API_KEYS: dict[type[Request], ApiKey] = {
    ProduceRequest: ApiKey.PRODUCE,
    MetadataRequest: ApiKey.METADATA,
    InitProducerIdRequest: ApiKey.INIT_PRODUCER_ID,
    FindCoordinatorRequest: ApiKey.FIND_COORDINATOR,
    AddPartitionsToTxnRequest: ApiKey.ADD_PARTITIONS_TO_TXN,
    AddOffsetsToTxnRequest: ApiKey.ADD_OFFSETS_TO_TXN,
    TxnOffsetCommitRequest: ApiKey.TXN_OFFSET_COMMIT,
    EndTxnRequest: ApiKey.END_TXN,
}


_Written = list[tuple[int, TopicPartition | None, int]]
"""The rows of a request; of a part of a batch also its partition and its first record's number."""


class ProducerRows:
    """A `producer_connection.Watcher` that writes the rows."""

    def __init__(
        self,
        run: Run,
        client: int,
        event_of: Callable[[int, int], Event],
        *,
        splits_batches: bool = False,
    ) -> None:
        """Write the rows of a client.

        Args:
            run: of the client.
            client: its number.
            event_of: `event_of(event_id, now_us)` returns the event of a request.
            splits_batches: whether a batch has a row for the records of each event; otherwise it
                has one row, and the event id is NO_EVENT, as for all requests but Produce.
        """
        self._run = run
        self._client = client
        self._event_of = event_of
        self._splits_batches = splits_batches
        self._on_wire: dict[int, deque[_Written]] = {}
        """The rows of requests in flight, by node, oldest first."""

    def sent(self, node_id: int, request: Request, version: int, request_bytes: int) -> None:
        """See `producer_connection.Watcher`."""
        rows, now_us = self._run.rows, clock.now_us()
        written: _Written = []
        if isinstance(request, ProduceRequest):
            for batch, stamped in zip(request.batches, request.data, strict=True):
                place = TopicPartition(stamped.topic, stamped.partition)
                parts = [BatchPart(NO_EVENT, 0, batch.record_count)]
                if self._splits_batches:
                    parts = parts_of(stamped.records)
                for part in parts:
                    event = self._event_of(part.event_id, now_us)
                    row = rows.begin(
                        event_id=event.event_id,
                        intended_us=event.intended_us,
                        submitted_us=event.submitted_us,
                        sent_us=now_us,
                        client=self._client,
                        api=ApiKey.PRODUCE,
                        version=version,
                        attempt=batch.attempts,
                        topic=rows.topic_number(place.topic),
                        partition=place.partition,
                        producer_id=batch.producer_id,
                        epoch=batch.producer_epoch,
                        sequence=_sequence_of(batch, part),
                        records=part.records,
                        request_bytes=0 if written else request_bytes,  # so that sums are right
                        node=node_id,
                    )
                    written.append((row, place, part.first))
        else:
            event = self._event_of(NO_EVENT, now_us)
            kind = Kind.NEW
            if isinstance(request, EndTxnRequest):
                kind = Kind.COMMIT if request.is_commit else Kind.ABORT
            row = rows.begin(
                event_id=event.event_id,
                intended_us=event.intended_us,
                submitted_us=event.submitted_us,
                sent_us=now_us,
                client=self._client,
                api=API_KEYS[type(request)],
                version=version,
                kind=kind,
                request_bytes=request_bytes,
                node=node_id,
            )
            written.append((row, None, 0))
        self._on_wire.setdefault(node_id, deque()).append(written)

    def responded(self, node_id: int, _request: Request, response: Response) -> None:
        """See `producer_connection.Watcher`."""
        rows, counts, now_us = self._run.rows, self._run.counts, clock.now_us()
        counts.requests += 1
        counts.throttled += response.throttle_time_ms > 0
        for row, partition, first in self._on_wire[node_id].popleft():
            base_offset = -1
            if isinstance(response, ProduceResponse):
                outcome = None if partition is None else response.outcomes.get(partition)
                if outcome is None:
                    rows.mark_lost(row)
                    continue
                error_code, base_offset = outcome.error_code, outcome.base_offset
                base_offset += first if base_offset >= 0 else 0
            else:
                error_code = _error_code(response)
            rows.end(row, now_us, error_code, response.throttle_time_ms, base_offset)
            counts.errors += error_code not in NO_ERRORS

    def lost(self, node_id: int) -> None:
        """See `producer_connection.Watcher`."""
        for written in self._on_wire.pop(node_id, ()):
            self._run.counts.requests += 1
            for row, *_ in written:
                self._run.rows.mark_lost(row)

    def lose_all(self) -> None:
        """End all rows: the producer was closed, and no response will be seen."""
        for node_id in tuple(self._on_wire):
            self.lost(node_id)


def _sequence_of(batch: Batch, part: BatchPart) -> int:
    if not batch.has_sequence:
        return batch.base_sequence
    return next_sequence(batch.base_sequence, part.first)


def _error_code(response: Response) -> int:
    """Return the error of a response, or the first of its partitions."""
    if isinstance(response, AddPartitionsToTxnResponse | TxnOffsetCommitResponse):
        return next(filter(None, response.error_codes.values()), 0)
    return getattr(response, "error_code", 0)
