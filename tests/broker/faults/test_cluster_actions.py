"""Rules that move leaders and coordinators, and stop and start brokers."""

import pytest

from broker.cluster import failover
from broker.cluster.broker_membership import decommission_broker
from broker.cluster.brokers import Availability
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import GROUP_METADATA
from broker.cluster.topics import NO_LEADER, Topic
from broker.faults.cluster_actions import act, check_cluster
from broker.faults.rule import FaultRule, fault_rule
from tests.broker.cluster_builder import NOW_MS, make_cluster


def cluster_and_topic() -> tuple[Cluster, Topic]:
    cluster = make_cluster()
    return cluster, cluster.create_topic("a", [(1, 2), (3,)], {})


def leaders(topic: Topic) -> list[int]:
    return [partition.leader_id for partition in topic.partitions]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (fault_rule(leader="none", topic="a"), [NO_LEADER, NO_LEADER]),
        (fault_rule(leader="next", topic="a"), [2, 1]),
        (fault_rule(leader=3, topic="a", partition=0), [3, 3]),
        (fault_rule(leader="none", topic="a", partition=1), [1, NO_LEADER]),
        (fault_rule(leader="none", topic="b"), [1, 3]),
    ],
)
def test_leaders_of_the_topic_move(rule: FaultRule, expected: list[int]) -> None:
    cluster, topic = cluster_and_topic()
    act(rule, cluster, 1, NOW_MS)
    assert leaders(topic) == expected


def test_a_leader_does_not_move_to_a_broker_that_is_down() -> None:
    cluster, topic = cluster_and_topic()
    failover.stop_broker(cluster, 2, NOW_MS)
    act(fault_rule(leader=2, topic="a"), cluster, 1, NOW_MS)
    assert leaders(topic) == [1, 3]
    act(fault_rule(leader="next", topic="a"), cluster, 1, NOW_MS)
    assert leaders(topic) == [3, 1]


def test_a_single_broker_has_no_next_broker() -> None:
    cluster = make_cluster(1)
    topic = cluster.create_topic("a", [(1,)], {})
    act(fault_rule(leader="next", topic="a", coordinator="next", group="g"), cluster, 1, NOW_MS)
    assert (leaders(topic), cluster.coordinator_id("g")) == ([1], 1)


def test_coordinators_of_the_group_and_the_transactional_id_move() -> None:
    cluster, _topic = cluster_and_topic()
    ensure_internal_topic(cluster, GROUP_METADATA)
    before = cluster.coordinator_id("g")
    act(fault_rule(coordinator="next", group="g"), cluster, 1, NOW_MS)
    assert cluster.coordinator_id("g") not in {before, None}
    act(fault_rule(coordinator=2, transactional_id="x"), cluster, 1, NOW_MS)
    assert cluster.transaction_coordinator_id("x") == 2
    assert act(fault_rule(coordinator="next", transactional_id="x"), cluster, 1, NOW_MS) is None
    assert cluster.transaction_coordinator_id("x") == 3


def test_a_stopped_broker_starts_again_after_restart_after_ms() -> None:
    cluster, topic = cluster_and_topic()
    act(fault_rule(stop_broker="self", restart_after_ms=500), cluster, 1, NOW_MS)
    assert (cluster.brokers[1].availability, leaders(topic)) == (Availability.DOWN, [2, 3])
    cluster.timers.run_due(NOW_MS + 499)
    assert cluster.brokers[1].availability is Availability.DOWN
    cluster.timers.run_due(NOW_MS + 500)
    assert (cluster.brokers[1].availability, cluster.brokers[1].is_alive) == (Availability.UP, True)


@pytest.mark.parametrize(
    ("rule", "availability", "is_alive"),
    [
        (fault_rule(stop_broker=2), Availability.DOWN, False),
        (fault_rule(stop_broker=2, elect=False), Availability.DOWN, True),
        (fault_rule(isolate_broker=2), Availability.ISOLATED, True),
        (fault_rule(isolate_broker=2, elect=True), Availability.ISOLATED, False),
        (fault_rule(fence_broker=2), Availability.UP, False),
    ],
)
def test_elect_decides_whether_leaders_move(
    rule: FaultRule, availability: Availability, is_alive: bool
) -> None:
    cluster, _topic = cluster_and_topic()
    act(rule, cluster, 1, NOW_MS)
    assert (cluster.brokers[2].availability, cluster.brokers[2].is_alive) == (
        availability,
        is_alive,
    )
    act(fault_rule(start_broker=2), cluster, 1, NOW_MS)
    assert (cluster.brokers[2].availability, cluster.brokers[2].is_alive) == (Availability.UP, True)


def test_rules_skip_a_decommissioned_broker() -> None:
    cluster, _topic = cluster_and_topic()
    act(fault_rule(stop_broker=2, restart_after_ms=500), cluster, 1, NOW_MS)
    decommission_broker(cluster, 2, NOW_MS)
    cluster.timers.run_due(NOW_MS + 500)
    for rule in (
        fault_rule(start_broker=2),
        fault_rule(stop_broker=2),
        fault_rule(fence_broker=2),
        fault_rule(isolate_broker=2),
    ):
        assert act(rule, cluster, 1, NOW_MS) is not None
    assert list(cluster.brokers) == [1, 3]


