import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.administration.placement import check_new_replicas, check_replicas, place_new_topic
from broker.cluster import failover
from broker.errors import Refusal
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, make_cluster


@given(st.integers(1, 6), st.data())
def test_placed_replicas_are_distinct_registered_brokers_led_by_one_that_is_up(
    broker_count: int, data: st.DataObject
) -> None:
    cluster = make_cluster(broker_count)
    for node_id in data.draw(st.sets(st.integers(2, 6), max_size=broker_count - 1)):
        if node_id <= broker_count:
            failover.stop_broker(cluster, node_id, NOW_MS)
    replication_factor = data.draw(st.integers(1, broker_count))
    partition_count = data.draw(st.integers(1, 15))

    placed = place_new_topic(cluster, partition_count, replication_factor)

    assert isinstance(placed, list)
    assert len(placed) == partition_count
    for replicas in placed:
        assert len(replicas) == replication_factor
        assert check_new_replicas(cluster, replicas, 0, replication_factor) is None
        assert cluster.brokers[replicas[0]].is_alive


@given(st.integers(1, 6), st.integers(1, 30))
def test_leaders_are_spread_evenly(broker_count: int, partition_count: int) -> None:
    placed = place_new_topic(make_cluster(broker_count), partition_count, 1)

    assert isinstance(placed, list)
    led = [sum(1 for replicas in placed if replicas[0] == n + 1) for n in range(broker_count)]
    assert max(led) - min(led) <= 1


def test_more_replicas_than_brokers_cannot_be_placed() -> None:
    assert place_new_topic(make_cluster(2), 1, 3) == Refusal(
        ErrorCode.INVALID_REPLICATION_FACTOR,
        "The target replication factor of 3 cannot be reached because only 2 broker(s) are "
        "registered or some brokers have all their log directories cordoned.",
    )


@pytest.mark.parametrize(("replicas", "is_fine"), [((1, 2), True), ((2,), False), ((3, 3), False)])
def test_a_new_partition_needs_one_of_its_brokers_up(
    replicas: tuple[int, ...], *, is_fine: bool
) -> None:
    cluster = make_cluster()
    failover.stop_broker(cluster, 2, NOW_MS)

    assert (check_new_replicas(cluster, replicas, 0, None) is None) is is_fine


def test_an_existing_partition_may_have_all_its_brokers_down() -> None:
    cluster = make_cluster()
    failover.stop_broker(cluster, 2, NOW_MS)

    assert check_replicas(cluster, [2]) is None
