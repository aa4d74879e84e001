from hypothesis import given
from hypothesis import strategies as st

from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import GROUP_METADATA
from broker.cluster.topics import NO_LEADER, Partition, Topic
from broker.config.broker_config import BrokerConfig
from tests.broker.cluster.stored_records import append, stored_bytes
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.broker.interleaving import once, run_with_pauses

LIMIT = "message.max.bytes"


def test_leaders_of_successive_topics_spread_over_the_brokers() -> None:
    cluster = make_cluster()
    for name in ("a", "b"):
        cluster.create_topic(name, cluster.place(2, 1), {})

    leaders = [part.leader_id for topic in cluster.topics.all() for part in topic.partitions]
    assert leaders == [1, 2, 3, 1]


def test_nothing_is_placed_on_a_broker_that_is_down() -> None:
    cluster = make_cluster()
    failover.stop_broker(cluster, 2, NOW_MS)

    assert {n for replicas in cluster.place(6, 2) for n in replicas} == {1, 3}


def test_a_new_partition_is_led_by_its_first_replica_that_is_up() -> None:
    cluster = make_cluster()
    failover.stop_broker(cluster, 2, NOW_MS)

    partitions = cluster.create_topic("a", [(2, 3, 1), (2,)], {}).partitions

    assert [(p.partition_index, p.leader_id, p.isr) for p in partitions] == [
        (0, 3, (3, 1)),
        (1, NO_LEADER, ()),
    ]


def test_every_broker_names_the_same_coordinator_and_none_if_all_are_down() -> None:
    cluster = make_cluster()
    ensure_internal_topic(cluster, GROUP_METADATA)
    named = {f"group-{number}": cluster.coordinator_id(f"group-{number}") for number in range(50)}

    assert set(named.values()) == {1, 2, 3}
    assert named == {key: cluster.coordinator_id(key) for key in named}
    failover.stop_broker(cluster, 2, NOW_MS)
    assert {cluster.coordinator_id(key) for key in named} == {1, 3}
    failover.stop_broker(cluster, 1, NOW_MS)
    failover.stop_broker(cluster, 3, NOW_MS)
    assert cluster.coordinator_id("group-1") is None


def test_a_configuration_change_applies_to_topics_without_their_own_value() -> None:
    cluster = make_cluster()
    follows = cluster.create_topic("a", [(1,)], {})
    insists = cluster.create_topic("b", [(1,)], {"max.message.bytes": "50"})

    cluster.set_config(BrokerConfig.from_overrides({"message.max.bytes": "70"}))

    assert (follows.max_message_bytes, insists.max_message_bytes) == (70, 50)
    cluster.alter_topic_config(insists, {})
    assert insists.max_message_bytes == 70


def partition_and_wakings(cluster: Cluster) -> tuple[Partition, list[int]]:
    partition = cluster.create_topic("a", [(1, 2)], {}).partitions[0]
    woken_at: list[int] = []
    partition.log.wait(woken_at.append)
    return partition, woken_at


def test_a_new_leader_begins_an_epoch_and_wakes_waiting_requests() -> None:
    cluster = make_cluster()
    partition, woken_at = partition_and_wakings(cluster)

    cluster.set_leader(partition, 2, 7)
    cluster.set_leader(partition, 2, 8)

    assert (partition.leader_id, partition.leader_epoch, woken_at) == (2, 1, [7])


def test_a_broker_that_is_down_is_out_of_sync_after_the_leader_moves() -> None:
    cluster = make_cluster(**{"cluster.features": "eligible.leader.replicas.version=0"})
    partition, _ = partition_and_wakings(cluster)
    failover.stop_broker(cluster, 2, NOW_MS)
    failover.stop_broker(cluster, 1, NOW_MS)
    failover.start_broker(cluster, 2, NOW_MS)
    assert (partition.isr, partition.leader_id) == ((1,), NO_LEADER)

    cluster.move_leader(partition, 2, NOW_MS)

    assert (partition.isr, partition.leader_id) == ((2,), 2)


