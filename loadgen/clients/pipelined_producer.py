"""An idempotent producer with several batches in flight, like that of Kafka's Java client.

This is the fast path of the load: an event becomes a frame without a coroutine or a message object,
which `client.Producer` cannot do. After an error it waits for the batches behind the failed one and
sends all of them again in order, with the same sequences. When a batch fails for good, it starts
the next epoch with sequence 0.
"""

import asyncio
from collections import deque
from typing import NamedTuple

from client.errors import ClientError
from loadgen import clock
from loadgen.clients.load_client import NO_EVENT, Event, LoadClient, Run
from loadgen.clients.load_connection import LoadConnection
from loadgen.clients.produce_frames import ProduceFrames, next_sequence
from loadgen.plan.plan import Tenant
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError
from protocol.errors import INVALID_METADATA_ERRORS, RETRIABLE_ERRORS, ErrorCode

RETRY_BACKOFF_MS = 100
EPOCH_MAX = 2**15 - 1


class _Batch(NamedTuple):
    """A batch that was sent and has to be sent again."""

    order: int
    row: int
    event: Event
    sequence: int
    correlation_id: int
    attempt: int
    sent_us: int


_InFlight = tuple[int, int, Event, int, int, int, int]
"""A `_Batch` in flight, as a plain tuple: faster to make, and each request makes one."""


