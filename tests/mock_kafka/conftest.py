"""A cluster of three brokers that is empty at the start of each test, and a producer."""

from collections.abc import Iterator

import pytest
from kafka import KafkaProducer

from mock_kafka import MockKafka


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[MockKafka]:
    with MockKafka(brokers=3) as kafka:
        yield kafka


@pytest.fixture
def kafka(shared_cluster: MockKafka) -> MockKafka:
    shared_cluster.reset()
    return shared_cluster


@pytest.fixture
def producer(kafka: MockKafka) -> Iterator[KafkaProducer]:
    kafka.create_topic("orders", 2)
    producer = KafkaProducer(
        bootstrap_servers=kafka.bootstrap_servers, client_id="till", retry_backoff_ms=10
    )
    yield producer
    producer.close()
