"""Fault rules at each step of a transaction: it is committed once, or not at all."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from mock_kafka import (
    ClientError,
    ConfigValue,
    ConsumerGroupMetadata,
    FatalTransactionError,
    MockKafka,
    OffsetAndMetadata,
    Producer,
    ProducerFencedError,
    ProducerSettings,
    TopicPartition,
    TransactionAbortableError,
)

ID = "till"
GROUP = ConsumerGroupMetadata("readers")
VERSIONS: dict[int, dict[str, ConfigValue]] = {1: {"broker.api.versions": "3.9"}, 2: {}}
"""A configuration for each transaction version: KIP-890 is new in Kafka 4.0."""
STEPS = [
    *((1, api) for api in ("FindCoordinator", "InitProducerId", "AddPartitionsToTxn", "Produce")),
    *((1, api) for api in ("AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn")),
    *((2, api) for api in ("FindCoordinator", "InitProducerId", "Produce", "TxnOffsetCommit")),
    (2, "EndTxn"),
]


@pytest.fixture(scope="module")
def clusters() -> Iterator[dict[int, MockKafka]]:
    """Return a cluster for each transaction version."""
    with ExitStack() as stack:
        yield {
            version: stack.enter_context(MockKafka(2, {**config, "log.retention.ms": -1}))
            for version, config in VERSIONS.items()
        }


@pytest.fixture
def kafka(clusters: dict[int, MockKafka], step: tuple[int, str]) -> MockKafka:
    """Return the cluster of the step's transaction version."""
    kafka = clusters[step[0]]
    kafka.reset()
    kafka.set_clock("real")
    kafka.create_topic("orders", 1)
    return kafka


async def copy_one(producer: Producer) -> None:
    """Send a record with an offset in a transaction, and commit it."""
    producer.begin_transaction()
    await producer.send("orders", b"1")
    offsets = {TopicPartition("orders", 0): OffsetAndMetadata(1)}
    await producer.send_offsets_to_transaction(offsets, GROUP)
    await producer.commit_transaction()


def producer_of(kafka: MockKafka, **settings: Any) -> Producer:
    values: dict[str, Any] = {
        "transactional_id": ID,
        "retry_backoff_ms": 5,
        "reconnect_backoff_ms": 5,
        "request_timeout_ms": 500,
        "max_block_ms": 10_000,
    }
    return Producer(kafka.bootstrap_servers, ProducerSettings(**(values | settings)))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step[1]}-{step[0]}")
@pytest.mark.parametrize(
    "effect",
    [
        {"drop": "before_handling"},
        {"drop": "before_response"},
        {"hang": "before_response"},
        {"error": "NOT_COORDINATOR"},
        {"delay_ms": 30},
    ],
    ids=lambda effect: "-".join(map(str, *effect.items())),
)
async def test_a_fault_of_the_transactional_id_delays_the_commit(
    kafka: MockKafka, step: tuple[int, str], effect: dict[str, Any]
) -> None:
    if step[1] == "Produce" and "error" in effect:
        effect = {"error": "NOT_LEADER_OR_FOLLOWER"}
    other = kafka.add_fault(api=step[1], transactional_id="another", error="UNKNOWN_SERVER_ERROR")
    fault = kafka.add_fault(api=step[1], transactional_id=ID, times=1, **effect)
    async with asyncio.timeout(30), producer_of(kafka) as producer:
        await producer.init_transactions()
        await copy_one(producer)
    assert (fault.count, other.count) == (1, 0)
    records = kafka.records("orders")
    assert [(record.value, record.transaction) for record in records] == [(b"1", "committed")]
    [transaction] = kafka.transactions()
    assert transaction.state == "CompleteCommit"
    [seen, *_] = kafka.requests(api=step[1], fault=str(fault.id))
    assert ID in seen.transactional_ids