class PipelinedProducer(LoadClient):
    """One producer, one partition, one connection; a `load_connection.Reader`."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._rows = run.rows
        self._by_size: list[tuple[ProduceFrames, bytes]] = []
        """For each size of records the encoder, and the fields that rows of this connection share;
        the salt of an event chooses."""
        self._queue: deque[Event] = deque()
        self._to_resend: deque[_Batch] = deque()
        """Batches to send again, before the events of the queue."""
        self._in_flight: deque[_InFlight] = deque()
        self._connection: LoadConnection | None = None
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
        """When the last throttle ends."""
        self._timer: asyncio.TimerHandle | None = None
        self._opening: asyncio.Task[None] | None = None

    async def prepare(self) -> None:
        """See `LoadClient`."""
        await self._open()

    def submit(self, event: Event) -> None:
        """See `LoadClient`."""
        self._queue.append(event)
        if self.tenant.arrival == "closed":
            for _ in range(self.tenant.window - 1):
                next_event = self.next_in_loop(event, event.submitted_us)
                if next_event is not None:
                    self._queue.append(next_event)
        self._fill(event.submitted_us)

    @property
    def is_idle(self) -> bool:
        """See `LoadClient`."""
        return not (self._queue or self._in_flight or self._to_resend)

    def unsent(self) -> list[Event]:
        """See `LoadClient`."""
        return list(self._queue)

    def behind_us(self, now_us: int) -> int:
        """See `LoadClient`."""
        limit_us = self.run.plan.abort_behind_s * 1e6
        if not self._queue or self._is_throttled or now_us < self._throttled_us + limit_us:
            return 0
        return now_us - self._queue[0].intended_us

    def check(self, now_us: int) -> None:
        """Close the connection after a request timeout; open one if there is none."""
        if self._connection is not None and self._in_flight:
            oldest = _Batch._make(self._in_flight[0])
            if now_us - oldest.sent_us > self.tenant.request_timeout_ms * 1000:
                self._connection.abort()
        elif self._connection is None and self._opening is None and not self.run.is_over:
            self._reopen()

    async def close(self) -> None:
        """See `LoadClient`."""
        if self._timer is not None:
            self._timer.cancel()
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if self._connection is not None:
            self._connection.on_lost = (
                None  # requests in flight have no response; they are not lost
            )
            self._connection.abort()

    # Sending -------------------------------------------------------------------------------

    def _fill(self, now_us: int) -> None:
        """Send as many batches as the window and the throttle allow."""
        connection = self._connection
        if (
            connection is None
            or not self._by_size
            or self._is_draining
            or now_us < self._pause_until_us
        ):
            return
        in_flight, window = self._in_flight, self.tenant.window
        while self._to_resend and len(in_flight) < window:
            batch = self._to_resend.popleft()
            self._send(connection, batch.order, batch.event, batch.sequence, batch.attempt)
        queue = self._queue
        while queue and not self._to_resend and len(in_flight) < window:
            sequence = self._sequence
            if self._producer_id >= 0:
                self._sequence = next_sequence(sequence, self.tenant.records)
            self._order += 1
            self._send(connection, self._order, queue.popleft(), sequence, 1)

    def _send(
        self,
        connection: LoadConnection,
        order: int,
        event: Event,
        sequence: int,
        attempt: int,
    ) -> None:
        event_id, intended_us, submitted_us, salt = event
        sizes = self._by_size
        frames, stamp = sizes[0] if len(sizes) == 1 else sizes[salt % len(sizes)]
        producer_id, epoch = self._producer_id, self._epoch
        correlation_id = self._correlation_id = self._correlation_id + 1
        frame = frames.frame(correlation_id, producer_id, epoch, sequence, event_id)
        now_us = clock.now_us()
        row = self._rows.begin_stamped(
            stamp, event_id, intended_us, submitted_us, now_us, attempt, producer_id, epoch,
            sequence, max(0, connection.throttled_until_us - now_us),
        )  # fmt: skip
        self._in_flight.append((order, row, event, sequence, correlation_id, attempt, now_us))
        connection.send(frame, self)

    # Responses -----------------------------------------------------------------------------

    def responded(self, buffer: bytes, start: int, end: int, now_us: int) -> None:
        """See `load_connection.Reader`."""
        if not self._in_flight or self._frames is None:
            raise DecodeError("a response without a request")
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
            self._fail(_Batch._make(batch), error_code)
        else:
            self._complete(event, now_us)
        if self._is_draining:
            if not self._in_flight:
                self._start_resending(now_us)
        elif self._queue or self._to_resend:
            self._fill(now_us)

    def _complete(self, event: Event, now_us: int) -> None:
        self.run.counts.events_done += 1
        if self.tenant.arrival == "closed":
            next_event = self.next_in_loop(event, now_us)
            if next_event is not None:
                self._queue.append(next_event)

    def _throttled(self, throttle_ms: int, sent_us: int, now_us: int) -> None:
        self.run.counts.throttled += 1
        # An obeying client waits from the response on. The broker's own throttle may have started
        # earlier, but not before the request was sent.
        obeys = self.tenant.obeys_throttle
        until_us = (now_us if obeys else sent_us) + throttle_ms * 1000
        if self._connection is not None:
            self._connection.throttled_until_us = max(self._connection.throttled_until_us, until_us)
        self._throttled_us = until_us
        if obeys:
            self._is_throttled = True
            self._pause(until_us, now_us)

    def _fail(self, batch: _Batch, error_code: int) -> None:
        self.run.counts.errors += 1
        # A batch behind a failed one is out of order for that reason alone.
        is_behind_failed = (
            self._is_draining and error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        )
        if is_behind_failed:
            self._resend_later(batch)
        elif error_code in RETRIABLE_ERRORS and batch.attempt <= self.tenant.retries:
            self._resend_later(batch._replace(attempt=batch.attempt + 1))
            if error_code in INVALID_METADATA_ERRORS and self._connection is not None:
                self._connection.abort()
        else:
            # The broker expects a sequence that will not come: start a new epoch.
            self._must_reset = self._is_draining = self._producer_id >= 0
            self._complete(batch.event, clock.now_us())

    def _resend_later(self, *batches: _Batch) -> None:
        """Send these batches first, once all batches in flight have a response."""
        self._is_draining = True
        self._to_resend = deque(sorted([*self._to_resend, *batches]))

    def _start_resending(self, now_us: int) -> None:
        self._is_draining = False
        if self._must_reset:
            self._reset()
        self._pause(max(self._pause_until_us, now_us + RETRY_BACKOFF_MS * 1000), now_us)

    def _reset(self) -> None:
        """Start the next epoch with sequence 0 for all batches that are not stored (KIP-360)."""
        self._must_reset = False
        if self._epoch >= EPOCH_MAX:
            self._producer_id = -1
            if self._connection is not None:
                self._connection.abort()
            return
        self._epoch += 1
        self._renumber()

    def _renumber(self) -> None:
        self._sequence = 0
        batches, self._to_resend = self._to_resend, deque()
        for batch in batches:
            self._to_resend.append(batch._replace(sequence=self._sequence))
            self._sequence = next_sequence(self._sequence, self.tenant.records)

    def _pause(self, until_us: int, now_us: int) -> None:
        if until_us <= self._pause_until_us and self._timer is not None:
            return
        self._pause_until_us = until_us
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(max(0, until_us - now_us) / 1e6, self._resume)

    def _resume(self) -> None:
        self._timer = None
        now_us = clock.now_us()
        if now_us < self._pause_until_us:  # the timers of the loop are coarse
            self._pause(self._pause_until_us, now_us)
            return
        self._is_throttled = False
        self._fill(now_us)

    # Connections ---------------------------------------------------------------------------

    def lost(self, now_us: int) -> None:
        """Send the batches in flight again, on another connection."""
        run = self.run
        self._connection = None
        again = []
        for batch in map(_Batch._make, self._in_flight):
            run.rows.mark_lost(batch.row)
            run.counts.requests += 1
            if batch.attempt > self.tenant.retries:
                run.counts.errors += 1
                self._must_reset = self._producer_id >= 0
                self._complete(batch.event, now_us)
            else:
                again.append(batch._replace(attempt=batch.attempt + 1))
        self._in_flight.clear()
        self._resend_later(*again)
        self._is_draining = False
        if not run.is_over:
            self._reopen()

    def _reopen(self) -> None:
        if self._opening is None or self._opening.done():
            self._opening = asyncio.get_running_loop().create_task(self._open())

    async def _open(self) -> None:
        """Connect, get a producer id if there is none, and continue sending."""
        try:
            node = self.leader(self.tenant.topic, self.partition)
            connection = await self.connect(node)
            if self._frames is not None:  # a reconnect: the leader may have moved
                await self.refresh_leaders(connection, self.tenant.topic)
                if self.leader(self.tenant.topic, self.partition) != node:
                    connection.abort()
                    node = self.leader(self.tenant.topic, self.partition)
                    connection = await self.connect(node)
            if self._must_reset:
                self._reset()
            if self.tenant.idempotent and self._producer_id < 0:
                await self._get_producer_id(connection, node)
        except ClientError:
            self._opening = None
            return
        self._opening = None
        if connection.is_lost:
            return
        sized = [self.frames(connection, size) for size in self.tenant.record_sizes]
        self._by_size = [(frames, self._stamp_of(frames, node)) for frames in sized]
        self._frames = sized[0]
        connection.on_lost = self.lost
        self._connection = connection
        self._fill(clock.now_us())

    def _stamp_of(self, frames: ProduceFrames, node: int) -> bytes:
        return self._rows.stamp(
            client=self.number,
            api=ApiKey.PRODUCE,
            version=frames.version,
            topic=self._rows.topic_number(self.tenant.topic),
            partition=self.partition,
            records=self.tenant.records,
            request_bytes=frames.size,
            node=node,
        )

    async def _get_producer_id(self, connection: LoadConnection, node: int) -> None:
        request = messages.InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
        )
        version = connection.wire.version_of(ApiKey.INIT_PRODUCER_ID)
        while True:
            frame = connection.wire.request(request)
            rows, now_us = self.run.rows, clock.now_us()
            row = rows.begin(
                event_id=NO_EVENT,
                intended_us=now_us,
                submitted_us=now_us,
                sent_us=now_us,
                client=self.number,
                api=ApiKey.INIT_PRODUCER_ID,
                version=version,
                request_bytes=len(frame),
                node=node,
            )
            try:
                response = await connection.exchange(frame, self.tenant.request_timeout_ms / 1000)
            except ClientError:
                rows.mark_lost(row)
                raise
            rows.end(row, clock.now_us(), response.error_code, response.throttle_time_ms)
            if response.error_code == ErrorCode.NONE:
                self._producer_id = response.producer_id
                self._epoch = response.producer_epoch
                self._must_reset = False
                self._renumber()
                return
            self.run.counts.errors += 1
            await asyncio.sleep(max(response.throttle_time_ms, RETRY_BACKOFF_MS) / 1000)
