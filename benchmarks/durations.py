"""Measure how long clients wait for changes of a cluster: Apache Kafka 4.1 and mock-kafka.

python -m benchmarks.durations [--rounds N] [--write] [CASE ...]

Both clusters have three brokers. The clients are confluent-kafka (librdkafka) and franz-go with
their own defaults, except where a case names a setting. The clusters take turns, so that work on
the machine affects both; the figures are medians. `--write` puts the table into docs/benchmarks.md.
The status is 1 if a case takes more than 20 % longer with mock-kafka.
"""

import argparse
import itertools
import multiprocessing
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from benchmarks.docs_page import markdown_table, write_part
from benchmarks.report import print_line, progress
from mock_kafka import MockKafka
from scenarios.clients.confluent_kafka import confluent_consumer, create_topic
from scenarios.clients.deadline import Deadline
from scenarios.maven import CannotRunError
from scenarios.table import text_table
from tests.interop.apache_cluster import ApacheCluster
from tests.interop.client_program import ClientProgram
from tests.interop.go_and_node_clients import build_franz_go

RATIO_MAX = 1.2
ROUNDS = 3
LIMIT_S = 60
STOPPED_BROKER = 2
SHUTDOWN_S = 0.3
"""How long our broker still answers NOT_LEADER_OR_FOLLOWER after its leaders have moved."""
# A fixed heartbeat; the defaults of 3 and 45 s would only make the cases longer.
_MEMBER = {"heartbeat_interval_ms": 500, "session_timeout_ms": 6000}
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class ComparedCluster:
    """One of the two clusters: how broker 2 leaves and returns, and a client of each."""

    servers: str
    shut_down: Callable[[], None]
    kill: Callable[[], None]
    start: Callable[[], None]
    franz_go: ClientProgram

    @property
    def admin(self) -> AdminClient:
        """A new admin client."""
        return AdminClient({"bootstrap.servers": self.servers})

    def new_topic(self, partition_count: int = 1) -> str:
        """Create a topic whose partitions all have broker 2 as leader; return its name."""
        name = f"durations-{next(_numbers)}"
        create_topic(self.servers, name, assignment=[[STOPPED_BROKER, 3, 1]] * partition_count)
        return name

    def produce(self, topic: str, value: bytes, partition: int = 0) -> None:
        """Send a record and wait for the acknowledgement."""
        producer = confluent_kafka.Producer({"bootstrap.servers": self.servers})
        producer.produce(topic, value, partition=partition)
        assert producer.flush(LIMIT_S) == 0


def delete(cluster: ComparedCluster) -> float:
    """From DeleteTopics until Metadata lacks the topic."""
    topic, admin = cluster.new_topic(20), cluster.admin
    admin.list_topics(timeout=LIMIT_S)
    begun_s = time.perf_counter()
    admin.delete_topics([topic])[topic].result(LIMIT_S)
    _until(lambda: topic not in admin.list_topics(timeout=LIMIT_S).topics)
    return time.perf_counter() - begun_s


def recreate(cluster: ComparedCluster) -> float:
    """From DeleteTopics until a subscribed consumer reads the record of the new topic."""
    topic, admin = cluster.new_topic(), cluster.admin
    for number in range(3):
        cluster.produce(topic, b"%d" % number)
    with _member(cluster, topic) as consumer:
        _read(consumer, b"2")
        begun_s = time.perf_counter()
        admin.delete_topics([topic])[topic].result(LIMIT_S)
        new = NewTopic(topic, replica_assignment=[[STOPPED_BROKER, 3, 1]], num_partitions=1)
        _until(lambda: admin.create_topics([new])[topic].exception(LIMIT_S) is None)
        cluster.produce(topic, b"new")
        _read(consumer, b"new")
        return time.perf_counter() - begun_s


def recreate_franz_go(cluster: ComparedCluster) -> float:
    """From DeleteTopics until franz-go, which purges and adds the topic, reads the new record."""
    name = f"durations-{next(_numbers)}"
    [(_requests, resumed_after_ms)] = cluster.franz_go.run("recreate", cluster.servers, name, 100)
    return int(resumed_after_ms) / 1000


