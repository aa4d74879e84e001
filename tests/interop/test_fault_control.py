"""Real clients with rules that select parts of a request, hold it, and follow each other."""

import asyncio
from collections.abc import Iterator

import aiokafka
import confluent_kafka
import kafka as kafka_python
import pytest

from mock_kafka import MockKafka
from scenarios.clients.deadline import DEADLINE_S, Deadline
from scenarios.clients.interface import Client, Config, Delivery
from scenarios.clients.python_clients import CLIENTS
from tests.interop.confluent_values import next_value

RETRY_SOON: dict[str, Config] = {
    "kafka-python": {"retry_backoff_ms": 20},
    "aiokafka": {"retry_backoff_ms": 20},
    "confluent-kafka": {"retry.backoff.ms": 20},
}
INDEX = "topic_data[].partition_data[].index"


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[MockKafka]:
    with MockKafka(brokers=3, config={"group.initial.rebalance.delay.ms": 0}) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared_cluster: MockKafka) -> MockKafka:
    shared_cluster.reset()
    shared_cluster.create_topic("orders", 2)
    return shared_cluster


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_only_the_records_of_one_partition_fail(cluster: MockKafka, client: Client) -> None:
    fault = cluster.fail(
        api="Produce", error="NOT_ENOUGH_REPLICAS", where={INDEX: {"min": 1}}, times=2
    )
    deliveries: dict[int, Delivery] = {}
    producer = client.producer(cluster.bootstrap_servers, RETRY_SOON[client.name])
    try:
        for index in (0, 1):
            producer.send(
                "orders",
                b"%d" % index,
                lambda delivery, index=index: deliveries.update({index: delivery}),  # type: ignore[misc]
                partition=index,
            )
        producer.flush()
    finally:
        producer.close()
    assert [deliveries[index].error for index in (0, 1)] == [None, None]
    assert [(record.partition, record.value) for record in cluster.records("orders")] == [
        (0, b"0"),
        (1, b"1"),
    ]
    fault.wait(2)
    failed = cluster.requests(api="Produce", error="NOT_ENOUGH_REPLICAS")
    codes = {
        (part["index"], part["error_code"])
        for request in failed
        for topic in request.response["responses"]
        for part in topic["partition_responses"]
    }
    assert (1, "NOT_ENOUGH_REPLICAS") in codes
    assert (0, "NOT_ENOUGH_REPLICAS") not in codes


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_consumer_goes_on_while_a_produce_request_is_held(
    cluster: MockKafka, client: Client
) -> None:
    """The record is stored: the consumer reads it before its producer has the response."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "g",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([confluent_kafka.TopicPartition("orders", 0)])
    deliveries: list[Delivery] = []
    producer = client.producer(cluster.bootstrap_servers)
    with cluster.hold(api="Produce", at="before_response") as held:
        producer.send("orders", b"1", deliveries.append, partition=0)
        deadline = Deadline()
        while deadline.holds("a request that is held") and not held.held_count:
            producer.poll(0.05)
        assert next_value(consumer) == b"1"
        cluster.advance(seconds=20)
        assert (deliveries, held.held_count) == ([], 1)
    producer.flush()
    producer.close()
    consumer.close()
    assert [delivery.offset for delivery in deliveries] == [0]


def test_a_held_request_of_kafka_python_is_handled_after_its_release(cluster: MockKafka) -> None:
    producer = kafka_python.KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
    held = cluster.hold(api="Produce", topic="orders")
    sent = producer.send("orders", b"1", partition=0)
    held.wait(timeout_s=DEADLINE_S)
    assert cluster.records("orders") == []
    held.release()
    assert sent.get(DEADLINE_S).offset == 0
    producer.close()


async def test_the_second_look_for_a_coordinator_fails_only_after_a_sync(
    cluster: MockKafka,
) -> None:
    synced, fails = cluster.add_faults(
        [
            {"name": "synced", "api": "SyncGroup", "delay_ms": 0, "times": 1},
            {
                "api": "FindCoordinator",
                "error": "COORDINATOR_NOT_AVAILABLE",
                "after": "synced",
                "nth": 2,
            },
        ]
    )

    async def join(group: str) -> None:
        consumer = aiokafka.AIOKafkaConsumer(
            "orders",
            bootstrap_servers=cluster.bootstrap_servers,
            group_id=group,
            retry_backoff_ms=20,
        )
        await consumer.start()
        await consumer.stop()

    await join("a")  # finds its coordinator, and ends with a SyncGroup
    await cluster.aio.wait_for_fault(synced)
    assert fails.match_count == 0
    await join("b")
    assert (fails.match_count, fails.count) == (1, 0)
    await asyncio.wait_for(join("c"), DEADLINE_S)
    assert (fails.count, fails.is_used_up) == (1, True)


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_the_leader_moves_then_a_produce_times_out_then_all_is_well(
    cluster: MockKafka, client: Client
) -> None:
    before = cluster.topic("orders").partitions[0].leader
    steps = cluster.sequence(
        {"api": "Produce", "topic": "orders", "partition": 0, "leader": "next"},
        {"api": "Produce", "error": "REQUEST_TIMED_OUT"},
    )
    producer = client.producer(
        cluster.bootstrap_servers,
        {**RETRY_SOON[client.name], **IDEMPOTENT[client.name]},
    )
    deliveries: list[Delivery] = []
    for _ in range(2):
        producer.send("orders", b"1", deliveries.append, partition=0)
        producer.flush()
    producer.close()
    assert [step.count for step in steps] == [1, 1]
    assert cluster.topic("orders").partitions[0].leader != before
    assert [(delivery.error, delivery.offset) for delivery in deliveries] == [(None, 0), (None, 1)]
    assert len(cluster.records("orders")) == 2


IDEMPOTENT: dict[str, Config] = {
    "kafka-python": {"enable_idempotence": True},
    "aiokafka": {"enable_idempotence": True},
    "confluent-kafka": {"enable.idempotence": True},
}
