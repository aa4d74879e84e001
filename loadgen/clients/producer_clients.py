"""Producers that use many producer ids, and producers that send stored batches again."""

import asyncio
from collections.abc import Sequence

from client.errors import ClientError, ConnectionLostError
from loadgen.clients.load_client import Event, Run
from loadgen.clients.produce_frames import next_sequence
from loadgen.clients.sequential_client import (
    BACKOFF_S,
    ProduceConnection,
    Producer,
    SequentialClient,
)
from loadgen.plan.plan import Tenant
from loadgen.rows import Kind
from protocol.errors import INVALID_METADATA_ERRORS, RETRIABLE_ERRORS, ErrorCode

STORED = {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}
_SEQUENCE_END = 2**31


class SequentialProducer(SequentialClient):
    """A sequential client that keeps one connection to its partition's leader."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._connected: ProduceConnection | None = None

    async def connected_to_leader(self) -> ProduceConnection:
        """Return the connection; open it if there is none.

        Raises:
            ClientError: the run ended before.
        """
        if self._connected is None or self._connected.connection.is_lost:
            self._connected = await self.open_produce_connection()
        return self._connected

    async def prepare(self) -> None:
        """See `LoadClient`."""
        try:
            await self.connected_to_leader()
        except ClientError:
            self._connected = None

    async def disconnect(self) -> None:
        """See `SequentialClient`."""
        to, self._connected = self._connected, None
        if to is not None:
            to.connection.abort()

    async def send(
        self, event: Event, producer: Producer, *, attempt: int = 1, sequence: int | None = None
    ) -> int:
        """Send the producer's next batch, or one with `sequence`, and return the error code.

        Raises:
            ClientError: there is no response.
        """
        to = await self.connected_to_leader()
        base_sequence = producer.sequence if sequence is None else sequence
        sent = await self.send_batch(event, to, producer, base_sequence, attempt=attempt)
        response = await self.wait_for_response(sent)
        if response.error_code in STORED:
            producer.sequence = next_sequence(base_sequence, self.tenant.records)
        elif response.error_code in INVALID_METADATA_ERRORS:
            await self.find_leader_again(to)
        return response.error_code

    async def find_leader_again(self, to: ProduceConnection) -> None:
        """Ask for the leader; connect to it with the next batch.

        Raises:
            ClientError: there is no response.
        """
        await self.refresh_leaders(to.connection, self.tenant.topic)
        await self.disconnect()


class RestartLoop(SequentialProducer):
    """A program that starts, sends some batches, fails and restarts, again and again."""

    async def handle(self, event: Event) -> None:
        """See `SequentialClient`."""
        await self.disconnect()
        producer = await self.new_producer(event, await self.connected_to_leader())
        for _ in range(self.tenant.batches):
            if await self.send(event, producer) not in STORED:
                return


class NewProducerPerBatch(SequentialProducer):
    """A program that creates a producer for each batch."""

    async def handle(self, event: Event) -> None:
        """See `SequentialClient`."""
        producer = await self.new_producer(event, await self.connected_to_leader())
        await self.send(event, producer)


class NewProducerPerError(SequentialProducer):
    """A program that replaces its producer after each error and sends the batch again."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._producer: Producer | None = None

    async def handle(self, event: Event) -> None:
        """See `SequentialClient`."""
        skips_sequences = event.salt % self.tenant.error_every == 0
        for attempt in range(1, self.tenant.retries + 2):
            try:
                if self._producer is None:
                    self._producer = await self.new_producer(
                        event, await self.connected_to_leader()
                    )
                producer = self._producer
                # The first batch of a producer cannot have a gap before it.
                gap = self.tenant.records if skips_sequences and producer.sequence else 0
                error_code = await self.send(
                    event,
                    producer,
                    attempt=attempt,
                    sequence=next_sequence(producer.sequence, gap),
                )
            except ClientError:
                await self.disconnect()
                self._producer = None
                if self.run.is_over:
                    return
                continue
            if error_code in STORED:
                return
            self._producer, skips_sequences = None, False


class RetriesLostResponses(SequentialProducer):
    """A producer that loses the responses to its batches and sends them again.

    It closes its own connection after the broker has read the requests, so that the batches may be
    stored.
    """

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._producer: Producer | None = None

    async def handle(self, event: Event) -> None:
        """See `SequentialClient`."""
        kinds = self.tenant.kinds
        kind = Kind[kinds[event.salt % len(kinds)].upper()]
        producer = await self._producer_for(event, kind)
        count = 1 if kind == Kind.LATEST else self.tenant.batches
        sequences = [producer.sequence]
        for _ in range(count):
            sequences.append(next_sequence(sequences[-1], self.tenant.records))
        producer.sequence = sequences.pop()
        await self._send_and_discard_responses(event, producer, sequences)
        for attempt in range(2, self.tenant.retries + 3):
            try:
                if await self._send_again(event, producer, sequences, kind, attempt):
                    return
            except ClientError:
                await self.disconnect()
            if self.run.is_over:
                break
            await asyncio.sleep(BACKOFF_S)
        self._producer = None

    async def _producer_for(self, event: Event, kind: Kind) -> Producer:
        if kind != Kind.WRAPAROUND:
            if self._producer is None:
                self._producer = await self.new_producer(event, await self.connected_to_leader())
            return self._producer
        # Half of its batches are before the end of the sequence numbers, half after it.
        producer = await self.new_producer(event, await self.connected_to_leader())
        before = (self.tenant.batches + 1) // 2 * self.tenant.records
        producer.sequence = _SEQUENCE_END - before
        return producer

    async def _send_and_discard_responses(
        self, event: Event, producer: Producer, sequences: Sequence[int]
    ) -> None:
        to = await self.connected_to_leader()
        sent = [await self.send_batch(event, to, producer, sequence) for sequence in sequences]
        await to.connection.discard_responses(self._timeout_s)
        for sent_batch in sent:
            self.run.rows.mark_lost(sent_batch.row)
        await self.disconnect()

    async def _send_again(
        self,
        event: Event,
        producer: Producer,
        sequences: Sequence[int],
        kind: Kind,
        attempt: int,
    ) -> bool:
        """Send the batches again; return whether all of them are stored now.

        Raises:
            ClientError: there is no response, or an error that is not retriable.
        """
        to = await self.connected_to_leader()
        for sequence in sequences:
            is_last = sequence == sequences[-1]
            batch_kind = Kind.LATEST if kind == Kind.OLD and is_last else kind
            sent = await self.send_batch(
                event, to, producer, sequence, attempt=attempt, kind=batch_kind
            )
            # One after the other: behind a batch that failed the next one would be out of order.
            error_code = (await self.wait_for_response(sent)).error_code
            if error_code in INVALID_METADATA_ERRORS:
                await self.find_leader_again(to)
            if error_code in RETRIABLE_ERRORS:
                return False
            if error_code not in STORED:
                raise ConnectionLostError(f"not retriable: {error_code}")
        return True
