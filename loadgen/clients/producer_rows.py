"""The rows of the requests of a `client.Producer`."""

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
from client.producer.batch import TopicPartition
from loadgen import clock
from loadgen.clients.load_client import Event, Run
from loadgen.rows import Kind
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

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


class ProducerRows:
    """A `producer_connection.Watcher` that writes a row per request, for Produce per batch."""

    def __init__(
        self, run: Run, client: int, event_of: Callable[[bytes | None, int], Event]
    ) -> None:
        """Write the rows of a client; `event_of(batch, now_us)` returns the event of a request.

        `batch` is None for all requests but Produce.
        """
        self._run = run
        self._client = client
        self._event_of = event_of
        self._on_wire: dict[int, deque[list[tuple[int, TopicPartition | None]]]] = {}
        """The rows of requests in flight, by node, oldest first."""

    def sent(self, node_id: int, request: Request, version: int, request_bytes: int) -> None:
        """See `producer_connection.Watcher`."""
        rows, now_us = self._run.rows, clock.now_us()
        written: list[tuple[int, TopicPartition | None]] = []
        if isinstance(request, ProduceRequest):
            for batch, stamped in zip(request.batches, request.data, strict=True):
                event = self._event_of(stamped.records, now_us)
                row = rows.begin(
                    event_id=event.event_id,
                    intended_us=event.intended_us,
                    submitted_us=event.submitted_us,
                    sent_us=now_us,
                    client=self._client,
                    api=ApiKey.PRODUCE,
                    version=version,
                    attempt=batch.attempts,
                    topic=rows.topic_number(stamped.topic),
                    partition=stamped.partition,
                    producer_id=batch.producer_id,
                    epoch=batch.producer_epoch,
                    sequence=batch.base_sequence,
                    records=batch.record_count,
                    request_bytes=request_bytes,
                    node=node_id,
                )
                written.append((row, TopicPartition(stamped.topic, stamped.partition)))
        else:
            event = self._event_of(None, now_us)
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
            written.append((row, None))
        self._on_wire.setdefault(node_id, deque()).append(written)

    def responded(self, node_id: int, _request: Request, response: Response) -> None:
        """See `producer_connection.Watcher`."""
        rows, counts, now_us = self._run.rows, self._run.counts, clock.now_us()
        counts.requests += 1
        counts.throttled += response.throttle_time_ms > 0
        for row, partition in self._on_wire[node_id].popleft():
            base_offset = -1
            if isinstance(response, ProduceResponse):
                outcome = None if partition is None else response.outcomes.get(partition)
                if outcome is None:
                    rows.mark_lost(row)
                    continue
                error_code, base_offset = outcome.error_code, outcome.base_offset
            else:
                error_code = _error_code(response)
            rows.end(row, now_us, error_code, response.throttle_time_ms, base_offset)
            counts.errors += error_code not in {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}

    def lost(self, node_id: int) -> None:
        """See `producer_connection.Watcher`."""
        for written in self._on_wire.pop(node_id, ()):
            self._run.counts.requests += 1
            for row, _ in written:
                self._run.rows.mark_lost(row)

    def lose_all(self) -> None:
        """End all rows: the producer was closed, and no response will be seen."""
        for node_id in tuple(self._on_wire):
            self.lost(node_id)


def _error_code(response: Response) -> int:
    """Return the error of a response, or the first of its partitions."""
    if isinstance(response, AddPartitionsToTxnResponse | TxnOffsetCommitResponse):
        return next(filter(None, response.error_codes.values()), 0)
    return getattr(response, "error_code", 0)
