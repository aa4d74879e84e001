"""The leader of a group's partition coordinates it; the partition is created when it is needed."""

import pytest

from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import (
    behind_empty_ids,
    ensure_internal_topic,
    in_coordinator_order,
    move_coordinator,
    move_transaction_coordinator,
    ownership_error,
    transaction_ownership_error,
)
from broker.cluster.failover import stop_broker
from broker.cluster.internal_topics import GROUP_METADATA, TRANSACTION_STATE
from broker.cluster.topics import NO_LEADER, Topic
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.broker.interleaving import once, run_with_pauses

GROUPS = [f"group-{number}" for number in range(50)]


def owners(cluster: Cluster, group_id: str) -> list[int]:
    return [
        node_id
        for node_id in cluster.brokers
        if ownership_error(cluster, node_id, group_id) is ErrorCode.NONE
    ]


def test_a_group_has_no_coordinator_before_its_topic_exists() -> None:
    cluster = make_cluster()
    assert cluster.coordinator_id("g") is None
    assert owners(cluster, "g") == []
    assert ownership_error(cluster, 1, "g") is ErrorCode.NOT_COORDINATOR


def test_two_requests_that_need_an_internal_topic_at_once_get_the_same() -> None:
    cluster = make_cluster()
    topics: list[object] = []

    def create() -> Topic | None:
        topic = ensure_internal_topic(cluster, GROUP_METADATA)
        topics.append(topic)
        return topic

    assert run_with_pauses(create, once(create)) is cluster.topics.get(GROUP_METADATA.name)
    assert len(topics) == 2
    assert topics[0] is topics[1]


def test_no_internal_topic_is_created_when_its_brokers_stop_meanwhile() -> None:
    cluster = make_cluster(2, **{"offsets.topic.replication.factor": "2"})

    def create() -> Topic | None:
        return ensure_internal_topic(cluster, GROUP_METADATA)

    assert run_with_pauses(create, once(lambda: stop_broker(cluster, 2, NOW_MS))) is None
    assert cluster.topics.get(GROUP_METADATA.name) is None


def test_the_leader_of_the_partition_of_a_group_coordinates_it() -> None:
    cluster = make_cluster()
    topic = ensure_internal_topic(cluster, GROUP_METADATA)
    assert topic is not None
    for group_id in GROUPS:
        partition = topic.partitions[cluster.group_log.partition_index(group_id)]
        assert owners(cluster, group_id) == [partition.leader_id]
    cluster.set_leader(topic.partitions[cluster.group_log.partition_index("g")], NO_LEADER, NOW_MS)
    assert owners(cluster, "g") == []


def test_the_topic_is_created_once_with_the_configuration_of_the_broker() -> None:
    keys = {"offsets.topic.num.partitions": "7", "offsets.topic.segment.bytes": "2097152"}
    cluster = make_cluster(3, **keys)

    topic = ensure_internal_topic(cluster, GROUP_METADATA)

    assert topic is not None
    assert topic is ensure_internal_topic(cluster, GROUP_METADATA)
    assert topic is cluster.topics.get("__consumer_offsets")
    assert topic.is_internal
    assert topic.config.overrides == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "2097152",
    }
    assert [len(partition.replicas) for partition in topic.partitions] == [3] * 7
    assert {partition.leader_id for partition in topic.partitions} == {1, 2, 3}


def test_the_default_replication_factor_is_at_most_the_number_of_brokers() -> None:
    cluster = make_cluster(2)
    topic = ensure_internal_topic(cluster, GROUP_METADATA)
    assert topic is not None
    assert {len(partition.replicas) for partition in topic.partitions} == {2}
    assert len(topic.partitions) == 50


@pytest.mark.parametrize(
    "keys",
    [{"offsets.topic.replication.factor": "2"}, {"offsets.topic.segment.bytes": "1"}],
    ids=str,
)
def test_a_topic_that_cannot_be_created_is_missing(keys: dict[str, str]) -> None:
    cluster = make_cluster(1, **keys)
    assert ensure_internal_topic(cluster, GROUP_METADATA) is None
    assert len(cluster.topics) == 0
    with pytest.raises(ValueError, match="__consumer_offsets has no partition"):
        move_coordinator(cluster, "g", 1, NOW_MS)


