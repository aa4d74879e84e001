"""Fault rules and the clock with consumers and share consumers of confluent-kafka."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, ShareConsumer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from mock_kafka import MockKafka
from scenarios.clients.aiokafka import AIOKAFKA
from scenarios.clients.deadline import Deadline
from scenarios.clients.interface import Record

CONFIG: dict[str, str | int | float | bool] = {
    "group.consumer.heartbeat.interval.ms": 50,
    "group.consumer.min.heartbeat.interval.ms": 50,
    "group.share.heartbeat.interval.ms": 50,
    "group.share.min.heartbeat.interval.ms": 50,
    "cluster.features": "share.version=1",
}
VALUES = [b"0", b"1", b"2"]
ONCE = [
    {"error": "COORDINATOR_LOAD_IN_PROGRESS"},
    {"error": "COORDINATOR_NOT_AVAILABLE", "at": "before_response"},
    {"drop": "before_handling"},
    {"drop": "before_response"},
    {"delay_ms": 100},
]


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[MockKafka]:
    with MockKafka(config=CONFIG) as kafka:
        yield kafka


@pytest.fixture
def kafka(shared_cluster: MockKafka) -> MockKafka:
    """A cluster with three records in a topic of one partition."""
    shared_cluster.reset()
    shared_cluster.create_topic("t", 1)
    records = [Record(value=value, timestamp_ms=None) for value in VALUES]
    AIOKAFKA.produce(shared_cluster.bootstrap_servers, "t", records)
    return shared_cluster


def consumer(kafka: MockKafka, **settings: Any) -> Consumer:
    found = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "g",
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "retry.backoff.ms": 10,
            "reconnect.backoff.ms": 10,
            **settings,
        }
    )
    found.subscribe(["t"])
    return found


def share_consumer(kafka: MockKafka, client_id: str) -> ShareConsumer:
    set_group_config(kafka)
    found = ShareConsumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "g",
            "client.id": client_id,
            "share.acknowledgement.mode": "explicit",
            "retry.backoff.ms": 10,
            "reconnect.backoff.ms": 10,
        }
    )
    found.subscribe(["t"])
    return found


def set_group_config(kafka: MockKafka) -> None:
    entry = ConfigEntry(
        "share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(ResourceType.GROUP, "g", incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    for outcome in admin.incremental_alter_configs([resource]).values():
        outcome.result()


def poll_until(poll: Callable[[], Any], is_done: Callable[[], bool], awaited: str) -> None:
    deadline = Deadline()
    while not is_done() and deadline.holds(awaited):
        poll()


@pytest.mark.parametrize("rule", ONCE)
def test_a_consumer_reads_everything_after_a_fault_of_its_heartbeats(
    kafka: MockKafka, rule: dict[str, Any]
) -> None:
    fault = kafka.add_fault(api="ConsumerGroupHeartbeat", group="g", times=2, **rule)
    values: list[bytes] = []

    def poll() -> None:
        message = member.poll(0.05)
        if message is not None and message.error() is None:
            values.append(message.value())

    with closing(consumer(kafka)) as member:
        poll_until(poll, lambda: values == VALUES and fault.count == 2, "the records")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("api", "rule"),
    [
        *(("ShareGroupHeartbeat", rule) for rule in ONCE[:2]),
        ("ShareFetch", {"error": "KAFKA_STORAGE_ERROR", "topic": "t"}),
        ("ShareFetch", {"drop": "before_handling"}),
        ("ShareFetch", {"delay_ms": 100}),
    ],
)
def test_a_share_consumer_gets_and_acknowledges_everything_after_a_fault(
    kafka: MockKafka, api: str, rule: dict[str, Any]
) -> None:
    fault = kafka.add_fault(api=api, group="g", times=1, **rule)
    values: list[bytes] = []

    def poll() -> None:
        for message in member.poll(0.05):
            assert message.error() is None
            values.append(message.value())
            member.acknowledge(message)

    with closing(share_consumer(kafka, "a")) as member:
        poll_until(poll, lambda: values == VALUES and fault.count == 1, "the records")
        member.commit_sync()
        (partition,) = kafka.wait_for_stable("g").share_partitions
    assert (partition.start_offset, partition.in_flight) == (3, ())


@pytest.mark.slow
def test_an_error_of_an_acknowledgement_reaches_the_share_consumer(kafka: MockKafka) -> None:
    with closing(share_consumer(kafka, "a")) as member:
        batch: list[Any] = []
        poll_until(lambda: batch.extend(member.poll(0.05)), lambda: bool(batch), "the records")
        for message in batch:
            member.acknowledge(message)
        kafka.fail(api="ShareAcknowledge", topic="t", error="INVALID_RECORD_STATE", times=1)
        (error,) = member.commit_sync().values()
        assert error.args[0].name() == "INVALID_RECORD_STATE"
        (partition,) = kafka.wait_for_stable("g").share_partitions
        assert partition.acquired_records == 3


@pytest.mark.slow
def test_the_clock_ends_acquisition_locks_and_another_member_gets_the_records(
    kafka: MockKafka,
) -> None:
    first, second = [], []
    with (
        closing(share_consumer(kafka, "a")) as holder,
        closing(share_consumer(kafka, "b")) as other,
    ):
        poll_until(lambda: first.extend(holder.poll(0.05)), lambda: bool(first), "the records")
        (held,) = kafka.wait_for_stable("g").share_partitions[0].in_flight
        assert held.state == "acquired"
        assert held.lock_expires_ms is not None

        kafka.advance(ms=held.lock_expires_ms - kafka.now_ms())
        poll_until(lambda: second.extend(other.poll(0.05)), lambda: bool(second), "the records")

        assert [message.value() for message in second] == VALUES
        assert [message.delivery_count() for message in second] == [2, 2, 2]
        for message in second:
            other.acknowledge(message)


@pytest.mark.slow
def test_the_clock_ends_the_session_of_a_member_that_sends_no_heartbeats(kafka: MockKafka) -> None:
    with closing(consumer(kafka, **{"client.id": "a"})) as member:
        poll_until(
            lambda: member.poll(0.05),
            lambda: any(group.members for group in kafka.groups()),
            "the member",
        )
        kafka.hang(api="ConsumerGroupHeartbeat", at="before_handling")
        kafka.advance(seconds=45)
        (group,) = kafka.groups()
        assert (group.state, group.members) == ("Empty", ())
        kafka.clear_faults()
