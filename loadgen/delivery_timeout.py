"""KIP-91's promise by a producer of its own: the caller hears of a batch before its time is over.

Whatever phase a batch is in at its deadline (waiting, in flight, between two tries), the caller is
told. What is in flight stays so until it is answered or `request_timeout_ms` is over, because its
sequence is not free before that.
"""

import asyncio

from client.errors import ClientError
from loadgen import clock
from loadgen.load_client import Event, Run
from loadgen.plan import Tenant
from loadgen.producer_steps import STORED, ProducerStepper
from loadgen.rows import NONE, Status
from loadgen.steady_client import RETRIABLE
from loadgen.stepper import BACKOFF_S, Producer
from protocol.api_keys import ApiKey


class DeliveryTimeout(ProducerStepper):
    """One batch in flight; each has its own deadline from the moment it was made."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._producer: Producer | None = None
        self._undecided: dict[int, asyncio.TimerHandle] = {}

    def hand(self, event: Event) -> None:
        """See `LoadClient`."""
        delay_s = self.tenant.delivery_timeout_ms / 1000
        self._undecided[event.event_id] = asyncio.get_running_loop().call_later(
            delay_s, self._expire, event
        )
        super().hand(event)

    def leftover(self) -> list[Event]:
        """See `LoadClient`."""
        return [event for event in self._events if event.event_id in self._undecided]

    async def close(self) -> None:
        """See `LoadClient`."""
        await super().close()
        for alarm in self._undecided.values():
            alarm.cancel()

    def _expire(self, event: Event) -> None:
        """Tell the caller; a row of its own says when."""
        if self._undecided.pop(event.event_id, None) is None:
            return
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
            topic=rows.topic_number(self.tenant.topic),
            partition=self.partition,
        )
        rows.end(row, clock.now_us(), 0, status=Status.EXPIRED)
        self.run.counts.errors += 1

    async def step(self, event: Event) -> None:
        """See `Stepper`."""
        attempt = 0
        while event.event_id in self._undecided and not self.run.is_over:
            attempt += 1
            try:
                if self._producer is None:
                    self._producer = await self.new_producer(event, await self.connected())
                error_code = await self.send(event, self._producer, attempt=attempt)
            except ClientError:
                await self.disconnect()
                error_code = None
            if error_code in STORED or (error_code is not None and error_code not in RETRIABLE):
                self._decided(event)
                if error_code not in STORED:
                    self._producer = None
                return
            await asyncio.sleep(BACKOFF_S)
        # Whether the last try was stored is not known: its sequence can't be used again.
        if attempt:
            self._producer = None

    def _decided(self, event: Event) -> None:
        alarm = self._undecided.pop(event.event_id, None)
        if alarm is not None:
            alarm.cancel()
