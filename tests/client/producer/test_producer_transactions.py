"""Transactions of the asyncio producer with our broker in the same event loop."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from broker.cluster.transactions import abort_timed_out
from client import (
    ConsumerGroupMetadata,
    FatalTransactionError,
    OffsetAndMetadata,
    Producer,
    ProducerFencedError,
    ProducerSettings,
    TopicPartition,
    TransactionAbortableError,
    TransactionAbortedError,
    TransactionStateError,
    TransactionTimeoutError,
)
from protocol.control_records import decode_control_key
from protocol.records import CONTROL_FLAG, read_header, read_records
from tests.client.producer.served_cluster import NOBODY, Served, serving

GROUP = ConsumerGroupMetadata("readers")
ORDERS = TopicPartition("orders", 0)
COMMIT, ABORT = "commit", "abort"


def transactional(**changes: Any) -> ProducerSettings:
    values: dict[str, Any] = {"transactional_id": "t", "max_block_ms": 5_000}
    return ProducerSettings(**(values | changes))


@asynccontextmanager
async def cluster(transaction_version: int) -> AsyncIterator[Served]:
    async with serving(num_partitions="1") as served:
        served.server.cluster.features.apply({"transaction.version": transaction_version})
        yield served


async def fail_in_transaction(producer: Producer) -> None:
    async with producer.transaction():
        await (await producer.send("orders", b"a"))
        raise KeyError


def log_of(served: Served) -> list[bytes | str]:
    """Return the values in the partition, and its markers."""
    log = served.server.cluster.topics.get("orders").partition(0).log
    found: list[bytes | str] = []
    for batch in log.read(0, 2**31, at_least_one=True):
        is_marker = read_header(batch, 0).attributes & CONTROL_FLAG
        for read in read_records(batch):
            if is_marker:
                found.append(COMMIT if decode_control_key(read.key or b"") == 1 else ABORT)
            else:
                found.append(read.value or b"")
    return found


def committed_offset(served: Served) -> int | None:
    offset = served.server.cluster.groups.table.committed("readers", *ORDERS)
    return None if offset is None else int(offset.offset)


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_transactions_are_committed_and_aborted_with_their_offsets(version: int) -> None:
    async with cluster(version) as served, Producer(served.servers, transactional()) as producer:
        await producer.init_transactions()
        for number in range(3):
            producer.begin_transaction()
            await producer.send("orders", b"%d" % number)
            await producer.send_offsets_to_transaction({ORDERS: OffsetAndMetadata(number)}, GROUP)
            await producer.commit_transaction()
        producer.begin_transaction()
        await (await producer.send("orders", b"aborted"))
        await producer.send_offsets_to_transaction({ORDERS: OffsetAndMetadata(9)}, GROUP)
        await producer.abort_transaction()
        async with producer.transaction():
            await producer.send("orders", b"last")
        assert log_of(served) == [
            *(b"0", COMMIT, b"1", COMMIT, b"2", COMMIT),
            *(b"aborted", ABORT, b"last", COMMIT),
        ]
        assert committed_offset(served) == 2


@pytest.mark.parametrize("version", [1, 2])
async def test_a_second_producer_fences_the_first(version: int) -> None:
    async with cluster(version) as served:
        async with (
            Producer(served.servers, transactional()) as first,
            Producer(served.servers, transactional()) as second,
        ):
            await first.init_transactions()
            first.begin_transaction()
            await (await first.send("orders", b"first"))
            await second.init_transactions()
            with pytest.raises(ProducerFencedError):
                await first.commit_transaction()
            with pytest.raises(ProducerFencedError):
                first.begin_transaction()
            async with second.transaction():
                await second.send("orders", b"second")
        assert log_of(served) == [b"first", ABORT, b"second", COMMIT]


@pytest.mark.parametrize("version", [1, 2])
async def test_a_transaction_that_timed_out_can_not_be_committed(version: int) -> None:
    settings = transactional(transaction_timeout_ms=1_000)
    async with cluster(version) as served, Producer(served.servers, settings) as producer:
        await producer.init_transactions()
        producer.begin_transaction()
        await (await producer.send("orders", b"late"))
        abort_timed_out(served.server.cluster, time.time_ns() // 1_000_000 + 2_000)
        async with asyncio.timeout(20):
            while ABORT not in log_of(served):  # noqa: ASYNC110 - it pauses on a busy machine
                await asyncio.sleep(0)
        with pytest.raises((TransactionAbortableError, FatalTransactionError)):
            await producer.commit_transaction()
        assert log_of(served) == [b"late", ABORT]


@pytest.mark.parametrize("version", [1, 2])
async def test_an_error_in_the_block_aborts_the_transaction(version: int) -> None:
    async with cluster(version) as served, Producer(served.servers, transactional()) as producer:
        await producer.init_transactions()
        with pytest.raises(KeyError):
            await fail_in_transaction(producer)
        assert log_of(served) == [b"a", ABORT]
        async with producer.transaction():
            await producer.send("orders", b"b")
        assert log_of(served) == [b"a", ABORT, b"b", COMMIT]


@pytest.mark.parametrize("version", [1, 2])
async def test_closing_aborts_an_open_transaction(version: int) -> None:
    async with cluster(version) as served:
        async with Producer(served.servers, transactional()) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            await (await producer.send("orders", b"a"))
        assert log_of(served) == [b"a", ABORT]


async def test_records_that_were_not_sent_fail_when_the_transaction_is_aborted() -> None:
    settings = transactional(linger_ms=1_000)
    async with cluster(2) as served, Producer(served.servers, settings) as producer:
        await producer.init_transactions()
        producer.begin_transaction()
        future = await producer.send("orders", b"a")
        await producer.abort_transaction()
        with pytest.raises(TransactionAbortedError):
            await future


async def test_an_operation_without_a_broker_times_out_and_may_be_called_again() -> None:
    async with Producer(NOBODY, transactional(max_block_ms=20)) as producer:
        for _ in range(2):
            with pytest.raises(TransactionTimeoutError, match="init_transactions"):
                await producer.init_transactions()
        with pytest.raises(TransactionStateError):
            producer.begin_transaction()
        with pytest.raises(TransactionStateError):
            await producer.send("orders", b"a")


async def test_the_version_changes_between_transactions() -> None:
    async with cluster(1) as served, Producer(served.servers, transactional()) as producer:
        await producer.init_transactions()
        async with producer.transaction():
            await producer.send("orders", b"1")
        served.server.cluster.features.apply({"transaction.version": 2})
        for connection in list(producer._connections.values()):
            connection._connection._transport.abort()  # type: ignore[union-attr]
        await asyncio.sleep(0)
        for value in (b"2", b"3"):
            async with producer.transaction():
                await producer.send("orders", value)
        assert log_of(served) == [b"1", COMMIT, b"2", COMMIT, b"3", COMMIT]
        transaction = served.server.cluster.transactions.get("t")
        assert transaction is not None
        assert transaction.producer_epoch >= 2
