from collections.abc import Iterator
from typing import Any

import pytest

from atlas.clusters import CLUSTERS_MAX, Clusters, has_happened, heal, prepare
from atlas.situation import AclRule, Expectation, Situation, Topic


@pytest.fixture(scope="module")
def clusters() -> Iterator[Clusters]:
    clusters = Clusters()
    yield clusters
    clusters.close()


def situation(**fields: Any) -> Situation:
    values = {"workload": "produce", "expect": Expectation(), **fields}
    return Situation(id="BROKER-1", title="a situation of a test", area="producer", **values)


def test_a_cluster_is_reset_and_has_new_ports(clusters: Clusters) -> None:
    first = clusters.ready(situation())
    first.create_topic("orders")
    pid, servers = first.pid, first.bootstrap_servers
    second = clusters.ready(situation())
    assert (second.pid, second.topics()) == (pid, [])
    assert second.bootstrap_servers != servers


def test_another_configuration_needs_another_cluster(clusters: Clusters) -> None:
    one = clusters.ready(situation())
    release = clusters.ready(situation(release="2.3"))
    assert release.pid != one.pid
    assert clusters.ready(situation(config={"num.partitions": 3})).pid not in {one.pid, release.pid}


@pytest.mark.slow
def test_a_lane_keeps_few_clusters() -> None:
    clusters = Clusters()
    started = [
        clusters.ready(situation(config={"num.partitions": number}))
        for number in range(1, CLUSTERS_MAX + 2)
    ]
    try:
        assert [cluster.is_running for cluster in started] == [False] + [True] * CLUSTERS_MAX
    finally:
        clusters.close()
    assert not any(cluster.is_running for cluster in started)


def test_a_cluster_that_has_ended_is_replaced(clusters: Clusters) -> None:
    ended = clusters.ready(situation())
    ended.stop()
    assert clusters.ready(situation()).is_running


def test_users_authenticate(clusters: Clusters) -> None:
    security = {"mechanism": "PLAIN", "username": "alice", "password": "secret"}
    cluster = clusters.ready(situation(arguments={"security": security}))
    assert cluster.users == {"alice": "secret"}


def test_a_situation_has_topics_records_and_rules(clusters: Clusters) -> None:
    given = situation(
        topics={"orders": Topic(partitions=2)},
        records={"orders": 3},
        quotas=({"user": "alice", "producer_byte_rate": 1000},),
        faults=(
            {"api": "Produce", "delay_ms": 10, "jitter_ms": 5},
            {"api": "Fetch", "delay_ms": 1},
        ),
    )
    cluster = clusters.ready(given)
    prepare(cluster, given, seed=7)
    records = cluster.records("orders")
    assert [(record.partition, record.value) for record in records] == [
        (0, b"0"),
        (0, b"2"),
        (1, b"1"),
    ]
    assert [fault.rule.get("seed") for fault in cluster.faults()] == [7, None]


def test_a_user_has_the_rights_of_the_situation_and_none_in_the_next(clusters: Clusters) -> None:
    config = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    given = situation(
        config=config,
        topics={"orders": Topic()},
        acls=(AclRule(principal="alice", operations=("read",), topic="orders"),),
    )
    cluster = clusters.ready(given)
    prepare(cluster, given, seed=1)
    assert cluster.authorize("alice", "describe", topic="orders")
    assert not cluster.authorize("alice", "write", topic="orders")
    cluster = clusters.ready(situation(config=config))
    assert not cluster.authorize("alice", "read", topic="orders")


def test_a_group_of_an_admin_call_exists(clusters: Clusters) -> None:
    given = situation(
        workload="admin",
        arguments={"call": "describe_group", "group": "billing"},
        topics={"orders": Topic()},
    )
    cluster = clusters.ready(given)
    prepare(cluster, given, seed=1)
    assert cluster.committed("billing") == {("orders", 0): 0}


def test_a_rule_without_a_request_has_not_happened(clusters: Clusters) -> None:
    given = situation(faults=({"api": "Produce", "error": "CORRUPT_MESSAGE"},))
    cluster = clusters.ready(given)
    prepare(cluster, given, seed=1)
    assert not has_happened(cluster, given)
    assert has_happened(cluster, situation())


def test_a_healthy_cluster_has_all_brokers_and_no_rules(clusters: Clusters) -> None:
    given = situation(brokers=2)
    cluster = clusters.ready(given)
    cluster.add_fault(api="Produce", error="CORRUPT_MESSAGE")
    cluster.stop_broker(2)
    heal(cluster)
    assert cluster.faults() == []
    states = [one["availability"] for one in cluster.control.ask("GET", "/v1/brokers")]
    assert states == ["up", "up"]
