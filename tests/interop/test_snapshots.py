"""Clients that stay up go on with a cluster that was saved, killed and started again."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import kafka as kafka_python
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener
from confluent_kafka import Consumer, Producer

from mock_kafka import MockKafka
from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.deadline import Deadline

TIMEOUT_S = 60
POLL_MS = 100


class Restartable:
    """A cluster with the topic orders that can be killed and started again on its port."""

    def __init__(self) -> None:
        self.kafka = MockKafka().start()
        self.servers = self.kafka.bootstrap_servers
        create_topic(self.servers, "orders", 1)
        self._snapshot: dict[str, Any] = {}

    def kill(self) -> None:
        """Save it, and end it with SIGKILL."""
        self._snapshot = self.kafka.snapshot()
        os.kill(self.kafka.pid, signal.SIGKILL)
        os.waitid(os.P_PID, self.kafka.pid, os.WEXITED | os.WNOWAIT)
        self.kafka.stop()

    def start(self) -> None:
        port = int(self.servers.rpartition(":")[2])
        self.kafka = MockKafka(port=port, snapshot=self._snapshot).start()

    def stored(self) -> list[bytes | None]:
        return [record.value for record in self.kafka.records("orders")]


@contextmanager
def restartable() -> Iterator[Restartable]:
    cluster = Restartable()
    try:
        yield cluster
    finally:
        cluster.kafka.stop()


def values(consumer: Consumer, count: int) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < count:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        if message.error() is None:
            found.append(message.value())
    return found


@pytest.mark.parametrize("protocol", ["consumer", pytest.param("classic", marks=pytest.mark.long)])
def test_a_transaction_and_a_member_go_on_after_a_restart(protocol: str) -> None:
    with restartable() as cluster:
        servers = {"bootstrap.servers": cluster.servers}
        assigned: list[Any] = []
        revoked: list[Any] = []
        consumer = Consumer(
            servers
            | {
                "group.id": "billing",
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe(
            ["orders"],
            on_assign=lambda _consumer, partitions: assigned.append(partitions),
            on_revoke=lambda _consumer, partitions: revoked.append(partitions),
        )
        transactional = Producer(servers | {"transactional.id": "tx"})
        transactional.init_transactions(TIMEOUT_S)
        idempotent = Producer(servers | {"enable.idempotence": True})
        try:
            idempotent.produce("orders", b"1")
            assert idempotent.flush(TIMEOUT_S) == 0
            assert values(consumer, 1) == [b"1"]
            consumer.commit(asynchronous=False)
            transactional.begin_transaction()
            transactional.produce("orders", b"2")
            assert transactional.flush(TIMEOUT_S) == 0

            cluster.kill()
            cluster.start()

            transactional.produce("orders", b"3")
            transactional.commit_transaction(TIMEOUT_S)
            idempotent.produce("orders", b"4")
            assert idempotent.flush(TIMEOUT_S) == 0
            assert values(consumer, 3) == [b"2", b"3", b"4"]
            consumer.commit(asynchronous=False)
            assert cluster.kafka.committed("billing")[("orders", 0)] >= 4
            assert cluster.stored() == [b"1", b"2", b"3", b"4"]
            assert (len(assigned), revoked) == (1, [])
        finally:
            consumer.close()


class Assignments:
    """Counts the assignments of a member."""

    def __init__(self) -> None:
        self.assigned_count = 0

    def on_partitions_assigned(self, assigned: Any) -> None:
        self.assigned_count += 1

    def on_partitions_revoked(self, revoked: Any) -> None:
        pass


class PlainListener(Assignments, kafka_python.ConsumerRebalanceListener):
    """The listener of kafka-python."""


class AsyncListener(Assignments, ConsumerRebalanceListener):  # type: ignore[misc]
    """The listener of aiokafka."""


PLAIN_MEMBER: Any = {
    "group_id": "billing",
    "auto_offset_reset": "earliest",
    "enable_auto_commit": False,
}


def check_end(cluster: Restartable, listener: Assignments) -> None:
    assert cluster.kafka.committed("billing") == {("orders", 0): 4}
    assert cluster.stored() == [b"1", b"2", b"3", b"4"]
    assert listener.assigned_count == 1


def test_kafka_python_goes_on_after_a_restart() -> None:
    with restartable() as cluster:
        producer = kafka_python.KafkaProducer(
            bootstrap_servers=cluster.servers, enable_idempotence=True
        )
        consumer = kafka_python.KafkaConsumer(bootstrap_servers=cluster.servers, **PLAIN_MEMBER)
        listener = PlainListener()
        consumer.subscribe(["orders"], listener=listener)

        def read(count: int) -> list[bytes]:
            found: list[bytes] = []
            deadline = Deadline(TIMEOUT_S)
            while len(found) < count and deadline.holds(f"{count} records"):
                for records in consumer.poll(POLL_MS).values():
                    found += [record.value for record in records]
            return found

        try:
            producer.send("orders", b"1").get(TIMEOUT_S)
            producer.send("orders", b"2").get(TIMEOUT_S)
            assert read(2) == [b"1", b"2"]
            consumer.commit()
            cluster.kill()
            waiting = producer.send("orders", b"3")
            assert consumer.poll(POLL_MS) == {}
            cluster.start()
            assert waiting.get(TIMEOUT_S).offset == 2
            producer.send("orders", b"4").get(TIMEOUT_S)
            assert read(2) == [b"3", b"4"]
            consumer.commit()
            check_end(cluster, listener)
        finally:
            producer.close()
            consumer.close()


async def test_aiokafka_goes_on_after_a_restart() -> None:
    with restartable() as cluster:
        producer = AIOKafkaProducer(bootstrap_servers=cluster.servers, enable_idempotence=True)
        consumer = AIOKafkaConsumer(bootstrap_servers=cluster.servers, **PLAIN_MEMBER)
        listener = AsyncListener()
        consumer.subscribe(["orders"], listener=listener)
        await producer.start()
        await consumer.start()

        async def read(count: int) -> list[bytes]:
            async with asyncio.timeout(TIMEOUT_S):
                return [(await consumer.getone()).value for _ in range(count)]

        try:
            await producer.send_and_wait("orders", b"1")
            await producer.send_and_wait("orders", b"2")
            assert await read(2) == [b"1", b"2"]
            await consumer.commit()
            cluster.kill()
            waiting = await producer.send("orders", b"3")
            await asyncio.to_thread(cluster.start)
            assert (await asyncio.wait_for(waiting, TIMEOUT_S)).offset == 2
            await producer.send_and_wait("orders", b"4")
            assert await read(2) == [b"3", b"4"]
            await consumer.commit()
            check_end(cluster, listener)
        finally:
            await producer.stop()
            await consumer.stop()
