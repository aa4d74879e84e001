"""Rules that move leaders and coordinators, and stop and start brokers."""

import pytest

from broker.cluster import Cluster, Reach
from broker.faults.cluster_actions import act, check_brokers
from broker.faults.rule import FaultRule
from broker.membership import decommission_broker
from broker.topics import NO_LEADER, Topic
from tests.broker.cluster_builder import NOW_MS, make_cluster


def cluster_and_topic() -> tuple[Cluster, Topic]:
    cluster = make_cluster()
    return cluster, cluster.create_topic("a", [(1, 2), (3,)], {})


def leaders(topic: Topic) -> list[int]:
    return [partition.leader_id for partition in topic.partitions]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (FaultRule(leader="none", topic="a"), [NO_LEADER, NO_LEADER]),
        (FaultRule(leader="next", topic="a"), [2, 1]),
        (FaultRule(leader=3, topic="a", partition=0), [3, 3]),
        (FaultRule(leader="none", topic="a", partition=1), [1, NO_LEADER]),
        (FaultRule(leader="none", topic="b"), [1, 3]),
    ],
)
def test_leaders_of_the_topic_move(rule: FaultRule, expected: list[int]) -> None:
    cluster, topic = cluster_and_topic()
    act(rule, cluster, 1, NOW_MS)
    assert leaders(topic) == expected


def test_a_leader_does_not_move_to_a_broker_that_is_down() -> None:
    cluster, topic = cluster_and_topic()
    cluster.stop_broker(2, NOW_MS)
    act(FaultRule(leader=2, topic="a"), cluster, 1, NOW_MS)
    assert leaders(topic) == [1, 3]
    act(FaultRule(leader="next", topic="a"), cluster, 1, NOW_MS)
    assert leaders(topic) == [3, 1]


def test_the_next_of_one_broker_is_none() -> None:
    cluster = make_cluster(1)
    topic = cluster.create_topic("a", [(1,)], {})
    act(FaultRule(leader="next", topic="a", coordinator="next", group="g"), cluster, 1, NOW_MS)
    assert (leaders(topic), cluster.coordinator_id("g")) == ([1], 1)


def test_coordinators_of_the_group_and_the_transactional_id_move() -> None:
    cluster, _topic = cluster_and_topic()
    before = cluster.coordinator_id("g")
    act(FaultRule(coordinator="next", group="g"), cluster, 1, NOW_MS)
    assert cluster.coordinator_id("g") not in {before, None}
    act(FaultRule(coordinator=2, transactional_id="x"), cluster, 1, NOW_MS)
    assert cluster.coordinator_id("x") == 2


def test_a_stopped_broker_comes_back_when_it_is_time() -> None:
    cluster, topic = cluster_and_topic()
    act(FaultRule(stop_broker="self", restart_after_ms=500), cluster, 1, NOW_MS)
    assert (cluster.brokers[1].reach, leaders(topic)) == (Reach.REFUSES, [2, 3])
    cluster.timers.run_due(NOW_MS + 499)
    assert cluster.brokers[1].reach is Reach.REFUSES
    cluster.timers.run_due(NOW_MS + 500)
    assert (cluster.brokers[1].reach, cluster.brokers[1].is_alive) == (Reach.SERVES, True)


@pytest.mark.parametrize(
    ("rule", "reach", "is_alive"),
    [
        (FaultRule(stop_broker=2), Reach.REFUSES, False),
        (FaultRule(stop_broker=2, elect=False), Reach.REFUSES, True),
        (FaultRule(cut_off_broker=2), Reach.SILENT, True),
        (FaultRule(cut_off_broker=2, elect=True), Reach.SILENT, False),
        (FaultRule(fence_broker=2), Reach.SERVES, False),
    ],
)
def test_the_others_notice_or_do_not(rule: FaultRule, reach: Reach, is_alive: bool) -> None:
    cluster, _topic = cluster_and_topic()
    act(rule, cluster, 1, NOW_MS)
    assert (cluster.brokers[2].reach, cluster.brokers[2].is_alive) == (reach, is_alive)
    act(FaultRule(start_broker=2), cluster, 1, NOW_MS)
    assert (cluster.brokers[2].reach, cluster.brokers[2].is_alive) == (Reach.SERVES, True)


def test_rules_leave_a_broker_in_peace_that_was_decommissioned() -> None:
    cluster, _topic = cluster_and_topic()
    act(FaultRule(stop_broker=2, restart_after_ms=500), cluster, 1, NOW_MS)
    decommission_broker(cluster, 2, NOW_MS)
    cluster.timers.run_due(NOW_MS + 500)
    for rule in (
        FaultRule(start_broker=2),
        FaultRule(stop_broker=2),
        FaultRule(fence_broker=2),
        FaultRule(cut_off_broker=2),
    ):
        act(rule, cluster, 1, NOW_MS)
    assert list(cluster.brokers) == [1, 3]


def test_brokers_that_are_not_there_are_named() -> None:
    cluster, _topic = cluster_and_topic()
    check_brokers(FaultRule(leader="next", topic="a", broker=3), cluster)
    for rule in (FaultRule(broker=4, delay_ms=1), FaultRule(leader=4, topic="a")):
        with pytest.raises(ValueError, match="there is no broker 4, only 1, 2, 3"):
            check_brokers(rule, cluster)
