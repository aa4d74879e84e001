"""The methods for groups, with consumers and share consumers of confluent-kafka."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, ShareConsumer

from mock_kafka import ControlError, MockKafka

CONFIG: dict[str, str | int | float | bool] = {
    "group.consumer.heartbeat.interval.ms": 50,
    "group.consumer.min.heartbeat.interval.ms": 50,
    "group.share.heartbeat.interval.ms": 50,
    "group.share.min.heartbeat.interval.ms": 50,
    "group.initial.rebalance.delay.ms": 0,
    "cluster.features": "share.version=1",
}
Members = Callable[..., None]


@pytest.fixture(scope="module", params=[False, True], ids=["own process", "in process"])
def shared_cluster(request: pytest.FixtureRequest) -> Iterator[MockKafka]:
    with MockKafka(config=CONFIG, in_process=request.param) as kafka:
        yield kafka


@pytest.fixture
def kafka(shared_cluster: MockKafka) -> MockKafka:
    shared_cluster.reset()
    shared_cluster.create_topic("t", 4)
    return shared_cluster


@contextmanager
def polled(poll: Callable[[float], Any]) -> Iterator[None]:
    """Poll a consumer in a thread."""
    is_over = threading.Event()

    def run() -> None:
        while not is_over.is_set():
            poll(0.05)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@pytest.fixture
def join(kafka: MockKafka) -> Iterator[Members]:
    """Start consumers, which leave at the end."""
    with ExitStack() as stack:

        def start(*client_ids: str, **settings: str) -> None:
            for client_id in client_ids:
                consumer = Consumer(
                    {
                        "bootstrap.servers": kafka.bootstrap_servers,
                        "group.id": "g",
                        "client.id": client_id,
                        **{name.replace("_", "."): value for name, value in settings.items()},
                    }
                )
                consumer.subscribe(["t"])
                stack.callback(consumer.close)
                stack.enter_context(polled(consumer.poll))

        yield start


def partitions(*indexes: int) -> tuple[tuple[str, int], ...]:
    return tuple(("t", index) for index in indexes)


def test_a_consumer_group_is_fenced_rebalanced_and_assigned(
    kafka: MockKafka, join: Members
) -> None:
    join("a", "b", group_protocol="consumer")
    group = kafka.wait_for_stable("g", members=2)
    assert (group.group_type, group.state, group.protocol_name) == (
        *("consumer", "Stable", "uniform"),
    )
    assert [found.group_id for found in kafka.groups()] == ["g"]
    a, b = group.member("a"), group.member("b")
    assert a.client_host == "/127.0.0.1"
    assert sorted((a.assigned or ()) + (b.assigned or ())) == list(partitions(0, 1, 2, 3))
    assert a.target == a.assigned

    kafka.assign("g", {a.member_id: partitions(0, 1, 2), b.member_id: [("t", 3)]})
    group = kafka.wait_for_stable("g", members=2)
    assert group.is_assigned_manually
    assert (group.member("a").assigned, group.member("b").assigned) == (
        partitions(0, 1, 2),
        partitions(3),
    )

    kafka.rebalance("g")
    rebalanced = kafka.wait_for_stable("g", members=2)
    assert not rebalanced.is_assigned_manually
    assert rebalanced.group_epoch == (group.group_epoch or 0) + 1
    assert len(rebalanced.member("a").assigned or ()) == 2

    kafka.fence_member("g", a.member_id)
    kafka.wait_for(api="ConsumerGroupHeartbeat", error="UNKNOWN_MEMBER_ID")
    group = kafka.wait_for_stable("g", members=2)  # it has joined again
    assert (group.group_epoch or 0) >= (rebalanced.group_epoch or 0) + 2


def test_a_classic_group_rebalances_and_has_the_partitions_that_its_leader_assigned(
    kafka: MockKafka, join: Members
) -> None:
    join("a", heartbeat_interval_ms="50")
    group = kafka.wait_for_stable("g", members=1)
    (member,) = group.members
    assert (group.group_type, group.generation_id, member.member_epoch) == ("classic", 1, None)
    assert (member.subscribed_topics, member.assigned) == (("t",), partitions(0, 1, 2, 3))

    kafka.rebalance("g")
    kafka.wait_for(api="JoinGroup", since=kafka.wait_for(error="REBALANCE_IN_PROGRESS").number)
    assert kafka.wait_for_stable("g", members=1).generation_id == 2

    kafka.fence_member("g", member.member_id)
    kafka.wait_for(error="UNKNOWN_MEMBER_ID")
    assert kafka.wait_for_stable("g", members=1).members[0].member_id != member.member_id
    with pytest.raises(ControlError, match="its leader assigns"):
        kafka.assign("g", {})


@pytest.mark.slow
def test_a_share_group_has_sessions_start_offsets_and_acquired_records(kafka: MockKafka) -> None:
    consumer = ShareConsumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "g",
            "client.id": "a",
            "share.acknowledgement.mode": "explicit",
        }
    )
    consumer.subscribe(["t"])
    with polled(consumer.poll):
        group = kafka.wait_for_stable("g", members=1)
        (member,) = group.members
        assert (group.group_type, member.protocol) == ("share", "share")
        assert member.assigned == member.target == partitions(0, 1, 2, 3)
        assert [found.partition for found in group.share_partitions] == [0, 1, 2, 3]
        kafka.wait_for(api="ShareFetch", outcome="responded")
        (member,) = kafka.wait_for_stable("g").members
        assert [session.broker for session in member.sessions] == [1]
        kafka.fence_member("g", member.member_id)
        kafka.wait_for(api="ShareGroupHeartbeat", error="UNKNOWN_MEMBER_ID")
        kafka.wait_for_stable("g", members=1)
    consumer.close()


@pytest.mark.slow
def test_a_share_group_has_a_lag_and_begins_elsewhere_without_members(kafka: MockKafka) -> None:
    kafka.produce("t", *"abc", partition=0)
    consumer = ShareConsumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g"})
    consumer.subscribe(["t"])
    with polled(consumer.poll):
        kafka.wait_for_stable("g", members=1)
        kafka.wait_for(api="ShareFetch", outcome="responded")
    consumer.close()
    kafka.reset_offsets("g", "t", offset=1)
    assert kafka.committed("g") == {("t", 0): 1} | {("t", index): 0 for index in (1, 2, 3)}
    assert kafka.lag("g", "t") == {("t", 0): 2} | {("t", index): 0 for index in (1, 2, 3)}


def test_the_timeout_names_the_state_and_the_members(kafka: MockKafka, join: Members) -> None:
    with pytest.raises(TimeoutError, match=r"'g' was not stable in 0 s: it does not exist"):
        kafka.wait_for_stable("g", timeout_s=0)
    join("a", group_protocol="consumer")
    kafka.wait_for_stable("g")
    with pytest.raises(
        TimeoutError, match=r"with 2 members in 0 s: it is Stable, epoch 2, .*(?s:.*) \(a\) epoch 2"
    ):
        kafka.wait_for_stable("g", members=2, timeout_s=0)


def test_an_unknown_group_or_member_is_an_error(kafka: MockKafka) -> None:
    for call in (kafka.rebalance, lambda group: kafka.fence_member(group, "m")):
        with pytest.raises(ControlError, match="no group 'gone/1'"):
            call("gone/1")