@pytest.mark.parametrize(
    ("step", "error", "raised"),
    [
        ((1, "AddPartitionsToTxn"), "PRODUCER_FENCED", ProducerFencedError),
        ((1, "AddPartitionsToTxn"), "TOPIC_AUTHORIZATION_FAILED", TransactionAbortableError),
        ((1, "AddOffsetsToTxn"), "GROUP_AUTHORIZATION_FAILED", TransactionAbortableError),
        ((1, "Produce"), "INVALID_PRODUCER_EPOCH", TransactionAbortableError),
        ((2, "TxnOffsetCommit"), "ILLEGAL_GENERATION", TransactionAbortableError),
        ((2, "Produce"), "INVALID_TXN_STATE", TransactionAbortableError),
        ((2, "EndTxn"), "TRANSACTION_ABORTABLE", TransactionAbortableError),
        ((2, "EndTxn"), "INVALID_TXN_STATE", FatalTransactionError),
    ],
    ids=str,
)
async def test_an_error_at_a_step_ends_the_transaction_without_records(
    kafka: MockKafka, step: tuple[int, str], error: str, raised: type[ClientError]
) -> None:
    kafka.fail(api=step[1], error=error, transactional_id=ID, times=1)
    async with asyncio.timeout(30), producer_of(kafka) as producer:
        await producer.init_transactions()
        with pytest.raises(raised):
            await copy_one(producer)
        if raised is TransactionAbortableError:
            await producer.abort_transaction()
            await copy_one(producer)
    values = kafka.records("orders", isolation_level="read_committed")
    assert len(values) == (1 if raised is TransactionAbortableError else 0)


@pytest.mark.parametrize("step", [(1, ""), (2, "")], ids=lambda step: str(step[0]))
async def test_a_commit_waits_for_the_leader_that_gets_the_marker(
    kafka: MockKafka, step: tuple[int, str]
) -> None:
    [topic] = kafka.topics()
    leader = topic.partitions[0].leader
    assert leader is not None
    kafka.move_coordinator(ID, 3 - leader)
    kafka.move_coordinator("readers", 3 - leader)
    async with asyncio.timeout(30), producer_of(kafka) as producer:
        await producer.init_transactions()
        producer.begin_transaction()
        await (await producer.send("orders", b"1"))
        kafka.stop_broker(leader, elect=False)
        await producer.commit_transaction()
        [transaction] = kafka.transactions()
        assert transaction.state == "PrepareCommit"
        assert transaction.partitions == (("orders", 0),)
        kafka.start_broker(leader)
        [transaction] = kafka.transactions()
        assert transaction.state == "CompleteCommit"
    outcomes = Counter(record.transaction for record in kafka.records("orders"))
    assert outcomes == {"committed": 1}


@pytest.mark.parametrize("step", [(1, ""), (2, "")], ids=lambda step: str(step[0]))
@pytest.mark.parametrize(
    ("effect", "is_written"),
    [
        ({"delay_request_ms": 5_000}, False),
        ({"delay_ms": 5_000}, True),
        ({"error": "NOT_ENOUGH_REPLICAS"}, False),
        ({"error": "NOT_ENOUGH_REPLICAS", "at": "before_response"}, True),
        ({"drop": "before_handling"}, False),
        ({"drop": "before_response"}, True),
        ({"hang": "before_handling"}, False),
        ({"hang": "before_response"}, True),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, dict) else "",
)
async def test_a_commit_waits_for_a_marker_that_a_fault_delays_refuses_or_loses(
    kafka: MockKafka, step: tuple[int, str], effect: dict[str, Any], is_written: bool
) -> None:
    kafka.set_clock("standing")
    fault = kafka.add_fault(api="WriteTxnMarkers", topic="orders", times=1, **effect)
    async with asyncio.timeout(30), producer_of(kafka) as producer:
        await producer.init_transactions()
        await copy_one(producer)
        [transaction] = kafka.transactions()
        assert transaction.state == "PrepareCommit"
        assert transaction.partitions == (("orders", 0),)
        values = kafka.records("orders", isolation_level="read_committed")
        assert len(values) == int(is_written)
        kafka.advance(seconds=31)
        [transaction] = kafka.transactions()
        assert transaction.state == "CompleteCommit"
        await copy_one(producer)
    assert fault.count == 1
    [marker] = kafka.requests(api="WriteTxnMarkers", fault=str(fault.id))
    assert marker.topics == ("orders",)
    outcomes = Counter(record.transaction for record in kafka.records("orders"))
    assert outcomes == {"committed": 2}
