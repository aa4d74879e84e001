"""Consume-transform-produce with the Java clients, franz-go and kafkajs, and Kafka's own tool."""

import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Self

import confluent_kafka
import pytest

from mock_kafka import ConfigValue, MockKafka
from protocol.errors import ErrorCode
from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.java import java_command
from scenarios.maven import CannotRunError
from tests.differential.tools import fetch_tools
from tests.interop.client_program import ClientProgram, RunningProgram
from tests.interop.go_and_node_clients import CLIENTS
from tests.interop.java_clients import JavaClients, compile_java_clients
from tests.interop.raw_client import RawClient
from tests.interop.transactional_clients import Confluent
from tests.transaction_requests import TransactionRequests

JAVA_VERSIONS = ("3.9.2", "4.4.0")
RECORD_COUNT = 600
COPIED_BEFORE_KILL = 20
COMMIT_DELAY_MS = 150
SESSION_S = 60
"""After this time the coordinators have forgotten a program that was killed."""
LOST_CONNECTION = "EOF|connection re(set|fused)|broken pipe|KafkaJSConnection"
"""franz-go and kafkajs leave the end of a transaction to their user when they lose the coordinator.

franz-go's `GroupTransactSession.End` gives up after it asked a stopped broker for the coordinator
twice; its documentation advises not to go on. kafkajs's `commit` and `abort` try EndTxn once, and
then its producer stays in that state. In both a new client aborts the transaction.
"""
CONFIG = {"default.replication.factor": 3, "log.retention.ms": -1}
"""The clients copy in transactions of ten records at most."""
_TIMEOUT_S = 60
_TOOL_TIMEOUT_S = 120


@pytest.fixture(scope="module", params=JAVA_VERSIONS)
def java(request: pytest.FixtureRequest) -> JavaClients:
    """Return clients of one version; skip without a JDK or Maven Central."""
    try:
        return compile_java_clients(request.param)
    except CannotRunError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=CLIENTS)
def program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> ClientProgram:
    """Return a client's program; skip if its toolchain or registry is missing."""
    try:
        return CLIENTS[request.param](tmp_path_factory.mktemp("client"))
    except CannotRunError as error:
        pytest.skip(f"{request.param}: {error}")


