"""Producers that make one id after the other, and those that send again what was stored."""

import asyncio
from collections.abc import Sequence

from client.errors import ClientError, ConnectionLostError
from loadgen.clients.load_client import Event, Run
from loadgen.clients.produce_frames import next_sequence
from loadgen.clients.sequential_client import BACKOFF_S, ProduceLink, Producer, Stepper
from loadgen.plan.plan import Tenant
from loadgen.rows import Kind
from protocol.errors import RETRIABLE_ERRORS, ErrorCode

STORED = {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}
_SEQUENCE_END = 2**31


class ProducerStepper(Stepper):
    """One connection, kept from step to step."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._to: ProduceLink | None = None

    async def connected(self) -> ProduceLink:
        """The connection, opened if there is none.

        Raises:
            ClientError: there is none to be had.
        """
        if self._to is None or self._to.link.is_lost:
            self._to = await self.open_produce_link()
        return self._to

    async def prepare(self) -> None:
        """See `LoadClient`."""
        try:
            await self.connected()
        except ClientError:
            self._to = None

    async def disconnect(self) -> None:
        """See `Stepper`."""
        to, self._to = self._to, None
        if to is not None:
            to.link.abort()

    async def send(
        self, event: Event, producer: Producer, *, attempt: int = 1, sequence: int | None = None
    ) -> int:
        """Send the producer's next batch, or one with another sequence; returns the error code.

        Raises:
            ClientError: there is no response.
        """
        to = await self.connected()
        its_own = producer.sequence if sequence is None else sequence
        sent = await self.send_batch(event, to, producer, its_own, attempt=attempt)
        response = await self.response(sent)
        if response.error_code in STORED:
            producer.sequence = next_sequence(its_own, self.tenant.records)
        return response.error_code


class RestartLoop(ProducerStepper):
    """A program that starts, writes a little, fails and is started again, for ever."""

    async def step(self, event: Event) -> None:
        """See `Stepper`."""
        await self.disconnect()
        producer = await self.new_producer(event, await self.connected())
        for _ in range(self.tenant.batches):
            if await self.send(event, producer) not in STORED:
                return


class NewProducerPerBatch(ProducerStepper):
    """A program that makes a producer for each batch."""

    async def step(self, event: Event) -> None:
        """See `Stepper`."""
        producer = await self.new_producer(event, await self.connected())
        await self.send(event, producer)


class NewProducerPerError(ProducerStepper):
    """A program that throws its producer away at each error, and sends again with a new one."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._producer: Producer | None = None

    async def step(self, event: Event) -> None:
        """See `Stepper`."""
        is_wrong = event.salt % self.tenant.error_every == 0
        for attempt in range(1, self.tenant.retries + 2):
            try:
                if self._producer is None:
                    self._producer = await self.new_producer(event, await self.connected())
                producer = self._producer
                # A gap before the first of its batches would be none.
                gap = self.tenant.records if is_wrong and producer.sequence else 0
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
            self._producer, is_wrong = None, False


class RetriesLostResponses(ProducerStepper):
    """A producer that never hears of its batches, and sends them again until it does.

    It breaks its own connection once the broker has got them, so that they are stored, or may be.
    """

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._producer: Producer | None = None

    async def step(self, event: Event) -> None:
        """See `Stepper`."""
        kinds = self.tenant.kinds
        kind = Kind[kinds[event.salt % len(kinds)].upper()]
        producer = await self._producer_for(event, kind)
        count = 1 if kind == Kind.LATEST else self.tenant.batches
        sequences = [producer.sequence]
        for _ in range(count):
            sequences.append(next_sequence(sequences[-1], self.tenant.records))
        producer.sequence = sequences.pop()
        await self._send_unheard(event, producer, sequences)
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
                self._producer = await self.new_producer(event, await self.connected())
            return self._producer
        # Half of its batches are before the end of the sequences, and half behind it.
        producer = await self.new_producer(event, await self.connected())
        before = (self.tenant.batches + 1) // 2 * self.tenant.records
        producer.sequence = _SEQUENCE_END - before
        return producer

    async def _send_unheard(
        self, event: Event, producer: Producer, sequences: Sequence[int]
    ) -> None:
        to = await self.connected()
        sent = [await self.send_batch(event, to, producer, sequence) for sequence in sequences]
        await to.link.lose_responses(self._timeout_s)
        for each in sent:
            self.run.rows.lose(each.row)
        await self.disconnect()

    async def _send_again(
        self,
        event: Event,
        producer: Producer,
        sequences: Sequence[int],
        kind: Kind,
        attempt: int,
    ) -> bool:
        """Whether all of them are known to be stored now.

        Raises:
            ClientError: no response again.
        """
        to = await self.connected()
        sent = []
        for sequence in sequences:
            is_last = sequence == sequences[-1]
            its_kind = Kind.LATEST if kind == Kind.OLD and is_last else kind
            sent.append(
                await self.send_batch(event, to, producer, sequence, attempt=attempt, kind=its_kind)
            )
        responses = [await self.response(each) for each in sent]
        codes = {response.error_code for response in responses}
        if not codes <= STORED | RETRIABLE_ERRORS:
            raise ConnectionLostError(f"refused for good: {sorted(codes)}")
        return codes <= STORED
