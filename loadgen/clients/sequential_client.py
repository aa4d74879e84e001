"""A client that handles its events one after the other in a coroutine.

`send_request` and `send_batch` write the rows and wait for throttles that the tenant obeys. A
subclass implements the rest of the behaviour in `handle`.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

from client.errors import ClientError, ConnectionLostError
from loadgen import clock
from loadgen.clients.load_client import NO_EVENT, Event, LoadClient, Run
from loadgen.clients.load_connection import LoadConnection, ResponseT
from loadgen.clients.produce_frames import ProduceResponse
from loadgen.expected_answers import NO_ERRORS
from loadgen.plan.plan import Tenant
from loadgen.rows import Kind
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

BACKOFF_S = 0.1


@dataclass(slots=True)
class Producer:
    """A producer id, its epoch and the sequence of its next batch."""

    producer_id: int
    epoch: int
    sequence: int = 0


@dataclass(slots=True)
class Sent:
    """A Produce request in flight; `response` is a future of `LoadConnection.request`."""

    row: int
    sent_us: int
    connection: LoadConnection
    response: "asyncio.Future[tuple[int, tuple[int, int, int, int]]]"


class Frames(Protocol):
    """Encodes Produce requests with one batch and reads their responses, as `ProduceFrames`."""

    version: int

    def frame(
        self, correlation_id: int, producer_id: int, epoch: int, sequence: int, event_id: int
    ) -> bytes:
        """Return a request."""

    def read(self, buffer: bytes, start: int, end: int) -> tuple[int, int, int, int]:
        """Return correlation id, error code, base offset and throttle time of a response."""


@dataclass(slots=True)
class ProduceConnection:
    """A connection with the encoder of its Produce requests."""

    connection: LoadConnection
    node: int
    frames: Frames
    correlation_id: int = 0


class SequentialClient(LoadClient):
    """Handles events one by one; a subclass implements `handle`."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._events: deque[Event] = deque()
        self._has_work = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_busy = False
        self._has_row = False
        """Whether the current event has a row."""
        self._throttled_until_us = 0
        self._timeout_s = tenant.request_timeout_ms / 1000

    async def handle(self, event: Event) -> None:
        """Send the requests of an event. After a ClientError the client reconnects."""
        raise NotImplementedError

    async def disconnect(self) -> None:
        """Close the connections; called after a ClientError and at the end."""

    def submit(self, event: Event) -> None:
        """See `LoadClient`."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work())
        self._events.append(event)
        self._has_work.set()

    @property
    def is_idle(self) -> bool:
        """See `LoadClient`."""
        return not (self._events or self._is_busy)

    def unsent(self) -> list[Event]:
        """See `LoadClient`."""
        return [event for event in self._events if event.event_id != NO_EVENT]

    async def close(self) -> None:
        """See `LoadClient`."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        await self.disconnect()

    async def _work(self) -> None:
        # `asyncio.wait_for` of Python 3.11 may lose the cancellation by `close`.
        while not self.run.is_over:
            await self._has_work.wait()
            self._has_work.clear()
            while self._events and not self.run.is_over:
                event = self._events.popleft()
                self._is_busy, self._has_row = True, False
                try:
                    await self.handle(event)
                except ClientError:
                    self._record_if_unsent(event)
                    await self.disconnect()
                except asyncio.CancelledError:
                    self._record_if_unsent(event)
                    raise
                finally:
                    self._is_busy = False
                self.run.counts.events_done += event.event_id != NO_EVENT
                next_event = self.next_in_loop(event, clock.now_us())
                if next_event is not None:
                    self._events.append(next_event)

    def _record_if_unsent(self, event: Event) -> None:
        if not self._has_row and event.event_id != NO_EVENT:
            self.record_not_sent(event)

    # Requests ------------------------------------------------------------------------------

    def begin_row(self, event: Event, sent_us: int, **fields: int) -> int:
        """Count a request and begin its row; `fields` are further ones of `Rows.begin`."""
        self._has_row = True
        self.run.counts.requests += 1
        return self.run.rows.begin(
            event_id=event.event_id,
            intended_us=event.intended_us,
            submitted_us=event.submitted_us,
            sent_us=sent_us,
            client=self.number,
            **fields,
        )

    async def send_request(
        self,
        event: Event,
        connection: LoadConnection,
        node: int,
        request: "messages.Request[ResponseT]",
        outcome: Callable[[ResponseT], tuple[int, int]] | None = None,
        *,
        attempt: int = 1,
        topic: str = "",
        partition: int = -1,
        timeout_s: float | None = None,
        kind: Kind = Kind.NEW,
    ) -> ResponseT:
        """Send a message, wait for its response, and write the row of both.

        Args:
            event: the event it belongs to.
            connection: the connection to use.
            node: the node id of that connection.
            request: the message.
            outcome: returns error code and mutations; by default the error code and 0.
            attempt: 1 for the first.
            topic: the topic of the row.
            partition: the partition of the row.
            timeout_s: by default the tenant's request timeout.
            kind: of the row.

        Raises:
            ClientError: there is no response.
        """
        early_us = await self._wait_for_throttle(connection)
        frame = connection.wire.request(request)
        rows, sent_us = self.run.rows, clock.now_us()
        row = self.begin_row(
            event,
            sent_us,
            api=request.API_KEY,
            version=connection.wire.version_of(ApiKey(request.API_KEY)),
            attempt=attempt,
            kind=kind,
            topic=rows.topic_number(topic),
            partition=partition,
            request_bytes=len(frame),
            early_us=early_us,
            node=node,
        )
        try:
            found = await connection.exchange(frame, timeout_s or self._timeout_s)
        except ConnectionLostError:
            rows.mark_lost(row)
            raise
        response = cast("ResponseT", found)
        if outcome is None:
            error_code, mutations = getattr(response, "error_code", 0), 0
        else:
            error_code, mutations = outcome(response)
        throttle_ms = getattr(response, "throttle_time_ms", 0)
        now_us = clock.now_us()
        rows.end(row, now_us, error_code, throttle_ms, mutations=mutations)
        self._note(connection, error_code, throttle_ms, sent_us, now_us)
        return response

    async def new_producer(self, event: Event, produce_connection: ProduceConnection) -> Producer:
        """Get a new producer id.

        Raises:
            ClientError: there is no response, or the run ends before a response without an error.
        """
        request = messages.InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
        )
        attempt = 1
        while not self.run.is_over:
            response = await self.send_request(
                event,
                produce_connection.connection,
                produce_connection.node,
                request,
                attempt=attempt,
            )
            if response.error_code == ErrorCode.NONE:
                return Producer(response.producer_id, response.producer_epoch)
            attempt += 1
            await asyncio.sleep(BACKOFF_S)
        raise ConnectionLostError("the run was aborted")

    async def open_produce_connection(self) -> ProduceConnection:
        """Open a connection to the leader of this client's partition.

        Raises:
            ClientError: the run ended before.
        """
        connection, node = await self.connect(
            lambda _: self.leader(self.tenant.topic, self.partition)
        )
        return ProduceConnection(connection, node, self.frames(connection))

    async def send_batch(
        self,
        event: Event,
        to: ProduceConnection,
        producer: Producer,
        sequence: int,
        *,
        attempt: int = 1,
        kind: Kind = Kind.NEW,
        topic: str | None = None,
        partition: int | None = None,
        records: int | None = None,
    ) -> Sent:
        """Send one batch without waiting for its response.

        Topic, partition and records are those of the row; by default the tenant's and the client's.
        """
        early_us = await self._wait_for_throttle(to.connection)
        rows, tenant = self.run.rows, self.tenant
        to.correlation_id += 1
        frame = to.frames.frame(
            to.correlation_id, producer.producer_id, producer.epoch, sequence, event.event_id
        )
        sent_us = clock.now_us()
        row = self.begin_row(
            event,
            sent_us,
            api=ApiKey.PRODUCE,
            version=to.frames.version,
            attempt=attempt,
            kind=kind,
            topic=rows.topic_number(topic or tenant.topic),
            partition=self.partition if partition is None else partition,
            producer_id=producer.producer_id,
            epoch=producer.epoch,
            sequence=sequence,
            records=records or tenant.records,
            request_bytes=len(frame),
            early_us=early_us,
            node=to.node,
        )
        response = to.connection.request(frame, to.frames.read)
        return Sent(row, sent_us, to.connection, response)

    async def wait_for_response(
        self, sent: Sent, timeout_s: float | None = None
    ) -> ProduceResponse:
        """Return the response to a batch.

        Raises:
            ConnectionLostError: there is none; the connection is unusable.
        """
        try:
            async with asyncio.timeout(timeout_s or self._timeout_s):
                now_us, content = await asyncio.shield(sent.response)
        except (TimeoutError, ConnectionLostError) as error:
            self.run.rows.mark_lost(sent.row)
            raise ConnectionLostError("no response") from error
        _, error_code, base_offset, throttle_ms = content
        self.run.rows.end(sent.row, now_us, error_code, throttle_ms, base_offset)
        self._note(sent.connection, error_code, throttle_ms, sent.sent_us, now_us)
        return ProduceResponse(error_code, base_offset, throttle_ms)

    def _note(
        self,
        connection: LoadConnection,
        error_code: int,
        throttle_ms: int,
        sent_us: int,
        now_us: int,
    ) -> None:
        """Count errors and note throttles; a broker's throttle starts after `sent_us`."""
        counts = self.run.counts
        if error_code not in NO_ERRORS:
            counts.errors += 1
        if throttle_ms:
            counts.throttled += 1
            # The client waits with all its connections; the broker holds the throttled one.
            if self.tenant.obeys_throttle:
                until_us = now_us + throttle_ms * 1000
                self._throttled_until_us = max(self._throttled_until_us, until_us)
            else:
                until_us = sent_us + throttle_ms * 1000
                connection.throttled_until_us = max(connection.throttled_until_us, until_us)

    async def _wait_for_throttle(self, connection: LoadConnection) -> int:
        """Wait for the end of a throttle; return the µs that a client that ignores it is early."""
        if not self.tenant.obeys_throttle:
            return max(0, connection.throttled_until_us - clock.now_us())
        while (wait_us := self._throttled_until_us - clock.now_us()) > 0:
            if self.run.is_over:
                raise ConnectionLostError("the run was aborted")
            await asyncio.sleep(min(wait_us / 1e6 + 0.0005, 0.5))
        return 0
