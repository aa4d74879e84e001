"""Authentication: every mechanism of each client, with and without TLS."""

import asyncio
import base64
import gc
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiokafka
import aiokafka.abc
import aiokafka.errors
import aiokafka.helpers
import confluent_kafka
import kafka
import kafka.errors
import kafka.net.sasl.oauth
import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from broker.clock import SystemClock
from broker.server.certificates import write_certificates
from mock_kafka import MockKafka
from protocol.errors import ErrorCode
from scenarios.clients.deadline import Deadline

LISTENERS = ("PLAINTEXT", "SASL_PLAINTEXT", "SASL_SSL", "SSL")
PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = (*PASSWORD_MECHANISMS, "OAUTHBEARER")
CLIENTS = ("kafka-python", "aiokafka", "confluent-kafka")


@dataclass(frozen=True)
class Secured:
    kafka: MockKafka
    folder: Path

    def servers(self, listener: str) -> str:
        if listener == LISTENERS[0]:
            return self.kafka.bootstrap_servers
        return self.kafka.bootstrap_servers_of(listener)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("certs")
    hosts = ["127.0.0.1", "localhost"]
    write_certificates(folder, hosts, ["CN=alice,OU=tests"], SystemClock().now_ms())
    config = {
        "listeners": ",".join(f"{name}://:0" for name in LISTENERS),
        "sasl.users": "alice:secret-of-alice",
        "ssl.keystore.location": str(folder / "server.pem"),
        "ssl.truststore.location": str(folder / "ca.pem"),
        "ssl.client.auth": "required",
    }
    with MockKafka(config=config, log_level="info") as kafka:
        yield Secured(kafka, folder)
        log = "\n".join(kafka.log_lines())
        assert "secret-of" not in log
        assert "Traceback" not in log
    gc.collect()  # kafka-python leaves its sockets to the collector if it could not start


