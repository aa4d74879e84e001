"""Consume, transform and produce in transactions, with the groups of the Python client libraries.

`python -m tests.interop.transactional_copies LIBRARY SERVERS TOPIC` copies until it crashes.
"""

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import confluent_kafka
from aiokafka import AIOKafkaConsumer
from kafka import KafkaConsumer
from kafka.structs import OffsetAndMetadata

from tests.interop.transactional_clients import (
    PRODUCERS,
    TIMEOUT_S,
    TransactionalProducer,
)

RECORDS_PER_TRANSACTION = 7
TRANSACTIONS_BEFORE_CRASH = 4
CRASHED = 9
_POLL_S = 0.5
# The member of the process that crashed leaves when its session ends.
_SESSION_TIMEOUT_MS = 1000
_HEARTBEAT_INTERVAL_MS = 200


class GroupMember(ABC):
    """A member of the group `TOPIC.group`, which reads what is committed."""

    def __init__(self, producer: TransactionalProducer, topic: str) -> None:
        self.producer: Any = producer
        self.topic = topic
        self.group_id = f"{topic}.group"
        self.start()

    @abstractmethod
    def start(self) -> None:
        """Join the group."""

    @abstractmethod
    def read(self) -> list[bytes]:
        """Return a few values, or none if none came for a while."""

    @abstractmethod
    def send_positions(self) -> None:
        """Commit in the producer's transaction how far the member has read."""

    @abstractmethod
    def rewind(self) -> None:
        """Go back to the committed offsets."""

    @abstractmethod
    def close(self) -> None:
        """Leave the group."""


class ConfluentMember(GroupMember):
    """librdkafka's."""

    def start(self) -> None:
        self._consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": self.producer.servers,
                "group.id": self.group_id,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": _SESSION_TIMEOUT_MS,
                "heartbeat.interval.ms": _HEARTBEAT_INTERVAL_MS,
                "log_level": 0,
            }
        )
        self._consumer.subscribe([self.topic])

    def read(self) -> list[bytes]:
        messages = self._consumer.consume(RECORDS_PER_TRANSACTION, _POLL_S)
        return [message.value() or b"" for message in messages if message.error() is None]

    def send_positions(self) -> None:
        positions = self._consumer.position(self._consumer.assignment())
        read = [position for position in positions if position.offset >= 0]
        metadata = self._consumer.consumer_group_metadata()
        self.producer._producer.send_offsets_to_transaction(read, metadata, TIMEOUT_S)

    def rewind(self) -> None:
        for position in self._consumer.committed(self._consumer.assignment(), TIMEOUT_S):
            position.offset = max(0, position.offset)
            self._consumer.seek(position)

    def close(self) -> None:
        self._consumer.close()


class KafkaPythonMember(GroupMember):
    """kafka-python's."""

    def start(self) -> None:
        self._consumer: Any = KafkaConsumer(
            self.topic,
            bootstrap_servers=self.producer.servers,
            group_id=self.group_id,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            session_timeout_ms=_SESSION_TIMEOUT_MS,
            heartbeat_interval_ms=_HEARTBEAT_INTERVAL_MS,
        )

    def read(self) -> list[bytes]:
        found = self._consumer.poll(_POLL_S * 1000, max_records=RECORDS_PER_TRANSACTION)
        return [record.value for records in found.values() for record in records]

    def send_positions(self) -> None:
        partitions = self._consumer.assignment()
        offsets = {
            partition: OffsetAndMetadata(self._consumer.position(partition), "", -1)
            for partition in partitions
        }
        metadata = self._consumer.group_metadata()
        self.producer._producer.send_offsets_to_transaction(offsets, metadata)

    def rewind(self) -> None:
        for partition in self._consumer.assignment():
            self._consumer.seek(partition, self._consumer.committed(partition) or 0)

    def close(self) -> None:
        self._consumer.close()


class AioKafkaMember(GroupMember):
    """aiokafka's, in the event loop of the producer."""

    def start(self) -> None:
        self._run = self.producer._run
        self._run(self._start())

    async def _start(self) -> None:
        self._consumer: Any = AIOKafkaConsumer(
            self.topic,
            bootstrap_servers=self.producer.servers,
            group_id=self.group_id,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            session_timeout_ms=_SESSION_TIMEOUT_MS,
            heartbeat_interval_ms=_HEARTBEAT_INTERVAL_MS,
        )
        await self._consumer.start()

    def read(self) -> list[bytes]:
        found = self._run(
            self._consumer.getmany(timeout_ms=_POLL_S * 1000, max_records=RECORDS_PER_TRANSACTION)
        )
        return [record.value for records in found.values() for record in records]

    def send_positions(self) -> None:
        self._run(self._send_positions())

    async def _send_positions(self) -> None:
        partitions = self._consumer.assignment()
        offsets = {partition: await self._consumer.position(partition) for partition in partitions}
        await self.producer._producer.send_offsets_to_transaction(offsets, self.group_id)

    def rewind(self) -> None:
        self._run(self._rewind())

    async def _rewind(self) -> None:
        for partition in self._consumer.assignment():
            self._consumer.seek(partition, await self._consumer.committed(partition) or 0)

    def close(self) -> None:
        self._run(self._consumer.stop())


MEMBERS: Mapping[str, type[GroupMember]] = {
    "confluent": ConfluentMember,
    "kafka-python": KafkaPythonMember,
    "aiokafka": AioKafkaMember,
}


def copy(
    library: str, servers: str, topic: str, count: int, crash_after: int | None = None
) -> None:
    """Copy `count` records of a topic to `TOPIC.out`, in upper case and in transactions.

    Every third transaction is aborted, and its records are read again. The process crashes in the
    transaction after `crash_after` others, between its records with their offsets and its commit.
    """
    producer = PRODUCERS[library](servers, topic)
    producer.start()
    member = MEMBERS[library](producer, topic)
    transactions = 0
    while count > 0:
        values = member.read()
        if not values:
            continue
        producer.begin()
        producer.send(f"{topic}.out", *map(bytes.upper, values))
        member.send_positions()
        if transactions == crash_after:
            os._exit(CRASHED)
        transactions += 1
        if transactions % 3 == 0:
            producer.abort()
            member.rewind()
        else:
            producer.commit()
            count -= len(values)
    member.close()
    producer.close()


if __name__ == "__main__":
    library, servers, topic = sys.argv[1:]
    copy(library, servers, topic, sys.maxsize, TRANSACTIONS_BEFORE_CRASH)
