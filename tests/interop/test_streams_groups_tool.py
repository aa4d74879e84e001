"""kafka-streams-groups.sh of Kafka 4.4 with an application, on Apache Kafka 4.4 and here."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import confluent_kafka
import pytest

from client.blocking_admin import open_admin
from client.group_admin import LATEST
from client.resources import GroupDescription, NewTopic
from scenarios.clients.deadline import Deadline
from scenarios.maven import CannotRunError
from tests.differential.clusters import ComparedCluster, Setup, apache_cluster, our_cluster
from tests.differential.tools import Command, Session, compare_session, tool_processes
from tests.interop.kafka_streams import WordCount

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("jvm")]

RELEASE = "4.4"
TIMEOUT_S, INTERVAL_S = 120, 0.5
GROUP, TOPIC = "counts", "lines"
STREAMS = {
    "client_id": "app",
    "group_protocol": "streams",
    "statestore_cache_max_bytes": 0,
    "commit_interval_ms": 200,
}
# The epoch of the group counts how often the brokers had to look at new topics.
COMMANDS = (
    "streams-groups --list",
    "streams-groups --list --state stable",
    Command(f"streams-groups --describe --group {GROUP}", has_any_order=True),
    Command(f"streams-groups --describe --group {GROUP} --verbose", has_any_order=True),
    f"streams-groups --describe --group {GROUP} --members",
    Command(f"streams-groups --describe --group {GROUP} --members --verbose", has_own_numbers=True),
    f"streams-groups --describe --group {GROUP} --state",
    Command(f"streams-groups --describe --group {GROUP} --state --verbose", has_own_numbers=True),
    f"streams-groups --describe --group {GROUP} --topology",
    f"streams-groups --delete --group {GROUP}",
    f"streams-groups --reset-offsets --group {GROUP} --all-input-topics --to-latest --dry-run",
)


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[tuple[ComparedCluster, ComparedCluster]]:
    """Apache Kafka and ours, which assign tasks at once."""
    config = {
        "group.streams.initial.rebalance.delay.ms": "0",
        "group.streams.assignment.interval.ms": "0",
        "group.streams.min.heartbeat.interval.ms": "500",
        "group.streams.heartbeat.interval.ms": "500",
    }
    setup = Setup(RELEASE, config=config)
    folder = tmp_path / "kafka"
    folder.mkdir()
    try:
        with apache_cluster(folder, setup) as kafka, our_cluster(setup) as ours:
            yield kafka, ours
    except CannotRunError as error:
        pytest.skip(str(error))


def write_lines(servers: str) -> None:
    """Create the topics, and write lines with different words."""
    with open_admin(servers) as admin:
        admin.create_topics([NewTopic(name, 2, 1) for name in (TOPIC, f"{TOPIC}.{GROUP}")])
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "log_level": 0})
    for number in range(10):
        producer.produce(TOPIC, f"apple pear {number}", key=str(number), timestamp=1_000)
    assert producer.flush(30) == 0


def wait_until_read(servers: str) -> None:
    """Wait until the application has read and committed all that its tasks read."""
    deadline = Deadline(TIMEOUT_S)
    with open_admin(servers) as admin:
        while deadline.holds("the application has read everything"):
            time.sleep(INTERVAL_S)
            group = admin.describe_groups([GROUP])[GROUP]
            if not isinstance(group, GroupDescription) or group.state != "Stable":
                continue
            read = {key for member in group.members for key in member.assigned}
            ends = admin.list_offsets(read, LATEST)
            offsets = admin.group_offsets(GROUP)
            committed = {key: offsets[key].offset for key in read & offsets.keys()}
            if read and committed == {key: end for key, end in ends.items() if end}:
                return


def test_the_tool_prints_the_same_of_an_application(
    clusters: tuple[ComparedCluster, ComparedCluster], tmp_path: Path
) -> None:
    application = WordCount(tmp_path)
    with ExitStack() as stack:
        for name, cluster in zip(("kafka", "ours"), clusters, strict=True):
            write_lines(cluster.servers)
            instance = application.instance(
                name, cluster.servers, TOPIC, {GROUP: "at_least_once"}, STREAMS
            )
            stack.enter_context(instance)
        for cluster in clusters:
            wait_until_read(cluster.servers)
        tools = stack.enter_context(tool_processes(*clusters, RELEASE))
        assert compare_session(Session("an application", COMMANDS), *tools) == {}
