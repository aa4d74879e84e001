"""The idempotent producer that Kafka's own clients are: several batches in flight, none lost.

The fast path of the load: no coroutine and no message object between an event and its frame. After
an error it does what the Java client does: what is behind the failed batch comes back as well, and
all of it is sent again in order, with the same sequences; when a batch is given up, with the next
epoch, from sequence 0.
"""

import asyncio
from collections import deque
from typing import NamedTuple

from client.errors import ClientError
from loadgen import clock
from loadgen.clients.load_client import NO_EVENT, Event, LoadClient, Run
from loadgen.clients.load_connection import Link
from loadgen.clients.produce_frames import ProduceFrames, next_sequence
from loadgen.plan.plan import Tenant
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError
from protocol.errors import INVALID_METADATA_ERRORS, RETRIABLE_ERRORS, ErrorCode

RETRY_BACKOFF_MS = 100
EPOCH_MAX = 2**15 - 1


class _Batch(NamedTuple):
    """One batch that was on its way and comes back."""

    order: int
    row: int
    event: Event
    sequence: int
    correlation_id: int
    attempt: int
    sent_us: int


_InFlight = tuple[int, int, Event, int, int, int, int]
"""A `_Batch` on its way: each request makes one, which is quicker without names."""


class SteadyClient(LoadClient):
    """One producer, one partition, one connection; a `link.Reader`."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._rows = run.rows
        self._stamp = b""
        """What all rows of this connection have in common."""
        self._queue: deque[Event] = deque()
        self._back: deque[_Batch] = deque()
        """What came back, to be sent again before anything from the queue."""
        self._in_flight: deque[_InFlight] = deque()
        self._link: Link | None = None
        self._frames: ProduceFrames | None = None
        self._producer_id = -1
        self._epoch = -1
        self._sequence = -1
        self._correlation_id = 0
        self._order = 0
        self._is_draining = False
        self._must_reset = False
        self._pause_until_us = 0
        self._is_throttled = False
        self._throttled_us = -(10**15)
        """When the last throttle ends or ended."""
        self._wake: asyncio.TimerHandle | None = None
        self._opening: asyncio.Task[None] | None = None

    async def prepare(self) -> None:
        """See `LoadClient`."""
        await self._open()

    def hand(self, event: Event) -> None:
        """See `LoadClient`."""
        self._queue.append(event)
        if self.tenant.arrival == "closed":
            for _ in range(self.tenant.window - 1):
                another = self.again(event, event.handed_us)
                if another is not None:
                    self._queue.append(another)
        self._fill(event.handed_us)

    @property
    def is_idle(self) -> bool:
        """See `LoadClient`."""
        return not (self._queue or self._in_flight or self._back)

    def leftover(self) -> list[Event]:
        """See `LoadClient`."""
        return list(self._queue)

    def behind_us(self, now_us: int) -> int:
        """See `LoadClient`."""
        patience_us = self.run.plan.give_up_behind_s * 1e6
        if not self._queue or self._is_throttled or now_us < self._throttled_us + patience_us:
            return 0
        return now_us - self._queue[0].intended_us

    def check(self, now_us: int) -> None:
        """Break the connection under a request that has waited too long."""
        if self._link is not None and self._in_flight:
            oldest = _Batch._make(self._in_flight[0])
            if now_us - oldest.sent_us > self.tenant.request_timeout_ms * 1000:
                self._link.abort()
        elif self._link is None and self._opening is None and not self.run.is_over:
            self._reopen()

    async def close(self) -> None:
        """See `LoadClient`."""
        if self._wake is not None:
            self._wake.cancel()
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if self._link is not None:
            self._link.reader = None  # what is still on its way was never answered, and not lost
            self._link.abort()

    # Sending -------------------------------------------------------------------------------

    def _fill(self, now_us: int) -> None:
        """Send as much as the window and the throttle allow."""
        link, frames = self._link, self._frames
        if link is None or frames is None or self._is_draining or now_us < self._pause_until_us:
            return
        in_flight, window = self._in_flight, self.tenant.window
        while self._back and len(in_flight) < window:
            batch = self._back.popleft()
            self._send(link, frames, batch.order, batch.event, batch.sequence, batch.attempt)
        queue = self._queue
        while queue and not self._back and len(in_flight) < window:
            sequence = self._sequence
            if self._producer_id >= 0:
                self._sequence = next_sequence(sequence, self.tenant.records)
            self._order += 1
            self._send(link, frames, self._order, queue.popleft(), sequence, 1)

    def _send(
        self,
        link: Link,
        frames: ProduceFrames,
        order: int,
        event: Event,
        sequence: int,
        attempt: int,
    ) -> None:
        event_id, intended_us, handed_us, _ = event
        producer_id, epoch = self._producer_id, self._epoch
        correlation_id = self._correlation_id = self._correlation_id + 1
        frame = frames.frame(correlation_id, producer_id, epoch, sequence, event_id)
        now_us = clock.now_us()
        row = self._rows.begin_stamped(
            self._stamp, event_id, intended_us, handed_us, now_us, attempt, producer_id, epoch,
            sequence, max(0, link.muted_until_us - now_us),
        )  # fmt: skip
        self._in_flight.append((order, row, event, sequence, correlation_id, attempt, now_us))
        link.send(frame)

    # Answers -------------------------------------------------------------------------------

    def responded(self, buffer: bytes, start: int, end: int, now_us: int) -> None:
        """See `link.Reader`."""
        if not self._in_flight or self._frames is None:
            raise DecodeError("nothing was asked")
        correlation_id, error_code, base_offset, throttle_ms = self._frames.read(buffer, start, end)
        batch = self._in_flight.popleft()
        _, row, event, _, expected, _, sent_us = batch
        if correlation_id != expected:
            raise DecodeError(f"correlation id {correlation_id}, not {expected}")
        self._rows.end(row, now_us, error_code, throttle_ms, base_offset)
        self.run.counts.requests += 1
        if throttle_ms:
            self._throttled(throttle_ms, sent_us, now_us)
        if error_code and error_code != ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            self._refused(_Batch._make(batch), error_code)
        else:
            self._settled(event, now_us)
        if self._is_draining:
            if not self._in_flight:
                self._send_again(now_us)
        elif self._queue or self._back:
            self._fill(now_us)

    def _settled(self, event: Event, now_us: int) -> None:
        self.run.counts.events_done += 1
        if self.tenant.arrival == "closed":
            another = self.again(event, now_us)
            if another is not None:
                self._queue.append(another)

    def _throttled(self, throttle_ms: int, sent_us: int, now_us: int) -> None:
        self.run.counts.throttled += 1
        # Who obeys waits from the response on. The broker's own wait began before the response came,
        # but not before the request was sent: that is what it can be held to.
        is_obeying = self.tenant.obeys_throttle
        until_us = (now_us if is_obeying else sent_us) + throttle_ms * 1000
        if self._link is not None:
            self._link.muted_until_us = max(self._link.muted_until_us, until_us)
        self._throttled_us = until_us
        if is_obeying:
            self._is_throttled = True
            self._pause(until_us, now_us)

    def _refused(self, batch: _Batch, error_code: int) -> None:
        self.run.counts.errors += 1
        # A batch behind one that came back is out of order for that alone.
        is_behind = self._is_draining and error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if is_behind:
            self._come_back(batch)
        elif error_code in RETRIABLE_ERRORS and batch.attempt <= self.tenant.retries:
            self._come_back(batch._replace(attempt=batch.attempt + 1))
            if error_code in INVALID_METADATA_ERRORS and self._link is not None:
                self._link.abort()
        else:
            # The broker waits for a sequence that will never come.
            self._must_reset = self._is_draining = self._producer_id >= 0
            self._settled(batch.event, clock.now_us())

    def _come_back(self, *batches: _Batch) -> None:
        """Nothing else is sent until all that is in flight is known; then these first."""
        self._is_draining = True
        self._back = deque(sorted([*self._back, *batches]))

    def _send_again(self, now_us: int) -> None:
        self._is_draining = False
        if self._must_reset:
            self._reset()
        self._pause(max(self._pause_until_us, now_us + RETRY_BACKOFF_MS * 1000), now_us)

    def _reset(self) -> None:
        """The next epoch, and sequences from 0 for all that is not stored yet (KIP-360)."""
        self._must_reset = False
        if self._epoch >= EPOCH_MAX:
            self._producer_id = -1
            if self._link is not None:
                self._link.abort()
            return
        self._epoch += 1
        self._number_anew()

    def _number_anew(self) -> None:
        self._sequence = 0
        batches, self._back = self._back, deque()
        for batch in batches:
            self._back.append(batch._replace(sequence=self._sequence))
            self._sequence = next_sequence(self._sequence, self.tenant.records)

    def _pause(self, until_us: int, now_us: int) -> None:
        if until_us <= self._pause_until_us and self._wake is not None:
            return
        self._pause_until_us = until_us
        if self._wake is not None:
            self._wake.cancel()
        loop = asyncio.get_running_loop()
        self._wake = loop.call_later(max(0, until_us - now_us) / 1e6, self._resume)

    def _resume(self) -> None:
        self._wake = None
        now_us = clock.now_us()
        if now_us < self._pause_until_us:  # the loop's timers are coarse
            self._pause(self._pause_until_us, now_us)
            return
        self._is_throttled = False
        self._fill(now_us)

    # Connections ---------------------------------------------------------------------------

    def lost(self, now_us: int) -> None:
        """See `link.Reader`."""
        run = self.run
        self._link = None
        again = []
        for batch in map(_Batch._make, self._in_flight):
            run.rows.lose(batch.row)
            run.counts.requests += 1
            if batch.attempt > self.tenant.retries:
                run.counts.errors += 1
                self._must_reset = self._producer_id >= 0
                self._settled(batch.event, now_us)
            else:
                again.append(batch._replace(attempt=batch.attempt + 1))
        self._in_flight.clear()
        self._come_back(*again)
        self._is_draining = False
        if not run.is_over:
            self._reopen()

    def _reopen(self) -> None:
        if self._opening is None or self._opening.done():
            self._opening = asyncio.get_running_loop().create_task(self._open())

    async def _open(self) -> None:
        """Connect, get a producer id if there is none, and begin or go on."""
        try:
            node = self.leader(self.tenant.topic, self.partition)
            link = await self.connect(node)
            if self._frames is not None:  # it is not the first time: the leader may have moved
                await self.look_again(link, self.tenant.topic)
                if self.leader(self.tenant.topic, self.partition) != node:
                    link.abort()
                    node = self.leader(self.tenant.topic, self.partition)
                    link = await self.connect(node)
            if self._must_reset:
                self._reset()
            if self.tenant.idempotent and self._producer_id < 0:
                await self._get_producer_id(link, node)
        except ClientError:
            self._opening = None
            return
        self._opening = None
        if link.is_lost:
            return
        frames = self._frames = self.frames(link)
        self._stamp = self._rows.stamp(
            self.number,
            ApiKey.PRODUCE,
            frames.version,
            self._rows.topic_number(self.tenant.topic),
            self.partition,
            self.tenant.records,
            frames.size,
            node,
        )
        link.reader = self
        self._link = link
        self._fill(clock.now_us())

    async def _get_producer_id(self, link: Link, node: int) -> None:
        request = messages.InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
        )
        version = link.wire.version_of(ApiKey.INIT_PRODUCER_ID)
        while True:
            frame = link.wire.request(request)
            rows, now_us = self.run.rows, clock.now_us()
            row = rows.begin(
                NO_EVENT,
                now_us,
                now_us,
                now_us,
                self.number,
                ApiKey.INIT_PRODUCER_ID,
                version,
                request_bytes=len(frame),
                node=node,
            )
            try:
                response = await link.exchange(frame, self.tenant.request_timeout_ms / 1000)
            except ClientError:
                rows.lose(row)
                raise
            rows.end(row, clock.now_us(), response.error_code, response.throttle_time_ms)
            if response.error_code == ErrorCode.NONE:
                self._producer_id = response.producer_id
                self._epoch = response.producer_epoch
                self._must_reset = False
                self._number_anew()
                return
            self.run.counts.errors += 1
            await asyncio.sleep(max(response.throttle_time_ms, RETRY_BACKOFF_MS) / 1000)
