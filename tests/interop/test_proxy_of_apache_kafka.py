"""Real clients of Apache Kafka through the proxy; what they did is read from Kafka directly."""

from collections.abc import Iterator
from typing import Any

import confluent_kafka
import pytest
from aiokafka.helpers import create_ssl_context

from mock_kafka import KafkaProxy
from scenarios.clients.confluent_kafka import CONFLUENT, create_topic
from scenarios.clients.interface import Client, Record
from tests.interop.apache_kafka import PASSWORD, USERNAME, ApacheKafka
from tests.interop.transactional_clients import PRODUCERS, READERS

RECORDS = [Record(b"%d" % number, b"key", (("number", b"%d" % number),)) for number in range(50)]
MODES = [
    pytest.param(False, id="passed"),
    pytest.param(True, id="looked-at", marks=pytest.mark.long),
]
WITHOUT_EXPIRY = {"retention.ms": "-1"}
"""The records have a constant timestamp in the past."""


@pytest.fixture(scope="module", params=MODES)
def servers(request: pytest.FixtureRequest, apache_kafka: ApacheKafka) -> Iterator[str]:
    """The address of a proxy that passes bytes, or that looks at each request."""
    config = {"journal.enable": request.param}
    with KafkaProxy(apache_kafka.bootstrap_servers, config) as proxy:
        yield proxy.bootstrap_servers
        assert problems_of(proxy) == []


def problems_of(proxy: KafkaProxy) -> list[str]:
    """Return the lines of the log that no test of unchanged clients may cause."""
    lines = proxy.log_lines()
    return [line for line in lines if "Traceback" in line or "no response to" in line]


def test_a_group_reads_what_was_produced_and_its_offsets_are_the_clusters(
    client: Client, servers: str, apache_kafka: ApacheKafka, topic: str
) -> None:
    create_topic(apache_kafka.bootstrap_servers, topic, 1, config=WITHOUT_EXPIRY)
    sent = client.produce(servers, topic, RECORDS, is_idempotent=True)
    assert [record.offset for record in sent] == list(range(len(RECORDS)))
    assert CONFLUENT.read(apache_kafka.bootstrap_servers, topic, 1, len(RECORDS)) == sent
    member = client.join(servers, topic, topic)
    read: list[Record] = []
    while len(read) < len(sent):
        read += member.poll()
    member.commit()
    member.close()
    assert read == sent
    group = {"bootstrap.servers": apache_kafka.bootstrap_servers, "group.id": topic}
    directly = confluent_kafka.Consumer(group)
    [committed] = directly.committed([confluent_kafka.TopicPartition(topic, 0)], 20)
    directly.close()
    assert committed.offset == len(sent)


@pytest.mark.parametrize(
    "library",
    ["confluent", *(pytest.param(n, marks=pytest.mark.long) for n in ("kafka-python", "aiokafka"))],
)
def test_transactions_commit_and_abort(
    library: str, servers: str, apache_kafka: ApacheKafka, topic: str
) -> None:
    create_topic(apache_kafka.bootstrap_servers, topic, 1)
    producer = PRODUCERS[library](servers, topic)
    producer.start()
    for value, end in ((b"one", producer.commit), (b"two", producer.abort)):
        producer.begin()
        producer.send(topic, value)
        end()
    producer.begin()
    producer.send(topic, b"three")
    producer.send_offset(topic, 7, f"{topic}.group")
    producer.commit()
    producer.close()
    read = READERS["confluent"]
    for address in (servers, apache_kafka.bootstrap_servers):
        assert read(address, topic, "read_committed") == [b"one", b"three"]
        assert read(address, topic, "read_uncommitted") == [b"one", b"two", b"three"]


