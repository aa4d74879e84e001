"""Automatic creation of topics by Metadata requests."""

from collections.abc import Iterator
from typing import Any

import aiokafka
import confluent_kafka
import kafka as kafka_python
import pytest
from confluent_kafka.admin import AdminClient
from kafka.errors import KafkaTimeoutError

from mock_kafka import MockKafka
from scenarios.clients.aiokafka import AIOKAFKA
from scenarios.clients.confluent_kafka import confluent_consumer, poll_confluent
from scenarios.clients.deadline import DEADLINE_S
from scenarios.clients.interface import Client, Record
from scenarios.clients.kafka_python import KAFKA_PYTHON
from tests.interop.members import member, share_out

PARTITIONS = 3


@pytest.fixture(scope="module")
def creating() -> Iterator[MockKafka]:
    """Return a broker that creates topics with three partitions automatically."""
    with MockKafka(config={"num.partitions": PARTITIONS}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def strict() -> Iterator[MockKafka]:
    """Return a broker that does not create topics automatically."""
    with MockKafka(config={"auto.create.topics.enable": False}) as cluster:
        yield cluster


def partition_counts(cluster: MockKafka) -> dict[str, int]:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    listed = admin.list_topics(timeout=DEADLINE_S).topics
    return {name: len(found.partitions) for name, found in listed.items()}


def test_producing_creates_the_topic_with_the_brokers_partition_count(
    creating: MockKafka, topic: str, client: Client
) -> None:
    [sent] = client.produce(creating.bootstrap_servers, topic, [Record(value=b"x", partition=2)])
    assert sent.offset == 0
    assert partition_counts(creating)[topic] == PARTITIONS


@pytest.mark.parametrize("client", [KAFKA_PYTHON, AIOKAFKA], ids=lambda client: client.name)
def test_subscribing_creates_the_topic(creating: MockKafka, topic: str, client: Client) -> None:
    with member(client, creating.bootstrap_servers, topic, topic) as reader:
        share_out([reader], PARTITIONS)
    assert partition_counts(creating)[topic] == PARTITIONS


def test_the_consumer_of_librdkafka_gets_an_error_and_creates_no_topic(
    creating: MockKafka, topic: str
) -> None:
    with confluent_consumer(creating.bootstrap_servers, group_id=topic) as consumer:
        consumer.subscribe([topic])
        with pytest.raises(confluent_kafka.KafkaException, match="not available"):
            poll_confluent(consumer, 1)
    assert topic not in partition_counts(creating)


async def test_an_illegal_name_is_an_error_and_creates_nothing(creating: MockKafka) -> None:
    # kafka-python refuses such names itself.
    assert confluent_delivery_error(creating, "not a name") == (
        confluent_kafka.KafkaError.TOPIC_EXCEPTION
    )
    with pytest.raises(aiokafka.errors.KafkaError):
        await send_with_aiokafka(creating, "not a name")
    assert "not a name" not in partition_counts(creating)


async def test_without_auto_creation_no_topic_is_created(strict: MockKafka) -> None:
    assert confluent_delivery_error(strict, "missing") in {
        confluent_kafka.KafkaError._MSG_TIMED_OUT,
        confluent_kafka.KafkaError._UNKNOWN_TOPIC,
    }
    with pytest.raises(aiokafka.errors.KafkaError):
        await send_with_aiokafka(strict, "missing")
    producer = kafka_python.KafkaProducer(
        bootstrap_servers=strict.bootstrap_servers, max_block_ms=500
    )
    with pytest.raises(KafkaTimeoutError):
        producer.send("missing", b"x").get(DEADLINE_S)
    producer.close()
    assert partition_counts(strict) == {}


def confluent_delivery_error(cluster: MockKafka, topic: str) -> int:
    errors: list[Any] = []
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "message.timeout.ms": 500}
    )
    producer.produce(topic, b"x", on_delivery=lambda error, _message: errors.append(error))
    assert producer.flush(DEADLINE_S) == 0
    [error] = errors
    return int(error.code())


async def send_with_aiokafka(cluster: MockKafka, topic: str) -> None:
    async with aiokafka.AIOKafkaProducer(
        bootstrap_servers=cluster.bootstrap_servers, request_timeout_ms=500
    ) as producer:
        await producer.send_and_wait(topic, b"x")
