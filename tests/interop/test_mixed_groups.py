"""Clients of many libraries in one group, during its online upgrade to KIP-848 and back.

Also franz-go's next-generation consumer groups and share groups.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from subprocess import Popen
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupType
from confluent_kafka.admin import AdminClient

from mock_kafka import MockKafka
from scenarios.clients.aiokafka import AIOKAFKA
from scenarios.clients.confluent_kafka import CONFLUENT, create_topic
from scenarios.clients.deadline import Deadline
from scenarios.clients.interface import Record
from scenarios.clients.kafka_python import KAFKA_PYTHON
from scenarios.maven import CannotRunError
from tests.interop.client_program import ClientProgram
from tests.interop.consumer_protocol import Member
from tests.interop.go_and_node_clients import build_franz_go
from tests.interop.java_clients import JavaClients, compile_java_clients
from tests.interop.members import MemberThread, member

PARTITIONS = 6
RECORD_COUNT = 60
CONFIG = {
    "cluster.features": "share.version=1",
    "group.consumer.session.timeout.ms": "3000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.min.session.timeout.ms": "1000",
} | {
    f"group.{kind}.{bound}heartbeat.interval.ms": "100"
    for kind in ("consumer", "share")
    for bound in ("", "min.")
}


@pytest.fixture(scope="module")
def brokers() -> Iterator[MockKafka]:
    """Three brokers whose members heartbeat ten times a second."""
    with MockKafka(brokers=3, config=CONFIG) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def go(tmp_path_factory: pytest.TempPathFactory) -> ClientProgram:
    """The program of franz-go."""
    try:
        return build_franz_go(tmp_path_factory.mktemp("go"))
    except CannotRunError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def java() -> JavaClients:
    """The programs of kafka-clients 4.4."""
    try:
        return compile_java_clients("4.4.0")
    except CannotRunError as error:
        pytest.skip(str(error))


class MixedGroup:
    """A group whose members use different libraries and protocols, as an administrator sees it."""

    def __init__(self, brokers: MockKafka, topic: str) -> None:
        self._brokers = brokers
        self._servers = brokers.bootstrap_servers
        self._topic = topic
        self._admin = AdminClient({"bootstrap.servers": self._servers})
        self.threads: list[MemberThread] = []
        self.consumers: list[Member] = []
        self.values: set[bytes] = set()
        create_topic(self._servers, topic, PARTITIONS)

    def produce(self, prefix: str) -> set[bytes]:
        """Send records to all partitions; return their values."""
        records = [
            Record(value=b"%s %d" % (prefix.encode(), number), partition=number % PARTITIONS)
            for number in range(RECORD_COUNT)
        ]
        AIOKAFKA.produce(self._servers, self._topic, records)
        return {record.value or b"" for record in records}

    @contextmanager
    def old(self, client: Any) -> Iterator[None]:
        """Let a library join with the classic protocol."""
        with member(
            client, self._servers, self._topic, self._topic, session_timeout_ms=3_000
        ) as joined:
            self.threads.append(joined)
            yield
            self._read()
            self.threads.remove(joined)

    @contextmanager
    def new(self) -> Iterator[None]:
        """Let confluent-kafka join with `group.protocol=consumer`."""
        joined = Member(self._brokers, self._topic, **{"group.id": self._topic})
        self.consumers.append(joined)
        yield
        self._read()
        self.consumers.remove(joined)
        joined.consumer.close()

    def _read(self) -> None:
        for thread in self.threads:
            self.values |= {record.value or b"" for record in thread.poll()}
        for consumer in self.consumers:
            consumer.poll()
            self.values |= set(consumer.values)

    def wait(self, group_type: ConsumerGroupType, counts: list[int]) -> None:
        """Poll until the group has this type, and its members this many partitions each."""

        def is_reached() -> bool:
            described = self._admin.describe_consumer_groups([self._topic])[self._topic].result()
            owned = [
                [partition.partition for partition in member.assignment.topic_partitions]
                for member in described.members
            ]
            is_complete = sorted(chain(*owned)) == list(range(PARTITIONS))
            return (
                is_complete
                and described.type is group_type
                and sorted(map(len, owned)) == sorted(counts)
            )

        self._poll_until(is_reached, f"{group_type.name} group with {counts}")

    def wait_for_records(self, values: set[bytes]) -> None:
        """Poll until the Python members have read these records."""
        self._poll_until(lambda: values <= self.values, "records")

    def _poll_until(self, is_done: Callable[[], bool], awaited: str) -> None:
        deadline = Deadline()
        while not is_done() and deadline.holds(awaited):
            self._read()


@pytest.mark.slow
def test_classic_members_of_two_libraries_and_a_new_one_share_a_group(
    brokers: MockKafka, topic: str
) -> None:
    group = MixedGroup(brokers, topic)
    records = group.produce("first")
    with group.old(KAFKA_PYTHON), group.old(AIOKAFKA):
        group.wait(ConsumerGroupType.CLASSIC, [3, 3])
        with group.new():
            group.wait(ConsumerGroupType.CONSUMER, [2, 2, 2])
            group.wait_for_records(records)
        group.wait(ConsumerGroupType.CLASSIC, [3, 3])
        group.wait_for_records(group.produce("second"))


@contextmanager
def running(program: Popen[str]) -> Iterator[None]:
    """Kill a program at the end; its member is gone after the session timeout."""
    try:
        yield
    finally:
        program.kill()
        program.wait()


@pytest.mark.long
def test_an_online_upgrade_and_downgrade_with_the_clients_of_five_libraries(
    brokers: MockKafka, topic: str, go: ClientProgram, java: JavaClients
) -> None:
    servers = brokers.bootstrap_servers
    group = MixedGroup(brokers, topic)
    records = group.produce("first")

    def java_member(protocol: str) -> Popen[str]:
        settings: dict[str, object] = {"group_id": topic, "group_protocol": protocol}
        if protocol == "classic":
            settings |= {"session_timeout_ms": 3_000, "heartbeat_interval_ms": 100}
        return java.start("consume", servers, topic, 1_000_000, **settings)

    with ExitStack() as new:
        with ExitStack() as old:
            old.enter_context(group.old(KAFKA_PYTHON))
            old.enter_context(group.old(CONFLUENT))
            group.wait(ConsumerGroupType.CLASSIC, [3, 3])
            group.wait_for_records(records)
            old.enter_context(running(java_member("classic")))
            group.wait(ConsumerGroupType.CLASSIC, [2, 2, 2])
            new.enter_context(group.new())
            group.wait(ConsumerGroupType.CONSUMER, [1, 1, 2, 2])
            new.enter_context(running(go.start("stay", servers, topic, 0, topic, "consumer")))
            new.enter_context(running(java_member("consumer")))
            group.wait(ConsumerGroupType.CONSUMER, [1] * 6)
        group.wait(ConsumerGroupType.CONSUMER, [2, 2, 2])
        with group.old(AIOKAFKA), group.old(KAFKA_PYTHON):
            group.wait(ConsumerGroupType.CONSUMER, [1, 1, 1, 1, 2])
            new.close()
            group.wait(ConsumerGroupType.CLASSIC, [3, 3])
            group.wait_for_records(group.produce("second"))


@pytest.mark.long
def test_franz_go_divides_partitions_with_a_server_side_assignor(
    brokers: MockKafka, topic: str, go: ClientProgram
) -> None:
    servers = brokers.bootstrap_servers
    go.run("produce", servers, topic, RECORD_COUNT)
    lines = go.run("divide", servers, topic, RECORD_COUNT, topic)
    assert lines == [["alone", "2", str(RECORD_COUNT)], ["divided", "1", "0"], ["left", "0", "0"]]
    admin = AdminClient({"bootstrap.servers": servers})
    listed = admin.list_consumer_groups(types={ConsumerGroupType.CONSUMER}).result().valid
    assert topic in {group.group_id for group in listed}


@pytest.mark.long
def test_franz_go_accepts_releases_and_rejects_records_of_a_share_group(
    brokers: MockKafka, topic: str, go: ClientProgram
) -> None:
    servers = brokers.bootstrap_servers
    go.run("produce", servers, topic, RECORD_COUNT)
    lines = go.run("share", servers, topic, RECORD_COUNT, topic)
    assert lines == [
        ["accepted", str(RECORD_COUNT - 2), "1"],
        ["released", "2", "2"],
        ["rejected", "2"],
        ["both read", "true"],
    ]
