"""Clients that use fetch sessions (KIP-227), and consumers that read from the nearest replica."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mock_kafka import MockKafka
from scenarios.clients.confluent_kafka import CONFLUENT, create_topic
from scenarios.clients.interface import Record
from scenarios.clients.kafka_python import kafka_python_consumer, poll_kafka_python
from scenarios.maven import CannotRunError
from tests.interop.conftest import CONFIG
from tests.interop.go_and_node_clients import CLIENTS
from tests.interop.java_clients import compile_java_clients

COUNT = 10
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
Read = Callable[[str, str], int]
"""Reads 20 records of a topic, and returns how many it got."""


def _read_with_kafka_python(servers: str, topic: str) -> int:
    with kafka_python_consumer(servers, topic, auto_offset_reset="earliest") as consumer:
        return len(poll_kafka_python(consumer, 2 * COUNT))


def _reader(name: str, folder: Any) -> Read:
    if name == "kafka-python":
        return _read_with_kafka_python
    if name == "java":
        java = compile_java_clients("4.4.0")
        return lambda servers, topic: len(
            java.run(
                "consume",
                servers,
                topic,
                2 * COUNT,
                group_id=f"{topic}.group",
                auto_offset_reset="earliest",
            )
        )
    run = CLIENTS[name](folder).run
    return lambda servers, topic: len(run("consume", servers, topic, 2 * COUNT, f"{topic}.group"))


def records(first: int) -> list[Record]:
    return [
        Record(f"v{number}".encode(), partition=0, headers=(("number", b"%d" % number),), key=b"k")
        for number in range(first, first + COUNT)
    ]


def incremental(kafka: MockKafka, topic: str) -> list[Any]:
    """The incremental fetches of all clients, with their responses."""
    found = kafka.requests(api="Fetch", outcome="responded")
    return [request for request in found if request.request["session_epoch"] > 0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kafka-python", "java", "franz-go"])
def test_an_idle_consumer_gets_empty_incremental_responses_and_then_all_records(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    try:
        read = _reader(name, tmp_path_factory.mktemp("client"))
    except CannotRunError as error:
        pytest.skip(f"{name}: {error}")
    with MockKafka(config=CONFIG) as kafka, ThreadPoolExecutor() as pool:
        servers, topic = kafka.bootstrap_servers, "sessions"
        create_topic(servers, topic, partition_count=2)
        CONFLUENT.produce(servers, topic, records(0))
        reading = pool.submit(read, servers, topic)
        empty: list[Any] = []
        while not empty and not reading.done():
            since = kafka.last_request_number()
            kafka.wait_for(api="Fetch", since=since, outcome="responded", timeout_s=30)
            empty = [
                request
                for request in incremental(kafka, topic)
                if not request.response["responses"]
            ]
        CONFLUENT.produce(servers, topic, records(COUNT))
        assert reading.result() == 2 * COUNT

        assert empty[0].response["session_id"] == empty[0].request["session_id"] > 0
        assert {request.response["error_code"] for request in incremental(kafka, topic)} == {"NONE"}


@pytest.mark.slow
def test_a_java_consumer_with_a_rack_reads_from_the_follower_there() -> None:
    try:
        java = compile_java_clients("4.4.0")
    except CannotRunError as error:
        pytest.skip(str(error))
    config: dict[str, Any] = {**CONFIG, "replica.selector.class": RACK_AWARE}
    config |= {f"broker.{node_id}.broker.rack": f"rack-{node_id}" for node_id in (1, 2, 3)}
    with MockKafka(brokers=3, config=config) as kafka:
        servers, topic = kafka.bootstrap_servers, "nearest"
        create_topic(servers, topic, partition_count=1, replication_factor=3)
        CONFLUENT.produce(servers, topic, records(0))
        leader_id = kafka.topics()[0].partitions[0].leader
        assert leader_id is not None
        follower_id = leader_id % 3 + 1
        lines = java.run(
            "consume",
            servers,
            topic,
            COUNT,
            group_id="g",
            auto_offset_reset="earliest",
            client_rack=f"rack-{follower_id}",
        )
        assert len(lines) == COUNT
        found = kafka.requests(api="Fetch", outcome="responded")
        sources = {
            request.broker
            for request in found
            for fetched in request.response["responses"]
            for part in fetched["partitions"]
            if part["records"]["bytes"]
        }
        assert sources == {follower_id}
