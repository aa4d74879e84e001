"""Apache Kafka of three brokers with the proxy in front of it; either may be killed and return."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import confluent_kafka

from mock_kafka import KafkaProxy
from tests.free_ports import free_port_run
from tests.interop.apache_cluster import ApacheCluster

PROPERTIES = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.num.partitions": "5",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.num.partitions": "5",
    "share.coordinator.state.topic.min.isr": "2",
    "group.min.session.timeout.ms": "200",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.streams.min.session.timeout.ms": "6000",
    "group.streams.session.timeout.ms": "6000",
    "log.retention.ms": "-1",
}
TIMEOUT_S = 30
_PORTS = 5
"""Of the proxy: the bootstrap port and one of each broker, and one to spare."""


class ProxiedCluster:
    """The cluster and its proxy, which has the same ports after each start."""

    def __init__(self, folder: Path, *, is_looked_at: bool) -> None:
        """Describe both; nothing runs yet."""
        self.cluster = ApacheCluster(folder, 3, PROPERTIES)
        config = {"journal.enable": is_looked_at}
        self.proxy = KafkaProxy(self.cluster.bootstrap_servers, config, port=free_port_run(_PORTS))

    @property
    def servers(self) -> str:
        """The address of the proxy, for clients."""
        return self.proxy.bootstrap_servers

    @property
    def direct_servers(self) -> str:
        """The addresses of the brokers, to read what they have stored."""
        return self.cluster.bootstrap_servers

    def kill_proxy(self) -> None:
        """End the proxy at once, as a crash does."""
        os.kill(self.proxy.pid, signal.SIGKILL)
        self.proxy.stop()

    def committed(self, topic: str, partition_count: int) -> list[bytes]:
        """Return the values in a topic that are in no open or aborted transaction."""
        return values_of(self.direct_servers, topic, partition_count, "read_committed")


@contextmanager
def serving_proxied(folder: Path, *, is_looked_at: bool) -> Iterator[ProxiedCluster]:
    """Run both until the block ends.

    Raises:
        CannotRunError: no java, no mvn, or nothing comes from Maven Central.
    """
    proxied = ProxiedCluster(folder, is_looked_at=is_looked_at)
    try:
        proxied.cluster.start()
        proxied.proxy.start()
        yield proxied
        assert [line for line in proxied.proxy.log_lines() if "Traceback" in line] == []
    finally:
        proxied.proxy.stop()
        proxied.cluster.stop()


def values_of(servers: str, topic: str, partition_count: int, isolation_level: str) -> list[bytes]:
    """Return the values of all records of a topic."""
    return [value for _, value in records_of(servers, topic, partition_count, isolation_level)]


def records_of(
    servers: str, topic: str, partition_count: int, isolation_level: str
) -> list[tuple[bytes, bytes]]:
    """Return the keys and values of all records of a topic, those of a partition in order."""
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
    partitions = range(partition_count)
    consumer.assign([confluent_kafka.TopicPartition(topic, p, 0) for p in partitions])
    left = set(partitions)
    records = []
    while left:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, f"no end of the partitions {left} of {topic}"
        error = message.error()
        if error is None:
            records.append((message.key() or b"", message.value() or b""))
        elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
            left.discard(message.partition())
    consumer.close()
    return records
