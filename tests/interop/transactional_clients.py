"""The transactional producers of the Python client libraries, behind one interface."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import confluent_kafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition as AioTopicPartition
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import ConsumerGroupMetadata, OffsetAndMetadata

TIMEOUT_S = 20


class TransactionalProducer(ABC):
    """One instance of a producer; `begin`, `send` and `commit` raise the library's own errors."""

    def __init__(self, servers: str, transactional_id: str) -> None:
        self.servers = servers
        self.transactional_id = transactional_id

    @abstractmethod
    def start(self) -> None:
        """Connect and fence older instances."""

    @abstractmethod
    def begin(self) -> None:
        """Begin a transaction."""

    @abstractmethod
    def send(self, topic: str, *values: bytes) -> None:
        """Send records to partition 0, and wait until they are stored."""

    @abstractmethod
    def send_offset(self, topic: str, offset: int, group_id: str) -> None:
        """Commit the offset of partition 0 in the transaction."""

    @abstractmethod
    def commit(self) -> None:
        """Commit the transaction."""

    @abstractmethod
    def abort(self) -> None:
        """Abort the transaction."""

    @abstractmethod
    def close(self) -> None:
        """Close without ending a transaction."""


class Confluent(TransactionalProducer):
    """librdkafka's."""

    def start(self) -> None:
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": self.servers,
                "transactional.id": self.transactional_id,
                "log_level": 0,
            }
        )
        self._producer.init_transactions(TIMEOUT_S)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, *values: bytes) -> None:
        for value in values:
            self._producer.produce(topic, value, partition=0)
        self._producer.flush(TIMEOUT_S)

    def send_offset(self, topic: str, offset: int, group_id: str) -> None:
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": self.servers, "group.id": group_id, "log_level": 0}
        )
        position = confluent_kafka.TopicPartition(topic, 0, offset)
        metadata = consumer.consumer_group_metadata()
        self._producer.send_offsets_to_transaction([position], metadata, TIMEOUT_S)
        consumer.close()

    def commit(self) -> None:
        self._producer.commit_transaction(TIMEOUT_S)

    def abort(self) -> None:
        self._producer.abort_transaction(TIMEOUT_S)

    def close(self) -> None:
        del self._producer


class KafkaPython(TransactionalProducer):
    """kafka-python's."""

    def start(self) -> None:
        self._producer: Any = KafkaProducer(
            bootstrap_servers=self.servers, transactional_id=self.transactional_id
        )
        self._producer.init_transactions()

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, *values: bytes) -> None:
        sent = [self._producer.send(topic, value, partition=0) for value in values]
        for future in sent:
            future.get(TIMEOUT_S)

    def send_offset(self, topic: str, offset: int, group_id: str) -> None:
        offsets = {TopicPartition(topic, 0): OffsetAndMetadata(offset, "", -1)}
        metadata: Any = ConsumerGroupMetadata(group_id, -1, "", None)
        self._producer.send_offsets_to_transaction(offsets, metadata)

    def commit(self) -> None:
        self._producer.commit_transaction()

    def abort(self) -> None:
        self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(timeout=0)


class AioKafka(TransactionalProducer):
    """aiokafka's."""

    def start(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._run(self._start())

    async def _start(self) -> None:
        self._producer: Any = AIOKafkaProducer(
            bootstrap_servers=self.servers, transactional_id=self.transactional_id
        )
        await self._producer.start()

    def _run(self, awaitable: Any) -> Any:
        return self._loop.run_until_complete(asyncio.wait_for(awaitable, TIMEOUT_S))

    def begin(self) -> None:
        self._run(self._producer.begin_transaction())

    def send(self, topic: str, *values: bytes) -> None:
        for value in values:
            self._run(self._producer.send_and_wait(topic, value, partition=0))

    def send_offset(self, topic: str, offset: int, group_id: str) -> None:
        offsets = {AioTopicPartition(topic, 0): offset}
        self._run(self._producer.send_offsets_to_transaction(offsets, group_id))

    def commit(self) -> None:
        self._run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._run(self._producer.abort_transaction())

    def close(self) -> None:
        self._run(self._producer.stop())
        self._loop.close()


PRODUCERS: Mapping[str, type[TransactionalProducer]] = {
    "confluent": Confluent,
    "kafka-python": KafkaPython,
    "aiokafka": AioKafka,
}


def read_confluent(servers: str, topic: str, isolation_level: str) -> list[bytes]:
    """Return the values of partition 0 that librdkafka's consumer sees."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "unused",
            "isolation.level": isolation_level,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    values = []
    while True:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        error = message.error()
        if error is not None:
            assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF, error
            break
        values.append(message.value() or b"")
    consumer.close()
    return values


def committed_offset(servers: str, topic: str, group_id: str) -> int | None:
    """Return the committed offset of partition 0, whether or not it is stable."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group_id,
            "isolation.level": "read_uncommitted",
            "log_level": 0,
        }
    )
    partition = confluent_kafka.TopicPartition(topic, 0)
    (found,) = consumer.committed([partition], TIMEOUT_S)
    consumer.close()
    return found.offset if found.offset >= 0 else None


def read_kafka_python(servers: str, topic: str, isolation_level: str) -> list[bytes]:
    """Return the values of partition 0 that kafka-python's consumer sees."""
    consumer: Any = KafkaConsumer(bootstrap_servers=servers, isolation_level=isolation_level)
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    end = consumer.end_offsets([partition])[partition]
    values = []
    while consumer.position(partition) < end:
        for records in consumer.poll(timeout_ms=1000).values():
            values += [record.value for record in records]
    consumer.close()
    return values


def read_aiokafka(servers: str, topic: str, isolation_level: str) -> list[bytes]:
    """Return the values of partition 0 that aiokafka's consumer sees."""

    async def read() -> list[bytes]:
        consumer: Any = AIOKafkaConsumer(
            bootstrap_servers=servers,
            isolation_level=isolation_level,
            auto_offset_reset="earliest",
        )
        await consumer.start()
        partition = AioTopicPartition(topic, 0)
        consumer.assign([partition])
        end = (await consumer.end_offsets([partition]))[partition]
        values = []
        while await consumer.position(partition) < end:
            found = await consumer.getmany(partition, timeout_ms=1000)
            values += [record.value for records in found.values() for record in records]
        await consumer.stop()
        return values

    return asyncio.run(asyncio.wait_for(read(), TIMEOUT_S))


READERS = {
    "confluent": read_confluent,
    "kafka-python": read_kafka_python,
    "aiokafka": read_aiokafka,
}
