"""KIP-91's promise, as `client.Producer` keeps it: a batch's caller hears of it in its time.

Everything between `send` and the outcome is the producer's own; here its requests become rows, and
what the caller hears is written down. A caller that is never told has a row all the same, so that a
promise that is not kept at all can't go unseen.
"""

import asyncio
from collections import deque
from dataclasses import dataclass
from functools import partial
from struct import Struct

from client import Producer, ProducerSettings
from client.errors import ClientError, SecurityError
from client.producer.actions import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    MetadataRequest,
    ProduceRequest,
    ProduceResponse,
    Request,
    Response,
)
from client.producer.delivery import Delivered, DeliveryRefusedError
from loadgen import clock
from loadgen.clients.load_client import NO_EVENT, Event, LoadClient, Run
from loadgen.clients.produce_frames import event_of, record_batch
from loadgen.plan.plan import Tenant
from loadgen.rows import NONE, Status
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

_EVENT = Struct(">q")
_API_KEYS: dict[type[Request], ApiKey] = {
    ProduceRequest: ApiKey.PRODUCE,
    MetadataRequest: ApiKey.METADATA,
    InitProducerIdRequest: ApiKey.INIT_PRODUCER_ID,
}


@dataclass(slots=True)
class _Open:
    """An event whose caller has not heard of all of its records."""

    event: Event
    undecided: int
    is_sent: bool = False


