"""Consume-transform-produce with the Java clients, franz-go and kafkajs, and Kafka's own tool."""

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from mock_kafka import MockKafka
from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.java import java_command
from scenarios.maven import CannotRunError, fetch_jars
from tests.interop.client_program import Lines
from tests.interop.go_and_node_clients import CLIENTS
from tests.interop.java_clients import JavaClients, compile_java_clients

RECORD_COUNT = 60
JAVA_VERSIONS = ("3.9.2", "4.1.0")
_TOOL_TIMEOUT_S = 120


@pytest.fixture(scope="module", params=JAVA_VERSIONS)
def java(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> JavaClients:
    """Return clients of one version; skip without a JDK or Maven Central."""
    try:
        return compile_java_clients(request.param, tmp_path_factory.mktemp("classes"))
    except CannotRunError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=CLIENTS)
def program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Lines]:
    """Return a client's program; skip if its toolchain or registry is missing."""
    try:
        return CLIENTS[request.param](tmp_path_factory.mktemp("client")).run
    except CannotRunError as error:
        pytest.skip(f"{request.param}: {error}")


def check_copied(kafka: MockKafka, topic: str, lines: Lines) -> None:
    """Every record was copied in one committed transaction, and in some that were aborted."""
    ends = [line[1] for line in lines if line[0] == "end"]
    assert "false" in ends
    expected = {str(number).encode(): 1 for number in range(RECORD_COUNT)}
    copy = f"{topic}-copy"
    committed = kafka.records(copy, isolation_level="read_committed")
    assert Counter(record.value for record in committed) == expected
    outcomes = Counter(record.transaction for record in kafka.records(copy))
    assert outcomes["committed"] == RECORD_COUNT
    assert outcomes["aborted"] > 0
    assert set(outcomes) == {"committed", "aborted"}
    mine = [entry for entry in kafka.transactions() if entry.transactional_id == f"{topic}.group"]
    assert [entry.state for entry in mine] in (["CompleteCommit"], ["Empty"])


def test_the_java_clients_copy_exactly_once(
    java: JavaClients, kafka_of_three: MockKafka, topic: str
) -> None:
    servers = kafka_of_three.bootstrap_servers
    create_topic(servers, topic, partition_count=2)
    create_topic(servers, f"{topic}-copy", partition_count=2)
    java.run("produce", servers, topic, RECORD_COUNT)
    group = f"{topic}.group"
    lines = java.run(
        "copy",
        servers,
        topic,
        RECORD_COUNT,
        group_id=group,
        transactional_id=group,
        auto_offset_reset="earliest",
    )
    check_copied(kafka_of_three, topic, lines)


def test_the_java_producer_is_fenced_by_its_successor(
    java: JavaClients, kafka_of_three: MockKafka, topic: str
) -> None:
    servers = kafka_of_three.bootstrap_servers
    create_topic(servers, topic, partition_count=1)
    lines = java.run("fence", servers, topic, transactional_id=topic)
    assert lines == [["first", "ProducerFencedException"]]
    records = kafka_of_three.records(topic)
    assert [(record.value, record.transaction) for record in records] == [
        (b"first", "aborted"),
        (b"second", "committed"),
    ]


def test_franz_go_and_kafkajs_copy_exactly_once(
    program: Callable[..., Lines], kafka_of_three: MockKafka, topic: str
) -> None:
    servers = kafka_of_three.bootstrap_servers
    program("produce", servers, topic, RECORD_COUNT)
    create_topic(servers, f"{topic}-copy", partition_count=2)
    lines = program("copy", servers, topic, RECORD_COUNT, f"{topic}.group")
    check_copied(kafka_of_three, topic, lines)


class TransactionsTool:
    """Kafka's `kafka-transactions.sh`, without the shell script."""

    def __init__(self, jars: Path, servers: str) -> None:
        self._command = java_command(
            f"{jars}/*", "org.apache.kafka.tools.TransactionsCommand", log_level="error"
        )
        self._servers = servers

    def __call__(self, *arguments: str) -> list[dict[str, str]]:
        """Run the tool; return the rows of its table by the names of the columns."""
        done = subprocess.run(
            [*self._command, "--bootstrap-server", self._servers, *arguments],
            capture_output=True,
            text=True,
            timeout=_TOOL_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        rows = [line.split("\t") for line in done.stdout.splitlines() if line.strip()]
        return [
            {name.strip(): value.strip() for name, value in zip(rows[0], row, strict=False)}
            for row in rows[1:]
        ]


@pytest.fixture
def tool(kafka_of_three: MockKafka) -> TransactionsTool:
    try:
        jars = fetch_jars("kafka-tools-4.1.0", ("org.apache.kafka:kafka-tools:4.1.0",))
    except CannotRunError as error:
        pytest.skip(str(error))
    return TransactionsTool(jars, kafka_of_three.bootstrap_servers)


@pytest.mark.long
def test_kafkas_tool_lists_describes_and_aborts_transactions(
    tool: TransactionsTool, java: JavaClients, kafka_of_three: MockKafka, topic: str
) -> None:
    servers = kafka_of_three.bootstrap_servers
    create_topic(servers, topic, partition_count=1)
    java.run("open", servers, topic, transactional_id=topic)
    [mine] = [row for row in tool("list") if row["TransactionalId"] == topic]
    assert mine["TransactionState"] == "Ongoing"

    [described] = tool("describe", "--transactional-id", topic)
    assert (described["TransactionState"], described["TopicPartitions"]) == (
        "Ongoing",
        f"{topic}-0",
    )
    assert described["ProducerId"] == mine["ProducerId"]

    producers = ("describe-producers", "--topic", topic, "--partition", "0")
    [producer] = tool(*producers)
    assert (producer["ProducerId"], producer["CurrentTransactionStartOffset"]) == (
        mine["ProducerId"],
        "0",
    )

    # The coordinator knows of it, so it doesn't hang; after a clock of an hour it still is open.
    assert tool("find-hanging", "--topic", topic, "--max-transaction-timeout", "0") == []

    tool("abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
    assert [record.transaction for record in kafka_of_three.records(topic)] == ["aborted"]
    [producer] = tool(*producers)
    assert producer["CurrentTransactionStartOffset"] == "None"
    kafka_of_three.abort_transaction(topic)
