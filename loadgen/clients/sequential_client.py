"""A client whose behaviour is a coroutine: one event after the other, each with its own requests.

`ask` and `produce` keep the rows, wait for what a throttle asks where the tenant obeys, and leave
everything else to the behaviour.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from client.errors import ClientError, ConnectionLostError
from loadgen import clock
from loadgen.clients.load_client import NO_EVENT, Event, LoadClient, Run
from loadgen.clients.load_connection import Link, ResponseQueue
from loadgen.clients.produce_frames import ProduceFrames, ProduceResponse
from loadgen.plan.plan import Tenant
from loadgen.rows import Kind
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

BACKOFF_S = 0.1


@dataclass(slots=True)
class Producer:
    """A producer id with its epoch, and the sequence of its next batch."""

    producer_id: int
    epoch: int
    sequence: int = 0


@dataclass(slots=True)
class Sent:
    """A Produce request on its way; awaiting `response` tells how it ended."""

    row: int
    sent_us: int
    response: "asyncio.Future[tuple[int, int, int, int]]"


@dataclass(slots=True)
class ProduceLink:
    """A connection with what makes and reads its Produce requests."""

    link: Link
    node: int
    frames: ProduceFrames
    queue: ResponseQueue
    correlation_id: int = 0


class Stepper(LoadClient):
    """Takes its events one by one; a subclass says in `step` what an event is."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._events: deque[Event] = deque()
        self._has_work = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_busy = False
        self._has_row = False
        """Whether anything was sent for the event that is being worked on."""
        self._muted_until_us = 0
        self._timeout_s = tenant.request_timeout_ms / 1000

    async def step(self, event: Event) -> None:
        """Do what this event is. A ClientError ends it; the connection is then opened anew."""
        raise NotImplementedError

    async def disconnect(self) -> None:
        """Forget connections; called after a ClientError, and in the end."""

    def hand(self, event: Event) -> None:
        """See `LoadClient`."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work())
        self._events.append(event)
        self._has_work.set()

    @property
    def is_idle(self) -> bool:
        """See `LoadClient`."""
        return not (self._events or self._is_busy)

    def leftover(self) -> list[Event]:
        """See `LoadClient`."""
        return [event for event in self._events if event.event_id != NO_EVENT]

    async def close(self) -> None:
        """See `LoadClient`."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        await self.disconnect()

    async def _work(self) -> None:
        while True:
            await self._has_work.wait()
            self._has_work.clear()
            while self._events and not self.run.is_over:
                event = self._events.popleft()
                self._is_busy, self._has_row = True, False
                try:
                    await self.step(event)
                except ClientError:
                    self._tell_if_unsent(event)
                    await self.disconnect()
                except asyncio.CancelledError:
                    self._tell_if_unsent(event)
                    raise
                finally:
                    self._is_busy = False
                self.run.counts.events_done += event.event_id != NO_EVENT
                another = self.again(event, clock.now_us())
                if another is not None:
                    self._events.append(another)

    def _tell_if_unsent(self, event: Event) -> None:
        if not self._has_row and event.event_id != NO_EVENT:
            self.not_sent(event)

    # Requests ------------------------------------------------------------------------------

    async def ask(
        self,
        event: Event,
        link: Link,
        node: int,
        request: Any,
        outcome: Callable[[Any], tuple[int, int]] | None = None,
        *,
        attempt: int = 1,
        topic: str = "",
        partition: int = -1,
        timeout_s: float | None = None,
    ) -> Any:
        """Send a message and wait for its response; the row tells of both.

        Args:
            event: what it is sent for.
            link: where it goes.
            node: whose connection that is.
            request: the message.
            outcome: the response's error code and mutations; by default its own error code, and 0.
            attempt: 1 for the first.
            topic: for the row.
            partition: for the row.
            timeout_s: the tenant's own, unless given.

        Raises:
            ClientError: there is no response.
        """
        early_us = await self._keep_quiet()
        frame = link.wire.request(request)
        rows, counts, sent_us = self.run.rows, self.run.counts, clock.now_us()
        row = rows.begin(
            event.event_id,
            event.intended_us,
            event.handed_us,
            sent_us,
            self.number,
            request.API_KEY,
            link.wire.version_of(ApiKey(request.API_KEY)),
            attempt,
            topic=rows.topic_number(topic),
            partition=partition,
            request_bytes=len(frame),
            early_us=early_us,
            node=node,
        )
        self._has_row = True
        counts.requests += 1
        try:
            response = await link.exchange(frame, timeout_s or self._timeout_s)
        except ConnectionLostError:
            rows.lose(row)
            raise
        if outcome is None:
            error_code, mutations = getattr(response, "error_code", 0), 0
        else:
            error_code, mutations = outcome(response)
        throttle_ms = getattr(response, "throttle_time_ms", 0)
        now_us = clock.now_us()
        rows.end(row, now_us, error_code, throttle_ms, mutations=mutations)
        self._note(error_code, throttle_ms, sent_us, now_us)
        return response

    async def new_producer(self, event: Event, produce_link: ProduceLink) -> Producer:
        """A producer id of one's own.

        Raises:
            ClientError: there is no response, or the run ends before there is one without an error.
        """
        request = messages.InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
        )
        attempt = 1
        while not self.run.is_over:
            link = produce_link.link
            link.reader = None
            response = await self.ask(event, link, produce_link.node, request, attempt=attempt)
            link.reader = produce_link.queue
            if response.error_code == ErrorCode.NONE:
                return Producer(response.producer_id, response.producer_epoch)
            attempt += 1
            await asyncio.sleep(BACKOFF_S)
        raise ConnectionLostError("the run was given up")

    async def open_produce_link(self) -> ProduceLink:
        """A new connection to the leader of this client's partition.

        Raises:
            ClientError: there is none to be had.
        """
        node = self.leader(self.tenant.topic, self.partition)
        link = await self.connect(node)
        frames = self.frames(link)
        queue = ResponseQueue(frames.read)
        link.reader = queue
        return ProduceLink(link, node, frames, queue)

    async def send_batch(
        self,
        event: Event,
        to: ProduceLink,
        producer: Producer,
        sequence: int,
        *,
        attempt: int = 1,
        kind: Kind = Kind.NEW,
    ) -> Sent:
        """Send one batch, without waiting for its response."""
        early_us = await self._keep_quiet()
        rows, tenant = self.run.rows, self.tenant
        to.correlation_id += 1
        frame = to.frames.frame(
            to.correlation_id, producer.producer_id, producer.epoch, sequence, event.event_id
        )
        sent_us = clock.now_us()
        row = rows.begin(
            event.event_id,
            event.intended_us,
            event.handed_us,
            sent_us,
            self.number,
            ApiKey.PRODUCE,
            to.frames.version,
            attempt,
            kind,
            rows.topic_number(tenant.topic),
            self.partition,
            producer.producer_id,
            producer.epoch,
            sequence,
            tenant.records,
            len(frame),
            early_us,
            to.node,
        )
        self._has_row = True
        self.run.counts.requests += 1
        sent = Sent(row, sent_us, to.queue.expect())
        to.link.send(frame)
        return sent

    async def response(self, sent: Sent, timeout_s: float | None = None) -> ProduceResponse:
        """What the broker says to a batch.

        Raises:
            ConnectionLostError: nothing; the connection is to be forgotten.
        """
        try:
            async with asyncio.timeout(timeout_s or self._timeout_s):
                now_us, error_code, base_offset, throttle_ms = await asyncio.shield(sent.response)
        except (TimeoutError, ConnectionLostError) as error:
            self.run.rows.lose(sent.row)
            raise ConnectionLostError("no response") from error
        self.run.rows.end(sent.row, now_us, error_code, throttle_ms, base_offset)
        self._note(error_code, throttle_ms, sent.sent_us, now_us)
        return ProduceResponse(error_code, base_offset, throttle_ms)

    def _note(self, error_code: int, throttle_ms: int, sent_us: int, now_us: int) -> None:
        """`sent_us`: what a broker's own wait, unlike an obeying client's, can't begin before."""
        counts = self.run.counts
        if error_code and error_code != ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            counts.errors += 1
        if throttle_ms:
            counts.throttled += 1
            begin_us = now_us if self.tenant.obeys_throttle else sent_us
            self._muted_until_us = max(self._muted_until_us, begin_us + throttle_ms * 1000)

    async def _keep_quiet(self) -> int:
        """Wait as long as a throttle asks; for who does not obey, how long that would have been."""
        if not self.tenant.obeys_throttle:
            return max(0, self._muted_until_us - clock.now_us())
        while (wait_us := self._muted_until_us - clock.now_us()) > 0:
            if self.run.is_over:
                raise ConnectionLostError("the run was given up")
            await asyncio.sleep(min(wait_us / 1e6 + 0.0005, 0.5))
        return 0
