"""Brokers that are stopped, isolated and started; leaders and coordinators that move."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cluster import failover
from broker.cluster.brokers import Availability, Broker
from broker.cluster.cluster import Cluster
from broker.cluster.controller_queue import ControllerEvent
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import GROUP_METADATA
from broker.cluster.topics import NO_LEADER, Partition
from protocol import messages
from tests.batches import filled_batch
from tests.broker.cluster_builder import NOW_MS, call, make_cluster

GROUPS = [f"group-{number}" for number in range(50)]


def cluster_and_reach_changes() -> tuple[Cluster, list[tuple[int, Availability]]]:
    cluster = make_cluster(3)
    changes: list[tuple[int, Availability]] = []
    cluster.on_availability_change = lambda broker: changes.append(
        (broker.node_id, broker.availability)
    )
    return cluster, changes


def isr_and_leader(partition: Partition) -> tuple[tuple[int, ...], int]:
    return partition.isr, partition.leader_id


def test_a_stopped_broker_leads_and_coordinates_nothing_and_is_in_sync_after_a_start() -> None:
    cluster, changes = cluster_and_reach_changes()
    shared, alone = cluster.create_topic("a", [(1, 2, 3), (1,)], {}).partitions
    ensure_internal_topic(cluster, GROUP_METADATA)
    before = {key: cluster.coordinator_id(key) for key in GROUPS}
    assert set(before.values()) == {1, 2, 3}

    failover.stop_broker(cluster, 1, NOW_MS)

    assert (isr_and_leader(shared), isr_and_leader(alone)) == (((2, 3), 2), ((), NO_LEADER))
    assert cluster.controller_id == 2
    after = {key: cluster.coordinator_id(key) for key in GROUPS}
    # Only its own groups move. They stay where they are when it comes back, as other leaders do.
    assert {before[key] for key in GROUPS if before[key] != after[key]} == {1}
    assert changes == [(1, Availability.DOWN)]

    failover.start_broker(cluster, 1, NOW_MS)

    assert (isr_and_leader(shared), isr_and_leader(alone)) == (((1, 2, 3), 2), ((1,), 1))
    assert cluster.controller_id == 2
    assert after == {key: cluster.coordinator_id(key) for key in GROUPS}
    assert changes[1:] == [(1, Availability.UP)]
    assert all(broker.is_alive for broker in cluster.brokers.values())


def test_without_an_election_metadata_still_lists_a_stopped_broker_until_it_is_fenced() -> None:
    cluster, changes = cluster_and_reach_changes()
    partition = cluster.create_topic("a", [(1, 2)], {}).partitions[0]

    failover.stop_broker(cluster, 1, NOW_MS, elect=False)
    assert isr_and_leader(partition) == ((1, 2), 1)
    assert cluster.alive_broker_ids() == [1, 2, 3]

    failover.stop_broker(cluster, 1, NOW_MS)
    assert isr_and_leader(partition) == ((2,), 2)
    assert changes == [(1, Availability.DOWN)]


def test_an_isolated_broker_still_leads_without_an_election() -> None:
    cluster, changes = cluster_and_reach_changes()
    partition = cluster.create_topic("a", [(1, 2)], {}).partitions[0]

    failover.isolate_broker(cluster, 1, NOW_MS)
    assert isr_and_leader(partition) == ((1, 2), 1)
    failover.isolate_broker(cluster, 1, NOW_MS, elect=True)
    assert isr_and_leader(partition) == ((2,), 2)
    assert changes == [(1, Availability.ISOLATED)]


@pytest.mark.parametrize(("level", "last_isr"), [(0, (2,)), (1, ())])
def test_an_out_of_sync_replica_leads_only_with_unclean_leader_election(
    level: int, last_isr: tuple[int, ...]
) -> None:
    cluster = make_cluster(2, **{"cluster.features": f"eligible.leader.replicas.version={level}"})
    clean = cluster.create_topic("a", [(1, 2)], {}).partitions[0]
    unclean_topic = {"unclean.leader.election.enable": "true"}
    unclean = cluster.create_topic("b", [(1, 2)], unclean_topic).partitions[0]
    for node_id in (1, 2):
        failover.stop_broker(cluster, node_id, NOW_MS)
    assert isr_and_leader(clean) == isr_and_leader(unclean) == (last_isr, NO_LEADER)
    assert cluster.controller_id == NO_LEADER

    failover.start_broker(cluster, 1, NOW_MS)
    assert isr_and_leader(clean) == (last_isr, NO_LEADER)
    assert isr_and_leader(unclean) == ((1,), 1)
    assert cluster.controller_id == 1
    failover.start_broker(cluster, 2, NOW_MS)
    assert isr_and_leader(clean) == ((1, 2), 2)


def test_a_leader_is_moved_to_any_broker_that_is_up() -> None:
    cluster = make_cluster()
    partition = cluster.create_topic("a", [(1, 2)], {}).partitions[0]

    cluster.move_leader(partition, 2, NOW_MS)
    assert (partition.replicas, partition.isr, partition.leader_id) == ((1, 2), (1, 2), 2)
    cluster.move_leader(partition, 3, NOW_MS)
    assert (partition.replicas, partition.isr, partition.leader_id) == ((1, 3), (1, 3), 3)
    cluster.set_leader(partition, NO_LEADER, NOW_MS)
    assert (partition.leader_id, partition.leader_epoch) == (NO_LEADER, 3)
    cluster.move_leader(partition, 2, NOW_MS)
    assert (partition.replicas, partition.leader_id) == ((2, 3), 2)


def test_errors_name_the_missing_or_stopped_broker() -> None:
    cluster = make_cluster()
    partition = cluster.create_topic("a", [(1,)], {}).partitions[0]
    with pytest.raises(ValueError, match="there is no broker 7, only 1, 2, 3"):
        failover.stop_broker(cluster, 7, NOW_MS)
    failover.stop_broker(cluster, 2, NOW_MS)
    with pytest.raises(ValueError, match="broker 2 is down"):
        cluster.move_leader(partition, 2, NOW_MS)


@given(st.lists(st.tuples(st.sampled_from(["stop", "cut", "start", "move"]), st.integers(1, 3))))
def test_after_any_outages_every_leader_is_up_and_in_sync(
    steps: list[tuple[str, int]],
) -> None:
    cluster = make_cluster(3)
    topic = cluster.create_topic("a", cluster.place(4, 2), {})
    for partition in topic.partitions:
        partition.log.append(filled_batch(partition.log.log_end_offset), 1, 0)
    for verb, node_id in steps:
        broker: Broker = cluster.brokers[node_id]
        if verb == "stop":
            failover.stop_broker(cluster, node_id, NOW_MS)
        elif verb == "cut":
            failover.isolate_broker(cluster, node_id, NOW_MS, elect=True)
        elif verb == "start":
            failover.start_broker(cluster, node_id, NOW_MS)
        elif broker.is_alive:
            cluster.move_leader(topic.partitions[0], node_id, NOW_MS)
        for partition in topic.partitions:
            eligible = {*partition.isr, *partition.eligible_leader_replicas}
            assert eligible
            assert len(partition.isr) <= len(partition.replicas) == 2
            assert eligible <= set(partition.replicas)
            if partition.leader_id != NO_LEADER:
                assert partition.leader_id in partition.isr
                assert cluster.brokers[partition.leader_id].is_alive
    for node_id in cluster.brokers:
        failover.start_broker(cluster, node_id, NOW_MS)
    for partition in topic.partitions:
        assert partition.leader_id != NO_LEADER
        assert set(partition.isr) == set(partition.replicas)
        assert partition.log.log_end_offset == 1


def test_a_fenced_broker_is_not_advertised_and_leads_nothing_but_serves_connections() -> None:
    cluster, changes = cluster_and_reach_changes()
    (partition,) = cluster.create_topic("t", [(1, 2)], {}).partitions
    failover.fence_broker(cluster, 1, NOW_MS)

    metadata = call(cluster, messages.MetadataRequest(version=9, topics=[]), 9, broker_id=1)
    assert [broker.node_id for broker in metadata.brokers] == [2, 3]
    assert (isr_and_leader(partition), cluster.controller_id) == (((2,), 2), 2)
    assert (changes, cluster.brokers[1].availability) == ([], Availability.UP)

    failover.start_broker(cluster, 1, NOW_MS)
    assert (isr_and_leader(partition), changes) == (((1, 2), 2), [])


def test_leaders_move_before_a_broker_that_shuts_down_closes_its_connections() -> None:
    cluster, changes = cluster_and_reach_changes()
    shared, alone = cluster.create_topic("a", [(1, 3, 2), (1,)], {}).partitions

    failover.shut_down_broker(cluster, 1, NOW_MS)

    assert (isr_and_leader(shared), isr_and_leader(alone)) == (((3, 2), 3), ((), NO_LEADER))
    assert cluster.controller_id == 2
    cluster.timers.run_due(NOW_MS + failover.CONTROLLED_SHUTDOWN_MS - 1)
    assert (1, Availability.DOWN) not in changes
    cluster.timers.run_due(NOW_MS + failover.CONTROLLED_SHUTDOWN_MS)
    assert changes[-1] == (1, Availability.DOWN)
    assert isr_and_leader(shared) == ((3, 2), 3)


def test_a_controlled_shutdown_waits_for_its_election_in_the_queue() -> None:
    cluster = make_cluster(2, **{"controller.mutation.time.us": "100000"})
    changes: list[tuple[int, Availability]] = []
    cluster.on_availability_change = lambda broker: changes.append(
        (broker.node_id, broker.availability)
    )
    topic = cluster.create_topic("a", [(1, 2)], {})
    cluster.controller_queue.submit(ControllerEvent("x", lambda _now_ms: None, lambda: 5), NOW_MS)
    failover.shut_down_broker(cluster, 1, NOW_MS)
    cluster.timers.run_due(NOW_MS + 499)
    assert topic.partitions[0].leader_id == 1
    cluster.timers.run_due(NOW_MS + 549)
    assert topic.partitions[0].leader_id == 2
    assert not changes
    cluster.timers.run_due(NOW_MS + 600)
    assert changes == [(1, Availability.DOWN)]


def test_a_shutdown_that_is_not_controlled_ends_with_the_session_of_the_broker() -> None:
    cluster = make_cluster(
        2, **{"controlled.shutdown.enable": "false", "broker.session.timeout.ms": "5000"}
    )
    (partition,) = cluster.create_topic("a", [(1, 2)], {}).partitions

    failover.shut_down_broker(cluster, 1, NOW_MS)

    assert cluster.brokers[1].availability is Availability.DOWN
    cluster.timers.run_due(NOW_MS + 4999)
    assert (isr_and_leader(partition), cluster.brokers[1].is_alive) == (((1, 2), 1), True)
    cluster.timers.run_due(NOW_MS + 5000)
    assert (isr_and_leader(partition), cluster.brokers[1].is_alive) == (((2,), 2), False)
    assert cluster.brokers[1].availability is Availability.DOWN


def test_a_broker_that_returns_within_its_session_is_not_fenced() -> None:
    cluster = make_cluster(2, **{"broker.1.controlled.shutdown.enable": "false"})
    (partition,) = cluster.create_topic("a", [(1, 2)], {}).partitions
    failover.shut_down_broker(cluster, 1, NOW_MS)
    failover.start_broker(cluster, 1, NOW_MS + 1)
    failover.stop_broker(cluster, 1, NOW_MS + 2, elect=False)

    cluster.timers.run_due(NOW_MS + 60_000)

    assert (isr_and_leader(partition), cluster.brokers[1].is_alive) == (((1, 2), 1), True)


def test_a_start_calls_a_controlled_shutdown_off() -> None:
    cluster, changes = cluster_and_reach_changes()
    failover.shut_down_broker(cluster, 1, NOW_MS)
    failover.start_broker(cluster, 1, NOW_MS + 1)
    cluster.timers.run_due(NOW_MS + 1000)
    assert cluster.brokers[1].is_alive
    assert (1, Availability.DOWN) not in changes


def test_a_reset_calls_a_controlled_shutdown_off() -> None:
    cluster, _changes = cluster_and_reach_changes()
    failover.shut_down_broker(cluster, 1, NOW_MS)
    cluster.reset()
    cluster.timers.run_due(NOW_MS + 1000)
    assert cluster.brokers[1].availability == Availability.UP
    assert not cluster.brokers[1].is_shutting_down
