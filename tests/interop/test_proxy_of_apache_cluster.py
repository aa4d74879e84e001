"""Clients of Java, Go and Node, Kafka Streams and crashes, with the proxy before three brokers."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.java import compile_java, java_command, kafka_clients_jars
from scenarios.maven import CannotRunError
from tests.interop.client_program import ClientProgram
from tests.interop.go_and_node_clients import CLIENTS, build_franz_go
from tests.interop.java_clients import compile_java_clients
from tests.interop.kafka_streams import WordCount
from tests.interop.proxied_apache_cluster import (
    ProxiedCluster,
    records_of,
    serving_proxied,
    values_of,
)
from tests.interop.word_feed import APPLICATIONS, FAST, STREAMS_GROUP, TIMEOUT_S, Feed

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("jvm")]
COUNT = 100
SHARE_QUEUES = Path(__file__).with_name("java") / "ShareQueues.java"
QUEUE = "dlq.t"


@pytest.fixture(scope="module", params=[False, True], ids=["passed", "looked-at"])
def proxied(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProxiedCluster]:
    """Three brokers behind a proxy that passes bytes, or that looks at each request."""
    try:
        folder = tmp_path_factory.mktemp("proxied")
        with serving_proxied(folder, is_looked_at=request.param) as proxied:
            yield proxied
    except CannotRunError as error:
        pytest.skip(str(error))


def eventually(holds: Callable[[], object]) -> None:
    """Wait for what processes do in their own time."""
    deadline = time.monotonic() + TIMEOUT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def numbers(count: int) -> Counter[bytes]:
    return Counter(str(number).encode() for number in range(count))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_java_clients_produce_share_a_group_and_administer(
    proxied: ProxiedCluster, topic: str, protocol: str
) -> None:
    java, servers = compile_java_clients("4.4.0"), proxied.servers
    create_topic(servers, topic, 4, 3)
    java.run("produce", servers, topic, COUNT)
    assert Counter(values_of(proxied.direct_servers, topic, 4, "read_committed")) == numbers(COUNT)
    group = {"group_id": topic, "auto_offset_reset": "earliest", "group_protocol": protocol}
    lines = java.run("share", servers, topic, COUNT, **group)
    assert lines == [["read", str(COUNT)], ["shared", "2", "2"], ["alone", "4"]]
    lines = java.run("administer", servers, f"{topic}.administered")
    assert lines[0] == ["brokers", "3"]
    assert ["log dirs", "3"] in lines
    # The last line is about a topic just deleted: brokers hear of it one after the other.
    assert lines[-1][0] == "listed"


def test_the_java_clients_copy_in_transactions_and_are_fenced(
    proxied: ProxiedCluster, topic: str
) -> None:
    java, servers = compile_java_clients("4.4.0"), proxied.servers
    create_topic(servers, topic, 2, 3)
    create_topic(servers, f"{topic}.out", 1, 3)
    lines = java.run("transact", servers, topic, 20)
    assert ["fenced", "ProducerFencedException"] in lines
    assert Counter(proxied.committed(f"{topic}.out", 1)) == numbers(20)
    assert len(values_of(proxied.direct_servers, f"{topic}.out", 1, "read_uncommitted")) > 20


def test_share_consumers_limit_renew_and_reject_records(
    proxied: ProxiedCluster, tmp_path: Path
) -> None:
    jars = kafka_clients_jars("4.4.0")
    compile_java([SHARE_QUEUES], f"{jars}/*", tmp_path)
    program = ClientProgram(java_command(f"{tmp_path}:{jars}/*", "ShareQueues", log_level="error"))
    admin = AdminClient({"bootstrap.servers": proxied.servers})
    enabled = {"errors.deadletterqueue.group.enable": "true"}
    topics = [NewTopic("t", 1, 3), NewTopic(QUEUE, 1, 3, config=enabled)]
    for created in admin.create_topics(topics).values():
        created.result(TIMEOUT_S)
    lines = program.run(proxied.servers, "t", QUEUE)
    assert lines[0] == ["limited", "2", "2", "true"]
    assert lines[2] == ["renewed", "10", "0", "0"]


def test_franz_go_shares_records(proxied: ProxiedCluster, topic: str, tmp_path: Path) -> None:
    go = build_franz_go(tmp_path)
    go.run("produce", proxied.servers, topic, COUNT)
    assert go.run("share", proxied.servers, topic, COUNT, topic)


@pytest.mark.parametrize("library", CLIENTS)
def test_franz_go_and_kafkajs_produce_and_resume_as_a_group(
    proxied: ProxiedCluster, topic: str, tmp_path: Path, library: str
) -> None:
    program, servers = CLIENTS[library](tmp_path), proxied.servers
    program.run("produce", servers, topic, COUNT)
    assert Counter(proxied.committed(topic, 2)) == numbers(COUNT)
    read = program.run("consume", servers, topic, 40, topic)
    read += program.run("consume", servers, topic, COUNT - 40, topic)
    assert Counter(line[4].encode() for line in read) == numbers(COUNT)


@pytest.mark.parametrize("settings", [FAST, STREAMS_GROUP], ids=["classic", "streams"])
def test_kafka_streams_counts_each_word_once(
    proxied: ProxiedCluster, topic: str, tmp_path: Path, settings: dict[str, object]
) -> None:
    word_count, servers = WordCount(tmp_path), proxied.servers
    applications = {f"{topic}.{name}": kind for name, kind in APPLICATIONS.items()}
    outputs = {name: f"{topic}.{name}" for name in applications}
    for name in (topic, *outputs.values()):
        create_topic(servers, name, 2, 3)
    feed = Feed(servers, topic)

    def counts(name: str) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for key, value in records_of(proxied.direct_servers, outputs[name], 2, "read_committed"):
            found[key.decode()].append(int(value))
        return found

    def is_complete(name: str) -> bool:
        found = counts(name)
        return all(max(found.get(key, [0])) >= count for key, count in feed.word_counts.items())

    with word_count.instance("one", servers, topic, applications, settings) as one:
        feed.write(60)
        for name in applications:
            eventually(partial(is_complete, name))
    assert one.errors == []
    [once] = [name for name, kind in applications.items() if kind == "exactly_once_v2"]
    assert counts(once) == {key: list(range(1, n + 1)) for key, n in feed.word_counts.items()}
