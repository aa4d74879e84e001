"""Groups of the consumer protocol (KIP-848) with confluent-kafka (`group.protocol=consumer`)."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupState, ConsumerGroupType, KafkaError
from confluent_kafka.admin import AdminClient

from mock_kafka import MockKafka
from scenarios.clients.aiokafka import AIOKAFKA
from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.deadline import Deadline
from scenarios.clients.interface import Record
from scenarios.maven import CannotRunError
from tests.interop.consumer_protocol import Member
from tests.interop.java_clients import compile_java_clients

PARTITIONS = 4
HEARTBEATS = {
    "group.consumer.heartbeat.interval.ms": 100,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "log.retention.ms": -1,
}


@pytest.fixture(scope="module")
def brokers() -> Iterator[MockKafka]:
    """A cluster whose members heartbeat ten times a second, so that rebalances are quick."""
    with MockKafka(brokers=3, config=HEARTBEATS) as kafka:
        yield kafka


@pytest.fixture
def filled(brokers: MockKafka, topic: str) -> str:
    """Return a topic of four partitions with 25 records each."""
    create_topic(brokers.bootstrap_servers, topic, PARTITIONS)
    records = [Record(value=b"%d" % number, partition=number % PARTITIONS) for number in range(100)]
    AIOKAFKA.produce(brokers.bootstrap_servers, topic, records)
    return topic


@contextmanager
def members(brokers: MockKafka, *subscriptions: str, **settings: Any) -> Iterator[list[Member]]:
    """Consumers that are closed at the end."""
    with ExitStack() as stack:
        found = []
        for subscription in subscriptions:
            member = Member(brokers, subscription, **settings)
            stack.callback(member.consumer.close)
            found.append(member)
        yield found


def poll_until(group: list[Member], is_done: Callable[[], bool]) -> None:
    deadline = Deadline()
    while not is_done() and deadline.holds("the members' partitions and records"):
        for member in group:
            member.poll()


def test_one_member_reads_everything_and_the_next_goes_on_where_it_committed(
    brokers: MockKafka, filled: str
) -> None:
    settings = {"group.id": f"g-{filled}"}
    with members(brokers, filled, **settings) as (first,):
        poll_until([first], lambda: len(first.values) == 100)
        assert sorted(map(int, first.values)) == list(range(100))
        first.consumer.commit(asynchronous=False)
    AIOKAFKA.produce(brokers.bootstrap_servers, filled, [Record(value=b"new", partition=0)])
    with members(brokers, filled, **settings) as (second,):
        poll_until([second], lambda: bool(second.values))
        assert second.values == [b"new"]


def test_a_second_member_gets_half_and_the_first_one_never_loses_what_it_keeps(
    brokers: MockKafka, filled: str
) -> None:
    settings = {"group.id": f"g-{filled}"}
    with members(brokers, filled, **settings) as (first,):
        poll_until([first], lambda: len(first.partitions) == 4)
        with members(brokers, filled, **settings) as (second,):
            group = [first, second]
            poll_until(group, lambda: len(first.partitions) == len(second.partitions) == 2)
            assert not first.partitions & second.partitions
            assert first.revoked == [second.partitions]
        poll_until([first], lambda: len(first.partitions) == 4)


def test_a_static_member_that_is_back_keeps_its_partitions_and_nobody_else_notices(
    brokers: MockKafka, filled: str
) -> None:
    settings = {"group.id": f"g-{filled}"}
    with members(brokers, filled, **settings) as (other,):
        with members(brokers, filled, **settings, **{"group.instance.id": "i"}) as (static,):
            poll_until(
                [other, static], lambda: len(other.partitions) == len(static.partitions) == 2
            )
            before, revocations = static.partitions, len(other.revoked)
        with members(brokers, filled, **settings, **{"group.instance.id": "i"}) as (back,):
            poll_until([other, back], lambda: len(back.partitions) == 2)
            assert back.partitions == before
            assert len(other.revoked) == revocations


def test_topics_are_subscribed_to_by_an_expression_that_the_broker_resolves(
    brokers: MockKafka, filled: str
) -> None:
    with members(brokers, f"^{filled}.*", **{"group.id": f"g-{filled}"}) as (member,):
        poll_until([member], lambda: len(member.partitions) == 4)
        assert {name for name, _ in member.partitions} == {filled}


def test_an_administrator_lists_describes_and_deletes_the_group(
    brokers: MockKafka, filled: str
) -> None:
    group_id = f"g-{filled}"
    admin = AdminClient({"bootstrap.servers": brokers.bootstrap_servers})
    settings = {"group.id": group_id, "group.remote.assignor": "range", "client.id": "app"}
    with members(brokers, filled, **settings) as (member,):
        poll_until([member], lambda: len(member.partitions) == 4)
        listed = admin.list_consumer_groups(types={ConsumerGroupType.CONSUMER}).result().valid
        assert group_id in {group.group_id for group in listed}
        described = admin.describe_consumer_groups([group_id])[group_id].result()
        assert (described.state, described.partition_assignor) == (
            ConsumerGroupState.STABLE,
            "range",
        )
        assert described.type is ConsumerGroupType.CONSUMER
        (shown,) = described.members
        assert shown.client_id == "app"
        partitions = {(p.topic, p.partition) for p in shown.assignment.topic_partitions}
        assert partitions == {
            (p.topic, p.partition) for p in shown.target_assignment.topic_partitions
        }
        assert partitions == member.partitions
        failed = admin.delete_consumer_groups([group_id])[group_id].exception()
        assert failed.args[0].code() == KafkaError.NON_EMPTY_GROUP
    assert admin.delete_consumer_groups([group_id])[group_id].result() is None


def test_a_silent_member_is_removed_by_the_clock_and_joins_again(
    brokers: MockKafka, filled: str
) -> None:
    with members(brokers, filled, **{"group.id": f"g-{filled}"}) as (member,):
        poll_until([member], lambda: len(member.values) == 100)
        brokers.advance(seconds=60)
        AIOKAFKA.produce(brokers.bootstrap_servers, filled, [Record(value=b"new", partition=0)])
        poll_until([member], lambda: len(member.assigned) == 2 and member.partitions != set())


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_an_application_changes_to_the_consumer_protocol_and_back_one_member_at_a_time(
    brokers: MockKafka, filled: str, assignor: str
) -> None:
    new = {"group.id": f"g-{filled}-{assignor}"}
    old = {
        **new,
        "group.protocol": "classic",
        "partition.assignment.strategy": assignor,
        "heartbeat.interval.ms": 100,
    }
    admin = AdminClient({"bootstrap.servers": brokers.bootstrap_servers})

    def group_type() -> ConsumerGroupType:
        (listed,) = [
            group
            for group in admin.list_consumer_groups().result().valid
            if group.group_id == new["group.id"]
        ]
        found: ConsumerGroupType = listed.type
        return found

    with members(brokers, filled, **old) as (first,):
        poll_until([first], lambda: len(first.partitions) == 4)
        assert group_type() is ConsumerGroupType.CLASSIC
        with members(brokers, filled, **new) as (second,):
            group = [first, second]
            poll_until(group, lambda: len(first.partitions) == len(second.partitions) == 2)
            assert not first.partitions & second.partitions
            assert group_type() is ConsumerGroupType.CONSUMER
            poll_until(group, lambda: len({*first.values, *second.values}) == 100)
        poll_until([first], lambda: len(first.partitions) == 4)
        assert group_type() is ConsumerGroupType.CLASSIC
        AIOKAFKA.produce(
            brokers.bootstrap_servers,
            filled,
            [Record(value=b"new", partition=partition) for partition in range(PARTITIONS)],
        )
        poll_until([first], lambda: first.values.count(b"new") == PARTITIONS)


@pytest.mark.long
def test_java_consumers_share_partitions_and_take_over_from_a_leaver(
    brokers: MockKafka, topic: str
) -> None:
    try:
        java = compile_java_clients("4.4.0")
    except CannotRunError as error:
        pytest.skip(str(error))
    servers = brokers.bootstrap_servers
    create_topic(servers, topic, PARTITIONS)
    java.run("produce", servers, topic, 40)
    group = {"group_id": f"{topic}.group", "auto_offset_reset": "earliest"}
    lines = java.run("share", servers, topic, 40, group_protocol="consumer", **group)
    assert lines == [["read", "40"], ["shared", "2", "2"], ["alone", "4"]]
