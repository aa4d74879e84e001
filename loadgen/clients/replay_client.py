"""A client that sends batches of a trace; each event has its batch in the salt."""

import asyncio

from client.errors import ClientError
from loadgen.clients.load_client import Event, Run
from loadgen.clients.load_connection import LoadConnection
from loadgen.clients.produce_frames import VERSION_MAX, ProduceFrames, next_sequence
from loadgen.clients.producer_clients import STORED
from loadgen.clients.sequential_client import (
    BACKOFF_S,
    ProduceConnection,
    Producer,
    SequentialClient,
)
from loadgen.plan.plan import Tenant
from loadgen.plan.replayed_batch import ReplayedBatch, unpack
from protocol.api_keys import ApiKey
from protocol.errors import INVALID_METADATA_ERRORS, RETRIABLE_ERRORS

FRAMES_MAX = 16
"""Encoders that a client keeps: one for each topic, partition and size of its last batches."""
NO_PRODUCER = Producer(-1, -1, -1)


class ReplayClient(SequentialClient):
    """Sends one batch after the other, each to its own partition.

    It gets a new producer id where the trace has one, and after an error that it cannot retry.
    """

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._connections: dict[int, LoadConnection] = {}
        self._frames: dict[tuple[int, ReplayedBatch], ProduceFrames] = {}
        self._producer: Producer | None = None
        self._sequences: dict[tuple[int, int], int] = {}
        """The next sequence by topic and partition."""
        self._correlation_id = 0

    async def disconnect(self) -> None:
        """See `SequentialClient`; a batch may be stored whose response is lost."""
        self._producer = None
        self._frames.clear()
        while self._connections:
            self._connections.popitem()[1].abort()

    async def handle(self, event: Event) -> None:
        """See `SequentialClient`."""
        batch = unpack(event.salt)
        if batch.is_first:
            self._producer = None
        for attempt in range(1, self.tenant.retries + 2):
            to = await self._connected(batch)
            producer = await self._producer_for(event, to)
            key = batch.topic, batch.partition
            sequence = self._sequences.get(key, 0) if producer is not NO_PRODUCER else -1
            sent = await self.send_batch(
                event,
                to,
                producer,
                sequence,
                attempt=attempt,
                topic=self._topic(batch),
                partition=batch.partition,
                records=batch.records,
            )
            self._correlation_id = to.correlation_id
            response = await self.wait_for_response(sent)
            if response.error_code in STORED:
                self._sequences[key] = next_sequence(max(0, sequence), batch.records)
                return
            if response.error_code in INVALID_METADATA_ERRORS:
                await self.refresh_leaders(to.connection, self._topic(batch))
            elif response.error_code not in RETRIABLE_ERRORS:
                self._producer = None
                return
            if self.run.is_over:
                return
            await asyncio.sleep(BACKOFF_S)
        self._producer = None  # the next batch would leave a gap

    async def prepare(self) -> None:
        """Connect to the leader of the tenant's first topic."""
        try:
            await self._connection_to(self.leader(self.tenant.topic, self.partition))
        except ClientError:
            await self.disconnect()

    def _topic(self, batch: ReplayedBatch) -> str:
        return self.run.plan.topics[batch.topic].name

    async def _producer_for(self, event: Event, to: ProduceConnection) -> Producer:
        if not self.tenant.idempotent:
            return NO_PRODUCER
        if self._producer is None:
            self._producer = await self.new_producer(event, to)
            self._sequences.clear()
        return self._producer

    async def _connected(self, batch: ReplayedBatch) -> ProduceConnection:
        """Return the connection to the leader of a partition, and the encoder of the batch.

        Raises:
            ClientError: the run ended before.
        """
        node = self.leader(self._topic(batch), batch.partition)
        connection = await self._connection_to(node)
        key = (node, batch._replace(is_first=False))
        frames = self._frames.get(key)
        if frames is None:
            if len(self._frames) >= FRAMES_MAX:
                del self._frames[next(iter(self._frames))]
            frames = self._frames[key] = ProduceFrames(
                version=min(connection.wire.version_of(ApiKey.PRODUCE), VERSION_MAX),
                client_id=self.tenant.client_id,
                topic=self._topic(batch),
                partition=batch.partition,
                records=batch.records,
                record_bytes=batch.record_bytes,
                timestamp_ms=self.run.timestamp_ms,
                acks=self.tenant.required_acks,
                timeout_ms=self.tenant.request_timeout_ms,
            )
        return ProduceConnection(connection, node, frames, self._correlation_id)

    async def _connection_to(self, node: int) -> LoadConnection:
        connection = self._connections.get(node)
        if connection is None or connection.is_lost:
            connection = self._connections[node] = await self.connect(node)
        return connection
