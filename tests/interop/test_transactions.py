"""Transactional producers and read_committed consumers of real client libraries."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import confluent_kafka
import pytest

from mock_kafka import ConfigValue, MockKafka
from scenarios.clients.confluent_kafka import create_topic
from scenarios.maven import CannotRunError
from tests.interop import transactional_copies
from tests.interop.java_clients import JavaClients, compile_java_clients
from tests.interop.transactional_clients import (
    PRODUCERS,
    READERS,
    TIMEOUT_S,
    TransactionalProducer,
    committed_offset,
)
from tests.interop.transactional_copies import CRASHED, copy

JAVA_VERSIONS = ("3.9.2", "4.4.0")


@pytest.fixture(params=PRODUCERS)
def producer(
    request: pytest.FixtureRequest, kafka_of_three: MockKafka, topic: str
) -> Iterator[TransactionalProducer]:
    """Return a started producer of each library."""
    create_topic(kafka_of_three.bootstrap_servers, topic, 1)
    made = PRODUCERS[request.param](kafka_of_three.bootstrap_servers, topic)
    made.start()
    yield made
    made.close()


def read(producer: TransactionalProducer, topic: str, isolation_level: str) -> list[bytes]:
    """Read with the consumer of the producer's library."""
    names = {made: name for name, made in PRODUCERS.items()}
    reader = READERS[names[type(producer)]]
    return reader(producer.servers, topic, isolation_level)


def test_read_committed_sees_committed_transactions_only(
    producer: TransactionalProducer, topic: str
) -> None:
    producer.begin()
    producer.send(topic, b"a", b"b")
    producer.commit()
    producer.begin()
    producer.send(topic, b"no", b"no")
    producer.abort()
    producer.begin()
    producer.send(topic, b"c")
    producer.commit()
    producer.begin()
    producer.send(topic, b"open")
    assert read(producer, topic, "read_committed") == [b"a", b"b", b"c"]
    everything = [b"a", b"b", b"no", b"no", b"c", b"open"]
    assert read(producer, topic, "read_uncommitted") == everything
    producer.commit()
    assert read(producer, topic, "read_committed") == [b"a", b"b", b"c", b"open"]


def test_offsets_are_committed_with_the_records(
    producer: TransactionalProducer, topic: str
) -> None:
    group = f"{topic}.group"

    def committed() -> int | None:
        return committed_offset(producer.servers, topic, group)

    producer.begin()
    producer.send(topic, b"in-0", b"in-1")
    producer.commit()
    producer.begin()
    producer.send(topic, b"out-0")
    producer.send_offset(topic, 1, group)
    assert committed() is None
    producer.commit()
    assert committed() == 1
    producer.begin()
    producer.send(topic, b"no")
    producer.send_offset(topic, 2, group)
    producer.abort()
    assert committed() == 1
    assert read(producer, topic, "read_committed") == [b"in-0", b"in-1", b"out-0"]


def test_a_second_instance_fences_the_first(producer: TransactionalProducer, topic: str) -> None:
    producer.begin()
    producer.send(topic, b"zombie")
    second = type(producer)(producer.servers, producer.transactional_id)
    second.start()
    with pytest.raises(Exception, match=r"(?i)fenced|epoch"):
        producer.commit()
    second.begin()
    second.send(topic, b"new")
    second.commit()
    second.close()
    assert read(second, topic, "read_committed") == [b"new"]


def test_an_instance_that_crashed_leaves_nothing(
    producer: TransactionalProducer, topic: str
) -> None:
    """The next instance aborts what the crashed one had sent."""
    producer.begin()
    producer.send(topic, b"lost")
    second = type(producer)(producer.servers, producer.transactional_id)
    second.start()
    assert read(second, topic, "read_committed") == []
    second.close()


