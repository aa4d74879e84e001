"""Real consumers notice a log that has lost its end (KIP-320), and pass gaps and markers."""

import subprocess

import pytest

from mock_kafka import MockKafka
from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.interface import Client
from scenarios.maven import CannotRunError
from tests.interop.java_clients import JavaClients, compile_java_clients
from tests.interop.members import member, poll_records

KEPT, LOST = 4, 6
HEADERS = {"number": "0"}
"""`Clients.java` prints it."""


@pytest.fixture(scope="module")
def java() -> JavaClients:
    """Return clients of the newest version; skip without a JDK or Maven Central."""
    try:
        return compile_java_clients("4.4.0")
    except CannotRunError as error:
        pytest.skip(str(error))


def values(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def lose_end(kafka: MockKafka, topic: str, way: str) -> None:
    """Lose what is behind the first `KEPT` records; another broker leads after an election."""
    if way == "truncate":
        kafka.truncate(topic, 0, KEPT)
        return
    leader = kafka.topic(topic).partitions[0].leader
    assert leader is not None
    kafka.stop_broker(leader)
    kafka.start_broker(leader)


def write_and_pause(kafka: MockKafka, topic: str) -> None:
    """Store records that the follower does not have from `KEPT` on."""
    kafka.create_topic(topic, 1, 2, {"unclean.leader.election.enable": True})
    kafka.produce(topic, *values("kept", KEPT), headers=HEADERS)
    partition = kafka.topic(topic).partitions[0]
    (follower,) = set(partition.replicas) - {partition.leader}
    kafka.pause_follower(topic, 0, follower)
    kafka.produce(topic, *values("lost", LOST), headers=HEADERS)


@pytest.mark.parametrize("way", ["truncate", "election"])
@pytest.mark.parametrize("new_count", [LOST - 3, LOST + 3])
def test_a_consumer_reads_what_was_written_after_the_loss(
    client: Client, topic: str, way: str, new_count: int
) -> None:
    if client.name == "aiokafka" and new_count > LOST:
        pytest.skip("it does not compare epochs, and may read on where it was")
    with MockKafka(brokers=2) as kafka:
        servers = kafka.bootstrap_servers
        write_and_pause(kafka, topic)
        with member(client, servers, topic, topic) as reader:
            assert len(poll_records([reader], KEPT + LOST)) == KEPT + LOST
            lose_end(kafka, topic, way)
            new = values("new", new_count)
            kafka.produce(topic, *new)
            # aiokafka goes back to where its reset policy says, the others to where the logs part.
            reread = values("kept", KEPT) if client.name == "aiokafka" else []
            found = poll_records([reader], len(reread) + new_count)
    assert [record.value for record in found] == [value.encode() for value in reread + new]
    assert found[-1].offset == KEPT + new_count - 1


@pytest.mark.parametrize("reset", ["earliest", "none"])
def test_the_java_consumer_goes_back_to_where_the_logs_part_or_says_so(
    java: JavaClients, topic: str, reset: str
) -> None:
    with MockKafka(brokers=2) as kafka:
        write_and_pause(kafka, topic)
        group = {"group_id": topic, "enable_auto_commit": False, "max_poll_records": 1}
        if reset == "none":
            # The group has a committed offset.
            java.run(
                "consume", kafka.bootstrap_servers, topic, 1, **group, auto_offset_reset="earliest"
            )
        count = KEPT + LOST + LOST
        servers = kafka.bootstrap_servers
        command = java.command("consume", servers, topic, count, **group, auto_offset_reset=reset)
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as consumer:
            assert consumer.stdout is not None
            assert consumer.stderr is not None
            first = 1 if reset == "none" else 0
            for _ in range(first, KEPT + LOST):
                consumer.stdout.readline()
            lose_end(kafka, topic, "election")
            kafka.produce(topic, *values("new", LOST + first), headers=HEADERS)
            rest = [line.split("\t") for line in consumer.stdout]
            errors = consumer.stderr.read()
    if reset == "none":
        assert rest == []
        assert "LogTruncationException" in errors
    else:
        assert [line[5] for line in rest] == values("new", LOST)


def test_a_gap_and_a_trailing_marker_are_passed(
    client: Client, kafka_of_three: MockKafka, topic: str
) -> None:
    kafka_of_three.create_topic(topic, 1)
    kafka_of_three.produce(topic, "a", "b")
    kafka_of_three.leave_gap(topic, count=3)
    kafka_of_three.produce(topic, "c")
    kafka_of_three.append_control_record(topic, kind="abort")
    with member(client, kafka_of_three.bootstrap_servers, topic, topic) as reader:
        assert [record.offset for record in poll_records([reader], 3)] == [0, 1, 5]
        kafka_of_three.produce(topic, "d")
        (last,) = poll_records([reader], 1)
    assert (last.offset, last.value) == (7, b"d")


def test_a_java_consumer_passes_a_gap_and_a_trailing_marker(
    java: JavaClients, kafka_of_three: MockKafka, topic: str
) -> None:
    create_topic(kafka_of_three.bootstrap_servers, topic)
    kafka_of_three.produce(topic, "a", headers=HEADERS)
    kafka_of_three.leave_gap(topic, count=2)
    kafka_of_three.append_control_record(topic)
    kafka_of_three.produce(topic, "b", headers=HEADERS)
    group = {"group_id": topic, "auto_offset_reset": "earliest"}
    for isolation_level in ("read_committed", "read_uncommitted"):
        group["group_id"] = isolation_level + topic
        lines = java.run(
            "consume",
            kafka_of_three.bootstrap_servers,
            topic,
            2,
            isolation_level=isolation_level,
            **group,
        )
        assert [line[2] for line in lines] == ["0", "4"]