def grow(cluster: ComparedCluster) -> float:
    """From CreatePartitions until a subscribed consumer reads from the new partition."""
    topic, admin = cluster.new_topic(), cluster.admin
    with _member(cluster, topic, topic_metadata_refresh_interval_ms=1000) as consumer:
        cluster.produce(topic, b"0")
        _read(consumer, b"0")
        begun_s = time.perf_counter()
        admin.create_partitions([NewPartitions(topic, 2)])[topic].result(LIMIT_S)
        cluster.produce(topic, b"new", partition=1)
        _read(consumer, b"new")
        return time.perf_counter() - begun_s


def shut_down(cluster: ComparedCluster) -> float:
    """The longest time from send to read while the leader shuts down."""
    return _longest_wait(cluster, cluster.shut_down)


def kill(cluster: ComparedCluster) -> float:
    """The longest time from send to read while the leader crashes."""
    return _longest_wait(cluster, cluster.kill)


def expire(cluster: ComparedCluster) -> float:
    """From a member's crash until the other member has its partition."""
    topic, group = cluster.new_topic(2), f"group-{next(_numbers)}"
    with _member(cluster, topic, group) as consumer:
        _until(lambda: _owns(consumer, 2))
        other = multiprocessing.get_context("spawn").Process(
            target=stay_in_group, args=(cluster.servers, topic, group), daemon=True
        )
        other.start()
        try:
            _until(lambda: _owns(consumer, 1))
            settled_s = time.monotonic() + 1.5
            _until(lambda: _owns(consumer, 1) and time.monotonic() > settled_s)
        finally:
            other.kill()
        begun_s = time.perf_counter()
        _until(lambda: _owns(consumer, 2))
        return time.perf_counter() - begun_s


def stay_in_group(servers: str, topic: str, group: str) -> None:
    """Be a member of a group until the process is killed."""
    with confluent_consumer(servers, group_id=group, **_MEMBER) as consumer:
        consumer.subscribe([topic])
        while True:
            consumer.poll(1)


def join(cluster: ComparedCluster) -> float:
    """From the subscription of a second member until both have a partition."""
    return _join_and_leave(cluster)[0]


def leave(cluster: ComparedCluster) -> float:
    """From a member's close until the other member has its partition."""
    return _join_and_leave(cluster)[1]


CASES: dict[str, tuple[str, Callable[[ComparedCluster], float]]] = {
    "delete": ("a topic of 20 partitions is deleted and gone from Metadata", delete),
    "recreate": ("a consumed topic is deleted and created: first new record", recreate),
    "recreate-franz-go": (
        "the same with franz-go, which purges the topic after 0.1 s and adds it again",
        recreate_franz_go,
    ),
    "grow": ("first record of a new partition; metadata is refreshed every second", grow),
    "shut-down": ("longest time from send to read while the leader shuts down", shut_down),
    "kill": ("longest time from send to read while the leader crashes", kill),
    "join": ("a second member joins, heartbeats every 0.5 s", join),
    "leave": ("a member leaves, heartbeats every 0.5 s", leave),
    "expire": ("a member crashes, session.timeout.ms=6000", expire),
}


def _join_and_leave(cluster: ComparedCluster) -> tuple[float, float]:
    topic, group = cluster.new_topic(2), f"group-{next(_numbers)}"
    with ExitStack() as stack:
        first = stack.enter_context(_member(cluster, topic, group))
        _until(lambda: _owns(first, 2))
        begun_s = time.perf_counter()
        with _member(cluster, topic, group) as second:
            _until(lambda: _owns(first, 1) & _owns(second, 1))
            joined_s = time.perf_counter()
        left_s = time.perf_counter()
        _until(lambda: _owns(first, 2))
        return joined_s - begun_s, time.perf_counter() - left_s


def _longest_wait(cluster: ComparedCluster, lose_leader: Callable[[], None]) -> float:
    """Send and read one record after the other, until another broker has led for a while."""
    topic, admin = cluster.new_topic(), cluster.admin
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.servers})
    losing = threading.Thread(target=lose_leader)
    waits_s: list[float] = []
    try:
        with confluent_consumer(cluster.servers) as consumer:
            consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
            deadline, left = Deadline(LIMIT_S), 20
            for number in itertools.count():
                deadline.holds("another leader")
                begun_s = time.perf_counter()
                producer.produce(topic, b"%d" % number, partition=0)
                assert producer.flush(LIMIT_S) == 0
                _read(consumer, b"%d" % number)
                waits_s.append(time.perf_counter() - begun_s)
                if number == 3:
                    waits_s.clear()
                    losing.start()
                metadata = admin.list_topics(topic, timeout=LIMIT_S)
                left -= metadata.topics[topic].partitions[0].leader != STOPPED_BROKER
                if left == 0:
                    return max(waits_s)
            raise AssertionError
    finally:
        losing.join()
        cluster.start()
        _until(lambda: len(admin.list_topics(timeout=LIMIT_S).brokers) == 3)


