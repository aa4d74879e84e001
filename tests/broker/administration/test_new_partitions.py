import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.administration.new_partitions import check_new_partitions
from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.errors import Refusal
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, make_cluster


def topic_of(cluster: Cluster, partition_count: int, replication_factor: int) -> Topic:
    assignments = cluster.place(partition_count, replication_factor)
    return cluster.create_topic("a", assignments, {})


@given(st.data())
def test_added_partitions_are_placed_as_if_created_with_the_topic(data: st.DataObject) -> None:
    broker_count = data.draw(st.integers(1, 6))
    replication_factor = data.draw(st.integers(1, broker_count))
    first_count, more_count = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 20))
    grown, created_at_once = make_cluster(broker_count), make_cluster(broker_count)
    for cluster in (grown, created_at_once):
        cluster.create_topic("other", cluster.place(2, 1), {})
    topic = topic_of(grown, first_count, replication_factor)

    added = check_new_partitions(grown, topic, first_count + more_count, None)

    assert isinstance(added, list)
    before = [partition.replicas for partition in topic.partitions]
    assert before + added == created_at_once.place(first_count + more_count, replication_factor)


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (3, "Topic already has 3 partition(s)."),
        (2, "The topic a currently has 3 partition(s); 2 would not be an increase."),
        (-1, "The topic a currently has 3 partition(s); -1 would not be an increase."),
    ],
)
def test_a_partition_count_that_is_no_increase_is_refused(count: int, message: str) -> None:
    cluster = make_cluster()

    refusal = check_new_partitions(cluster, topic_of(cluster, 3, 1), count, None)

    assert refusal == Refusal(ErrorCode.INVALID_PARTITIONS, message)


@pytest.mark.parametrize(
    ("assignments", "words"),
    [
        ([(1, 2)], "Attempted to add 2 additional partition(s), but only 1"),
        ([(1, 2), (2, 1), (1, 2)], "Attempted to add 2 additional partition(s), but only 3"),
        ([(1, 2), (1,)], "1 replica(s), but this is not consistent"),
        ([(1, 2), (1, 1)], "broker 1 more than once"),
        ([(1, 2), (1, 7)], "no such broker"),
        ([(1, 2), ()], "empty replica list"),
        ([(1, 2), (3, 4)], "for partition 2 are fenced"),
    ],
)
def test_an_assignment_that_does_not_fit_the_topic_is_refused(
    assignments: list[tuple[int, ...]], words: str
) -> None:
    cluster = make_cluster(4)
    topic = topic_of(cluster, 1, 2)
    failover.stop_broker(cluster, 3, NOW_MS)
    failover.stop_broker(cluster, 4, NOW_MS)

    refusal = check_new_partitions(cluster, topic, 3, assignments)

    assert isinstance(refusal, Refusal)
    assert refusal.error_code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert words in (refusal.message or "")


def test_more_partitions_than_a_request_may_create_are_refused() -> None:
    cluster = make_cluster()
    topic = topic_of(cluster, 1, 1)

    assert isinstance(check_new_partitions(cluster, topic, 10_001, None), list)
    refusal = check_new_partitions(cluster, topic, 10_002, None)
    assert isinstance(refusal, Refusal)
    assert refusal.error_code is ErrorCode.UNKNOWN_SERVER_ERROR
    huge = check_new_partitions(cluster, topic, 2**31 - 1, None)
    assert isinstance(huge, Refusal)


def test_stopped_brokers_get_replicas_only_if_too_few_are_up() -> None:
    cluster = make_cluster()
    narrow, wide = topic_of(cluster, 1, 2), cluster.create_topic("b", [(1, 2, 3)], {})
    failover.stop_broker(cluster, 3, NOW_MS)

    for_narrow = check_new_partitions(cluster, narrow, 5, None)
    for_wide = check_new_partitions(cluster, wide, 3, None)

    assert isinstance(for_narrow, list)
    assert {node_id for replicas in for_narrow for node_id in replicas} == {1, 2}
    assert isinstance(for_wide, list)
    assert [sorted(replicas) for replicas in for_wide] == [[1, 2, 3], [1, 2, 3]]
    assert all(replicas[0] != 3 for replicas in for_wide)
