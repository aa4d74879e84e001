"""The work of a Python client that `benchmarks.replay_hits` measures.

python -m benchmarks.client_work CLIENT SERVERS TOPIC COUNT

Everything but the group, its first offset and the transactional id has the client's default. A
member of a group reads all records and commits automatically, while a producer sends the first half
of them as fast as it can and the others at a steady rate. Two transactions of ten records follow.
"""

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

RECORDS_PER_S = 200
VALUE = b"v" * 100
TRANSACTIONS, RECORDS_OF_EACH = 2, 10
"""Clients.java, work.go and clients.js have the same."""


def due_s(number: int, count: int) -> float:
    """Return when a record is sent, in seconds after the first one."""
    return max(0, number - count // 2) / RECORDS_PER_S


def _paced(count: int, send: Callable[[], object]) -> None:
    started_s = time.monotonic()
    for number in range(count):
        left_s = started_s + due_s(number, count) - time.monotonic()
        if left_s > 0:
            time.sleep(left_s)
        send()


def _beside(read: Callable[[], None], write: Callable[[], None]) -> None:
    reader = threading.Thread(target=read)
    reader.start()
    write()
    reader.join()


def kafka_python(servers: str, topic: str, count: int) -> None:
    """Work with kafka-python."""
    from kafka import KafkaConsumer, KafkaProducer  # noqa: PLC0415 - each process needs one client

    def read() -> None:
        consumer = KafkaConsumer(
            topic, bootstrap_servers=servers, group_id=topic, auto_offset_reset="earliest"
        )
        left = count
        while left > 0:
            left -= sum(map(len, consumer.poll(timeout_ms=100).values()))
        consumer.close()

    def write() -> None:
        producer = KafkaProducer(bootstrap_servers=servers)
        _paced(count, lambda: producer.send(topic, VALUE))
        producer.close()

    _beside(read, write)
    producer = KafkaProducer(bootstrap_servers=servers, transactional_id=topic)
    producer.init_transactions()
    for _ in range(TRANSACTIONS):
        producer.begin_transaction()
        for _ in range(RECORDS_OF_EACH):
            producer.send(topic, VALUE)
        producer.commit_transaction()
    producer.close()


def confluent_kafka(servers: str, topic: str, count: int) -> None:
    """Work with confluent-kafka."""
    from confluent_kafka import Consumer, Producer  # noqa: PLC0415 - as above

    settings: dict[str, Any] = {"bootstrap.servers": servers}

    def read() -> None:
        consumer = Consumer({**settings, "group.id": topic, "auto.offset.reset": "earliest"})
        consumer.subscribe([topic])
        left = count
        while left > 0:
            message = consumer.poll(0.1)
            left -= message is not None and message.error() is None
        consumer.close()

    def write() -> None:
        producer = Producer(settings)

        def send() -> None:
            producer.produce(topic, VALUE)
            producer.poll(0)

        _paced(count, send)
        producer.flush()

    _beside(read, write)
    producer = Producer({**settings, "transactional.id": topic})
    producer.init_transactions()
    for _ in range(TRANSACTIONS):
        producer.begin_transaction()
        for _ in range(RECORDS_OF_EACH):
            producer.produce(topic, VALUE)
        producer.commit_transaction()


async def _work_with_aiokafka(servers: str, topic: str, count: int) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer  # noqa: PLC0415 - as above

    async def read() -> None:
        settings = {"group_id": topic, "auto_offset_reset": "earliest"}
        async with AIOKafkaConsumer(topic, bootstrap_servers=servers, **settings) as consumer:
            for _ in range(count):
                await consumer.getone()

    async def write() -> None:
        async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
            started_s = time.monotonic()
            sent = []
            for number in range(count):
                left_s = started_s + due_s(number, count) - time.monotonic()
                if left_s > 0:
                    await asyncio.sleep(left_s)
                sent.append(await producer.send(topic, VALUE))
            await asyncio.gather(*sent)

    await asyncio.gather(read(), write())
    async with AIOKafkaProducer(bootstrap_servers=servers, transactional_id=topic) as producer:
        for _ in range(TRANSACTIONS):
            async with producer.transaction():
                for _ in range(RECORDS_OF_EACH):
                    await producer.send(topic, VALUE)


def aiokafka(servers: str, topic: str, count: int) -> None:
    """Work with aiokafka."""
    asyncio.run(_work_with_aiokafka(servers, topic, count))


CLIENTS = {
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
    "confluent-kafka": confluent_kafka,
}

if __name__ == "__main__":
    CLIENTS[sys.argv[1]](sys.argv[2], sys.argv[3], int(sys.argv[4]))
