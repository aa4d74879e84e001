"""The same clients with the same losses on mock-kafka and on Apache Kafka, one after the other.

A proxy loses responses to Produce after the append, and leaders move. A client that takes a new
producer id or epoch then may send again what is stored: no broker can notice. How often that
happens on each of the two is reported.
"""

import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kafka import KafkaAdminClient, TopicPartition

from mock_kafka import ConfigValue, MockKafka
from scenarios.clients.confluent_kafka import create_topic
from tests.free_ports import free_port_run
from tests.interop.apache_cluster import ApacheCluster
from tests.interop.dropping_proxy import HOST, DroppingProxy
from tests.soak.disturbances import BROKERS, PARTITIONS
from tests.soak.log_numbers import read_numbers
from tests.soak.programs import RunningClient, starters
from tests.soak.run import DRAIN_TIMEOUT_S, ClientReport, report_of, violations_of

MOCK_KAFKA, APACHE_KAFKA = "mock-kafka", "Apache Kafka"
DROP_RATE = 0.02
"""The part of the Produce requests whose response is lost."""
MOVE_EVERY_S = 1.0
TURN_S = 0.5


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """What the clients did on one of the two; `violations` is empty if all promises held."""

    server: str
    lost_responses: int
    moved_leaders: int
    clients: list[ClientReport]

    @property
    def violations(self) -> list[str]:
        """The broken promises, each with the name of its client."""
        return [violation for client in self.clients for violation in violations_of(client)]


class LeaderMover:
    """Moves leaders as an administrator does: other preferred replicas, and an election."""

    def __init__(self, servers: str, topics: Sequence[str], seed: int) -> None:
        self.count = 0
        self._admin = KafkaAdminClient(bootstrap_servers=servers)
        self._topics = topics
        self._random = random.Random(seed)

    def move(self) -> None:
        """Make a random broker the leader of a random partition."""
        topic, partition = self._random.choice(self._topics), self._random.randrange(PARTITIONS)
        replicas = self._random.sample(BROKERS, len(BROKERS))
        self._admin.alter_partition_reassignments({TopicPartition(topic, partition): replicas})
        # It is no error that the leader is the preferred one already.
        self._admin.elect_leaders(0, {topic: [partition]}, raise_errors=False)
        self.count += 1

    def close(self) -> None:
        """Close the connections."""
        self._admin.close()


def compare(
    minutes: float, rate: float, seed: int, show: Callable[[str], None]
) -> list[ComparedRun]:
    """Run the clients on both; `rate` is in records per second of each client.

    Raises:
        CannotRunError: a toolchain or a registry is missing.
    """
    runs = []
    for server, cluster in ((MOCK_KAFKA, mock_cluster), (APACHE_KAFKA, apache_cluster)):
        show(f"{server} starts")
        with tempfile.TemporaryDirectory(prefix="soak-") as folder, cluster(seed) as proxy:
            runs.append(_run(server, proxy, Path(folder), minutes, rate, seed))
        show(f"{server}: {runs[-1].lost_responses} responses lost")
    return runs


@contextmanager
def mock_cluster(seed: int) -> Iterator[DroppingProxy]:
    """Run mock-kafka behind a proxy."""
    first = free_port_run(2 * len(BROKERS))
    upstream_ports = range(first + len(BROKERS), first + 2 * len(BROKERS))
    config: dict[str, ConfigValue] = {
        "advertised.listeners": f"PLAINTEXT://{HOST}:{first}",
        "offsets.topic.replication.factor": 3,
    }
    with (
        MockKafka(len(BROKERS), config, port=upstream_ports[0]),
        DroppingProxy(first, upstream_ports, seed=seed) as proxy,
    ):
        yield proxy


@contextmanager
def apache_cluster(seed: int) -> Iterator[DroppingProxy]:
    """Run Apache Kafka behind a proxy, which forwards its replication, too."""
    first = free_port_run(len(BROKERS))
    advertised = range(first, first + len(BROKERS))
    with tempfile.TemporaryDirectory(prefix="soak-apache-") as folder:
        cluster = ApacheCluster(
            Path(folder),
            len(BROKERS),
            {"offsets.topic.replication.factor": "3"},
            advertised_ports=advertised,
        )
        with DroppingProxy(first, cluster.ports, seed=seed) as proxy:
            try:
                cluster.start()
                yield proxy
            finally:
                cluster.stop()


def _run(
    server: str, proxy: DroppingProxy, folder: Path, minutes: float, rate: float, seed: int
) -> ComparedRun:
    started = starters(folder)
    topics = {name: f"soak-{name}" for name in started}
    for topic in topics.values():
        create_topic(proxy.servers, topic, PARTITIONS, len(BROKERS))
    mover = LeaderMover(proxy.servers, list(topics.values()), seed)
    clients: list[RunningClient] = []
    try:
        for name, start in started.items():
            clients.append(start(proxy.servers, topics[name], rate))
        proxy.drop_rate = DROP_RATE
        end_s = time.monotonic() + minutes * 60
        while time.monotonic() < end_s:
            time.sleep(MOVE_EVERY_S)
            mover.move()
        proxy.drop_rate = 0.0
        _drain(clients)
        stored = {name: read_numbers(proxy.servers, topic) for name, topic in topics.items()}
        reports = [report_of(client, client.end(), stored[client.name]) for client in clients]
    finally:
        mover.close()
        for client in clients:
            client.kill()
    return ComparedRun(server, proxy.tally.drops, mover.count, reports)


def _drain(clients: list[RunningClient]) -> None:
    """Wait until every record has an outcome and every acknowledged one has been read."""
    for client in clients:
        client.stop_sending()
    end_s = time.monotonic() + DRAIN_TIMEOUT_S
    while time.monotonic() < end_s and not all(map(_is_drained, clients)):
        time.sleep(TURN_S)


def _is_drained(client: RunningClient) -> bool:
    return client.is_stopped.is_set() and client.acked <= client.read.keys()
