"""Quotas slow a client to its rate and do not slow other clients.

librdkafka does not wait when it is throttled: the muted connection slows it (KIP-219).
"""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import confluent_kafka
import pytest

from mock_kafka import ConfigValue, MockKafka
from scenarios.clients.confluent_kafka import create_topic

BYTES_PER_SECOND = 200_000
RECORD = b"x" * 1000
BATCH_BYTES = 10_000
# Few windows: a burst may use all of them, and the client is then throttled for as long.
WINDOWS = 3
WARM_UP_S, MEASURED_S = 4, 60
TOLERANCE = 0.05


class Meter:
    """Read the bytes that librdkafka sent and received, second by second."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._readings: list[tuple[float, int]] = []

    def config(self) -> dict[str, Any]:
        return {"statistics.interval.ms": 500, "stats_cb": self._read}

    def _read(self, text: str) -> None:
        statistics = json.loads(text)
        self._readings.append((statistics["ts"] / 1e6, statistics[self._field]))

    @property
    def goes_on(self) -> bool:
        readings = self._readings
        return not readings or readings[-1][0] - readings[0][0] < WARM_UP_S + MEASURED_S

    def bytes_per_second(self) -> float:
        """Return the rate from the first value after the warm-up to the last."""
        begin_s = self._readings[0][0] + WARM_UP_S
        first = next(reading for reading in self._readings if reading[0] >= begin_s)
        last = self._readings[-1]
        return (last[1] - first[1]) / (last[0] - first[0])


def produce_all_the_time(servers: str, topic: str, client_id: str) -> float:
    meter = Meter("tx_bytes")
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": servers,
            "client.id": client_id,
            "batch.size": BATCH_BYTES,
            "queue.buffering.max.messages": 1000,
            "message.timeout.ms": 300_000,
            **meter.config(),
        }
    )
    while meter.goes_on:
        try:
            producer.produce(topic, RECORD)
        except BufferError:
            producer.poll(0.01)
    producer.purge()
    producer.flush(5)
    return meter.bytes_per_second()


def consume_all_the_time(servers: str, topic: str, client_id: str) -> float:
    """Read a few records again and again."""
    meter = Meter("rx_bytes")
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": servers,
            "client.id": client_id,
            "group.id": client_id,
            "enable.auto.commit": False,
            "max.partition.fetch.bytes": BATCH_BYTES,
            "queued.max.messages.kbytes": 1000,
            **meter.config(),
        }
    )
    partition = confluent_kafka.TopicPartition(topic, 0, 0)
    consumer.assign([partition])
    while meter.goes_on:
        consumer.consume(100, 0.1)
    consumer.close()
    return meter.bytes_per_second()


def fill(servers: str, topic: str, byte_count: int) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "batch.size": BATCH_BYTES})
    for _ in range(byte_count // len(RECORD)):
        producer.produce(topic, RECORD)
        producer.poll(0)
    assert producer.flush(30) == 0


def produce_unthrottled(
    servers: str, topic: str, is_over: Callable[[], bool]
) -> tuple[int, list[Any]]:
    """Deliver records one by one without a quota; return their count and the throttle times."""
    throttles: list[Any] = []
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": servers,
            "client.id": "neighbour",
            "linger.ms": 0,
            "throttle_cb": throttles.append,
        }
    )
    record_count = 0
    while not is_over():
        producer.produce(topic, RECORD)
        assert producer.flush(10) == 0
        record_count += 1
    return record_count, throttles


@pytest.mark.interop
@pytest.mark.long
def test_clients_get_the_rate_of_their_quota_and_others_are_not_slowed() -> None:
    quotas = (
        f"client-id=slow-producer,producer_byte_rate={BYTES_PER_SECOND};"
        f"client-id=slow-consumer,consumer_byte_rate={BYTES_PER_SECOND}"
    )
    config: dict[str, ConfigValue] = {
        "quota.window.num": WINDOWS,
        "client.quotas": quotas,
        # The unthrottled client would fill the memory of this machine.
        "log.retention.bytes": 10**7,
        "log.segment.bytes": 2**20,
        "log.retention.check.interval.ms": 1_000,
    }
    with MockKafka(config=config) as kafka, ThreadPoolExecutor() as threads:
        servers = kafka.bootstrap_servers
        for topic in ("written", "neighbours"):
            create_topic(servers, topic)
        create_topic(servers, "read", config={"retention.bytes": "-1"})
        fill(servers, "read", BYTES_PER_SECOND * (WARM_UP_S + MEASURED_S) * 5 // 4)
        slow = [
            threads.submit(produce_all_the_time, servers, "written", "slow-producer"),
            threads.submit(consume_all_the_time, servers, "read", "slow-consumer"),
        ]
        neighbour = threads.submit(
            produce_unthrottled, servers, "neighbours", lambda: all(f.done() for f in slow)
        )
        produced, consumed = (future.result() for future in slow)
        record_count, throttles = neighbour.result()

    assert produced == pytest.approx(BYTES_PER_SECOND, rel=TOLERANCE)
    assert consumed == pytest.approx(BYTES_PER_SECOND, rel=TOLERANCE)
    assert throttles == []
    assert record_count * len(RECORD) > produced * (WARM_UP_S + MEASURED_S)