def test_new_replicas_that_are_up_are_in_sync_and_one_of_them_leads() -> None:
    cluster = make_cluster()
    partition, woken_at = partition_and_wakings(cluster)
    failover.stop_broker(cluster, 3, NOW_MS)

    cluster.set_replicas(partition, (3, 1), 7)
    assert (partition.isr, partition.leader_id, partition.leader_epoch) == ((1,), 1, 1)

    cluster.set_replicas(partition, (3, 2), 8)
    assert (partition.isr, partition.leader_id, partition.leader_epoch) == ((2,), 2, 2)
    assert woken_at == [8]

    cluster.set_replicas(partition, (3,), 9)
    assert (partition.isr, partition.leader_id) == ((), NO_LEADER)


def test_an_append_wakes_waiting_requests() -> None:
    cluster = make_cluster()
    topic = cluster.create_topic("a", [(1,)], {})
    woken_at: list[int] = []
    topic.partitions[0].log.wait(woken_at.append)

    append(cluster, topic, 10)

    assert woken_at == [NOW_MS]


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1), st.integers(61, 120)), max_size=60)
)
def test_memory_is_bounded_and_the_newest_batches_are_kept(
    appends: list[tuple[str, int, int]],
) -> None:
    cluster = make_cluster(1, **{"log.memory.max.bytes": "800"})
    topics = {name: cluster.create_topic(name, [(1,), (1,)], {}) for name in "ab"}
    for name, partition, size_bytes in appends:
        append(cluster, topics[name], size_bytes, partition=partition)

        assert cluster.log_bytes == stored_bytes(cluster) <= 800
        log = topics[name].partitions[partition].log
        assert len(log.read(log.log_end_offset - 1, size_bytes, at_least_one=False)) == 1


def test_a_batch_larger_than_the_memory_bound_is_deleted_after_newer_batches() -> None:
    cluster = make_cluster(1, **{"log.memory.max.bytes": "100"})
    topic = cluster.create_topic("a", [(1,)], {})

    append(cluster, topic, 500)
    assert cluster.log_bytes == 500
    for _ in range(10):
        append(cluster, topic, 61)
    assert cluster.log_bytes == stored_bytes(cluster) <= 100


def test_deleted_records_and_topics_no_longer_count_as_stored_bytes() -> None:
    cluster = make_cluster()
    keeps, goes = (cluster.create_topic(name, [(1,)], {}) for name in "ab")
    for topic in (keeps, goes):
        for _ in range(3):
            append(cluster, topic, 100)

    cluster.delete_records_before(keeps.partitions[0], 2, NOW_MS)
    assert cluster.log_bytes == stored_bytes(cluster) == 400
    assert keeps.partitions[0].log.segment_bytes == 300
    cluster.delete_topic(goes, NOW_MS)
    assert cluster.log_bytes == stored_bytes(cluster) == 100
    assert goes.partitions[0].leader_id == NO_LEADER


def test_nobody_appends_to_a_topic_while_its_records_are_freed_with_pauses() -> None:
    cluster = make_cluster()
    topic = cluster.create_topic("t", [(1,)] * 3, {})
    append(cluster, topic, 10)
    seen: list[tuple[Topic | None, set[int]]] = []

    def look() -> None:
        leader_ids = {partition.leader_id for partition in topic.partitions}
        seen.append((cluster.topics.get("t"), leader_ids))

    run_with_pauses(lambda: cluster.delete_topic(topic, NOW_MS), look)

    assert seen == [(None, {NO_LEADER})] * 3
    assert cluster.log_bytes == stored_bytes(cluster) == 0


def test_a_configuration_that_is_changed_while_one_is_applied_with_pauses_is_the_last_one() -> None:
    cluster = make_cluster()
    topics = [cluster.create_topic(name, [(1,)], {}) for name in "abc"]
    later = once(lambda: cluster.set_config(cluster.config.with_dynamic(None, {LIMIT: "9"})))

    run_with_pauses(
        lambda: cluster.set_config(cluster.config.with_dynamic(None, {LIMIT: "8"})), later
    )

    assert [topic.config["max.message.bytes"] for topic in topics] == [9] * 3