def test_a_moved_coordinator_leads_the_partition_until_its_broker_stops() -> None:
    cluster = make_cluster()
    ensure_internal_topic(cluster, GROUP_METADATA)
    before = cluster.coordinator_id("g")
    assert before is not None
    other_id = before % 3 + 1

    move_coordinator(cluster, "g", other_id, NOW_MS)

    partition = cluster.group_log.partition("g")
    assert partition is not None
    assert (cluster.coordinator_id("g"), partition.leader_id) == (other_id, other_id)
    stop_broker(cluster, other_id, NOW_MS)
    assert cluster.coordinator_id("g") not in {other_id, None}


def test_moving_a_coordinator_creates_the_topic() -> None:
    cluster = make_cluster()
    move_coordinator(cluster, "g", 2, NOW_MS)
    assert cluster.coordinator_id("g") == 2


def test_the_coordinator_of_a_transactional_id_leads_its_partition() -> None:
    cluster = make_cluster()
    assert cluster.transaction_coordinator_id("x") is None
    assert transaction_ownership_error(cluster, 1, "x") == ErrorCode.NOT_COORDINATOR
    topic = ensure_internal_topic(cluster, TRANSACTION_STATE)
    partition = cluster.transaction_log.partition("x")
    assert topic is not None
    assert partition is not None
    assert partition in topic.partitions
    for node_id in (2, 3):
        move_transaction_coordinator(cluster, "x", node_id, NOW_MS)
        assert cluster.transaction_coordinator_id("x") == partition.leader_id == node_id
        assert transaction_ownership_error(cluster, node_id, "x") == ErrorCode.NONE
    stop_broker(cluster, 3, NOW_MS)
    assert cluster.transaction_coordinator_id("x") == partition.leader_id != 3


@pytest.mark.parametrize(
    ("broker_count", "overrides", "replicas", "min_isr"),
    [
        (1, {}, 1, "1"),
        (2, {}, 2, "1"),
        (4, {}, 3, "2"),
        (2, {"transaction.state.log.min.isr": "2"}, 2, "2"),
        (3, {"transaction.state.log.replication.factor": "1"}, 1, "1"),
    ],
)
def test_the_transaction_log_is_created_as_kafka_does(
    broker_count: int, overrides: dict[str, str], replicas: int, min_isr: str
) -> None:
    cluster = make_cluster(broker_count, **overrides)
    topic = ensure_internal_topic(cluster, TRANSACTION_STATE)
    assert topic is not None
    assert topic.is_internal
    assert len(topic.partitions) == 50
    assert {len(partition.replicas) for partition in topic.partitions} == {replicas}
    assert topic.config.overrides == {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": min_isr,
        "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    }


def test_a_coordinator_does_not_move_to_a_broker_that_is_down() -> None:
    cluster = make_cluster()
    stop_broker(cluster, 2, NOW_MS)
    with pytest.raises(ValueError, match="broker 2 is down"):
        move_coordinator(cluster, "g", 2, NOW_MS)
    with pytest.raises(ValueError, match="broker 2 is down"):
        move_transaction_coordinator(cluster, "x", 2, NOW_MS)


def test_group_ids_are_ordered_by_their_partition_as_in_a_hash_map() -> None:
    cluster = make_cluster()
    by_index = {cluster.group_log.partition_index(group_id): group_id for group_id in GROUPS}
    # The order that Java prints for these partitions of __consumer_offsets, put in as below.
    java = [index for index in (0, 8, 3, 49, 17, 33) if index in by_index]
    assert len(java) > 3
    ids = [by_index[index] for index in (49, 3, 17, 33, 0, 8) if index in by_index]
    assert in_coordinator_order(cluster, ids) == [by_index[index] for index in java]
    twice = [ids[0], "", ids[0]]
    assert behind_empty_ids(cluster, twice) == ["", ids[0], ids[0]]
