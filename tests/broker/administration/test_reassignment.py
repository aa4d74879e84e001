import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker.administration.reassignment import (
    cancel_reassignment,
    start_reassignment,
)
from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.cluster.replicas import complete_reassignment, is_reassigning
from broker.cluster.topics import NO_LEADER, Partition
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, make_cluster


def cluster_and_partition(
    *replicas: int, overrides: dict[str, str] | None = None
) -> tuple[Cluster, Partition]:
    cluster = make_cluster(5)
    return cluster, cluster.create_topic("a", [replicas], overrides or {}).partitions[0]


def move(cluster: Cluster, *replicas: int, may_change: bool = True) -> ErrorCode:
    refusal = start_reassignment(
        cluster, "a", 0, replicas, NOW_MS, may_change_replication_factor=may_change
    )
    return refusal.error_code if refusal else ErrorCode.NONE


def cancel(cluster: Cluster) -> ErrorCode:
    refusal = cancel_reassignment(cluster, "a", 0, NOW_MS)
    return refusal.error_code if refusal else ErrorCode.NONE


def placement(partition: Partition) -> tuple[tuple[int, ...] | int, ...]:
    """Return replicas, adding replicas, removing replicas, ISR and leader."""
    return (
        partition.replicas,
        partition.adding_replicas,
        partition.removing_replicas,
        partition.isr,
        partition.leader_id,
    )


def test_a_move_to_brokers_that_are_up_ends_at_once() -> None:
    cluster, partition = cluster_and_partition(1, 2)

    assert move(cluster, 3, 4) is ErrorCode.NONE
    assert (partition.replicas, partition.isr, partition.leader_id) == ((3, 4), (3, 4), 3)
    assert not is_reassigning(partition)
    assert partition.leader_epoch == 1


def test_a_leader_that_stays_a_replica_stays_leader() -> None:
    cluster, partition = cluster_and_partition(1, 2)

    assert move(cluster, 3, 1) is ErrorCode.NONE
    assert (partition.replicas, partition.leader_id) == ((3, 1), 1)


def test_a_move_to_the_current_replicas_changes_nothing() -> None:
    cluster, partition = cluster_and_partition(1, 2)

    assert move(cluster, 1, 2) is ErrorCode.NONE
    assert partition.leader_epoch == 0


def test_another_order_changes_the_preferred_leader_even_with_a_broker_down() -> None:
    cluster, partition = cluster_and_partition(1, 2)
    failover.stop_broker(cluster, 2, NOW_MS)

    assert move(cluster, 2, 1) is ErrorCode.NONE
    assert (partition.replicas, partition.isr, partition.leader_id) == ((2, 1), (1,), 1)
    assert partition.leader_epoch == 0


def test_a_leader_epoch_begins_when_a_replica_is_removed_and_not_when_one_is_added() -> None:
    cluster, partition = cluster_and_partition(1, 2)

    move(cluster, 1, 2, 3)
    assert (partition.isr, partition.leader_epoch) == ((1, 2, 3), 0)
    move(cluster, 1, 3)
    assert (partition.isr, partition.leader_id, partition.leader_epoch) == ((1, 3), 1, 1)


def test_a_move_to_a_broker_that_is_down_waits_for_it() -> None:
    cluster, partition = cluster_and_partition(1, 2)
    failover.stop_broker(cluster, 3, NOW_MS)

    assert move(cluster, 3, 1) is ErrorCode.NONE
    assert placement(partition) == ((3, 1, 2), (3,), (2,), (1, 2), 1)

    assert not complete_reassignment(cluster, partition, NOW_MS)
    cluster.brokers[3].is_alive = True
    assert complete_reassignment(cluster, partition, NOW_MS)
    assert placement(partition) == ((3, 1), (), (), (1, 3), 1)
    assert not complete_reassignment(cluster, partition, NOW_MS)


def test_a_move_that_replaces_a_waiting_one_also_removes_the_replicas_that_it_was_adding() -> None:
    cluster, partition = cluster_and_partition(1, 2)
    failover.stop_broker(cluster, 3, NOW_MS)
    failover.stop_broker(cluster, 4, NOW_MS)
    move(cluster, 3, 1)

    assert move(cluster, 4, 2) is ErrorCode.NONE
    assert placement(partition) == ((4, 2, 1, 3), (4,), (1, 3), (1, 2), 1)
    assert move(cluster, 5) is ErrorCode.NONE
    assert placement(partition) == ((5,), (), (), (5,), 5)


def test_moving_back_ends_a_waiting_move() -> None:
    cluster, partition = cluster_and_partition(1, 2)
    failover.stop_broker(cluster, 3, NOW_MS)
    move(cluster, 3, 1)

    assert move(cluster, 1, 2) is ErrorCode.NONE
    assert (partition.replicas, is_reassigning(partition)) == ((1, 2), False)