@contextmanager
def _member(
    cluster: ComparedCluster, topic: str, group: str | None = None, **config: Any
) -> Iterator[Any]:
    group = group or f"group-{next(_numbers)}"
    with confluent_consumer(cluster.servers, group_id=group, **_MEMBER, **config) as consumer:
        consumer.subscribe([topic])
        yield consumer


def _owns(consumer: Any, partition_count: int) -> bool:
    consumer.poll(0.01)
    return len(consumer.assignment()) == partition_count


def _read(consumer: Any, value: bytes) -> None:
    """Poll until this record comes; errors are the client's own affair."""
    deadline = Deadline(LIMIT_S)
    while deadline.holds(f"the record {value!r}"):
        message = consumer.poll(0.05)
        if message is not None and message.error() is None and message.value() == value:
            return


def _until(holds: Callable[[], bool]) -> None:
    deadline = Deadline(LIMIT_S)
    while not holds():
        deadline.holds("the change")


@contextmanager
def _clusters(franz_go: ClientProgram) -> Iterator[dict[str, ComparedCluster]]:
    with tempfile.TemporaryDirectory() as folder, MockKafka(brokers=3) as kafka:
        apache = ApacheCluster(Path(folder))
        try:
            apache.start()
            broker = apache.brokers[STOPPED_BROKER]
            yield {
                "Apache Kafka": ComparedCluster(
                    apache.bootstrap_servers, broker.stop, broker.kill, broker.start, franz_go
                ),
                "mock-kafka": ComparedCluster(
                    kafka.bootstrap_servers,
                    lambda: _shut_down(kafka),
                    lambda: kafka.stop_broker(STOPPED_BROKER),
                    lambda: kafka.start_broker(STOPPED_BROKER),
                    franz_go,
                ),
            }
        finally:
            apache.stop()


def _shut_down(kafka: MockKafka) -> None:
    """Stop a broker as a controlled shutdown does: its leaders move while it still responds."""
    kafka.fence_broker(STOPPED_BROKER)
    time.sleep(SHUTDOWN_S)
    kafka.stop_broker(STOPPED_BROKER)


def _measure(name: str, clusters: dict[str, ComparedCluster], rounds: int) -> list[float]:
    """Return the median of each cluster."""
    durations_s: dict[str, list[float]] = {cluster: [] for cluster in clusters}
    for number, cluster in itertools.product(range(rounds), clusters):
        durations_s[cluster].append(CASES[name][1](clusters[cluster]))
        progress(f"{name} {number + 1}/{rounds} {cluster}: {durations_s[cluster][-1]:.3f} s")
    medians = {cluster: round(statistics.median(durations_s[cluster]), 3) for cluster in clusters}
    print_line({"measurement": "durations", "case": name, "seconds": medians, "all": durations_s})
    return list(medians.values())


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return the table for the document."""
    return markdown_table(("", "Apache Kafka 4.1", "mock-kafka", "ratio"), rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="durations", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}")
    parser.add_argument("--write", action="store_true", help="write the table to the docs")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(CASES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    rows = []
    is_met = True
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            _clusters(build_franz_go(Path(folder))) as clusters,
        ):
            for name in arguments.names or CASES:
                theirs_s, ours_s = _measure(name, clusters, arguments.rounds)
                ratio = ours_s / theirs_s
                is_met &= ratio <= RATIO_MAX
                figures = (f"{theirs_s:.2f} s", f"{ours_s:.2f} s", f"{ratio:.2f}")
                rows.append((CASES[name][0], *figures))
    except CannotRunError as error:
        progress(f"durations: not measured: {error}")
        return 1
    print(text_table(("", "Apache Kafka 4.1", "mock-kafka", "ratio"), rows), file=sys.stderr)
    if arguments.write:
        write_part("durations", table(rows))
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
