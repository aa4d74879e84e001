"""The base of clients whose events are transactions.

An event ends with a commit. Some transactions are aborted before, and some producers crash: they
lose their connections and are followed by a new producer with the same transactional id. Then the
work is done again. It is not done again if the commit may have succeeded.
"""

import asyncio
import contextlib
from enum import Enum

from client import Producer, ProducerSettings
from client.errors import ClientError
from client.producer.delivery import Delivered
from client.producer.transaction_errors import (
    FatalTransactionError,
    TransactionAbortableError,
    TransactionTimeoutError,
)
from loadgen.clients.load_client import Event, Run
from loadgen.clients.producer_rows import ProducerRows
from loadgen.clients.sequential_client import BACKOFF_S, SequentialClient
from loadgen.clients.transaction_records import VALUE_BYTES, TransactionRecord
from loadgen.plan.plan import Tenant
from protocol.api_keys import ApiKey


class Mishap(Enum):
    """What happens to the first transaction of an event."""

    ABORT = "it is aborted"
    CRASH = "the producer crashes before the commit"
    CRASH_IN_COMMIT = "the producer crashes during the commit"


class TransactionClient(SequentialClient):
    """One `client.Producer` at a time; a subclass implements `fill`."""

    api = ApiKey.END_TXN

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self.requests = ProducerRows(run, number, self._event_of)
        self.producer: Producer | None = None
        self.record_bytes = max(tenant.record_sizes[0], VALUE_BYTES)
        self._event = Event(-1, 0, 0, 0)
        self._handled = 0
        self._crashes = 0
        self._failure: ClientError | None = None
        """The error of the first record of the transaction that was not stored."""

    async def fill(self, producer: Producer, event: Event) -> None:
        """Send the records, and offsets, of one transaction."""
        raise NotImplementedError

    async def commit_without_transaction(self, event: Event) -> None:
        """Commit what `fill` would have committed in a transaction, if the tenant has none."""

    def on_committed(self) -> None:
        """Note that the transaction is committed."""

    def on_repeated(self) -> None:
        """Note that the last transaction was not committed, or may not have been."""

    async def handle(self, event: Event) -> None:
        """See `SequentialClient`."""
        self._event = event
        self._handled += 1
        mishap = self._mishap()
        while not self.run.is_over:
            if await self._try(event, mishap):
                return
            self.on_repeated()
            mishap = None

    def _mishap(self) -> Mishap | None:
        tenant = self.tenant
        if tenant.crash_every and self._handled % tenant.crash_every == 0:
            self._crashes += 1
            is_early = self._crashes % 2 or not tenant.transactions
            return Mishap.CRASH if is_early else Mishap.CRASH_IN_COMMIT
        if tenant.abort_every and self._handled % tenant.abort_every == 0:
            return Mishap.ABORT
        return None

    async def _try(self, event: Event, mishap: Mishap | None) -> bool:
        """Send one transaction; return whether it is committed, or may be.

        Raises:
            ClientError: it is not committed, and the client needs new connections.
        """
        producer = await self._ready_producer()
        self._failure = None
        try:
            if self.tenant.transactions:
                producer.begin_transaction()
            await self.fill(producer, event)
            if mishap is not None or not self.tenant.transactions:
                await self._store(producer)
            if mishap is Mishap.ABORT:
                await self._abort(producer)
                return False
            if mishap is Mishap.CRASH:
                await self._crash()
                return False
        except TransactionAbortableError:
            await self._abort(producer)
            return False
        except ClientError:
            await self.disconnect()
            await asyncio.sleep(BACKOFF_S)
            return False
        return await self._commit(producer, event, mishap)

    async def _commit(self, producer: Producer, event: Event, mishap: Mishap | None) -> bool:
        if not self.tenant.transactions:
            await self.commit_without_transaction(event)
            self.on_committed()
            return True
        if mishap is Mishap.CRASH_IN_COMMIT:
            commit = asyncio.create_task(producer.commit_transaction())
            for _ in range(3):  # EndTxn leaves in the next iterations of the loop
                await asyncio.sleep(0)
            await self._crash()
            commit.cancel()
            await asyncio.gather(commit, return_exceptions=True)
            self.on_repeated()
            return True
        while True:
            try:
                await producer.commit_transaction()
            except TransactionTimeoutError:
                if self.run.is_over:
                    raise
            except TransactionAbortableError:
                await self._abort(producer)
                return False
            except ClientError:
                await self._crash()
                self.on_repeated()
                return True
            else:
                self.on_committed()
                return True

    async def send(self, producer: Producer, record: TransactionRecord, partition: int) -> None:
        """Send a record to a partition of the tenant's topic.

        Raises:
            ClientError: it cannot be sent now.
        """
        future = await producer.send(
            self.tenant.topic,
            record.value(self.record_bytes),
            partition=partition,
            timestamp_ms=self.run.timestamp_ms,
        )
        future.add_done_callback(self._note_outcome)

    def _note_outcome(self, future: asyncio.Future[Delivered]) -> None:
        if not future.cancelled() and isinstance(error := future.exception(), ClientError):
            self._failure = self._failure or error

    async def _store(self, producer: Producer) -> None:
        """Wait until all records of the event are stored.

        Raises:
            ClientError: one of them is not.
        """
        await producer.flush()
        if self._failure is not None:
            raise self._failure

    async def _abort(self, producer: Producer) -> None:
        if not self.tenant.transactions:
            return
        try:
            await producer.abort_transaction()
        except ClientError:
            await self._crash()

    async def _ready_producer(self) -> Producer:
        """Return the producer; a new one gets its producer id first.

        Raises:
            ClientError: it cannot get one.
        """
        if self.producer is not None:
            return self.producer
        run, tenant = self.run, self.tenant
        settings = ProducerSettings(
            transactional_id=self._transactional_id if tenant.transactions else None,
            transaction_timeout_ms=tenant.transaction_timeout_ms,
            batch_size=self.record_bytes * tenant.records,
            delivery_timeout_ms=tenant.request_timeout_ms * 3,
            request_timeout_ms=tenant.request_timeout_ms,
            max_block_ms=tenant.request_timeout_ms,
        )
        producer = self.producer = Producer(
            [str(address) for address in run.topology.brokers.values()],
            settings,
            client_id=tenant.client_id,
            security=self._connection_settings.security,
            seed=run.plan.seed + self.number,
            watcher=self.requests,
        )
        while tenant.transactions:
            try:
                await producer.init_transactions()
                break
            except TransactionTimeoutError:
                if run.is_over:
                    raise
            except FatalTransactionError as error:
                run.abort_run(f"tenant {tenant.name}: {error}")
                raise
        return producer

    @property
    def _transactional_id(self) -> str:
        return f"{self.run.spec.run_id}.{self.tenant.name}.{self.run.spec.ordinal(self.number)}"

    async def _crash(self) -> None:
        """Close the connections without an end of the transaction."""
        await self._close_producer(is_aborting=False)

    async def disconnect(self) -> None:
        """See `SequentialClient`."""
        await self._close_producer(is_aborting=True)
        self.on_repeated()
        await super().disconnect()

    async def _close_producer(self, *, is_aborting: bool) -> None:
        producer, self.producer = self.producer, None
        if producer is not None:
            with contextlib.suppress(ClientError):
                await producer.close(is_flushing=False, is_aborting=is_aborting)
            self.requests.lose_all()

    def _event_of(self, _event_id: int, _now_us: int) -> Event:
        self._has_row = True
        return self._event
