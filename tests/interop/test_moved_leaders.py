"""Leaders move while a producer writes and a consumer reads: nothing is lost or reordered."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import kafka
import pytest

from mock_kafka import MockKafka
from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.deadline import DEADLINE_S
from scenarios.clients.interface import Client, ProducerOptions, Record, by_partition
from scenarios.clients.kafka_python import KAFKA_PYTHON
from scenarios.clients.python_clients import CLIENTS
from tests.interop.members import MemberThread, member, poll_records, poll_until, share_out

PARTITIONS = 2
BURST = 20
MOVES = 6


def write(
    client: Client, servers: str, topic: str, stop: threading.Event, acknowledged: list[bytes]
) -> None:
    options = ProducerOptions(is_idempotent=True)
    with client.producer(servers, options=options) as producer:
        while not stop.is_set():
            values = next_values(acknowledged)
            records = [Record(value, partition=partition_of(value)) for value in values]
            deliveries = producer.send_all(topic, records)
            assert [delivery.error for delivery in deliveries] == [None] * len(values)
            acknowledged += values


def next_values(acknowledged: list[bytes]) -> list[bytes]:
    return [b"%d" % n for n in range(len(acknowledged), len(acknowledged) + BURST)]


def partition_of(value: bytes | None) -> int:
    assert value is not None
    return int(value) % PARTITIONS


@pytest.mark.parametrize("way", ["reassignment", "election"])
def test_nothing_is_lost_or_duplicated_while_leaders_move(
    kafka_of_three: MockKafka, topic: str, client: Client, way: str
) -> None:
    servers = kafka_of_three.bootstrap_servers
    create_topic(servers, topic, assignment=[[1, 2, 3]] * PARTITIONS)
    stop = threading.Event()
    acknowledged: list[bytes] = []
    admin = kafka.KafkaAdminClient(bootstrap_servers=servers)
    leaders = set()
    with ThreadPoolExecutor(1) as pool, member(client, servers, topic, topic) as reader:
        writing = pool.submit(write, client, servers, topic, stop, acknowledged)
        found = []
        try:
            for move in range(MOVES):
                found += poll_while_written(reader, acknowledged, writing)
                leaders.add(move_leader(admin, topic, move % PARTITIONS, way))
        finally:
            stop.set()
        writing.result(DEADLINE_S)
        found += poll_records([reader], len(acknowledged) - len(found))
    admin.close()
    assert len(leaders) > 1
    values = {p: [r.value for r in records] for p, records in by_partition(found).items()}
    assert values == {
        p: [value for value in acknowledged if partition_of(value) == p] for p in range(PARTITIONS)
    }


def poll_while_written(
    reader: MemberThread, acknowledged: list[bytes], writing: "Future[None]"
) -> list[Record]:
    """Poll until three more bursts are acknowledged, or the writer has failed."""
    target = len(acknowledged) + 3 * BURST
    return poll_until(
        [reader],
        lambda: len(acknowledged) >= target or writing.done(),
        "more acknowledged records",
    )


def move_leader(admin: Any, topic: str, partition: int, way: str) -> int:
    """Make the second replica the leader; return its node id."""
    where = kafka.TopicPartition(topic, partition)
    before = describe(admin, topic, partition)
    first, *others = before["replica_nodes"]
    assert before["leader_id"] == first
    if way == "election":
        admin.alter_partition_reassignments({where: [*others, first]})
        admin.elect_leaders(0, {topic: [partition]})
    else:
        # First without the leader, then with all three.
        admin.alter_partition_reassignments({where: others})
        admin.alter_partition_reassignments({where: [*others, first]})
    after = describe(admin, topic, partition)
    assert after["leader_id"] == others[0]
    assert after["leader_epoch"] > before["leader_epoch"]
    return int(after["leader_id"])


def describe(admin: Any, topic: str, partition: int) -> dict[str, Any]:
    found: dict[str, Any] = admin.describe_topics([topic])[0]["partitions"][partition]
    return found


def test_a_consumer_of_each_library_follows_a_leader_that_another_moved(
    kafka_of_three: MockKafka, topic: str
) -> None:
    servers = kafka_of_three.bootstrap_servers
    create_topic(servers, topic, assignment=[[1, 2, 3]])
    admin = kafka.KafkaAdminClient(bootstrap_servers=servers)
    acknowledged: list[bytes] = []
    for client in CLIENTS:
        with member(client, servers, topic, f"{topic}-{client.name}") as reader:
            found = share_out([reader], 1)
            found += poll_records([reader], len(acknowledged) - len(found))
            move_leader(admin, topic, 0, "reassignment")
            write_one_burst(servers, topic, acknowledged)
            found += poll_records([reader], BURST)
            assert [record.value for record in found] == acknowledged
    admin.close()


def write_one_burst(servers: str, topic: str, acknowledged: list[bytes]) -> None:
    values = next_values(acknowledged)
    KAFKA_PYTHON.produce(servers, topic, list(map(Record, values)), is_idempotent=True)
    acknowledged += values