def test_errors_name_missing_brokers() -> None:
    cluster, _topic = cluster_and_topic()
    check_cluster(fault_rule(leader="next", topic="a", broker=3), cluster)
    for rule in (fault_rule(broker=4, delay_ms=1), fault_rule(leader=4, topic="a")):
        with pytest.raises(ValueError, match="there is no broker 4, only 1, 2, 3"):
            check_cluster(rule, cluster)


@pytest.mark.parametrize(
    ("rule", "obstacle"),
    [
        (fault_rule(leader="none", topic="a"), None),
        (fault_rule(leader="none", topic="b"), "there is no topic b"),
        (fault_rule(leader="next", topic="a", partition=7), "a has no partition 7"),
        (fault_rule(leader=2, topic="a"), "broker 2 is down"),
        (fault_rule(coordinator=2, group="g"), "broker 2 is down"),
        (fault_rule(coordinator=3, group="g"), None),
        (fault_rule(coordinator=3, group="g", leader="next", topic="b"), None),
        (fault_rule(stop_broker=1, leader="none", topic="b"), None),
        (fault_rule(start_broker=2), None),
    ],
)
def test_act_returns_why_nothing_could_be_done(rule: FaultRule, obstacle: str | None) -> None:
    cluster, _topic = cluster_and_topic()
    failover.stop_broker(cluster, 2, NOW_MS)
    reported = act(rule, cluster, 1, NOW_MS)
    assert reported == obstacle or (obstacle is not None and obstacle in str(reported))


def test_act_reports_that_no_other_broker_is_up() -> None:
    cluster = make_cluster(1)
    cluster.create_topic("a", [(1,)], {})
    for rule in (fault_rule(leader="next", topic="a"), fault_rule(coordinator="next", group="g")):
        assert act(rule, cluster, 1, NOW_MS) == "no other broker is up"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (fault_rule(api="Fetch", delay_ms=1), "api: this cluster has no Fetch"),
        (
            fault_rule(api="Produce", delay_ms=1, version_min=8),
            "version_min: this cluster has Produce 3 to 7",
        ),
        (
            fault_rule(api="Metadata", delay_ms=1, version_max=3),
            "version_max: this cluster has Metadata 4 to 9",
        ),
        (fault_rule(leader="none", topic="b", at_once=True), "topic: there is no topic b yet"),
        (
            fault_rule(leader="none", topic="a", partition=7, at_once=True),
            "topic: a has no partition 7 yet",
        ),
    ],
)
def test_a_rule_for_a_missing_api_version_or_topic_is_refused(
    rule: FaultRule, message: str
) -> None:
    cluster = make_cluster(3, **{"broker.api.versions": "Produce=7,Metadata=4-9,Fetch=-1"})
    cluster.create_topic("a", [(1,)], {})
    with pytest.raises(ValueError, match=f"^{message}"):
        check_cluster(rule, cluster)
    for fit in (
        fault_rule(api="Produce", delay_ms=1, version_min=7),
        fault_rule(leader="none", topic="a", at_once=True),
        fault_rule(leader="none", topic="b"),
    ):
        check_cluster(fit, cluster)


def test_a_rule_is_checked_against_the_versions_of_its_broker() -> None:
    cluster = make_cluster(2, **{"broker.2.broker.api.versions": "Produce=7,Fetch=-1"})
    check_cluster(fault_rule(api="Produce", delay_ms=1, version_min=8), cluster)
    check_cluster(fault_rule(api="Fetch", delay_ms=1), cluster)

    with pytest.raises(ValueError, match=r"^version_min: broker 2 has Produce 3 to 7$"):
        check_cluster(fault_rule(api="Produce", delay_ms=1, version_min=8, broker=2), cluster)
    with pytest.raises(ValueError, match=r"^api: broker 2 has no Fetch$"):
        check_cluster(fault_rule(api="Fetch", delay_ms=1, broker=2), cluster)


def test_a_broker_serves_other_versions() -> None:
    cluster, _topic = cluster_and_topic()
    highest = cluster.routes[1][0].version_max
    assert act(fault_rule(api_versions="2.8"), cluster, 1, NOW_MS) is None
    assert cluster.routes[1][0].version_max < highest
    assert act(fault_rule(api_versions="2.8", broker=2), cluster, 1, NOW_MS) is None
    versions = [cluster.routes[node_id][0].version_max for node_id in (1, 2, 3)]
    assert versions[0] == versions[1] < versions[2] == highest


def test_the_clock_moves_if_something_can_move_it() -> None:
    cluster, _topic = cluster_and_topic()
    rule = fault_rule(api="Fetch", advance_ms=5)
    assert act(rule, cluster, 1, NOW_MS) == "nothing moves the clock of this cluster"
    moved: list[int] = []
    cluster.timers.on_advance = moved.append
    assert act(rule, cluster, 1, NOW_MS) is None
    assert moved == [5]
