"""Preferred leaders return, and unclean elections begin, without a request."""

import pytest

from broker.administration import periodic_elections
from broker.administration.periodic_elections import start_periodic_elections
from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.cluster.controller_queue import ControllerEvent
from broker.cluster.topics import NO_LEADER, Partition
from tests.batches import filled_batch
from tests.broker.cluster_builder import NOW_MS, make_cluster

MINUTE_MS = 60_000
REBALANCE, CHECK_S = "auto.leader.rebalance.enable", "leader.imbalance.check.interval.seconds"
UNCLEAN, UNCLEAN_MS = "unclean.leader.election.enable", "unclean.leader.election.interval.ms"


def cluster_and_partition(**config: str) -> tuple[Cluster, Partition]:
    cluster = make_cluster(3, **config)
    partition = cluster.create_topic("a", [(2, 1, 3)], {}).partitions[0]
    start_periodic_elections(cluster, NOW_MS)
    return cluster, partition


def leaders_at(cluster: Cluster, partition: Partition, *times_ms: int) -> list[int]:
    leaders = []
    for time_ms in times_ms:
        cluster.timers.run_due(NOW_MS + time_ms)
        leaders.append(partition.leader_id)
    return leaders


def test_the_preferred_replica_leads_again_after_the_interval() -> None:
    cluster, partition = cluster_and_partition()
    failover.stop_broker(cluster, 2, NOW_MS)
    failover.start_broker(cluster, 2, NOW_MS)
    assert leaders_at(cluster, partition, 0, 5 * MINUTE_MS - 1, 5 * MINUTE_MS) == [1, 1, 2]
    assert partition.leader_epoch == 2


def test_the_interval_is_a_key() -> None:
    cluster, partition = cluster_and_partition(**{CHECK_S: "2"})
    cluster.set_leader(partition, 3, NOW_MS)
    assert leaders_at(cluster, partition, 1999, 2000) == [3, 2]
    cluster.set_leader(partition, 1, NOW_MS + 2000)
    assert leaders_at(cluster, partition, 3999, 4000) == [1, 2]


def test_leaders_stay_if_rebalancing_is_off() -> None:
    cluster, partition = cluster_and_partition(**{REBALANCE: "false"})
    cluster.set_leader(partition, 3, NOW_MS)
    assert leaders_at(cluster, partition, 60 * MINUTE_MS) == [3]


def test_a_preferred_replica_that_is_down_does_not_lead() -> None:
    cluster, partition = cluster_and_partition(**{CHECK_S: "1"})
    failover.stop_broker(cluster, 2, NOW_MS)
    assert leaders_at(cluster, partition, 5000) == [1]
    failover.start_broker(cluster, 2, NOW_MS + 5000)
    assert leaders_at(cluster, partition, 5999, 6000) == [1, 2]


@pytest.mark.parametrize("is_unclean", ["false", "true"])
def test_a_leader_that_a_test_has_taken_away_does_not_return(is_unclean: str) -> None:
    keys = {CHECK_S: "1", UNCLEAN: is_unclean, UNCLEAN_MS: "1000"}
    cluster, partition = cluster_and_partition(**keys)
    cluster.set_leader(partition, NO_LEADER, NOW_MS)
    assert leaders_at(cluster, partition, 5000) == [NO_LEADER]


def test_idle_periods_are_skipped_and_work_is_not() -> None:
    cluster, partition = cluster_and_partition()
    cluster.timers.skip_idle(NOW_MS + 30 * MINUTE_MS)
    due_ms = cluster.timers.next_due_ms()
    assert due_ms is not None
    assert due_ms > NOW_MS + 30 * MINUTE_MS
    cluster.set_leader(partition, 3, NOW_MS + 30 * MINUTE_MS)
    cluster.timers.skip_idle(NOW_MS + 60 * MINUTE_MS)
    assert leaders_at(cluster, partition, 35 * MINUTE_MS) == [2]


def test_the_controller_elects_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(periodic_elections, "ELECTIONS_PER_TURN", 2)
    cluster = make_cluster(2)
    partitions = cluster.create_topic("a", [(1, 2)] * 3, {}).partitions
    start_periodic_elections(cluster, NOW_MS)
    for partition in partitions:
        cluster.set_leader(partition, 2, NOW_MS)
    found = []
    for later_ms in (0, 1):
        cluster.timers.run_due(NOW_MS + 5 * MINUTE_MS + later_ms)
        found.append([partition.leader_id for partition in partitions])
    assert found == [[1, 1, 2], [1, 1, 1]]


def test_an_election_waits_for_what_is_in_the_queue_of_the_controller() -> None:
    cluster, partition = cluster_and_partition(
        **{CHECK_S: "1", "controller.mutation.time.us": "2000000"}
    )
    cluster.set_leader(partition, 3, NOW_MS)
    event = ControllerEvent("createTopics", lambda _now_ms: None, lambda: 1)
    cluster.controller_queue.submit(event, NOW_MS)
    assert leaders_at(cluster, partition, 1000, 1999, 2000) == [3, 3, 2]


def test_an_unclean_election_begins_when_the_key_is_set_and_the_interval_over() -> None:
    cluster, partition = cluster_and_partition(**{UNCLEAN_MS: "10000"})
    topic = cluster.topics.get("a")
    assert topic is not None
    failover.stop_broker(cluster, 1, NOW_MS)
    failover.stop_broker(cluster, 3, NOW_MS)
    failover.stop_broker(cluster, 2, NOW_MS)
    partition.last_known_leader_id = NO_LEADER
    partition.isr, partition.eligible_leader_replicas = (), (2,)
    failover.start_broker(cluster, 3, NOW_MS)
    assert leaders_at(cluster, partition, 20_000) == [NO_LEADER]
    cluster.alter_topic_config(topic, {UNCLEAN: "true"})
    assert leaders_at(cluster, partition, 29_999, 30_000) == [NO_LEADER, 3]


def test_an_unclean_leader_has_only_the_records_that_it_had_fetched() -> None:
    cluster = make_cluster(2, **{UNCLEAN_MS: "1000"})
    start_periodic_elections(cluster, NOW_MS)
    topic = cluster.create_topic("t", [(1, 2)], {})
    (partition,) = topic.partitions
    failover.stop_broker(cluster, 2, NOW_MS)
    partition.log.append(filled_batch(0), 1, 0)
    failover.stop_broker(cluster, 1, NOW_MS)
    failover.start_broker(cluster, 2, NOW_MS)
    cluster.alter_topic_config(topic, {UNCLEAN: "true"})
    cluster.timers.run_due(NOW_MS + 1000)
    assert (partition.leader_id, partition.isr, partition.log.log_end_offset) == (2, (2,), 0)
