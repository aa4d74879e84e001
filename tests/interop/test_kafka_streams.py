"""Kafka Streams: windowed word counts go on when an instance is killed and when a broker stops."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from mock_kafka import MockKafka
from protocol import messages
from protocol.api_keys import ApiKey
from scenarios.maven import CannotRunError
from tests.interop.kafka_streams import WordCount
from tests.interop.raw_client import RawClient
from tests.interop.word_feed import APPLICATIONS, FAST, SLOW, STREAMS_GROUP, TIMEOUT_S, Feed

LINE_COUNT = 120
WINDOW_MS = 60_000
BROKER_CONFIG: dict[str, str | int] = {"default.replication.factor": 3, "num.partitions": 2}
BROKER_ASSIGNS: dict[str, str | int] = {
    **BROKER_CONFIG,
    "default.replication.factor": 1,
    "broker.api.versions": "4.4",
    "group.streams.num.standby.replicas": 1,
    "group.streams.min.heartbeat.interval.ms": 500,
    "group.streams.heartbeat.interval.ms": 500,
    "group.streams.min.session.timeout.ms": 6000,
    "group.streams.session.timeout.ms": 6000,
}
"""What a cluster has that assigns the tasks itself."""


def eventually(holds: Callable[[], object]) -> None:
    """Wait for what processes do in their own time."""
    deadline = time.monotonic() + TIMEOUT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


class Run:
    """A cluster with the topics of lines and of results."""

    def __init__(self, kafka: MockKafka, topic: str, replicas: int = 3) -> None:
        self.kafka = kafka
        self.topic = topic
        for name in (topic, *map(self.results_topic, APPLICATIONS)):
            kafka.create_topic(name, 2, replicas)
        self.feed = Feed(kafka.bootstrap_servers, topic)

    def results_topic(self, application: str) -> str:
        """Return the topic that an application writes to."""
        return f"{self.topic}.{application}"

    def results(self, application: str) -> dict[str, list[int]]:
        """Return the counts that read_committed consumers see, in order, by key."""
        topic = self.results_topic(application)
        found = defaultdict(list)
        for record in self.kafka.records(topic, isolation_level="read_committed"):
            assert record.key is not None
            assert record.value is not None
            found[record.key.decode()].append(int(record.value))
        return found

    def has_all_results(self) -> bool:
        """Return whether the applications have counted each word that was written."""
        expected = self.feed.word_counts
        return all(
            max(found.get(key, [0])) >= count
            for found in map(self.results, APPLICATIONS)
            for key, count in expected.items()
        )

    def is_slow_instance_between_commits(self) -> bool:
        """Write more; return whether the slow instance has results that it won't commit soon."""
        self.feed.write(5)
        return any(
            entry.timeout_ms == SLOW["transaction_timeout_ms"]
            and entry.state == "Ongoing"
            and (entry.age_ms or 0) < SLOW["commit_interval_ms"] / 2
            and any(name == self.results_topic("once") for name, _ in entry.partitions)
            for entry in self.kafka.transactions()
        )

    def assigned_member_counts(self) -> list[int]:
        """Return how many members of each application's group have partitions."""
        admin = AdminClient({"bootstrap.servers": self.kafka.bootstrap_servers, "log_level": 0})
        described = admin.describe_consumer_groups(list(APPLICATIONS))
        groups = [future.result() for future in described.values()]
        return [
            sum(bool(member.assignment.topic_partitions) for member in group.members)
            for group in groups
        ]


def check_internal_topics(kafka: MockKafka) -> None:
    """The applications created them, and deleted what they had read."""
    topics = {topic.name: topic for topic in kafka.topics()}
    for application in APPLICATIONS:
        changelog = topics[f"{application}-counts-changelog"]
        assert changelog.config["cleanup.policy"] == "compact,delete"
        repartition = topics[f"{application}-words-repartition"]
        assert repartition.config["retention.ms"] == "-1"
        assert all(partition.log_start_offset > 0 for partition in repartition.partitions)


@pytest.fixture
def word_count(tmp_path: Path) -> WordCount:
    """Return the program; skip without a JDK or Maven Central."""
    try:
        return WordCount(tmp_path)
    except CannotRunError as error:
        pytest.skip(str(error))