class DeliveryTimeout(LoadClient):
    """One producer; an event is a batch of its own. A `producer.Watcher`."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._topic = run.rows.topic_number(tenant.topic)
        batch, _ = record_batch(tenant.records, tenant.record_bytes, run.timestamp_ms)
        self._settings = ProducerSettings(
            acks=tenant.acks,
            batch_size=len(batch),
            delivery_timeout_ms=tenant.delivery_timeout_ms,
            enable_idempotence=tenant.is_idempotent,
            max_block_ms=0,  # who is told at once that there is no memory has heard
            request_timeout_ms=tenant.request_timeout_ms,
        )
        self._producer: Producer | None = None
        self._events: deque[Event] = deque()
        self._sending: asyncio.Task[None] | None = None
        self._open: dict[int, _Open] = {}
        self._on_wire: dict[int, deque[int]] = {}
        """The rows of the requests without a response, by node, oldest first."""
        self._is_closing = False

    def hand(self, event: Event) -> None:
        """See `LoadClient`."""
        self._open[event.event_id] = _Open(event, self.tenant.records)
        self._events.append(event)
        # One at a time: the records of an event must not get among those of another.
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send())

    @property
    def is_idle(self) -> bool:
        """See `LoadClient`."""
        return not self._open

    def leftover(self) -> list[Event]:
        """See `LoadClient`."""
        now_us = clock.now_us()
        return [
            each.event
            for each in self._open.values()
            if not (each.is_sent or self._is_overdue(each.event, now_us))
        ]

    async def close(self) -> None:
        """See `LoadClient`."""
        self._is_closing = True
        now_us = clock.now_us()
        for each in self._open.values():
            if self._is_overdue(each.event, now_us):
                self._tell(each.event, now_us)
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait([self._sending])
        if self._producer is not None:
            await self._producer.close(is_flushing=False)

    def _is_overdue(self, event: Event, now_us: int) -> bool:
        return now_us - event.handed_us > self.tenant.delivery_timeout_ms * 1000

    async def _send(self) -> None:
        if self._producer is None:
            self._producer = Producer(
                ",".join(f"{each.host}:{each.port}" for each in self.run.topology.brokers.values()),
                self._settings,
                client_id=self.tenant.client_id,
                security=self._access.security,
                seed=self.run.plan.seed + self.number,
                watcher=self,
            )
        while self._events and not self.run.is_over:
            event = self._events.popleft()
            value = _EVENT.pack(event.event_id).ljust(self.tenant.record_bytes, b".")
            for _ in range(self.tenant.records):
                try:
                    future = await self._producer.send(
                        self.tenant.topic,
                        value,
                        partition=self.partition,
                        timestamp_ms=self.run.timestamp_ms,
                    )
                except ClientError as error:
                    self._hear(event, error)
                else:
                    future.add_done_callback(partial(self._heard, event))

    # What the caller hears -----------------------------------------------------------------

    def _heard(self, event: Event, future: asyncio.Future[Delivered]) -> None:
        error = future.exception()
        assert error is None or isinstance(error, ClientError)
        self._hear(event, error)

    def _hear(self, event: Event, error: ClientError | None) -> None:
        """One record of an event has come to its end."""
        its = self._open.get(event.event_id)
        if its is None or self._is_closing:
            return
        its.undecided -= 1
        if its.undecided and error is None:
            return
        del self._open[event.event_id]
        run, now_us = self.run, clock.now_us()
        run.counts.events_done += 1
        if isinstance(error, SecurityError):
            run.give_up(f"tenant {self.tenant.name}: {error}")
        # A refusal is in the response's own row.
        if error is not None and not isinstance(error, DeliveryRefusedError):
            run.counts.errors += 1
            self._tell(event, now_us)
        another = self.again(event, now_us)
        if another is not None:
            self.hand(another)

    def _tell(self, event: Event, now_us: int) -> None:
        """A row of its own says when the caller heard that its time is over."""
        rows = self.run.rows
        row = rows.begin(
            event.event_id,
            event.intended_us,
            event.handed_us,
            NONE,
            self.number,
            ApiKey.PRODUCE,
            -1,
            0,
            topic=self._topic,
            partition=self.partition,
        )
        rows.end(row, now_us, 0, status=Status.EXPIRED)

    # What the producer does ----------------------------------------------------------------

    def sent(self, node_id: int, call: Request, version: int, request_bytes: int) -> None:
        """See `producer.Watcher`."""
        now_us = clock.now_us()
        event, attempt, numbers = Event(NO_EVENT, now_us, now_us, 0), 1, (-1, -1, -1)
        records, topic, partition = 0, 0, -1
        if isinstance(call, ProduceRequest):
            [batch], [data] = call.batches, call.data
            its = self._open.get(event_of(data.records))
            if its is not None:
                its.is_sent, event = True, its.event
            attempt, records = batch.attempts, batch.record_count
            numbers = (batch.producer_id, batch.producer_epoch, batch.base_sequence)
            topic, partition = self._topic, self.partition
        row = self.run.rows.begin(
            event.event_id,
            event.intended_us,
            event.handed_us,
            now_us,
            self.number,
            _API_KEYS[type(call)],
            version,
            attempt,
            0,
            topic,
            partition,
            *numbers,
            records,
            request_bytes,
            node=node_id,
        )
        self._on_wire.setdefault(node_id, deque()).append(row)

    def responded(self, node_id: int, call: Request, response: Response) -> None:
        """See `producer.Watcher`."""
        row, counts = self._on_wire[node_id].popleft(), self.run.counts
        error_code, base_offset = 0, -1
        if isinstance(response, InitProducerIdResponse):
            error_code = response.error_code
        elif isinstance(response, ProduceResponse):
            outcome = response.outcomes.get((self.tenant.topic, self.partition))
            if outcome is None:
                self.run.rows.lose(row)
                return
            error_code, base_offset = outcome.error_code, outcome.base_offset
        self.run.rows.end(row, clock.now_us(), error_code, response.throttle_time_ms, base_offset)
        counts.requests += 1
        counts.errors += error_code not in {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}
        counts.throttled += response.throttle_time_ms > 0

    def lost(self, node_id: int) -> None:
        """See `producer.Watcher`."""
        for row in self._on_wire.pop(node_id, ()):
            self.run.rows.lose(row)
            self.run.counts.requests += 1
