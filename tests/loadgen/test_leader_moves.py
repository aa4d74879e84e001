"""Moves of leaders by Kafka's own API, on our broker."""

from collections.abc import Iterator

import pytest

from loadgen.leader_moves import KafkaLeaders, LeaderMoveError
from loadgen.plan.plan import Plan, Tenant
from mock_kafka import MockKafka

PLAN = Plan(name="p", duration_s=1.0, tenants=(Tenant("a", "steady", "a"),))


@pytest.fixture(scope="module")
def kafka() -> Iterator[MockKafka]:
    with MockKafka(brokers=3) as kafka:
        kafka.create_topic("t", 1, replication_factor=3)
        yield kafka


def test_each_replica_may_lead_and_becomes_the_preferred_one(kafka: MockKafka) -> None:
    leaders = KafkaLeaders(PLAN, kafka.bootstrap_servers)
    for node_id in (3, 2, 1, 1):
        leaders.move_leader("t", 0, node_id)
        assert leaders.leader("t", 0) == node_id
        assert leaders.replicas("t", 0)[0] == node_id
        assert sorted(leaders.replicas("t", 0)) == [1, 2, 3]


def test_a_replica_that_is_down_does_not_lead(kafka: MockKafka) -> None:
    leaders = KafkaLeaders(PLAN, kafka.bootstrap_servers)
    leaders.move_leader("t", 0, 1)
    kafka.stop_broker(3)
    with pytest.raises(LeaderMoveError, match="broker 3 is not in sync with t-0: "):
        leaders.move_leader("t", 0, 3)
    assert leaders.leader("t", 0) == leaders.replicas("t", 0)[0] == 1
    kafka.start_broker(3)


def test_what_is_wrong_is_one_line(kafka: MockKafka) -> None:
    leaders = KafkaLeaders(PLAN, kafka.bootstrap_servers)
    with pytest.raises(LeaderMoveError, match="broker 7 is no replica of t-0, which has "):
        leaders.move_leader("t", 0, 7)
    with pytest.raises(LeaderMoveError, match="'t' has no partition 5"):
        leaders.leader("t", 5)
    with pytest.raises(LeaderMoveError, match="absent: "):
        leaders.leader("absent", 0)
    nowhere = KafkaLeaders(PLAN, "127.0.0.1:1")
    with pytest.raises(LeaderMoveError, match=r"127\.0\.0\.1:1"):
        nowhere.leader("t", 0)