def eventually(holds: Callable[[], object]) -> None:
    """Wait for what a program does in its own time."""
    deadline = time.monotonic() + _TIMEOUT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def write_committed_and_aborted(servers: str, topic: str) -> None:
    """Write numbers in transactions of fifty; between them others that are aborted."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": servers, "transactional.id": f"{topic}.writer"}
    )
    producer.init_transactions(_TIMEOUT_S)
    for start in range(0, RECORD_COUNT, 50):
        for is_committed in (False, True):
            producer.begin_transaction()
            for number in range(start, start + 50):
                value = str(number) if is_committed else "aborted"
                producer.produce(topic, value, partition=number % 2)
            end = producer.commit_transaction if is_committed else producer.abort_transaction
            producer.flush(_TIMEOUT_S)
            end(_TIMEOUT_S)


class Copy:
    """Programs that copy the records of a topic to another one, one after the other."""

    def __init__(self, kafka: MockKafka, topic: str) -> None:
        self.kafka = kafka
        self.source = topic
        self.target = f"{topic}-copy"
        self.transactional_id = f"{topic}.group"
        for name in (self.source, self.target):
            kafka.create_topic(name, 2, 3)
        write_committed_and_aborted(kafka.bootstrap_servers, topic)
        # Time between send and commit, for what happens to the program and to brokers then.
        self.delay = kafka.delay(ms=COMMIT_DELAY_MS, at="before_handling", api="EndTxn")

    def committed(self) -> list[bytes | None]:
        """Return the values that read_committed consumers see."""
        records = self.kafka.records(self.target, isolation_level="read_committed")
        return [record.value for record in records]

    def remaining(self) -> int:
        """Return how many records are not copied yet."""
        return RECORD_COUNT - len(self.committed())

    def is_between_send_and_commit(self) -> bool:
        """Return whether a transaction has copied records."""
        return any(
            (entry.transactional_id, entry.state) == (self.transactional_id, "Ongoing")
            and any(name == self.target for name, _ in entry.partitions)
            for entry in self.kafka.transactions()
        )

    def kill_in_the_middle(self, process: RunningProgram) -> None:
        """Kill a program that copies; its session and its transaction then end."""
        with process:
            try:
                eventually(lambda: len(self.committed()) > COPIED_BEFORE_KILL)
                eventually(self.is_between_send_and_commit)
            finally:
                process.kill()
        self.kafka.advance(seconds=SESSION_S)

    def finish(self, program: "CopyingProgram") -> None:
        """Copy the rest, while each broker stops in turn and returns."""
        for node_id in (1, 2, 3):
            self._wait_for_more(program, self.remaining())
            self.kafka.stop_broker(node_id)
            self._wait_for_more(program, self.remaining())
            self.kafka.start_broker(node_id)
        self.delay.remove()
        while remaining := self.remaining():
            self._wait_for_more(program, remaining)
        self._check()

    def _wait_for_more(self, program: "CopyingProgram", remaining: int) -> None:
        """Wait until fewer than `remaining` records are not copied yet."""
        assert remaining > 0
        eventually(lambda: program.check() and self.remaining() < remaining)

    def _check(self) -> None:
        """Every record was copied in one committed transaction, and in some that were aborted."""
        assert Counter(self.committed()) == {
            str(number).encode(): 1 for number in range(RECORD_COUNT)
        }
        outcomes = Counter(record.transaction for record in self.kafka.records(self.target))
        assert outcomes["committed"] == RECORD_COUNT
        assert set(outcomes) == {"committed", "aborted"}
        [mine] = [
            entry
            for entry in self.kafka.transactions()
            if entry.transactional_id == self.transactional_id
        ]
        assert mine.state in {"CompleteCommit", "Empty"}


class CopyingProgram:
    """A program that copies, started again after errors that its client leaves to its user."""

    def __init__(
        self, kafka: MockKafka, start: Callable[[], RunningProgram], lost_connection: str | None
    ) -> None:
        """`lost_connection` is a pattern of the errors after which the program starts again."""
        self._kafka = kafka
        self._start = start
        self._lost_connection = lost_connection
        self._process = start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def check(self) -> bool:
        """Return True; start the program again if it ended.

        Raises:
            AssertionError: it ended with an error that is not a lost connection.
        """
        if self._process.poll() not in {None, 0}:
            _, error = self._process.communicate()
            assert self._lost_connection is not None, error
            assert re.search(self._lost_connection, error), error
            self._kafka.advance(seconds=SESSION_S)
            self._process = self._start()
        return True


@pytest.mark.long
def test_the_java_clients_copy_exactly_once_through_a_kill_and_stopped_brokers(
    java: JavaClients, topic: str
) -> None:
    with MockKafka(brokers=3, config=CONFIG) as kafka:
        copy = Copy(kafka, topic)
        config = {
            "group_id": copy.transactional_id,
            "transactional_id": copy.transactional_id,
            "auto_offset_reset": "earliest",
        }

        def start() -> RunningProgram:
            return java.start("copy", kafka.bootstrap_servers, topic, copy.remaining(), **config)

        copy.kill_in_the_middle(start())
        with CopyingProgram(kafka, start, None) as program:
            copy.finish(program)


@pytest.mark.long
def test_franz_go_and_kafkajs_copy_exactly_once_through_a_kill_and_stopped_brokers(
    program: ClientProgram, topic: str
) -> None:
    # kafkajs treats DUPLICATE_SEQUENCE_NUMBER, KIP-758's error for a duplicate, as a failure.
    batches = 5 if program.command[0] == "node" else 1
    config: dict[str, ConfigValue] = {**CONFIG, "producer.state.batches": batches}
    with MockKafka(brokers=3, config=config) as kafka:
        copy = Copy(kafka, topic)

        def start() -> RunningProgram:
            arguments = (kafka.bootstrap_servers, topic, copy.remaining(), copy.transactional_id)
            return program.start("copy", *arguments)

        copy.kill_in_the_middle(start())
        with CopyingProgram(kafka, start, LOST_CONNECTION) as copying:
            copy.finish(copying)


def test_franz_go_and_kafkajs_are_fenced_by_a_second_instance(
    program: ClientProgram, kafka_of_three: MockKafka, topic: str
) -> None:
    servers = kafka_of_three.bootstrap_servers
    create_topic(servers, topic, partition_count=1)
    [[instance, error]] = program.run("fence", servers, topic, 0)
    assert instance == "first"
    assert re.search("PRODUCER_FENCED|INVALID_PRODUCER_EPOCH", error)
    records = kafka_of_three.records(topic)
    assert [(record.value, record.transaction) for record in records] == [
        (b"first", "aborted"),
        (b"second", "committed"),
    ]


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


@pytest.fixture(scope="module")
def tool_jars() -> Path:
    """Return the jars of Kafka's tools; skip without Java or Maven Central."""
    try:
        return fetch_tools("4.4")
    except CannotRunError as error:
        pytest.skip(str(error))


