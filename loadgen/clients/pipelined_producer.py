"""An idempotent producer with several batches in flight, like that of Kafka's Java client.

This is the fast path of the load: an event becomes a frame without a coroutine or a message object,
which `client.Producer` cannot do. Batches that may be sent at the same time are encoded, sent and
remembered together, and the successful responses of one read are taken together. After an error it
waits for the batches behind the failed one and sends all of them again in order, with the same
sequences. When a batch fails for good, it starts the next epoch with sequence 0.
"""

import asyncio
from collections import deque
from collections.abc import Sequence

from client.errors import ClientError
from loadgen import clock
from loadgen.clients.burst import Burst, InFlight, QueuedEvents, Resend
from loadgen.clients.load_client import Event, LoadClient, Run
from loadgen.clients.load_connection import LoadConnection
from loadgen.clients.produce_frames import ProduceFrames, next_sequence
from loadgen.clients.producer_id_request import request_producer_id
from loadgen.plan.plan import Tenant
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError
from protocol.errors import INVALID_METADATA_ERRORS, RETRIABLE_ERRORS, ErrorCode

RETRY_BACKOFF_MS = 100
EPOCH_MAX = 2**15 - 1


BURST_MAX = 64
BURST_BYTES_MAX = 65_536
"""The most requests that are encoded together, and their bytes."""


