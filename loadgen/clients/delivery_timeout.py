"""Clients that use `client.Producer`, whose delivery timeout is checked (KIP-91).

The rows are the producer's requests and, for each expired batch, the time when the producer
reported it. A batch that is never reported has such a row too, so that the check sees it.
"""

import asyncio
from collections import deque
from dataclasses import dataclass
from functools import partial
from struct import Struct

from client import Producer, ProducerSettings
from client.errors import ClientError, SecurityError
from client.producer.delivery import Delivered, DeliveryRefusedError
from loadgen import clock
from loadgen.clients.load_client import Event, LoadClient, Run
from loadgen.clients.produce_frames import record_batch
from loadgen.clients.producer_rows import ProducerRows
from loadgen.plan.plan import Tenant
from loadgen.rows import NONE, Status
from protocol.api_keys import ApiKey

_EVENT = Struct(">q")


@dataclass(slots=True)
class _Open:
    """An event with records that the producer has not reported yet."""

    event: Event
    unreported: int
    is_sent: bool = False


class DeliveryTimeout(LoadClient):
    """One producer; the records of an event are a batch, unless the producer cuts it before."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._topic = run.rows.topic_number(tenant.topic)
        batch, _ = record_batch(tenant.records, tenant.record_sizes[0], run.timestamp_ms)
        self._settings = ProducerSettings(
            acks=tenant.required_acks,
            batch_size=len(batch),
            delivery_timeout_ms=tenant.delivery_timeout_ms,
            enable_idempotence=tenant.is_idempotent,
            max_block_ms=0,  # without memory, `send` fails at once
            request_timeout_ms=tenant.request_timeout_ms,
        )
        self._producer: Producer | None = None
        self._events: deque[Event] = deque()
        self._sending: asyncio.Task[None] | None = None
        self._open: dict[int, _Open] = {}
        self.requests = ProducerRows(run, number, self._event_of, splits_batches=True)
        self._is_closing = False

    def submit(self, event: Event) -> None:
        """See `LoadClient`."""
        self._open[event.event_id] = _Open(event, self.tenant.records)
        self._events.append(event)
        # One task: records of different events must not mix.
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send())

    @property
    def is_idle(self) -> bool:
        """See `LoadClient`."""
        return not self._open

    def unsent(self) -> list[Event]:
        """See `LoadClient`."""
        now_us = clock.now_us()
        return [
            pending.event
            for pending in self._open.values()
            if not (pending.is_sent or self._is_overdue(pending.event, now_us))
        ]

    async def close(self) -> None:
        """See `LoadClient`."""
        self._is_closing = True
        now_us = clock.now_us()
        for pending in self._open.values():
            if self._is_overdue(pending.event, now_us):
                self._record_expired(pending.event, now_us)
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait([self._sending])
        if self._producer is not None:
            await self._producer.close(is_flushing=False)

    def _is_overdue(self, event: Event, now_us: int) -> bool:
        return now_us - event.submitted_us > self.tenant.delivery_timeout_ms * 1000

    async def _send(self) -> None:
        if self._producer is None:
            self._producer = Producer(
                ",".join(str(address) for address in self.run.topology.brokers.values()),
                self._settings,
                client_id=self.tenant.client_id,
                security=self._connection_settings.security,
                seed=self.run.plan.seed + self.number,
                watcher=self.requests,
            )
        while self._events and not self.run.is_over:
            event = self._events.popleft()
            value = _EVENT.pack(event.event_id).ljust(self.tenant.record_sizes[0], b".")
            for _ in range(self.tenant.records):
                try:
                    future = await self._producer.send(
                        self.tenant.topic,
                        value,
                        partition=self.partition,
                        timestamp_ms=self.run.timestamp_ms,
                    )
                except ClientError as error:
                    self._record_reported(event, error)
                else:
                    future.add_done_callback(partial(self._on_report, event))

    # Reports of the producer --------------------------------------------------------------

    def _on_report(self, event: Event, future: asyncio.Future[Delivered]) -> None:
        error = future.exception()
        assert error is None or isinstance(error, ClientError)
        self._record_reported(event, error)

    def _record_reported(self, event: Event, error: ClientError | None) -> None:
        """Count the report of one record; `error` is None if it was delivered."""
        open_event = self._open.get(event.event_id)
        if open_event is None or self._is_closing:
            return
        open_event.unreported -= 1
        if open_event.unreported and error is None:
            return
        del self._open[event.event_id]
        run, now_us = self.run, clock.now_us()
        run.counts.events_done += 1
        if isinstance(error, SecurityError):
            run.abort_run(f"tenant {self.tenant.name}: {error}")
        # A refused batch has the row of its response.
        if error is not None and not isinstance(error, DeliveryRefusedError):
            run.counts.errors += 1
            self._record_expired(event, now_us)
        next_event = self.next_in_loop(event, now_us)
        if next_event is not None:
            self.submit(next_event)

    def _record_expired(self, event: Event, now_us: int) -> None:
        """Write the row of an expired batch; `response_us` is when the producer reported it."""
        rows = self.run.rows
        row = rows.begin(
            event_id=event.event_id,
            intended_us=event.intended_us,
            submitted_us=event.submitted_us,
            sent_us=NONE,
            client=self.number,
            api=ApiKey.PRODUCE,
            version=-1,
            attempt=0,
            topic=self._topic,
            partition=self.partition,
        )
        rows.end(row, now_us, 0, status=Status.EXPIRED)

    def _event_of(self, event_id: int, now_us: int) -> Event:
        """Return the event of records, and note that they were sent."""
        pending = self._open.get(event_id)
        if pending is None:  # no event, or one of which another record has failed
            return Event(event_id, now_us, now_us, 0)
        pending.is_sent = True
        return pending.event