def test_cancelling_keeps_the_last_in_sync_replica_while_it_is_down() -> None:
    cluster, partition = cluster_and_partition(1)
    cluster.features.apply({"eligible.leader.replicas.version": 0})
    failover.stop_broker(cluster, 1, NOW_MS)
    assert partition.leader_epoch == 1
    assert move(cluster, 1, 2) is ErrorCode.NONE

    assert cancel(cluster) is ErrorCode.NONE
    assert placement(partition) == ((1,), (), (), (1,), NO_LEADER)
    assert partition.leader_epoch == 2


def test_cancelling_needs_a_replica_in_sync() -> None:
    cluster, _partition = cluster_and_partition(1)
    failover.stop_broker(cluster, 1, NOW_MS)
    assert move(cluster, 1, 2) is ErrorCode.NONE

    assert cancel(cluster) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_cancelling_returns_to_the_brokers_it_came_from() -> None:
    cluster, partition = cluster_and_partition(1, 2)
    failover.stop_broker(cluster, 3, NOW_MS)

    assert cancel(cluster) is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    move(cluster, 3, 4)
    assert cancel(cluster) is ErrorCode.NONE
    assert sorted(partition.replicas) == [1, 2]
    assert partition.leader_id == 1
    assert cancel(cluster) is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


@pytest.mark.parametrize(
    ("allowed", "error_code"),
    [("false", ErrorCode.INVALID_REPLICA_ASSIGNMENT), ("true", ErrorCode.NONE)],
)
def test_cancelling_to_out_of_sync_replicas_needs_unclean_leader_election_enable(
    allowed: str, error_code: ErrorCode
) -> None:
    overrides = {"unclean.leader.election.enable": allowed}
    cluster, partition = cluster_and_partition(1, overrides=overrides)
    failover.stop_broker(cluster, 3, NOW_MS)
    move(cluster, 2, 3)
    partition.isr = (2,)

    assert cancel(cluster) is error_code
    assert is_reassigning(partition) is (error_code is not ErrorCode.NONE)


@pytest.mark.parametrize("replicas", [(), (1, 1), (9,), (1, -1)])
def test_invalid_replicas_are_refused(replicas: tuple[int, ...]) -> None:
    cluster, partition = cluster_and_partition(1, 2)

    assert move(cluster, *replicas) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert partition.replicas == (1, 2)


def test_the_replication_factor_changes_only_if_allowed() -> None:
    cluster, partition = cluster_and_partition(1, 2)

    assert move(cluster, 3, may_change=False) is ErrorCode.INVALID_REPLICATION_FACTOR
    assert move(cluster, 3, 4, may_change=False) is ErrorCode.NONE
    failover.stop_broker(cluster, 1, NOW_MS)
    move(cluster, 1, 2)
    # While a move waits, the replicas it would add don't count.
    assert len(partition.replicas) == 4
    assert move(cluster, 1, 5, 2, may_change=False) is ErrorCode.INVALID_REPLICATION_FACTOR
    assert move(cluster, 2, 5, may_change=False) is ErrorCode.NONE


@pytest.mark.parametrize(("name", "index"), [("b", 0), ("a", 1), ("a", -1)])
def test_a_move_of_a_missing_partition_is_refused(name: str, index: int) -> None:
    cluster, _ = cluster_and_partition(1)

    moved = start_reassignment(cluster, name, index, (2,), NOW_MS)
    cancelled = cancel_reassignment(cluster, name, index, NOW_MS)

    for refusal in (moved, cancelled):
        assert refusal is not None
        assert refusal.error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


replica_lists = st.lists(st.integers(1, 5), min_size=1, max_size=4, unique=True)


@given(
    replica_lists,
    st.lists(st.one_of(replica_lists, st.none(), st.integers(1, 5)), max_size=12),
)
@example([1], [1, 4, [2, 4], 1, [4]])  # a second move wants none of whom the first had added
def test_replicas_stay_consistent_through_any_moves_and_outages(
    first: list[int], steps: list[list[int] | int | None]
) -> None:
    """Steps are moves (lists), cancellations (None), and stops or starts of brokers (numbers)."""
    cluster, partition = cluster_and_partition(*first)
    for step in steps:
        if isinstance(step, int) and cluster.brokers[step].is_alive:
            failover.stop_broker(cluster, step, NOW_MS)
        elif isinstance(step, int):
            failover.start_broker(cluster, step, NOW_MS)
        elif step is None:
            cancel(cluster)
        else:
            has_moved = is_reassigning(partition) or set(partition.replicas) != set(step)
            assert move(cluster, *step) is ErrorCode.NONE
            is_up = all(cluster.brokers[node_id].is_alive for node_id in step)
            assert is_reassigning(partition) is (has_moved and not is_up)

        replicas = set(partition.replicas)
        assert len(replicas) == len(partition.replicas) > 0
        assert set(partition.isr) <= replicas
        assert set(partition.adding_replicas) <= replicas
        assert set(partition.removing_replicas) <= replicas
        assert replicas - set(partition.removing_replicas)
        if partition.leader_id != NO_LEADER:
            assert partition.leader_id in partition.isr
            assert cluster.brokers[partition.leader_id].is_alive
