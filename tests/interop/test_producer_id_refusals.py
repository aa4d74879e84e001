"""KIP-936 with default settings: every client retries a refused batch and loses nothing.

The broker runs in a thread of the test. So a test can remove a row from the table of libraries that
fail a batch on THROTTLING_QUOTA_EXCEEDED: that library then loses records.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import kafka
import pytest

from broker.request import client_software
from broker.request.client_software import FAILING_LIBRARIES, FailingLibrary
from mock_kafka import ConfigValue, MockKafka, Request
from scenarios.clients.aiokafka import AIOKAFKA
from scenarios.clients.confluent_kafka import CONFLUENT
from scenarios.clients.deadline import DEADLINE_S
from scenarios.clients.interface import Client, ProducerOptions, Record
from scenarios.clients.kafka_python import KAFKA_PYTHON
from scenarios.maven import CannotRunError
from tests.interop.client_program import ClientProgram
from tests.interop.go_and_node_clients import build_franz_go, build_sarama, install_kafkajs
from tests.interop.java_clients import compile_java_clients

TOPIC, PARTITIONS, COUNT = "t", 2, 4000
THROTTLED, NOT_ENOUGH = "THROTTLING_QUOTA_EXCEEDED", "NOT_ENOUGH_REPLICAS"
# Large, so that every client needs several batches for each partition.
RECORDS = [
    Record(b"%d " % number + bytes(1_000), partition=number % PARTITIONS) for number in range(COUNT)
]
EVERYTHING = [list(range(index, COUNT, PARTITIONS)) for index in range(PARTITIONS)]

Send = Callable[[str], list[str]]
"""Send COUNT numbered records, alternately to both partitions; return the failures."""
Make = Callable[[Path], Send]
"""Prepare a client's program in an empty folder."""


def python_sender(client: Client) -> Make:
    def send(servers: str) -> list[str]:
        options = ProducerOptions(is_idempotent=True)
        with client.producer(servers, options=options) as producer:
            deliveries = producer.send_all(TOPIC, RECORDS)
        return [repr(delivery.error) for delivery in deliveries if delivery.error is not None]

    return lambda _: send


def java_sender(version: str) -> Make:
    def make(_: Path) -> Send:
        java = compile_java_clients("4.4.0").with_version(version)

        def send(servers: str) -> list[str]:
            done = java.run_unchecked("produce", servers, TOPIC, COUNT, enable_idempotence="true")
            return [done.stderr] if done.returncode else []

        return send

    return make


def program_sender(build: Callable[[Path], ClientProgram]) -> Make:
    def make(folder: Path) -> Send:
        program = build(folder)

        def send(servers: str) -> list[str]:
            done = program.run_unchecked("produce", servers, TOPIC, COUNT)
            return [done.stderr] if done.returncode else []

        return send

    return make


@dataclass(frozen=True)
class Sender:
    """A client: how to prepare it, and the error of its refused batches."""

    make: Make
    error: str


SENDERS = {
    "java": Sender(java_sender("4.4.0"), THROTTLED),
    "kafka-python": Sender(python_sender(KAFKA_PYTHON), THROTTLED),
    "franz-go": Sender(program_sender(build_franz_go), THROTTLED),
    "kafka-clients": Sender(java_sender("2.6.3"), NOT_ENOUGH),
    "librdkafka": Sender(python_sender(CONFLUENT), NOT_ENOUGH),
    "aiokafka": Sender(python_sender(AIOKAFKA), NOT_ENOUGH),
    "sarama": Sender(program_sender(build_sarama), NOT_ENOUGH),
    "kafkajs": Sender(program_sender(install_kafkajs), NOT_ENOUGH),
}
"""The names of libraries that fail a batch are those of the table."""


@pytest.fixture(scope="module")
def make_sender(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Send]:
    """Prepare a client once; skip if its toolchain or registry is missing."""
    made: dict[str, Send] = {}

    def make(name: str) -> Send:
        if name not in made:
            try:
                made[name] = SENDERS[name].make(tmp_path_factory.mktemp(name))
            except CannotRunError as error:
                pytest.skip(f"{name}: {error}")
        return made[name]

    return make


@contextmanager
def kafka_with_quota() -> Iterator[MockKafka]:
    """Serve a user whose next producer id is admitted 10 ms after the clock runs again."""
    config: dict[str, ConfigValue] = {
        "producer.id.quota.window.size.seconds": "1",
        "client.quotas": "user=<default>,producer_ids_rate=1",
        "num.partitions": PARTITIONS,
        "log.retention.ms": -1,
    }
    with MockKafka(config=config, in_process=True) as mock_kafka:
        mock_kafka.set_clock("standing")
        producer = kafka.KafkaProducer(bootstrap_servers=mock_kafka.bootstrap_servers)
        producer.send("first", b"").get(DEADLINE_S)
        producer.close()
        # Java and kafka-python wait for the throttle time themselves: 10 ms.
        mock_kafka.advance(ms=990)
        yield mock_kafka


def send_refused(send: Send, mock_kafka: MockKafka, error: str) -> tuple[list[str], Request]:
    """Send, and start the clock as soon as a batch is refused with this error."""
    with ThreadPoolExecutor() as threads:
        failures = threads.submit(send, mock_kafka.bootstrap_servers)
        try:
            refused = mock_kafka.wait_for(
                api="Produce", error=error, outcome="responded", timeout_s=DEADLINE_S
            )
        finally:
            mock_kafka.set_clock("real")
        return failures.result(), refused


def stored(mock_kafka: MockKafka) -> list[list[int]]:
    """Return the numbers in each partition, in the order of the log."""
    return [
        [int((record.value or b"").split(b" ")[0]) for record in mock_kafka.records(TOPIC, index)]
        for index in range(PARTITIONS)
    ]


def partition_errors(request: Request) -> set[str]:
    """Return the names of the errors that the response has for single partitions."""
    return {
        part["error_code"]
        for topic in request.response["responses"]
        for part in topic["partition_responses"]
    }


@pytest.mark.parametrize("name", SENDERS)
def test_a_refused_client_loses_no_record_and_keeps_the_order(
    make_sender: Callable[[str], Send], name: str
) -> None:
    send, error = make_sender(name), SENDERS[name].error
    with kafka_with_quota() as mock_kafka:
        failures, refused = send_refused(send, mock_kafka, error)
        assert failures == []
        assert stored(mock_kafka) == EVERYTHING
    assert error in partition_errors(refused), refused.response
    assert 0 < refused.throttle_time_ms <= 10


@contextmanager
def table_without(library: FailingLibrary) -> Iterator[None]:
    """Take a library out of the table, and forget what was decided with the other table."""
    decide = client_software.fails_on_throttling_quota_exceeded
    others = tuple(other for other in FAILING_LIBRARIES if other is not library)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(client_software, "FAILING_LIBRARIES", others)
        decide.cache_clear()
        try:
            yield
        finally:
            decide.cache_clear()


@pytest.mark.parametrize("library", FAILING_LIBRARIES, ids=lambda library: library.name)
def test_a_library_loses_records_without_its_row_of_the_table(
    make_sender: Callable[[str], Send], library: FailingLibrary
) -> None:
    send = make_sender(library.name)
    with table_without(library), kafka_with_quota() as mock_kafka:
        failures, _ = send_refused(send, mock_kafka, THROTTLED)
        assert failures
        assert stored(mock_kafka) != EVERYTHING
