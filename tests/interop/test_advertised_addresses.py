"""Brokers behind mapped ports: clients follow addresses that are set while the cluster runs."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from kafka import KafkaConsumer, KafkaProducer

from mock_kafka import ConfigValue, ControlError, MockKafka
from tests.free_ports import free_port_run
from tests.interop.tcp_forwarder import HOST, TcpForwarder

UNREACHABLE = {"advertised.listeners": f"PLAINTEXT://{HOST}:1"}
"""Nothing listens there: a client that still gets this address fails."""


@pytest.fixture
def first_port() -> int:
    return free_port_run(3)


@pytest.fixture
def forwarders(first_port: int) -> Iterator[list[TcpForwarder]]:
    """Return a forwarder on a random port for each of three brokers."""
    with ExitStack() as stack:
        yield [stack.enter_context(closing(TcpForwarder(first_port + n))) for n in range(3)]


def test_a_group_works_through_mapped_ports(
    first_port: int, forwarders: list[TcpForwarder]
) -> None:
    with MockKafka(3, UNREACHABLE, port=first_port) as kafka:
        for broker, forwarder in enumerate(forwarders, start=1):
            kafka.advertise(broker, HOST, forwarder.port)
        kafka.reset()
        kafka.create_topic("orders", 3)
        servers = f"{HOST}:{forwarders[0].port}"
        producer = KafkaProducer(bootstrap_servers=servers)
        for partition in range(3):
            producer.send("orders", b"one coffee", partition=partition).get(30)
        producer.close()
        consumer = KafkaConsumer(
            "orders", bootstrap_servers=servers, group_id="billing", auto_offset_reset="earliest"
        )
        assert [next(consumer).value for _ in range(3)] == [b"one coffee"] * 3
        consumer.close()
        assert all(forwarder.connections for forwarder in forwarders)


def test_a_client_sets_the_address_as_a_configuration_of_the_broker(
    first_port: int, forwarders: list[TcpForwarder]
) -> None:
    with MockKafka(port=first_port) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        forwarder = forwarders[0]
        address = f"PLAINTEXT://{HOST}:{forwarder.port}"
        entry = ConfigEntry(
            "advertised.listeners", address, incremental_operation=AlterConfigOpType.SET
        )
        resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
        [done] = admin.incremental_alter_configs([resource]).values()
        done.result(30)
        [described] = admin.describe_configs([ConfigResource(ResourceType.BROKER, "1")]).values()
        assert described.result(30)["advertised.listeners"].value == address
        new_admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        [node] = new_admin.list_topics(timeout=30).brokers.values()
        assert (node.host, node.port) == (HOST, forwarder.port)
        described_cluster = new_admin.describe_cluster().result(30)
        assert [node.port for node in described_cluster.nodes] == [forwarder.port]
        producer = Producer({"bootstrap.servers": f"{HOST}:{forwarder.port}"})
        producer.produce("orders", b"one coffee")
        assert producer.flush(30) == 0
        consumer = Consumer(
            {
                "bootstrap.servers": f"{HOST}:{forwarder.port}",
                "group.id": "billing",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe(["orders"])
        message = consumer.poll(30)
        assert message is not None
        assert message.value() == b"one coffee"
        consumer.close()
        assert forwarder.connections


def test_coroutines_set_the_address() -> None:
    async def advertise(kafka: MockKafka) -> None:
        await kafka.aio.advertise(1, "far", 7000, listener="PLAINTEXT")

    with MockKafka() as kafka:
        asyncio.run(advertise(kafka))
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        [node] = admin.list_topics(timeout=30).brokers.values()
        assert (node.host, node.port) == ("far", 7000)


def test_clients_reach_brokers_with_the_ports_of_a_compose_file_on_both_listeners() -> None:
    port = free_port_run(6)
    config: dict[str, ConfigValue] = {
        "listener.security.protocol.map": "INNER:PLAINTEXT,HOST:PLAINTEXT",
    }
    # The ports of neither listener follow each other in the order of the brokers.
    ports = {1: (port, port + 5), 2: (port + 2, port + 3), 3: (port + 1, port + 4)}
    for broker, (inner, host) in ports.items():
        config[f"broker.{broker}.listeners"] = f"INNER://{HOST}:{inner},HOST://{HOST}:{host}"
        advertised = f"INNER://{HOST}:{inner},HOST://localhost:{host}"
        config[f"broker.{broker}.advertised.listeners"] = advertised
    with MockKafka(3, config) as kafka:
        for listener, name in enumerate(("INNER", "HOST")):
            first = ports[1][listener]
            admin = AdminClient({"bootstrap.servers": f"{HOST}:{first}"})
            brokers = admin.list_topics(timeout=30).brokers
            assert {n: broker.port for n, broker in brokers.items()} == {
                n: pair[listener] for n, pair in ports.items()
            }
            assert {broker.host for broker in brokers.values()} == {(HOST, "localhost")[listener]}
            kafka.create_topic(name, 3)
            producer = KafkaProducer(bootstrap_servers=f"{HOST}:{first}")
            for partition in range(3):
                producer.send(name, b"one coffee", partition=partition).get(30)
            producer.close()
        resource = ConfigResource(ResourceType.BROKER, "2")
        described = admin.describe_configs([resource])[resource].result(30)
        inner, host = ports[2]
        assert described["listeners"].value == f"INNER://{HOST}:{inner},HOST://{HOST}:{host}"
        with pytest.raises(ControlError, match="listeners is set at the start of the cluster"):
            kafka.start_broker(2, config={"listeners": f"INNER://{HOST}:1,HOST://{HOST}:2"})
