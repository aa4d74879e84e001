"""A Python consumer that `benchmarks.consumers` measures, and what it prints.

python -m benchmarks.consumer_work CLIENT SERVERS TOPIC COUNT START_OFFSET

It reads partition 0 with the client's defaults, and prints a line as `Reading` has it. Measure.java
and measure.go do the same.
"""

import asyncio
import sys
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

TIMEOUT_S = 1.0
BATCH_RECORDS = 10_000
"""Records of one call, where the client asks for a number."""


class Reading(NamedTuple):
    """What a consumer read after the first tenth of its records, and the offsets of all."""

    records: int
    size_bytes: int
    wall_s: float
    cpu_s: float
    first_offset: int
    last_offset: int

    @classmethod
    def of_line(cls, line: str) -> "Reading":
        """Return what a line says, which has the fields between tabulators."""
        records, size_bytes, wall_s, cpu_s, first, last = line.split("\t")
        return cls(
            int(records), int(size_bytes), float(wall_s), float(cpu_s), int(first), int(last)
        )


class _Meter:
    def __init__(self, count: int) -> None:
        self._count = count
        self._read = self._warm = self._bytes = 0
        self._began_s = self._began_cpu_s = 0.0
        self._first = self._last = -1

    @property
    def is_done(self) -> bool:
        return self._read >= self._count

    def add(self, rows: Iterable[tuple[int, bytes | None, bytes | None]]) -> None:
        """Count records: offset, key and value."""
        for offset, key, value in rows:
            self._read += 1
            self._bytes += len(key or b"") + len(value or b"")
            if self._first < 0:
                self._first = offset
            self._last = offset
        if not self._warm and self._read * 10 >= self._count:
            self._warm, self._bytes = self._read, 0
            self._began_s, self._began_cpu_s = time.perf_counter(), time.process_time()

    def print(self) -> None:
        wall_s = time.perf_counter() - self._began_s
        cpu_s = time.process_time() - self._began_cpu_s
        offsets = self._first, self._last
        print(*Reading(self._read - self._warm, self._bytes, wall_s, cpu_s, *offsets), sep="\t")


def kafka_python(servers: str, topic: str, meter: _Meter, start: int) -> None:
    """Read with kafka-python."""
    from kafka import KafkaConsumer, TopicPartition  # noqa: PLC0415 - each process needs one client

    partition = TopicPartition(topic, 0)
    consumer = KafkaConsumer(bootstrap_servers=servers)
    consumer.assign([partition])
    consumer.seek(partition, start)
    while not meter.is_done:
        for records in consumer.poll(timeout_ms=TIMEOUT_S * 1000).values():
            meter.add((record.offset, record.key, record.value) for record in records)
    meter.print()
    consumer.close()


def confluent_kafka(servers: str, topic: str, meter: _Meter, start: int) -> None:
    """Read with confluent-kafka, which is librdkafka."""
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415 - as above

    settings: dict[str, Any] = {"bootstrap.servers": servers, "group.id": "measured"}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, 0, start)])
    while not meter.is_done:
        messages = consumer.consume(BATCH_RECORDS, TIMEOUT_S)
        meter.add((message.offset(), message.key(), message.value()) for message in messages)
    meter.print()
    consumer.close()


def aiokafka(servers: str, topic: str, meter: _Meter, start: int) -> None:
    """Read with aiokafka."""
    asyncio.run(_aiokafka(servers, topic, meter, start))


async def _aiokafka(servers: str, topic: str, meter: _Meter, start: int) -> None:
    from aiokafka import AIOKafkaConsumer, TopicPartition  # noqa: PLC0415 - as above

    partition = TopicPartition(topic, 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=servers, enable_auto_commit=False)
    await consumer.start()
    consumer.assign([partition])
    consumer.seek(partition, start)
    while not meter.is_done:
        found = await consumer.getmany(timeout_ms=int(TIMEOUT_S * 1000))
        for records in found.values():
            meter.add((record.offset, record.key, record.value) for record in records)
    meter.print()
    await consumer.stop()


PYTHON_CLIENTS = {
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
    "confluent-kafka": confluent_kafka,
}


def main() -> None:
    """Read with the client that the command line names."""
    name, servers, topic, count, start = sys.argv[1:]
    PYTHON_CLIENTS[name](servers, topic, _Meter(int(count)), int(start))


if __name__ == "__main__":
    main()
