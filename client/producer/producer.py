"""The producer as an asyncio object: the core's sockets, clock and futures.

async with Producer("127.0.0.1:9092") as producer:
    delivery = await producer.send("orders", b"one coffee")
    print((await delivery).offset)
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from types import TracebackType

import structlog

from client import clock
from client.addresses import addresses_of
from client.errors import ClientError, SecurityError, UnsupportedVersionError
from client.producer.actions import (
    Action,
    Connect,
    Disconnect,
    InitProducerIdResponse,
    Request,
    RequestFailed,
    Send,
)
from client.producer.batch import Record, TopicPartition
from client.producer.core import ProducerCore
from client.producer.delivery import (
    BufferFullError,
    Delivered,
    DeliveryOutcome,
    ProducerClosedError,
)
from client.producer.messages import parse_response
from client.producer.producer_connection import ProducerConnection, Watcher
from client.producer.settings import ProducerSettings
from client.producer.transaction_operations import TransactionOperations
from client.producer.transactional_offsets import ConsumerGroupMetadata, OffsetAndMetadata
from client.resources import Address
from client.security import Security
from client.transport import tls_context
from protocol import messages
from protocol.errors import ErrorCode

log = structlog.get_logger("mock_kafka")

CLIENT_ID = "mock-kafka"
_SENDS_PER_ITERATION = 256
"""After so many sends the event loop runs, even if there is memory for more."""


class Producer:
    """Send records; each ends as `Delivered` or an error within `delivery_timeout_ms`.

    An async context manager; use it in one event loop.
    """

    def __init__(
        self,
        bootstrap_servers: str | Iterable[str],
        settings: ProducerSettings | None = None,
        *,
        client_id: str = CLIENT_ID,
        security: Security | None = None,
        seed: int | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        """Create the producer; it opens connections with the first record.

        Args:
            bootstrap_servers: `HOST:PORT`, comma-separated or one by one.
            settings: Kafka's, with Kafka's defaults.
            client_id: client quotas are found by it.
            security: TLS and SASL, as `security_of` reads it from properties.
            seed: for the jitter of backoff and the partitions of keyless records; None: a
                random one.
            watcher: observes every request and response.

        Raises:
            SecurityError: a PEM file can't be read.
            ValueError: an address is not HOST:PORT.
        """
        self.settings = settings or ProducerSettings()
        self._client_id = client_id
        self._watcher = watcher
        self._security = security or Security()
        self._tls = tls_context(self._security.tls) if self._security.tls else None
        self._core = ProducerCore(
            self.settings,
            bootstrap=addresses_of(bootstrap_servers),
            random=random.Random(seed).random,  # noqa: S311 - jitter, no secret
        )
        self._connections: dict[int, ProducerConnection] = {}
        self._connecting: set[asyncio.Task[None]] = set()
        self._outstanding: set[asyncio.Future[Delivered]] = set()
        self._has_room = asyncio.Event()
        self._sends = 0
        self._is_poll_due = False
        self._alarm: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._logged_windows: set[int | None] = set()
        self._operations = TransactionOperations(self.settings.max_block_ms, self._poll_soon)

    @property
    def window(self) -> int | None:
        """How many sequence numbers of a partition may be in flight (KIP-758).

        The smaller of `max_in_flight_sequence_number_per_connection` and the broker's window.
        None: no bound, as with brokers without KIP-758.
        """
        return self._core.window

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        timestamp_ms: int | None = None,
    ) -> "asyncio.Future[Delivered]":
        """Accept a record; wait only for memory, up to `max_block_ms`.

        The future raises `DeliveryTimeoutError` with the phase the record was in, or another
        `ClientError` if the record is refused.

        Raises:
            BufferFullError: there was no memory for `max_block_ms`.
            RecordTooLargeError: the settings don't allow a record of this size.
            ProducerClosedError: the producer is closed.
            ClientError: a transactional producer is not in a transaction, or it must be aborted.
        """
        future: asyncio.Future[Delivered] = asyncio.get_running_loop().create_future()
        record = Record(
            topic,
            value,
            key,
            partition,
            headers,
            clock.wall_ms() if timestamp_ms is None else timestamp_ms,
        )
        give_up_ms = clock.now_ms() + self.settings.max_block_ms
        while not self._try_send(record, future):
            await self._wait_for_room(give_up_ms)
        self._sends += 1
        if self._sends % _SENDS_PER_ITERATION == 0:
            await asyncio.sleep(0)
        return future

    # Transactions ------------------------------------------------------------------------------

    async def init_transactions(self) -> None:
        """Get a producer id for `transactional_id`; that fences its older producers.

        It and the other operations wait up to `max_block_ms`; after a `TransactionTimeoutError`
        call the same one again.

        Raises:
            TransactionTimeoutError: no result yet.
            TransactionStateError: it is not the time for this operation.
            TransactionAbortableError: abort the transaction.
            FatalTransactionError: close the producer; `ProducerFencedError` if it was fenced.
        """
        await self._operations.wait("init_transactions", self._core.init_transactions)

    def begin_transaction(self) -> None:
        """Begin a transaction; the following records and offsets are part of it.

        Raises:
            TransactionStateError: there is a transaction, or no producer id yet.
            FatalTransactionError: close the producer.
        """
        self._core.begin_transaction()

    async def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group: ConsumerGroupMetadata,
    ) -> None:
        """Commit the offsets of a consumer group if the transaction is committed.

        Raises:
            TransactionTimeoutError: no result yet; it is not sent again if it is called again.
            ClientError: as for `init_transactions`.
        """
        await self._operations.wait(
            "send_offsets_to_transaction",
            lambda callback: self._core.send_offsets_to_transaction(offsets, group, callback),
        )

    async def commit_transaction(self) -> None:
        """Wait until all records of the transaction are stored, and commit it.

        If one of them fails, as after `delivery_timeout_ms`, it raises
        `TransactionAbortableError`. Other errors are those of `init_transactions`.
        """
        await self._operations.wait(
            "commit_transaction",
            lambda callback: self._core.commit_transaction(clock.now_ms(), callback),
        )

    async def abort_transaction(self) -> None:
        """Abort the transaction; records that were not sent yet fail.

        The errors are those of `init_transactions`.
        """
        await self._operations.wait("abort_transaction", self._core.abort_transaction)

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Begin a transaction; commit it at the end of the block, or abort it after an error."""
        self.begin_transaction()
        try:
            yield
            await self.commit_transaction()
        except BaseException:
            if self._core.has_open_transaction:
                await self.abort_transaction()
            raise

    async def flush(self) -> None:
        """Wait until every record sent so far has an outcome; end lingering."""
        self._core.flush(clock.now_ms())
        self._poll_soon()
        if self._outstanding:
            await asyncio.wait(self._outstanding)

    async def close(self, *, is_flushing: bool = True, is_aborting: bool = True) -> None:
        """Flush, or fail all records with `ProducerClosedError`; then close the connections.

        An open transaction is aborted, which takes up to `max_block_ms`. Without `is_aborting` it
        stays open, as after a crash: until its timeout, or the next producer with this
        `transactional_id`.
        """
        if self._is_closed:
            return
        if is_aborting and self._core.has_open_transaction:
            with contextlib.suppress(ClientError):
                await self.abort_transaction()
        self._is_closed = True
        if is_flushing:
            await self.flush()
        self._core.fail_all(ProducerClosedError("the producer was closed"))
        self._has_room.set()
        if self._alarm is not None:
            self._alarm.cancel()
        for connection in self._connections.values():
            connection.abort()
        await asyncio.gather(*self._connecting, return_exceptions=True)
        await asyncio.sleep(0)  # lets the transports close their sockets

    async def __aenter__(self) -> "Producer":
        return self

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close(is_flushing=exception is None)

    def _try_send(self, record: Record, future: "asyncio.Future[Delivered]") -> bool:
        if self._is_closed:
            raise ProducerClosedError("the producer is closed")

        def settle(outcome: DeliveryOutcome) -> None:
            self._outstanding.discard(future)
            if future.done():  # cancelled
                return
            if isinstance(outcome, Delivered):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)

        try:
            self._core.send(record, clock.now_ms(), settle)
        except BufferFullError:
            return False
        finally:
            self._poll_soon()
        self._outstanding.add(future)
        return True

    async def _wait_for_room(self, give_up_ms: int) -> None:
        wait_ms = give_up_ms - clock.now_ms()
        if wait_ms <= 0:
            raise BufferFullError(
                f"buffer_memory={self.settings.buffer_memory} was in use for max_block_ms="
                f"{self.settings.max_block_ms}"
            )
        self._has_room.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._has_room.wait(), wait_ms / 1000)

    def _poll_soon(self) -> None:
        """Poll once after all events of this iteration of the loop."""
        if not self._is_poll_due and not self._is_closed_for_good:
            self._is_poll_due = True
            asyncio.get_running_loop().call_soon(self._poll)

    @property
    def _is_closed_for_good(self) -> bool:
        return self._is_closed and not self._outstanding

    def _poll(self) -> None:
        self._is_poll_due = False
        if self._is_closed_for_good:
            return
        now_ms = clock.now_ms()
        before = self._core.bytes_reserved
        poll = self._core.poll(now_ms)
        for action in poll.actions:
            self._perform(action)
        if self._core.bytes_reserved < before:
            self._has_room.set()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if poll.next_ms is not None:
            self._alarm = asyncio.get_running_loop().call_later(
                (poll.next_ms - now_ms) / 1000, self._poll_soon
            )

    def _perform(self, action: Action) -> None:
        match action:
            case Connect(node_id, address):
                self._connect(node_id, address)
            case Disconnect(node_id):
                self._connections.pop(node_id).abort()
                self._notify_lost(node_id)
            case Send(node_id, request):
                self._connections[node_id].send(request)

    def _notify_lost(self, node_id: int) -> None:
        if self._watcher is not None:
            self._watcher.lost(node_id)

    def _connect(self, node_id: int, address: Address) -> None:
        connection = ProducerConnection(
            self, node_id, self._client_id, self._security, self._watcher
        )
        self._connections[node_id] = connection
        task = connection.connect(address, self._tls)
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    def on_open(self, node_id: int) -> None:
        """Handle an open connection: versions are known, authentication is done."""
        self._core.on_connected(node_id, self._connections[node_id].features)
        self._poll_soon()

    def on_response(self, node_id: int, request: Request, response: "messages.Message") -> None:
        """Handle the response to the oldest request of a connection."""
        result = parse_response(request, response)
        if self._watcher is not None:
            self._watcher.responded(node_id, request, result)
        before = self._core.bytes_reserved
        self._core.on_response(node_id, result, clock.now_ms())
        if isinstance(result, InitProducerIdResponse) and result.error_code == ErrorCode.NONE:
            self._log_window_mismatch()
        if self._core.bytes_reserved < before:
            self._has_room.set()
        self._poll_soon()

    def _log_window_mismatch(self) -> None:
        """Log that the broker's window is not the configured one, once per window."""
        configured = self.settings.max_in_flight_sequence_number_per_connection
        broker_window = self._core.broker_window
        if configured is None or broker_window in {configured, *self._logged_windows}:
            return
        self._logged_windows.add(broker_window)
        log.warning(
            "max_in_flight_sequence_number_per_connection differs from the broker's window",
            client_id=self._client_id,
            configured=configured,
            broker=broker_window,
            in_force=self._core.window,
        )

    def on_request_failed(self, node_id: int, failed: RequestFailed) -> None:
        """Handle a request that could not be sent to this broker."""
        self._core.on_response(node_id, failed, clock.now_ms())
        self._poll_soon()

    def on_lost(self, node_id: int, error: ClientError) -> None:
        """Handle a connection that broke or could not be opened."""
        del self._connections[node_id]
        self._notify_lost(node_id)
        self._core.on_disconnect(node_id, clock.now_ms(), str(error))
        if isinstance(error, SecurityError | UnsupportedVersionError):
            self._core.fail_all(error)
        self._has_room.set()
        self._poll_soon()
