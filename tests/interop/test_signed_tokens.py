"""Real clients with tokens that an OAuth provider has signed, on a listener that verifies them."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiokafka
import aiokafka.abc
import aiokafka.errors
import confluent_kafka
import kafka
import kafka.errors
import kafka.net.sasl.oauth
import pytest

from mock_kafka import MockKafka
from scenarios.clients.deadline import Deadline
from tests.broker.security.provider import AUDIENCE, ISSUER, key_set, public_key, signed

PREFIX = "listener.name.sasl_plaintext."
LIFETIME_S = 600


@dataclass(frozen=True)
class Provided:
    kafka: MockKafka
    keys: Path


@pytest.fixture
def provided(tmp_path: Path) -> Iterator[Provided]:
    keys = tmp_path / "keys.json"
    keys.write_bytes(key_set(public_key("one")))
    config = {
        "listeners": "SASL_PLAINTEXT://:0",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{PREFIX}oauthbearer.sasl.server.callback.handler.class": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
        ),
        f"{PREFIX}sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": ISSUER,
    }
    with MockKafka(config=config) as kafka_:
        yield Provided(kafka_, keys)


def bearer(key_id: str, lifetime_s: int = LIFETIME_S) -> str:
    now_s = int(time.time())
    claims = {"sub": "alice", "iat": now_s, "exp": now_s + lifetime_s}
    return signed({**claims, "iss": ISSUER, "aud": AUDIENCE}, key_id)


def kafka_python(servers: str, topic: str, key_id: str) -> None:
    class Tokens(kafka.net.sasl.oauth.AbstractTokenProvider):
        def token(self) -> str:
            return bearer(key_id)

    producer = kafka.KafkaProducer(
        bootstrap_servers=servers,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="OAUTHBEARER",
        sasl_oauth_token_provider=Tokens(),  # type: ignore[no-untyped-call]
        bootstrap_timeout_ms=2000,
    )
    producer.send(topic, b"hello").get(20)
    producer.close()


def aio_kafka(servers: str, topic: str, key_id: str) -> None:
    class Tokens(aiokafka.abc.AbstractTokenProvider):  # type: ignore[misc]
        async def token(self) -> str:
            return bearer(key_id)

    async def run() -> None:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=servers,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauth_token_provider=Tokens(),
            request_timeout_ms=4000,  # it overlooks why a token was refused, and then waits so long
        )
        try:
            await producer.start()
            await producer.send_and_wait(topic, b"hello")
        finally:
            await producer.stop()

    asyncio.run(run())


def confluent(servers: str, topic: str, key_id: str) -> None:
    errors: list[Any] = []
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "oauth_cb": lambda _config: (bearer(key_id), time.time() + LIFETIME_S),
            "delivery.timeout.ms": 4000,
        }
    )
    producer.produce(topic, b"hello", on_delivery=lambda error, _message: errors.append(error))
    deadline = Deadline()
    while not errors and deadline.holds("the outcome of the record"):
        producer.poll(0.1)
    if errors[0] is not None:
        raise confluent_kafka.KafkaException(errors[0])


CLIENTS: dict[str, Callable[[str, str, str], None]] = {
    "kafka-python": kafka_python,
    "aiokafka": aio_kafka,
    "confluent-kafka": confluent,
}
ERRORS = (kafka.errors.KafkaError, aiokafka.errors.KafkaError, confluent_kafka.KafkaException)


@pytest.mark.parametrize("library", CLIENTS)
def test_a_client_is_who_its_token_says_and_keys_may_change(
    provided: Provided, topic: str, library: str
) -> None:
    send, servers = CLIENTS[library], provided.kafka.bootstrap_servers
    send(servers, topic, "one")
    assert {request.user for request in provided.kafka.requests(api="Produce")} == {"alice"}

    with pytest.raises(ERRORS):
        send(servers, topic, "two")

    provided.keys.write_bytes(key_set(public_key("two")))
    os.utime(provided.keys, ns=(1, 1))
    send(servers, topic, "two")
    assert len(provided.kafka.records(topic)) == 2