def secured(client: Client, mechanism: str | None, ca_path: str, password: str) -> dict[str, Any]:
    """Return the settings of a client that connects with TLS, and with SASL or without it."""
    protocol = "SSL" if mechanism is None else "SASL_SSL"
    if client is CONFLUENT:
        return {
            "security.protocol": protocol,
            "ssl.ca.location": ca_path,
            **({"sasl.mechanism": mechanism} if mechanism else {}),
            **({"sasl.username": USERNAME, "sasl.password": password} if mechanism else {}),
        }
    is_aiokafka = client.name == "aiokafka"
    return {
        "security_protocol": protocol,
        **({"ssl_context": create_ssl_context(cafile=ca_path)} if is_aiokafka else {}),
        **({} if is_aiokafka else {"ssl_cafile": ca_path}),
        **({"sasl_mechanism": mechanism} if mechanism else {}),
        **({"sasl_plain_username": USERNAME} if mechanism else {}),
        **({"sasl_plain_password": password} if mechanism else {}),
    }


@pytest.fixture(scope="module", params=MODES)
def proxy_of_sasl(
    request: pytest.FixtureRequest, apache_kafka: ApacheKafka
) -> Iterator[KafkaProxy]:
    """A proxy with TLS for clients, to a listener with SASL and without TLS."""
    properties = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": USERNAME,
        "sasl.password": PASSWORD,
    }
    config = {"journal.enable": request.param}
    to = apache_kafka.sasl_servers
    with KafkaProxy(to, config, to_config=properties, tls=True) as proxy:
        yield proxy
        assert problems_of(proxy) == []


@pytest.mark.parametrize(
    "mechanism",
    [
        "SCRAM-SHA-512",
        *(pytest.param(n, marks=pytest.mark.long) for n in ("PLAIN", "SCRAM-SHA-256")),
    ],
)
def test_clients_authenticate_at_the_cluster(
    client: Client,
    proxy_of_sasl: KafkaProxy,
    apache_kafka: ApacheKafka,
    topic: str,
    mechanism: str,
) -> None:
    create_topic(apache_kafka.bootstrap_servers, topic, 1, config=WITHOUT_EXPIRY)
    settings = secured(client, mechanism, proxy_of_sasl.ca_path, PASSWORD)
    with client.producer(proxy_of_sasl.bootstrap_servers, settings) as producer:
        deliveries = producer.send_all(topic, RECORDS)
    assert [delivery.offset for delivery in deliveries] == list(range(len(RECORDS)))
    assert len(CONFLUENT.read(apache_kafka.bootstrap_servers, topic, 1, len(RECORDS))) == 50
    if proxy_of_sasl.config["journal.enable"]:
        produced = proxy_of_sasl.requests(api="Produce", topic=topic)
        assert {request.user for request in produced} == {USERNAME}


def test_a_wrong_password_is_refused_by_the_cluster(
    proxy_of_sasl: KafkaProxy,
) -> None:
    errors: list[confluent_kafka.KafkaError] = []
    producer = confluent_kafka.Producer(
        {
            **secured(CONFLUENT, "SCRAM-SHA-256", proxy_of_sasl.ca_path, "wrong"),
            "bootstrap.servers": proxy_of_sasl.bootstrap_servers,
            "error_cb": errors.append,
            "log_level": 0,
        }
    )
    for _ in range(100):
        producer.poll(0.1)
        if errors:
            break
    assert confluent_kafka.KafkaError._AUTHENTICATION in {error.code() for error in errors}


@pytest.mark.long
def test_tls_ends_at_the_proxy_and_begins_there(
    client: Client, apache_kafka: ApacheKafka, topic: str
) -> None:
    create_topic(apache_kafka.bootstrap_servers, topic, 1, config=WITHOUT_EXPIRY)
    properties = {
        "security.protocol": "SSL",
        "ssl.truststore.location": str(apache_kafka.certificate),
    }
    with KafkaProxy(apache_kafka.tls_servers, to_config=properties, tls=True) as proxy:
        settings = secured(client, None, proxy.ca_path, "")
        with client.producer(proxy.bootstrap_servers, settings) as producer:
            deliveries = producer.send_all(topic, RECORDS)
        assert problems_of(proxy) == []
    assert [delivery.offset for delivery in deliveries] == list(range(len(RECORDS)))
    assert len(CONFLUENT.read(apache_kafka.bootstrap_servers, topic, 1, len(RECORDS))) == 50
