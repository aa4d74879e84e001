"""Clients of four languages do with Apache Kafka of three brokers nothing that ours answers
otherwise: groups, transactions, share groups and Kafka Streams through `proxy --diff`.
"""

from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from proxy.diff.report import SAME
from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.java import compile_java, java_command, kafka_clients_jars
from tests.interop.apache_cluster import ApacheCluster
from tests.interop.apache_kafka import PASSWORD, USERNAME, ApacheKafka
from tests.interop.client_program import ClientProgram
from tests.interop.comparing_proxy import Compared, comparing
from tests.interop.go_and_node_clients import CLIENTS, build_franz_go
from tests.interop.java_clients import compile_java_clients
from tests.interop.kafka_streams import WordCount
from tests.interop.proxied_apache_cluster import PROPERTIES
from tests.interop.started_kafka import started
from tests.interop.transactional_clients import PRODUCERS, READERS
from tests.interop.word_feed import APPLICATIONS, FAST, STREAMS_GROUP, TIMEOUT_S, Feed

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("jvm")]
COUNT = 100
REBALANCE_POLLS = 10
SHARE_QUEUES = Path(__file__).with_name("java") / "ShareQueues.java"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheCluster]:
    """Three brokers of Apache Kafka."""
    with started(ApacheCluster(tmp_path_factory.mktemp("cluster"), 3, PROPERTIES)) as running:
        yield running


@pytest.fixture
def compared(cluster: ApacheCluster, tmp_path: Path) -> Iterator[Compared]:
    """A proxy whose report must show no difference."""
    with comparing(cluster.bootstrap_servers, tmp_path) as running:
        yield running
    assert running.differences == []
    assert running.lines[-1] == SAME


def copy_in_transactions(servers: str, topic: str, group_protocol: str) -> None:
    """Copy records of a group's partitions with their offsets, and abort a transaction."""
    base = {"bootstrap.servers": servers}
    producer = confluent_kafka.Producer({**base, "enable.idempotence": True})
    for number in range(COUNT):
        producer.produce(topic, b"%d" % number, key=b"%d" % number)
    producer.flush(TIMEOUT_S)
    writer = confluent_kafka.Producer({**base, "transactional.id": topic})
    writer.init_transactions(TIMEOUT_S)
    settings = {"group.id": topic, "group.protocol": group_protocol}
    settings |= {"auto.offset.reset": "earliest", "enable.auto.commit": "false"}
    reader = confluent_kafka.Consumer({**base, **settings})
    reader.subscribe([topic])
    read = 0
    while read < COUNT:
        messages = reader.consume(30, TIMEOUT_S)
        assert messages
        read += len(messages)
        writer.begin_transaction()
        for message in messages:
            writer.produce(f"{topic}.out", message.value() or b"")
        positions = reader.position(reader.assignment())
        writer.send_offsets_to_transaction(positions, reader.consumer_group_metadata(), TIMEOUT_S)
        writer.commit_transaction(TIMEOUT_S)
    writer.begin_transaction()
    writer.produce(f"{topic}.out", b"aborted")
    writer.flush(TIMEOUT_S)
    writer.abort_transaction(TIMEOUT_S)
    second = confluent_kafka.Consumer({**base, **settings})
    second.subscribe([topic])
    for _ in range(REBALANCE_POLLS):
        second.poll(0.5)
        reader.poll(0.5)
    second.close()
    reader.close()


@pytest.mark.parametrize("group_protocol", ["classic", "consumer"])
def test_librdkafka_copies_in_transactions(
    compared: Compared, topic: str, group_protocol: str
) -> None:
    servers = compared.bootstrap_servers
    for name in (topic, f"{topic}.out"):
        create_topic(servers, name, 4, 3)
    copy_in_transactions(servers, topic, group_protocol)


