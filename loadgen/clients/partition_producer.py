"""The base of producers that choose a partition for each batch, and send one batch at a time."""

import asyncio
from collections.abc import Callable

from client.errors import ClientError, ConnectionLostError
from loadgen.clients.load_client import Event, Run
from loadgen.clients.load_connection import LoadConnection
from loadgen.clients.produce_frames import VERSION_MAX, next_sequence
from loadgen.clients.producer_clients import STORED
from loadgen.clients.sequential_client import (
    BACKOFF_S,
    Frames,
    ProduceConnection,
    Producer,
    SequentialClient,
)
from loadgen.plan.plan import Tenant
from protocol.api_keys import ApiKey
from protocol.errors import INVALID_METADATA_ERRORS, RETRIABLE_ERRORS

NO_PRODUCER = Producer(-1, -1, -1)


class PartitionProducer(SequentialClient):
    """Connects to the leaders it needs, and counts the sequences of each partition."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._connections: dict[int, LoadConnection] = {}
        self._producer: Producer | None = None
        self._sequences: dict[tuple[str, int], int] = {}
        """The next sequence by topic and partition."""
        self._correlation_id = 0

    async def prepare(self) -> None:
        """Connect to the leader of one partition."""
        try:
            await self._connection_to(self.tenant.topic, self.partition)
        except ClientError:
            await self.disconnect()

    async def disconnect(self) -> None:
        """See `SequentialClient`; a batch may be stored whose response is lost."""
        self._producer = None
        self._close_connections()

    def replace_producer(self) -> None:
        """Get a new producer id for the next batch."""
        self._producer = None

    async def deliver(
        self,
        event: Event,
        topic: str,
        partition: int,
        records: int,
        frames_of: Callable[[int], Frames],
    ) -> None:
        """Send a batch until it is stored, or an error cannot be retried.

        A batch whose response is lost is sent again with its sequence. `frames_of` returns the
        encoder for a version of Produce.

        Raises:
            ClientError: there is no response to the last attempt.
        """
        for attempt in range(1, self.tenant.retries + 2):
            to = await self._connected(topic, partition, frames_of)
            producer = await self._producer_for(event, to)
            key = (topic, partition)
            sequence = self._sequences.get(key, 0) if producer is not NO_PRODUCER else -1
            sent = await self.send_batch(
                event,
                to,
                producer,
                sequence,
                attempt=attempt,
                topic=topic,
                partition=partition,
                records=records,
            )
            self._correlation_id = to.correlation_id
            try:
                response = await self.wait_for_response(sent)
            except ConnectionLostError:
                if attempt > self.tenant.retries or self.run.is_over:
                    raise
                self._close_connections()
                continue
            if response.error_code in STORED:
                self._sequences[key] = next_sequence(max(0, sequence), records)
                return
            if response.error_code in INVALID_METADATA_ERRORS:
                await self.refresh_leaders(to.connection, topic)
            elif response.error_code not in RETRIABLE_ERRORS:
                break
            if self.run.is_over:
                return
            await asyncio.sleep(BACKOFF_S)
        self.replace_producer()  # the next batch would leave a gap

    def _close_connections(self) -> None:
        while self._connections:
            self._connections.popitem()[1].abort()

    async def _producer_for(self, event: Event, to: ProduceConnection) -> Producer:
        if not self.tenant.is_idempotent:
            return NO_PRODUCER
        if self._producer is None:
            self._producer = await self.new_producer(event, to)
            self._sequences.clear()
        return self._producer

    async def _connected(
        self, topic: str, partition: int, frames_of: Callable[[int], Frames]
    ) -> ProduceConnection:
        """Return the connection to the leader of a partition.

        Raises:
            ClientError: the run ended before.
        """
        connection, node = await self._connection_to(topic, partition)
        version = min(connection.wire.version_of(ApiKey.PRODUCE), VERSION_MAX)
        return ProduceConnection(connection, node, frames_of(version), self._correlation_id)

    async def _connection_to(self, topic: str, partition: int) -> tuple[LoadConnection, int]:
        return await self.connected(self._connections, lambda _: self.leader(topic, partition))
