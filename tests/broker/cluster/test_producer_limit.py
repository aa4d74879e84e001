"""Brokers that stop when they lead too many producer ids, and the effect on other brokers."""

from hypothesis import given
from hypothesis import strategies as st

from broker.cluster import failover
from broker.cluster.brokers import Availability
from broker.cluster.cluster import Cluster
from broker.cluster.producer_limit import producer_id_count
from broker.produce.append import append_batch
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context

MAX = "broker.max.producer.ids"


def write(cluster: Cluster, index: int, producer_id: int, sequence: int = 0) -> int:
    topic = cluster.topics.get("t")
    assert topic is not None
    partition = topic.partitions[index]
    batch = make_batch(b"v", producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
    context = make_context(ApiKey.PRODUCE, 9, broker_id=partition.leader_id)
    result = append_batch(context, cluster, topic, partition, batch, 0, len(batch))
    return result.error_code


def watched(cluster: Cluster) -> list[int]:
    """Return the list of brokers that stop from now on, in order."""
    gone: list[int] = []
    cluster.on_availability_change = lambda broker: gone.append(broker.node_id)
    return gone


def test_a_broker_stops_beyond_broker_max_producer_ids_and_the_new_leader_keeps_its_producers() -> (
    None
):
    cluster = make_cluster(2, **{MAX: "2"})
    partition = cluster.create_topic("t", [(1, 2)], {}).partitions[0]
    gone = watched(cluster)
    for producer_id in range(2):
        assert write(cluster, 0, producer_id) == ErrorCode.NONE
    assert write(cluster, 0, 0, 1) == ErrorCode.NONE
    cluster.timers.run_due(NOW_MS)
    assert gone == []

    assert write(cluster, 0, 2) == ErrorCode.NONE
    # The request that exceeded the limit is complete, and its records are not lost.
    assert cluster.brokers[1].is_alive
    cluster.timers.run_due(NOW_MS)
    assert gone == [1, 2]
    assert not any(broker.is_alive for broker in cluster.brokers.values())
    assert [producer.producer_id for producer in partition.producers.describe()] == [0, 1, 2]
    assert partition.log.log_end_offset == 4


def test_the_next_leader_continues_the_sequences_of_the_last_one() -> None:
    cluster = make_cluster(3, **{MAX: "3"})
    cluster.create_topic("t", [(1, 2), (1, 3)], {})
    gone = watched(cluster)
    for producer_id in range(4):
        assert write(cluster, producer_id % 2, producer_id) == ErrorCode.NONE
    cluster.timers.run_due(NOW_MS)

    assert gone == [1]
    assert cluster.brokers[1].availability is Availability.DOWN
    assert cluster.brokers[1].is_out_of_memory
    assert [producer_id_count(cluster, node_id) for node_id in (1, 2, 3)] == [0, 2, 2]
    assert write(cluster, 0, 0, 5) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert write(cluster, 0, 0, 1) == ErrorCode.NONE


SIX = {1: 100, 2: 150, 3: 100, 4: 120, 5: 100, 6: 90}
"""Producer ids by broker in KIP-936's example; the limit is 200."""


def kips_cluster(ids_by_broker: dict[int, int], **overrides: str) -> Cluster:
    """Six brokers with ten ids per partition; 60 ids of broker 1 move to broker 2 when it stops."""
    cluster = make_cluster(6, **overrides)
    assignments = []
    for node_id, ids in ids_by_broker.items():
        others = [n for n in SIX if n > node_id] + [n for n in SIX if n < node_id]
        for number in range(ids // 10):
            turn = 0 if node_id == 1 and number < 6 else number % 5
            assignments.append((node_id, *others[turn:], *others[:turn]))
    cluster.create_topic("t", assignments, {})
    for producer_id in range(10 * len(assignments)):
        assert write(cluster, producer_id // 10, producer_id) == ErrorCode.NONE
    cluster.timers.run_due(NOW_MS)
    return cluster


def test_the_six_brokers_of_kip_936_stop_one_after_the_other() -> None:
    cluster = kips_cluster(SIX, **{MAX: "200"})
    assert {n: producer_id_count(cluster, n) for n in SIX} == SIX
    gone = watched(cluster)

    failover.stop_broker(cluster, 1, NOW_MS)
    assert producer_id_count(cluster, 2) == 210
    cluster.timers.run_due(NOW_MS)
    assert gone[:2] == [1, 2]
    assert sorted(gone) == [1, 2, 3, 4, 5, 6]


def test_with_fewer_producer_ids_no_other_broker_stops() -> None:
    cluster = kips_cluster(dict.fromkeys(SIX, 80), **{MAX: "200"})
    gone = watched(cluster)
    failover.stop_broker(cluster, 1, NOW_MS)
    cluster.timers.run_due(NOW_MS)
    assert gone == [1]


def test_a_broker_started_with_a_higher_limit_stays_up() -> None:
    cluster = make_cluster(1, **{MAX: "1"})
    cluster.create_topic("t", [(1,)], {})
    for producer_id in range(2):
        write(cluster, 0, producer_id)
    cluster.timers.run_due(NOW_MS)
    gone = watched(cluster)
    for limit, expected in ((1, [1, 1]), (5, [1, 1, 1])):
        cluster.set_config(cluster.config.with_dynamic(None, {MAX: str(limit)}))
        failover.start_broker(cluster, 1, NOW_MS)
        cluster.timers.run_due(NOW_MS)
        assert gone == expected
    assert cluster.brokers[1].is_alive
    assert not cluster.brokers[1].is_out_of_memory


def test_a_reset_ends_all_stops_by_the_limit() -> None:
    cluster = make_cluster(1, **{MAX: "1"})
    cluster.create_topic("t", [(1,)], {})
    for producer_id in range(2):
        write(cluster, 0, producer_id)
    cluster.timers.run_due(NOW_MS)
    assert cluster.brokers[1].is_out_of_memory
    cluster.reset()
    assert not cluster.brokers[1].is_out_of_memory


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30)), max_size=60), st.integers(1, 12))
def test_no_broker_that_is_up_leads_more_producer_ids_than_its_limit(
    writes: list[tuple[int, int]], limit: int
) -> None:
    cluster = make_cluster(3, **{MAX: str(limit)})
    topic = cluster.create_topic("t", [(1, 2, 3), (2, 3, 1), (3, 1, 2), (1, 3)], {})
    for index, producer_id in writes:
        if topic.partitions[index].leader_id < 0:
            continue
        write(cluster, index, producer_id)
        cluster.timers.run_due(NOW_MS)
        for node_id in cluster.alive_broker_ids():
            assert producer_id_count(cluster, node_id) <= limit


def test_brokers_may_have_different_limits() -> None:
    cluster = make_cluster(2, **{f"broker.2.{MAX}": "1"})
    cluster.create_topic("t", [(1,), (2,)], {})
    gone = watched(cluster)
    for partition_index in (0, 1):
        for producer_id in range(2):
            write(cluster, partition_index, producer_id)
    cluster.timers.run_due(NOW_MS)
    assert gone == [2]