@pytest.mark.parametrize("library", PRODUCERS)
def test_the_python_clients_commit_and_abort(compared: Compared, topic: str, library: str) -> None:
    create_topic(compared.bootstrap_servers, topic, 2, 3)
    producer = PRODUCERS[library](compared.bootstrap_servers, topic)
    producer.start()
    for value, end in ((b"one", producer.commit), (b"two", producer.abort)):
        producer.begin()
        producer.send(topic, value)
        producer.send_offset(topic, 7, f"{topic}.group")
        end()
    producer.close()
    for level in ("read_committed", "read_uncommitted"):
        assert b"one" in READERS[library](compared.bootstrap_servers, topic, level)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_java_clients(compared: Compared, topic: str, protocol: str) -> None:
    java, servers = compile_java_clients("4.4.0"), compared.bootstrap_servers
    create_topic(servers, topic, 4, 3)
    create_topic(servers, f"{topic}.out", 1, 3)
    java.run("produce", servers, topic, COUNT)
    group = {"group_id": topic, "auto_offset_reset": "earliest", "group_protocol": protocol}
    java.run("share", servers, topic, COUNT, **group)
    java.run("transact", servers, topic, 20)
    java.run("administer", servers, f"{topic}.administered")


@pytest.mark.parametrize("library", CLIENTS)
def test_franz_go_and_kafkajs(compared: Compared, topic: str, tmp_path: Path, library: str) -> None:
    program, servers = CLIENTS[library](tmp_path), compared.bootstrap_servers
    program.run("produce", servers, topic, COUNT)
    program.run("consume", servers, topic, 40, topic)
    program.run("consume", servers, topic, COUNT - 40, topic)
    program.run("fence", servers, topic, 0)


def test_franz_go_shares_records(compared: Compared, topic: str, tmp_path: Path) -> None:
    go = build_franz_go(tmp_path)
    go.run("produce", compared.bootstrap_servers, topic, COUNT)
    assert go.run("share", compared.bootstrap_servers, topic, COUNT, topic)


def test_share_consumers_of_java(compared: Compared, topic: str, tmp_path: Path) -> None:
    jars, queue = kafka_clients_jars("4.4.0"), f"dlq.{topic}"
    compile_java([SHARE_QUEUES], f"{jars}/*", tmp_path)
    program = ClientProgram(java_command(f"{tmp_path}:{jars}/*", "ShareQueues", log_level="error"))
    admin = AdminClient({"bootstrap.servers": compared.bootstrap_servers})
    enabled = {"errors.deadletterqueue.group.enable": "true"}
    topics = [NewTopic(topic, 1, 3), NewTopic(queue, 1, 3, config=enabled)]
    for created in admin.create_topics(topics).values():
        created.result(TIMEOUT_S)
    assert program.run(compared.bootstrap_servers, topic, queue)


@pytest.mark.parametrize("settings", [FAST, STREAMS_GROUP], ids=["classic", "streams"])
def test_kafka_streams(
    compared: Compared,
    cluster: ApacheCluster,
    topic: str,
    tmp_path: Path,
    settings: dict[str, object],
) -> None:
    servers = compared.bootstrap_servers
    # Both protocols run on one cluster, so the ids of their applications differ.
    applications = {f"{topic}.{name}": kind for name, kind in APPLICATIONS.items()}
    results = [f"{topic}.{application}" for application in applications]
    for name in (topic, *results):
        create_topic(servers, name, 2, 3)
    feed = Feed(servers, topic)
    with WordCount(tmp_path).instance("one", servers, topic, applications, settings) as one:
        for _ in range(2):
            feed.write(50)
            for name in results:
                feed.wait_until_counted(cluster.bootstrap_servers, name, 2)
    assert one.errors == []


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_users_are_those_of_the_cluster(
    apache_kafka: ApacheKafka, tmp_path: Path, topic: str, mechanism: str
) -> None:
    user = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": USERNAME,
        "sasl.password": PASSWORD,
    }
    properties = tmp_path / "client.properties"
    properties.write_text("".join(f"{name}={value}\n" for name, value in user.items()))
    options = ("--sasl", "--to-config", str(properties))
    with comparing(apache_kafka.sasl_servers, tmp_path, *options) as compared:
        client = {"bootstrap.servers": compared.bootstrap_servers, **user}
        producer = confluent_kafka.Producer({**client, "transactional.id": topic})
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        producer.produce(topic, b"one")
        producer.commit_transaction(TIMEOUT_S)
        group = {"group.id": topic, "auto.offset.reset": "earliest"}
        consumer = confluent_kafka.Consumer({**client, **group})
        consumer.subscribe([topic])
        assert consumer.poll(TIMEOUT_S) is not None
        consumer.close()
    assert compared.differences == []
    assert SAME in compared.lines
