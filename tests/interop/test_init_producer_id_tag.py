"""KIP-758's second phase: the window in InitProducerIdResponse, and clients that do not know it.

kafka-python and librdkafka use a flexible version and ignore the tag. aiokafka uses version 0,
which has no tags.
"""

import socket
from collections.abc import Iterator
from contextlib import closing
from struct import Struct
from typing import Any

import confluent_kafka
import kafka
import pytest
from confluent_kafka.admin import AdminClient, ConfigResource
from kafka.admin import KafkaAdminClient

from mock_kafka import MockKafka
from protocol import messages
from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.deadline import DEADLINE_S
from scenarios.clients.interface import Client, Record
from scenarios.clients.kafka_python import KAFKA_PYTHON
from tests.interop.conftest import broker_errors

WINDOW_KEY = "max.in.flight.sequence.number.per.connection"
WINDOW = 123_456
FLEXIBLE_VERSIONS = range(2, 7)
RULE_SETS = {"kip-758": 1, "kafka": 5}
_SIZE = Struct(">i")
_REQUEST_HEADER = Struct(">hhih")


@pytest.fixture(scope="module", params=RULE_SETS)
def batches(request: pytest.FixtureRequest) -> int:
    """`producer.state.batches`."""
    return RULE_SETS[request.param]


@pytest.fixture(scope="module")
def kafka_with_window(batches: int) -> Iterator[MockKafka]:
    with MockKafka(config={"producer.state.batches": batches, WINDOW_KEY: WINDOW}) as cluster:
        yield cluster
        assert broker_errors(cluster) == []


def ask(server: str, version: int) -> Any:
    """Send InitProducerId over a socket; return the response as kafka-python decodes it."""
    request: Any = messages.InitProducerIdRequest(
        version=version, transactional_id=None, transaction_timeout_ms=60_000
    )
    header = _REQUEST_HEADER.pack(request.API_KEY, version, 7, -1)
    is_flexible = version in FLEXIBLE_VERSIONS
    frame = header + (b"\x00" if is_flexible else b"") + bytes(request.encode(version=version))
    host, _, port = server.rpartition(":")
    with closing(socket.create_connection((host, int(port)), DEADLINE_S)) as connection:
        connection.sendall(_SIZE.pack(len(frame)) + frame)
        with connection.makefile("rb") as stream:
            response = stream.read(_SIZE.unpack(stream.read(4))[0])
    assert response[:4] == _SIZE.pack(7)
    body = response[5:] if is_flexible else response[4:]
    return messages.InitProducerIdResponse.decode(body, version=version)


@pytest.mark.interop
@pytest.mark.parametrize("version", range(6))
def test_init_producer_id_response_has_the_window_under_kip_758(
    kafka_with_window: MockKafka, batches: int, version: int
) -> None:
    response = ask(kafka_with_window.bootstrap_servers, version)
    assert (response.error_code, response.producer_epoch) == (0, 0)
    if batches == 1 and version in FLEXIBLE_VERSIONS:
        assert response.unknown_tags == {"_10000": _SIZE.pack(WINDOW)}
    else:
        assert response.unknown_tags is None


@pytest.mark.interop
def test_clients_that_do_not_know_the_tag_produce_as_before(
    kafka_with_window: MockKafka, batches: int, client: Client
) -> None:
    """The producer ids differ, so the clients decoded the response correctly."""
    servers = kafka_with_window.bootstrap_servers
    topic = f"tag.{client.name}"
    create_topic(servers, topic, partition_count=2)
    records = [Record(value=b"%d" % number, partition=number % 2) for number in range(20)]
    first = client.produce(servers, topic, records, is_idempotent=True)
    second = client.produce(servers, topic, records, is_idempotent=True)

    assert [record.offset for record in first] == [number // 2 for number in range(20)]
    assert [record.offset for record in second] == [10 + number // 2 for number in range(20)]
    assert len(KAFKA_PYTHON.read(servers, topic, 2, 40)) == 40

    with closing(KafkaAdminClient(bootstrap_servers=servers)) as admin:
        described = admin.describe_producers([kafka.TopicPartition(topic, 0)])
    producers = described[kafka.TopicPartition(topic, 0)].active_producers
    assert len({producer.producer_id for producer in producers}) == 2
    for producer in producers:
        assert (producer.producer_epoch, producer.last_sequence) == (0, 9)
        assert producer.last_timestamp == records[0].timestamp_ms
        assert (producer.coordinator_epoch, producer.current_transaction_start_offset) == (-1, -1)


@pytest.mark.interop
def test_describe_configs_shows_the_window_and_a_broker_can_have_another(
    kafka_with_window: MockKafka,
) -> None:
    admin = AdminClient({"bootstrap.servers": kafka_with_window.bootstrap_servers})
    broker = ConfigResource(ConfigResource.Type.BROKER, "1")

    def window() -> tuple[str, bool]:
        entry = admin.describe_configs([broker])[broker].result(DEADLINE_S)[WINDOW_KEY]
        return entry.value, entry.is_read_only

    def change(value: str) -> None:
        entry = confluent_kafka.admin.ConfigEntry(
            WINDOW_KEY, value, incremental_operation=confluent_kafka.admin.AlterConfigOpType.SET
        )
        resource = ConfigResource(ConfigResource.Type.BROKER, "1", incremental_configs=[entry])
        admin.incremental_alter_configs([resource])[resource].result(DEADLINE_S)

    assert window() == (str(WINDOW), False)
    with pytest.raises(confluent_kafka.KafkaException):
        change("0")
    change("5")
    assert window() == ("5", False)


@pytest.mark.interop
def test_describe_producers_on_a_broker_without_the_partition_is_an_error(
    kafka_of_three: MockKafka, topic: str
) -> None:
    servers = kafka_of_three.bootstrap_servers
    create_topic(servers, topic, assignment=[[2, 3]])
    KAFKA_PYTHON.produce(servers, topic, [Record(value=b"v")], is_idempotent=True)
    partition = kafka.TopicPartition(topic, 0)
    with closing(KafkaAdminClient(bootstrap_servers=servers)) as admin:
        from_leader = admin.describe_producers([partition])
        from_follower = admin.describe_producers([partition], broker_id=3)
        with pytest.raises(kafka.errors.NotLeaderForPartitionError):
            admin.describe_producers([partition], broker_id=1)
        with pytest.raises(kafka.errors.UnknownTopicOrPartitionError):
            admin.describe_producers([kafka.TopicPartition(topic, 1)], broker_id=2)
    assert len(from_leader[partition].active_producers) == 1
    assert from_follower == from_leader
