"""`mock-kafka record` of Apache Kafka, and clients of the cluster that loads the file."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from mock_kafka import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclResourceType,
    MockKafka,
    NewTopic,
    PatternType,
    PermissionType,
    QuotaChange,
    ResourcePattern,
    cli,
    open_admin,
)
from scenarios.clients.deadline import Deadline
from scenarios.maven import CannotRunError
from tests.interop.apache_kafka import USERNAME, ApacheKafka

pytestmark = pytest.mark.long

PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "broker.rack": "east",
    "log.cleaner.backoff.ms": "100",
}
COMPACTED = {
    "cleanup.policy": "compact",
    "max.compaction.lag.ms": "100",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": "100",
}
RULE = AclBinding(
    ResourcePattern(AclResourceType.TOPIC, "ord", PatternType.PREFIXED),
    AccessControlEntry(f"User:{USERNAME}", "*", AclOperation.READ, PermissionType.ALLOW),
)
RETENTION = {"retention.ms": "-1"}
Settings = dict[str, Any]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """Apache Kafka with topics of all kinds, a group, quotas and access control lists."""
    kafka = ApacheKafka(tmp_path_factory.mktemp("recorded"), features={}, properties=PROPERTIES)
    try:
        kafka.start()
    except CannotRunError as error:
        pytest.skip(str(error))
    settings = {"bootstrap.servers": kafka.bootstrap_servers}
    with open_admin(kafka.bootstrap_servers) as admin:
        configs = {"orders": RETENTION, "payments": {}, "states": COMPACTED}
        topics = [NewTopic(name, 1, 1, configs=found) for name, found in configs.items()]
        assert set(admin.create_topics(topics).values()) == {None}
        user = {"user": USERNAME}
        assert admin.alter_client_quotas([QuotaChange(user, {"producer_byte_rate": 1e6})]) == [None]
        assert admin.create_acls([RULE]) == [None]
        fill(settings)
        commit_halfway(settings)
        wait_for_compaction(settings)
    open_one = transaction(settings, "open", "open")
    yield kafka
    open_one.abort_transaction()
    kafka.stop()


def fill(settings: Settings) -> None:
    """Produce to all topics; `payments` has a committed, an aborted and a committed transaction."""
    producer = Producer(settings)
    for number in range(10):
        producer.produce("orders", json.dumps({"n": number}), key="k", headers=[("h", None)])
        producer.produce("states", str(number), key=str(number % 2))
    producer.flush()
    for number, end in enumerate(("commit", "abort", "commit")):
        ended = transaction(settings, "x", str(number))
        ended.commit_transaction() if end == "commit" else ended.abort_transaction()


def transaction(settings: Settings, transactional_id: str, value: str) -> Producer:
    """Return a producer with a record in an open transaction."""
    producer = Producer({**settings, "transactional.id": transactional_id})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("payments", value)
    producer.flush()
    return producer


def commit_halfway(settings: Settings) -> None:
    """Commit offset 4 of `orders` for the group `billing`."""
    consumer = Consumer({**settings, "group.id": "billing"})
    half = [TopicPartition("orders", 0, 4)]
    deadline = Deadline()
    while deadline.holds("a coordinator; Kafka creates the topic of the offsets first"):
        with suppress(KafkaException):
            consumer.commit(offsets=half, asynchronous=False)
            break
    consumer.close()


def wait_for_compaction(settings: Settings) -> None:
    """Roll the segment with further records until the first ones are compacted."""
    producer = Producer(settings)
    deadline = Deadline(60)
    while len(read(settings, "states", 8)) == 8:
        assert deadline.holds("the log is compacted")
        producer.produce("states", "last", key="2")
        producer.flush()


def read(settings: Settings, topic: str, end: int, group: str = "reader") -> list[tuple[int, Any]]:
    """Return offsets and values before an end offset, from the group's offset or the start on."""
    isolation = {"isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, **isolation, "group.id": group, "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0)])
    found = []
    deadline = Deadline(60)
    while consumer.position([TopicPartition(topic, 0)])[0].offset < end:
        assert deadline.holds(f"{topic} is read up to {end}")
        message = consumer.poll(0.2)
        if message is not None and message.error() is None and (message.offset() or 0) < end:
            found.append((message.offset() or 0, message.value()))
    consumer.close()
    return found


def record(kafka: ApacheKafka | MockKafka, out: Path) -> dict[str, Any]:
    arguments = ["record", "--from", kafka.bootstrap_servers, "--out", str(out)]
    assert cli.main([*arguments, "--unscrubbed", "--records", "all"]) == 0
    document: dict[str, Any] = json.loads(out.read_bytes())
    return document


def test_a_loaded_world_is_like_apache_kafka(recorded: ApacheKafka, tmp_path: Path) -> None:
    path = tmp_path / "world.mk"
    world = record(recorded, path)
    orders, payments, states = world["topics"]
    assert (orders["config"], states["config"]) == (RETENTION, COMPACTED)
    assert [found["value"] for found in payments["partitions"][0]["records"]] == ["0", "2"]
    assert payments["partitions"][0]["log_end_offset"] == 7  # three markers, and one is open
    offsets = [found["offset"] for found in states["partitions"][0]["records"]]
    assert offsets[0] > 0
    assert world["quotas"] == [
        {"entity": {"user": USERNAME}, "values": {"producer_byte_rate": 1e6}, "shadow": []}
    ]
    assert [(rule["principal"], rule["resource_name"]) for rule in world["acls"]] == [
        (f"User:{USERNAME}", "ord")
    ]
    cluster = world["cluster"]
    assert (cluster["release"], cluster["brokers"]) == ("4.4", [{"node_id": 1, "rack": "east"}])
    assert {user["user"] for user in cluster["users"]} == {USERNAME}
    assert "salt" not in path.read_text()

    config = {"super.users": PROPERTIES["super.users"]}
    with MockKafka(snapshot=path, acls=True, config=config) as kafka:
        again = record(kafka, tmp_path / "again.mk")
        settings: list[Settings] = [
            {"bootstrap.servers": found.bootstrap_servers} for found in (recorded, kafka)
        ]
        for topic, end, group in (("orders", 10, "billing"), ("payments", 5, "new")):
            expected, found = (read(one, topic, end, group) for one in settings)
            assert found == expected
            assert found[0][0] == (4 if group == "billing" else 0)
    for name in ("users", "groups"):  # these are not loaded
        world["cluster"].pop(name, None)
        again["cluster"].pop(name, None)
    assert again == world