def leave_hanging(servers: str, topic: str) -> None:
    """Write to partition 1 in a transaction that the coordinator doesn't know."""
    with RawClient(servers) as raw:
        requests = TransactionRequests(raw.call, topic, transactional_id=f"{topic}.hanging")
        error_code, producer = requests.init()
        assert error_code == ErrorCode.NONE
        assert requests.produce(producer, 0, index=1) == (ErrorCode.NONE, 0)


@pytest.mark.long
def test_kafkas_tool_lists_describes_finds_and_aborts_transactions(
    tool_jars: Path, topic: str
) -> None:
    config: dict[str, ConfigValue] = {
        "log.retention.ms": -1,
        "transaction.partition.verification.enable": False,
    }
    with MockKafka(config=config) as kafka:
        servers = kafka.bootstrap_servers
        tool = TransactionsTool(tool_jars, servers)
        kafka.create_topic(topic, 2)
        producer = Confluent(servers, topic)
        producer.start()
        producer.begin()
        producer.send(topic, b"open")
        leave_hanging(servers, topic)

        listed = {row["TransactionalId"]: row for row in tool("list")}
        assert {name: row["TransactionState"] for name, row in listed.items()} == {
            topic: "Ongoing",
            f"{topic}.hanging": "Empty",
        }
        producer_id = listed[topic]["ProducerId"]
        [described] = tool("describe", "--transactional-id", topic)
        assert described["TopicPartitions"] == f"{topic}-0"
        assert described["ProducerId"] == producer_id
        [state] = tool("describe-producers", "--topic", topic, "--partition", "0")
        assert (state["ProducerId"], state["CurrentTransactionStartOffset"]) == (producer_id, "0")

        # The coordinator knows the transaction in partition 0, so it doesn't hang.
        [hanging] = tool("find-hanging", "--topic", topic, "--max-transaction-timeout", "0")
        assert (hanging["Partition"], hanging["StartOffset"]) == ("1", "0")
        assert hanging["ProducerId"] == listed[f"{topic}.hanging"]["ProducerId"]
        tool("abort", "--topic", topic, "--partition", "1", "--start-offset", "0")
        assert [record.transaction for record in kafka.records(topic)] == ["open", "aborted"]
        tool("forceTerminateTransaction", "--transactionalId", topic)
        with pytest.raises(confluent_kafka.KafkaException, match="_FENCED"):
            producer.commit()
        assert {record.transaction for record in kafka.records(topic)} == {"aborted"}
        producer.close()