@pytest.mark.long
def test_words_are_counted_through_a_killed_instance_and_a_stopped_broker(
    word_count: WordCount, topic: str
) -> None:
    """With `exactly_once_v2` each count appears once; with `at_least_once` none is missing."""
    with MockKafka(brokers=3, config=BROKER_CONFIG) as kafka:
        run = Run(kafka, topic)
        to_count = (kafka.bootstrap_servers, topic, APPLICATIONS)
        with (
            word_count.instance("slow", *to_count, SLOW) as slow,
            word_count.instance("fast", *to_count, FAST) as fast,
        ):
            eventually(lambda: run.assigned_member_counts() == [2, 2])
            run.feed.write(LINE_COUNT)
            eventually(run.is_slow_instance_between_commits)
            slow.kill()
            run.feed.write(LINE_COUNT)
            eventually(run.has_all_results)

            [coordinator] = {
                entry.coordinator
                for entry in kafka.transactions()
                if entry.timeout_ms == FAST["transaction_timeout_ms"]
            }
            assert coordinator is not None
            kafka.stop_broker(coordinator)
            run.feed.write(LINE_COUNT)
            eventually(run.has_all_results)
            kafka.start_broker(coordinator)
            run.feed.write(LINE_COUNT)
            eventually(run.has_all_results)
        assert slow.errors == fast.errors == []
        assert run.results("once") == {
            key: list(range(1, count + 1)) for key, count in run.feed.word_counts.items()
        }
        outcomes = Counter(record.transaction for record in kafka.records(f"{topic}.once"))
        assert set(outcomes) == {"committed", "aborted"}
        check_internal_topics(kafka)


@pytest.mark.long
def test_counts_go_on_from_a_changelog_that_was_compacted(
    word_count: WordCount, topic: str
) -> None:
    """An instance without state restores it: a count that was lost would begin at 1 again."""
    with MockKafka(brokers=1) as kafka:
        run = Run(kafka, topic, replicas=1)
        to_count = (kafka.bootstrap_servers, topic, APPLICATIONS)
        with word_count.instance("first", *to_count, FAST) as first:
            run.feed.write(LINE_COUNT)
            eventually(run.has_all_results)
            eventually(lambda: not has_open_transactions(kafka))
            first.kill()
        for application in APPLICATIONS:
            changelog = f"{application}-counts-changelog"
            before = last_values(kafka, changelog)
            assert sum(found.removed_records for found in kafka.compact(changelog)) > 0
            assert last_values(kafka, changelog) == before
        with word_count.instance("second", *to_count, FAST) as second:
            run.feed.write(LINE_COUNT)
            eventually(run.has_all_results)
        assert first.errors == second.errors == []
        assert run.results("once") == {
            key: list(range(1, count + 1)) for key, count in run.feed.word_counts.items()
        }


def has_open_transactions(kafka: MockKafka) -> bool:
    return any(entry.state == "Ongoing" for entry in kafka.transactions())


def last_values(kafka: MockKafka, topic: str) -> dict[bytes | None, bytes | None]:
    """Return the last committed value of each key."""
    records = kafka.records(topic, isolation_level="read_committed")
    return {record.key: record.value for record in records}


def has_standby_tasks(kafka: MockKafka, application: str) -> bool:
    """Return whether each task with state has its standby task."""
    return standby_tasks(kafka, application) == 2


def standby_tasks(kafka: MockKafka, application: str) -> int:
    """Return how many standby tasks the members of an application have."""
    request = messages.StreamsGroupDescribeRequest(group_ids=[application])
    with RawClient(kafka.bootstrap_servers) as client:
        response = client.ask(
            request, messages.StreamsGroupDescribeResponse, ApiKey.STREAMS_GROUP_DESCRIBE, 1
        )
    return sum(
        len(tasks.partitions)
        for member in response.groups[0].members
        for tasks in member.assignment.standby_tasks
    )


@pytest.mark.long
def test_the_broker_gives_the_tasks_of_a_killed_instance_to_another(
    tmp_path: Path, topic: str
) -> None:
    """With `group.protocol=streams` the broker has the topology and creates its topics."""
    try:
        word_count = WordCount(tmp_path)
    except CannotRunError as error:
        pytest.skip(str(error))
    with MockKafka(brokers=1, config=BROKER_ASSIGNS) as kafka:
        run = Run(kafka, topic, replicas=1)
        to_count = (kafka.bootstrap_servers, topic, APPLICATIONS)
        with (
            word_count.instance("one", *to_count, STREAMS_GROUP) as one,
            word_count.instance("two", *to_count, STREAMS_GROUP) as two,
        ):
            for application in APPLICATIONS:
                kafka.wait_for_stable(application, members=2, timeout_s=TIMEOUT_S)
                eventually(partial(has_standby_tasks, kafka, application))
            run.feed.write(LINE_COUNT)
            eventually(run.has_all_results)
            one.kill()
            run.feed.write(LINE_COUNT)
            eventually(run.has_all_results)
            for application in APPLICATIONS:
                kafka.wait_for_stable(application, members=1, timeout_s=TIMEOUT_S)
                assert standby_tasks(kafka, application) == 0
        assert one.errors == two.errors == []
        assert run.results("once") == {
            key: list(range(1, count + 1)) for key, count in run.feed.word_counts.items()
        }
        check_internal_topics(kafka)