@pytest.mark.slow
@pytest.mark.parametrize("library", PRODUCERS)
def test_a_group_copies_exactly_once_through_aborts_and_a_crash(
    library: str, kafka_of_three: MockKafka, topic: str
) -> None:
    servers = kafka_of_three.bootstrap_servers
    values = [b"value %d" % number for number in range(60)]
    create_topic(servers, topic, 2)
    create_topic(servers, f"{topic}.out", 1)
    writer = confluent_kafka.Producer({"bootstrap.servers": servers})
    for number, value in enumerate(values):
        writer.produce(topic, value, partition=number % 2)
    assert writer.flush(TIMEOUT_S) == 0

    crashed = subprocess.run(
        [sys.executable, "-m", transactional_copies.__name__, library, servers, topic],
        timeout=TIMEOUT_S,
        check=False,
    )
    assert crashed.returncode == CRASHED
    copied = READERS[library](servers, f"{topic}.out", "read_committed")
    assert 0 < len(copied) < len(values)
    copy(library, servers, topic, len(values) - len(copied))

    copied = READERS[library](servers, f"{topic}.out", "read_committed")
    assert sorted(copied) == sorted(map(bytes.upper, values))
    outcomes = Counter(record.transaction for record in kafka_of_three.records(f"{topic}.out"))
    assert set(outcomes) == {"committed", "aborted"}


@pytest.mark.slow
@pytest.mark.parametrize("library", PRODUCERS)
def test_a_transaction_survives_the_stop_of_every_leader_and_coordinator(
    library: str, topic: str
) -> None:
    """Each broker stops in the middle of a transaction and is back for the next one.

    For kafka-python it is a controlled shutdown: 3.0.12 forgets the request that it wanted to send
    to a coordinator that refuses the connection.
    """
    config = {"default.replication.factor": 3, "log.retention.ms": -1}
    with MockKafka(brokers=3, config=config) as kafka:
        kafka.create_topic(topic, partitions=1, replication_factor=3)
        producer = PRODUCERS[library](kafka.bootstrap_servers, topic)
        producer.start()
        for node_id in (1, 2, 3):
            producer.begin()
            producer.send(topic, b"%d" % node_id)
            if library == "kafka-python":
                kafka.fence_broker(node_id)
            else:
                kafka.stop_broker(node_id)
            producer.send(topic, b"again")
            producer.commit()
            kafka.stop_broker(node_id)
            kafka.start_broker(node_id)
        found = read(producer, topic, "read_committed")
        producer.close()
    assert found == [b"1", b"again", b"2", b"again", b"3", b"again"]


@pytest.fixture(scope="module", params=JAVA_VERSIONS)
def java(request: pytest.FixtureRequest) -> JavaClients:
    """Return clients of one version; skip without a JDK or Maven Central."""
    try:
        return compile_java_clients(request.param)
    except CannotRunError as error:
        pytest.skip(str(error))


@pytest.mark.slow
def test_the_java_clients_consume_transform_and_produce_exactly_once(
    java: JavaClients, kafka_of_three: MockKafka, topic: str
) -> None:
    """Version 3.9 uses transaction version 1, version 4.4 version 2 (KIP-890)."""
    check_copies_in_transactions(java, kafka_of_three, topic)


@pytest.mark.long
@pytest.mark.parametrize("java", JAVA_VERSIONS[-1:], indirect=True)
@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_java_client_follows_the_transaction_version_of_the_cluster(
    java: JavaClients, topic: str, level: int
) -> None:
    """Before version 2 it adds partitions to its transactions, and keeps its epoch."""
    config: dict[str, ConfigValue] = {
        "cluster.features": f"transaction.version={level}",
        "log.retention.ms": -1,
    }
    with MockKafka(config=config) as kafka:
        check_copies_in_transactions(java, kafka, topic)
        ends = {request.version for request in kafka.requests(api="EndTxn")}
        added = kafka.requests(api="AddPartitionsToTxn") + kafka.requests(api="AddOffsetsToTxn")
        epochs = {entry.transactional_id: entry.producer_epoch for entry in kafka.transactions()}
    assert (ends == {5}, bool(added)) == ((True, False) if level == 2 else (False, True))
    assert max(epochs.values()) > 2 if level == 2 else max(epochs.values()) <= 2, epochs


def check_copies_in_transactions(java: JavaClients, kafka: MockKafka, topic: str) -> None:
    """Copy twenty numbers exactly once, and fence an instance."""
    servers = kafka.bootstrap_servers
    create_topic(servers, topic, 2)
    create_topic(servers, f"{topic}.out", 1)
    lines = java.run("transact", servers, topic, 20)
    numbers = sorted(int(line[1]) for line in lines if line[0] == "out")
    assert numbers == list(range(20))
    assert sum(int(line[2]) for line in lines if line[0] == "committed") >= 20
    assert ["fenced", "ProducerFencedException"] in lines or [
        "fenced",
        "InvalidProducerEpochException",
    ] in lines
