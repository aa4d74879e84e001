"""Each client connects with its settings of `client_settings`, to every kind of listener."""

import asyncio
from collections.abc import Iterator
from typing import Any

import aiokafka
import confluent_kafka
import kafka
import pytest

from mock_kafka import MockKafka
from scenarios.maven import CannotRunError
from tests.interop.java_clients import JavaClients, compile_java_clients

PASSWORD = "s\"e,c\\r:e't${env:NAME}%2C ü"
KINDS: dict[str, dict[str, Any]] = {
    "PLAINTEXT": {},
    "SSL": {"tls": True},
    "SASL_PLAINTEXT": {"users": {"alice": PASSWORD}},
    "SASL_SSL": {"tls": True, "users": {"alice": PASSWORD, "bob": "secret"}},
}


@pytest.fixture(scope="module", params=KINDS)
def cluster(request: pytest.FixtureRequest) -> Iterator[MockKafka]:
    with MockKafka(brokers=2, **KINDS[request.param]) as kafka:
        assert kafka.client_settings("java").get("security.protocol", "PLAINTEXT") == request.param
        yield kafka


@pytest.fixture(scope="module")
def java() -> JavaClients:
    try:
        return compile_java_clients("4.4.0")
    except CannotRunError as error:
        pytest.skip(str(error))


def check(kafka: MockKafka, topic: str) -> None:
    [record] = kafka.records(topic)
    [send] = kafka.requests(api="Produce", topic=topic)
    assert send.user == (next(iter(kafka.users)) if kafka.users else "ANONYMOUS")
    assert record.offset == 0


def test_confluent_kafka_connects(cluster: MockKafka, topic: str) -> None:
    producer = confluent_kafka.Producer(cluster.client_settings("confluent"))
    producer.produce(topic, b"1")
    assert producer.flush(30) == 0
    check(cluster, topic)


def test_kafka_python_connects(cluster: MockKafka, topic: str) -> None:
    producer = kafka.KafkaProducer(**cluster.client_settings("kafka-python"))
    producer.send(topic, b"1").get(30)
    producer.close()
    check(cluster, topic)


async def test_aiokafka_connects(cluster: MockKafka, topic: str) -> None:
    async with aiokafka.AIOKafkaProducer(**cluster.client_settings("aiokafka")) as producer:
        await asyncio.wait_for(producer.send_and_wait(topic, b"1"), 30)
    check(cluster, topic)


def test_the_java_client_connects(cluster: MockKafka, java: JavaClients, topic: str) -> None:
    settings = cluster.client_settings("java")
    servers = settings.pop("bootstrap.servers")
    sent, *_ = java.run("produce", servers, topic, 1, **settings)
    assert sent[0] == "sent"
    check(cluster, topic)


def test_a_user_and_a_listener_can_be_chosen(topic: str) -> None:
    config = {"listeners": "PLAINTEXT://:0,INSIDE://:0"} | {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INSIDE:SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN",
    }
    users = {"alice": "secret", "bob": "secret-of-bob"}
    with MockKafka(config=config, tls=True, users=users, in_process=True) as kafka:
        settings = kafka.client_settings("confluent", user="bob", listener="INSIDE")
        assert settings["sasl.mechanism"] == "PLAIN"
        producer = confluent_kafka.Producer(settings)
        producer.produce(topic, b"1")
        assert producer.flush(30) == 0
        [send] = kafka.requests(api="Produce", topic=topic)
        assert (send.user, send.listener) == ("bob", "INSIDE")
        assert [*kafka.client_settings("confluent")] == ["bootstrap.servers"]
        assert [*kafka.client_settings("java", listener="PLAINTEXT")] == ["bootstrap.servers"]