class PipelinedProducer(LoadClient):
    """One producer, one partition, one connection; a `load_connection.Reader`."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._rows = run.rows
        self._by_size: list[tuple[ProduceFrames, bytes]] = []
        """For each size of records the encoder, and the fields that rows of this connection share;
        the salt of an event chooses."""
        self._queue: deque[QueuedEvents] = deque()
        self._to_resend: deque[Resend] = deque()
        """Batches to send again, before the events of the queue."""
        self._in_flight: deque[InFlight] = deque()
        self._in_flight_count = 0
        """The number of requests in all bursts."""
        self._burst_max = 1
        self._is_closed_loop = tenant.arrival == "closed"
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
        """When the last throttle ends, or the connection was opened."""
        self._timer: asyncio.TimerHandle | None = None
        self._opening: asyncio.Task[None] | None = None

    async def prepare(self) -> None:
        """See `LoadClient`."""
        await self._open()

    def submit(self, event: Event) -> None:
        """See `LoadClient`."""
        event_id, intended_us, submitted_us, salt = event
        self._queue.append(((event_id,), intended_us, submitted_us, salt))
        if self._is_closed_loop and self.tenant.window > 1:
            self._queue_loops(self.tenant.window - 1, event_id, salt, submitted_us)
        self._fill(submitted_us)

    def _queue_loops(self, count: int, event_id: int, salt: int, now_us: int) -> None:
        """Queue the events that follow `count` events of this closed loop, unless it is over."""
        event_ids = self.next_in_loops(count, event_id, now_us)
        if len(self.tenant.record_sizes) == 1:
            if event_ids:
                self._queue.append((event_ids, now_us, now_us, salt + 1))
        else:  # the salt chooses the size
            self._queue.extend(((next_id,), now_us, now_us, salt + 1) for next_id in event_ids)

    @property
    def is_idle(self) -> bool:
        """See `LoadClient`."""
        return not (self._queue or self._in_flight or self._to_resend)

    def unsent(self) -> list[Event]:
        """See `LoadClient`."""
        return [
            Event(event_id, *shared) for event_ids, *shared in self._queue for event_id in event_ids
        ]

    def behind_us(self, now_us: int) -> int:
        """See `LoadClient`."""
        limit_us = self.run.plan.abort_behind_s * 1e6
        is_held = self._is_throttled or self._connection is None
        if not self._queue or is_held or now_us < self._throttled_us + limit_us:
            return 0
        _, intended_us, _, _ = self._queue[0]
        return now_us - intended_us

    def check(self, now_us: int) -> None:
        """Close the connection after a request timeout; open one if there is none."""
        if self._connection is not None and self._in_flight:
            oldest = Burst._make(self._in_flight[0])
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
            self._connection.on_lost = None
            self._connection.abort()
        while self._in_flight:  # they have no response; they are not lost
            self._next_in_flight().begin_row(self._rows)

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
        window, queue = self.tenant.window, self._queue
        while self._to_resend and self._in_flight_count < window:
            again = self._to_resend.popleft()
            event_id, *of_event = again.event
            self._send(
                connection, again.order, again.sequence, again.attempt, (event_id,), *of_event
            )
        while queue and self._in_flight_count < window and not self._to_resend:
            event_ids, intended_us, submitted_us, salt = queue.popleft()
            count = len(event_ids)
            if count > 1:
                room = min(window - self._in_flight_count, self._burst_max)
                if count > room:
                    queue.appendleft((event_ids[room:], intended_us, submitted_us, salt))
                    count, event_ids = room, event_ids[:room]
            order, sequence = self._order + 1, self._sequence
            self._order += count
            if self._producer_id >= 0:
                self._sequence = next_sequence(sequence, self.tenant.records * count)
            self._send(connection, order, sequence, 1, event_ids, intended_us, submitted_us, salt)

    def _send(
        self,
        connection: LoadConnection,
        order: int,
        sequence: int,
        attempt: int,
        event_ids: Sequence[int],
        intended_us: int,
        submitted_us: int,
        salt: int,
    ) -> None:
        """Send a batch for each event; all of them have the same size."""
        sizes = self._by_size
        frames, stamp = sizes[0] if len(sizes) == 1 else sizes[salt % len(sizes)]
        producer_id, epoch, count = self._producer_id, self._epoch, len(event_ids)
        correlation_id = self._correlation_id + 1
        self._correlation_id += count
        self._in_flight_count += count
        if count == 1:
            data = frames.frame(correlation_id, producer_id, epoch, sequence, event_ids[0])
        else:
            data = frames.frames(correlation_id, producer_id, epoch, sequence, event_ids)
        now_us = clock.now_us()
        early_us = connection.throttled_until_us - now_us
        self._in_flight.append((
            order, sequence, correlation_id, attempt, now_us, producer_id, epoch,
            max(0, early_us), stamp, event_ids, intended_us, submitted_us, salt,
        ))  # fmt: skip
        connection.send(data, self, count)

    def _next_in_flight(self) -> Burst:
        """Remove the oldest request from those in flight; return it as a burst of one."""
        burst = Burst._make(self._in_flight.popleft())
        self._in_flight_count -= 1
        if len(burst.event_ids) == 1:
            return burst
        self._in_flight.appendleft(burst.after(1, self.tenant.records))
        return burst.first()

    # Responses -----------------------------------------------------------------------------

    def responded_to_run(self, buffer: bytes, now_us: int) -> tuple[int, int]:
        """See `load_connection.RunReader`."""
        in_flight, frames = self._in_flight, self._frames
        if frames is None or self._is_draining or self._to_resend:
            return 0, 0
        size, taken, event_id, salt = frames.framed_response_bytes, 0, 0, 0
        room = len(buffer) // size
        while in_flight and room:
            (
                _, sequence, correlation_id, attempt, sent_us, producer_id, epoch, early_us, stamp,
                event_ids, intended_us, submitted_us, salt,
            ) = burst = in_flight[0]  # fmt: skip
            count = min(len(event_ids), room)
            offsets = frames.read_run(buffer, taken * size, count, correlation_id)
            if offsets is None:  # `responded` takes them
                break
            if count == len(event_ids):
                in_flight.popleft()
            else:
                in_flight[0] = Burst._make(burst).after(count, self.tenant.records)
            event_id = event_ids[0]
            self._rows.add_run(
                stamp, count, event_id, intended_us, submitted_us, sent_us, now_us, attempt,
                producer_id, epoch, sequence, early_us, offsets,
            )  # fmt: skip
            taken += count
            room -= count
        if taken:
            self._in_flight_count -= taken
            counts = self.run.counts
            counts.requests += taken
            counts.events_done += taken
            if self._is_closed_loop:
                self._queue_loops(taken, event_id, salt, now_us)
            if self._queue:
                self._fill(now_us)
        return taken, taken * size

    def responded(self, buffer: bytes, start: int, end: int, now_us: int) -> None:
        """See `load_connection.Reader`."""
        if not self._in_flight or self._frames is None:
            raise DecodeError("a response without a request")
        correlation_id, error_code, base_offset, throttle_ms = self._frames.read(buffer, start, end)
        burst = self._in_flight[0]
        if len(burst[9]) == 1:
            self._in_flight.popleft()
            self._in_flight_count -= 1
        else:
            burst = self._next_in_flight()
        (
            _, sequence, expected, attempt, sent_us, producer_id, epoch, early_us, stamp,
            [event_id], intended_us, submitted_us, salt,
        ) = burst  # fmt: skip
        if correlation_id != expected:
            Burst._make(burst).begin_row(self._rows)
            raise DecodeError(f"correlation id {correlation_id}, not {expected}")
        self._rows.add_stamped(
            stamp, event_id, intended_us, submitted_us, sent_us, attempt, producer_id, epoch,
            sequence, early_us, now_us, error_code, throttle_ms, base_offset,
        )  # fmt: skip
        self.run.counts.requests += 1
        if throttle_ms:
            self._throttled(throttle_ms, sent_us, now_us)
        if error_code and error_code != ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            self._fail(Burst._make(burst).to_resend(), error_code)
        else:
            self._complete(event_id, salt, now_us)
        if self._is_draining:
            if not self._in_flight:
                self._start_resending(now_us)
        elif self._queue or self._to_resend:
            self._fill(now_us)

    def _complete(self, event_id: int, salt: int, now_us: int) -> None:
        self.run.counts.events_done += 1
        if self._is_closed_loop:
            self._queue_loops(1, event_id, salt, now_us)

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

    def _fail(self, batch: Resend, error_code: int) -> None:
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
            self._complete(batch.event.event_id, batch.event.salt, clock.now_us())

    def _resend_later(self, *batches: Resend) -> None:
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
        while self._in_flight:
            burst = self._next_in_flight()
            run.rows.mark_lost(burst.begin_row(run.rows))
            run.counts.requests += 1
            batch = burst.to_resend()
            if batch.attempt > self.tenant.retries:
                run.counts.errors += 1
                self._must_reset = self._producer_id >= 0
                self._complete(batch.event.event_id, batch.event.salt, now_us)
            else:
                again.append(batch._replace(attempt=batch.attempt + 1))
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
            connection, node = await self.connect(
                lambda _: self.leader(self.tenant.topic, self.partition)
            )
            if self._frames is not None:  # a reconnect: the leader may have moved
                await self.refresh_leaders(connection, self.tenant.topic)
                if self.leader(self.tenant.topic, self.partition) != node:
                    connection.abort()
                    connection, node = await self.connect(
                        lambda _: self.leader(self.tenant.topic, self.partition)
                    )
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
        if len(sized) == 1:  # with several of them each event has another salt
            self._burst_max = min(BURST_MAX, max(1, BURST_BYTES_MAX // self._frames.size))
            connection.run_reader = self
            # `responded` is as fast for a single response.
            connection.run_bytes_min = 2 * self._frames.framed_response_bytes
        connection.on_lost = self.lost
        self._connection = connection
        self._throttled_us = max(self._throttled_us, clock.now_us())
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
        self._producer_id, self._epoch = await request_producer_id(
            self, connection, node, RETRY_BACKOFF_MS
        )
        self._must_reset = False
        self._renumber()