def bearer() -> str:
    def part(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    now_s = int(time.time())
    return f"{part({'alg': 'none'})}.{part({'sub': 'alice', 'iat': now_s, 'exp': now_s + 600})}."


class PythonToken(kafka.net.sasl.oauth.AbstractTokenProvider):
    def token(self) -> str:
        return bearer()


class AioToken(aiokafka.abc.AbstractTokenProvider):  # type: ignore[misc]
    async def token(self) -> str:
        return bearer()


def python_settings(
    secured: Secured, listener: str, mechanism: str | None, password: str
) -> dict[str, Any]:
    """Return the settings that kafka-python and aiokafka have in common."""
    settings: dict[str, Any] = {
        "bootstrap_servers": secured.servers(listener),
        "security_protocol": listener,
    }
    if mechanism is not None and mechanism != "OAUTHBEARER":
        settings |= {"sasl_plain_username": "alice", "sasl_plain_password": password}
    if mechanism is not None:
        settings["sasl_mechanism"] = mechanism
    return settings


def through_kafka_python(
    secured: Secured, topic: str, listener: str, mechanism: str | None, password: str
) -> bytes:
    settings = python_settings(secured, listener, mechanism, password)
    if listener.endswith("SSL"):
        client = str(secured.folder / "client-alice.pem")
        settings["ssl_cafile"] = str(secured.folder / "ca.pem")
        if listener == "SSL":
            settings |= {"ssl_certfile": client, "ssl_keyfile": client}
    if mechanism == "OAUTHBEARER":
        settings["sasl_oauth_token_provider"] = PythonToken()  # type: ignore[no-untyped-call]
    with_bound = {"bootstrap_timeout_ms": 1000} if password != "secret-of-alice" else {}
    producer = kafka.KafkaProducer(**settings, **with_bound)
    producer.send(topic, b"hello").get(20)
    producer.close()
    consumer = kafka.KafkaConsumer(topic, auto_offset_reset="earliest", **settings)
    value = next(iter(consumer)).value
    consumer.close()
    assert isinstance(value, bytes)
    return value


def through_aiokafka(
    secured: Secured, topic: str, listener: str, mechanism: str | None, password: str
) -> bytes:
    async def run() -> bytes:
        settings = python_settings(secured, listener, mechanism, password)
        if listener.endswith("SSL"):
            client = secured.folder / "client-alice.pem" if listener == "SSL" else None
            settings["ssl_context"] = aiokafka.helpers.create_ssl_context(
                cafile=secured.folder / "ca.pem", certfile=client
            )
        if mechanism == "OAUTHBEARER":
            settings["sasl_oauth_token_provider"] = AioToken()
        producer = aiokafka.AIOKafkaProducer(**settings)
        try:
            await producer.start()
            await producer.send_and_wait(topic, b"hello")
        finally:
            await producer.stop()
        consumer = aiokafka.AIOKafkaConsumer(topic, auto_offset_reset="earliest", **settings)
        async with consumer:
            value = (await asyncio.wait_for(consumer.getone(), 20)).value
        assert isinstance(value, bytes)
        return value

    return asyncio.run(run())


def through_confluent(
    secured: Secured, topic: str, listener: str, mechanism: str | None, password: str
) -> bytes:
    errors: list[confluent_kafka.KafkaError] = []
    settings: dict[str, Any] = {
        "bootstrap.servers": secured.servers(listener),
        "security.protocol": listener,
        "ssl.ca.location": str(secured.folder / "ca.pem"),
        "error_cb": errors.append,
    }
    if listener == "SSL":
        client = str(secured.folder / "client-alice.pem")
        settings |= {"ssl.certificate.location": client, "ssl.key.location": client}
    if mechanism == "OAUTHBEARER":
        settings |= {
            "sasl.mechanism": mechanism,
            "enable.sasl.oauthbearer.unsecure.jwt": "true",
            "sasl.oauthbearer.config": "principal=alice",
        }
    elif mechanism is not None:
        settings |= {
            "sasl.mechanism": mechanism,
            "sasl.username": "alice",
            "sasl.password": password,
        }
    producer = confluent_kafka.Producer(settings)
    producer.produce(topic, b"hello")
    for _ in range(200):
        if producer.flush(0.1) == 0:
            break
        for error in errors:
            if error.code() == confluent_kafka.KafkaError._AUTHENTICATION:
                producer.purge()
                raise confluent_kafka.KafkaException(error)
    group = {"group.id": topic, "auto.offset.reset": "earliest"}
    consumer = confluent_kafka.Consumer(settings | group)
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    message = consumer.poll(20)
    consumer.close()
    assert message is not None
    value = message.value()
    assert isinstance(value, bytes)
    return value


ROUND_TRIPS = {
    "kafka-python": through_kafka_python,
    "aiokafka": through_aiokafka,
    "confluent-kafka": through_confluent,
}


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("library", CLIENTS)
def test_an_authenticated_client_writes_and_reads(
    secured: Secured, topic: str, library: str, listener: str, mechanism: str
) -> None:
    value = ROUND_TRIPS[library](secured, topic, listener, mechanism, "secret-of-alice")
    assert value == b"hello"


@pytest.mark.parametrize("listener", ["PLAINTEXT", "SSL"])
@pytest.mark.parametrize("library", CLIENTS)
def test_a_client_without_sasl_writes_and_reads(
    secured: Secured, topic: str, library: str, listener: str
) -> None:
    assert ROUND_TRIPS[library](secured, topic, listener, None, "secret-of-alice") == b"hello"


AUTHENTICATION_ERRORS = {
    "kafka-python": kafka.errors.KafkaError,
    "aiokafka": aiokafka.errors.KafkaError,
    "confluent-kafka": confluent_kafka.KafkaException,
}


@pytest.mark.parametrize("mechanism", PASSWORD_MECHANISMS)
@pytest.mark.parametrize("library", CLIENTS)
def test_a_wrong_password_is_an_authentication_error_of_the_client(
    secured: Secured, topic: str, library: str, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    def reasons() -> int:
        message = f"SASL authentication failed ({mechanism})"
        return sum(message in line for line in secured.kafka.log_lines())

    reasons_before = reasons()
    with pytest.raises(AUTHENTICATION_ERRORS[library]) as raised:
        ROUND_TRIPS[library](secured, topic, "SASL_PLAINTEXT", mechanism, "secret-of-bob")
    said = f"{raised.value!r} {caplog.text}"
    assert re.search(r"SaslAuthenticationFailed|AuthenticationFailedError|_AUTHENTICATION", said)
    deadline = Deadline()
    while reasons() == reasons_before:
        assert deadline.holds("the broker's reason")


@pytest.mark.parametrize("mechanism", ["SCRAM_SHA_256", "SCRAM_SHA_512"])
def test_a_scram_user_can_authenticate_until_deleted(secured: Secured, mechanism: str) -> None:
    admin = AdminClient({"bootstrap.servers": secured.servers("PLAINTEXT")})
    kind = ScramMechanism[mechanism]
    name = f"made-{mechanism}"
    new = UserScramCredentialUpsertion(name, ScramCredentialInfo(kind, 8192), b"secret-of-made")
    admin.alter_user_scram_credentials([new])[name].result(20)
    described = admin.describe_user_scram_credentials([name])[name].result(20)
    infos = [(info.mechanism, info.iterations) for info in described.scram_credential_infos]
    assert infos == [(kind, 8192)]

    settings = {
        "bootstrap.servers": secured.servers("SASL_PLAINTEXT"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism.replace("_", "-"),
        "sasl.username": name,
        "sasl.password": "secret-of-made",
    }
    assert AdminClient(settings).list_topics(timeout=20).brokers

    gone = UserScramCredentialDeletion(name, kind)
    admin.alter_user_scram_credentials([gone])[name].result(20)
    with pytest.raises(confluent_kafka.KafkaException) as raised:
        admin.describe_user_scram_credentials([name])[name].result(20)
    assert raised.value.args[0].code() == ErrorCode.RESOURCE_NOT_FOUND
