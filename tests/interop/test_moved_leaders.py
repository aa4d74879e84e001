"""Leaders move while a producer writes and a consumer reads: nothing is lost or reordered."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import aiokafka
import confluent_kafka
import kafka
import pytest

from mock_kafka import MockKafka
from tests.interop.clients import (
    CLIENTS,
    DEADLINE_S,
    Client,
    Record,
    by_partition,
    create_topic,
)
from tests.interop.members import Member, member, poll_records, poll_until, share_out

PARTITIONS = 2
BURST = 20
MOVES = 6
Write = Callable[[str, str, threading.Event, list[bytes]], None]


def write_with_kafka_python(
    servers: str, topic: str, stop: threading.Event, acknowledged: list[bytes]
) -> None:
    producer = kafka.KafkaProducer(bootstrap_servers=servers, acks="all", enable_idempotence=True)
    while not stop.is_set():
        values = next_values(acknowledged)
        futures = [producer.send(topic, v, partition=partition_of(v)) for v in values]
        for future in futures:
            future.get(DEADLINE_S)
        acknowledged += values
    producer.close()


def write_with_aiokafka(
    servers: str, topic: str, stop: threading.Event, acknowledged: list[bytes]
) -> None:
    async def run() -> None:
        async with aiokafka.AIOKafkaProducer(
            bootstrap_servers=servers, acks="all", enable_idempotence=True
        ) as producer:
            while not stop.is_set():
                values = next_values(acknowledged)
                futures = [
                    await producer.send(topic, value, partition=partition_of(value))
                    for value in values
                ]
                await asyncio.wait_for(asyncio.gather(*futures), DEADLINE_S)
                acknowledged.extend(values)

    asyncio.run(run())


def write_with_confluent(
    servers: str, topic: str, stop: threading.Event, acknowledged: list[bytes]
) -> None:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": servers, "acks": "all", "enable.idempotence": True}
    )
    errors: list[Any] = []

    def delivered(error: Any, _message: Any) -> None:
        if error is not None:
            errors.append(error)

    while not stop.is_set():
        values = next_values(acknowledged)
        for value in values:
            producer.produce(topic, value, partition=partition_of(value), on_delivery=delivered)
        assert producer.flush(DEADLINE_S) == 0
        assert errors == []
        acknowledged += values


def next_values(acknowledged: list[bytes]) -> list[bytes]:
    return [b"%d" % n for n in range(len(acknowledged), len(acknowledged) + BURST)]


def partition_of(value: bytes | None) -> int:
    assert value is not None
    return int(value) % PARTITIONS


WRITERS = {
    "kafka-python": write_with_kafka_python,
    "aiokafka": write_with_aiokafka,
    "confluent-kafka": write_with_confluent,
}


@pytest.mark.parametrize("way", ["reassignment", "election"])
def test_nothing_is_lost_or_duplicated_while_leaders_move(
    kafka_of_three: MockKafka, topic: str, client: Client, way: str
) -> None:
    servers = kafka_of_three.bootstrap_servers
    create_topic(servers, topic, assignment=[[1, 2, 3]] * PARTITIONS)
    write: Write = WRITERS[client.name]
    stop = threading.Event()
    acknowledged: list[bytes] = []
    admin = kafka.KafkaAdminClient(bootstrap_servers=servers)
    leaders = set()
    with ThreadPoolExecutor(1) as pool, member(client, servers, topic, topic) as reader:
        writing = pool.submit(write, servers, topic, stop, acknowledged)
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
    reader: Member, acknowledged: list[bytes], writing: "Future[None]"
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
    producer = kafka.KafkaProducer(bootstrap_servers=servers)
    values = next_values(acknowledged)
    futures = [producer.send(topic, value, partition=0) for value in values]
    for future in futures:
        future.get(DEADLINE_S)
    acknowledged += values
    producer.close()
