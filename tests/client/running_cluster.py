"""A cluster in this process with topic t: three partitions with three records each."""

from collections.abc import Iterator
from contextlib import contextmanager

from kafka import KafkaProducer

from mock_kafka import MockKafka

CONFIG: dict[str, str | int | float | bool] = {"cluster.features": "share.version=1"}


@contextmanager
def running_cluster() -> Iterator[MockKafka]:
    with MockKafka(config=CONFIG, in_process=True) as kafka:
        yield kafka


def fill(kafka: MockKafka) -> None:
    """Create the topic; its records have the timestamps 1000, 2000 and 3000."""
    kafka.reset()
    kafka.create_topic("t", 3, config={"retention.ms": "-1"})
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    for index in range(3):
        for timestamp_ms in (1000, 2000, 3000):
            producer.send("t", b"v", partition=index, timestamp_ms=timestamp_ms)
    producer.flush()
    producer.close()
