"""Added and decommissioned brokers: leaders, coordinators, and resets."""

import pytest

from broker.cluster import failover
from broker.cluster.broker_membership import (
    BROKERS_MAX,
    add_broker,
    decommission_broker,
    new_broker,
)
from broker.cluster.brokers import Availability
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ensure_internal_topic, move_coordinator
from broker.cluster.internal_topics import GROUP_METADATA
from broker.cluster.topics import NO_LEADER
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, call, make_cluster

GROUPS = [f"group-{number}" for number in range(50)]


def join(cluster: Cluster, node_id: int | None = None) -> int:
    """Add a broker; return its node id."""
    broker = new_broker(cluster, node_id)
    broker.host, broker.port = "localhost", 9091 + broker.node_id
    add_broker(cluster, broker, NOW_MS)
    return broker.node_id


def listed(cluster: Cluster) -> list[int]:
    """Return the brokers in broker 1's Metadata; check that DescribeCluster has the same."""
    metadata = call(cluster, messages.MetadataRequest(version=9, topics=[]), 9)
    request = messages.DescribeClusterRequest(version=0)
    described = [broker.broker_id for broker in call(cluster, request, 0).brokers]
    node_ids = [broker.node_id for broker in metadata.brokers]
    assert described == node_ids
    return node_ids


def test_an_added_broker_is_advertised_and_leads_only_new_or_moved_partitions() -> None:
    cluster = make_cluster(2)
    old = cluster.create_topic("old", cluster.place(4, 1), {})
    leaders = [partition.leader_id for partition in old.partitions]
    ensure_internal_topic(cluster, GROUP_METADATA)
    coordinators = [cluster.coordinator_id(key) for key in GROUPS]
    assert set(coordinators) == {1, 2}

    assert join(cluster) == 3

    assert listed(cluster) == [1, 2, 3]
    assert [partition.leader_id for partition in old.partitions] == leaders
    assert [cluster.coordinator_id(key) for key in GROUPS] == coordinators
    new = cluster.create_topic("new", cluster.place(3, 1), {})
    assert {partition.leader_id for partition in new.partitions} == {1, 2, 3}
    cluster.move_leader(old.partitions[0], 3, NOW_MS)
    assert (old.partitions[0].leader_id, old.partitions[0].replicas) == (3, (3,))
    assert 3 in cluster.quotas.brokers


def test_the_remaining_brokers_coordinate_all_groups() -> None:
    cluster = make_cluster(2)
    ensure_internal_topic(cluster, GROUP_METADATA)
    join(cluster)
    decommission_broker(cluster, 1, NOW_MS)
    assert {cluster.coordinator_id(key) for key in GROUPS} == {2}
    for group_id in GROUPS:
        move_coordinator(cluster, group_id, 3, NOW_MS)
    decommission_broker(cluster, 2, NOW_MS)
    assert {cluster.coordinator_id(key) for key in GROUPS} == {3}
    assert (listed(cluster), cluster.controller_id) == ([3], 3)


def test_a_decommissioned_broker_stays_an_offline_replica_of_its_partitions() -> None:
    cluster = make_cluster(3)
    changes: list[tuple[int, Availability]] = []
    cluster.on_availability_change = lambda broker: changes.append(
        (broker.node_id, broker.availability)
    )
    shared, alone = cluster.create_topic("t", [(2, 1), (2,)], {}).partitions

    decommission_broker(cluster, 2, NOW_MS)

    assert (changes, listed(cluster)) == ([(2, Availability.DOWN)], [1, 3])
    assert (shared.leader_id, shared.isr) == (1, (1,))
    assert alone.leader_id == NO_LEADER
    requested_topic = messages.MetadataRequest.MetadataRequestTopic(version=9, name="t")
    response = call(cluster, messages.MetadataRequest(version=9, topics=[requested_topic]), 9)
    assert [partition.offline_replicas for partition in response.topics[0].partitions] == [[2], [2]]
    with pytest.raises(ValueError, match="there is no broker 2, only 1, 3"):
        failover.start_broker(cluster, 2, NOW_MS)
    with pytest.raises(ValueError, match="there is no broker 2"):
        decommission_broker(cluster, 2, NOW_MS)


def test_no_partition_is_placed_on_a_decommissioned_broker() -> None:
    cluster = make_cluster(2)
    decommission_broker(cluster, 2, NOW_MS)
    topics = messages.CreateTopicsRequest.CreatableTopic
    assignment = topics.CreatableReplicaAssignment(partition_index=0, broker_ids=[2])
    request = messages.CreateTopicsRequest(
        version=5,
        topics=[
            topics(name="two", num_partitions=1, replication_factor=2, assignments=[], configs=[]),
            topics(
                name="there",
                num_partitions=-1,
                replication_factor=-1,
                assignments=[assignment],
                configs=[],
            ),
        ],
        timeout_ms=1000,
        validate_only=False,
    )
    codes = [topic.error_code for topic in call(cluster, request, 5).topics]
    assert codes == [ErrorCode.INVALID_REPLICATION_FACTOR, ErrorCode.INVALID_REPLICA_ASSIGNMENT]


def test_a_decommissioned_broker_that_is_added_again_has_its_replicas_and_address() -> None:
    cluster = make_cluster(2)
    before = cluster.brokers[2]
    (partition,) = cluster.create_topic("t", [(2,)], {}).partitions
    decommission_broker(cluster, 2, NOW_MS)

    assert new_broker(cluster, 2) is before
    assert join(cluster, 2) == 2

    assert (partition.leader_id, partition.isr) == (2, (2,))
    assert (before.availability, listed(cluster)) == (Availability.UP, [1, 2])
    assert join(cluster) == 3


def test_node_ids_are_unique_and_the_number_of_brokers_is_limited() -> None:
    cluster = make_cluster(1)
    with pytest.raises(ValueError, match="there is a broker 1 already"):
        new_broker(cluster, 1)
    with pytest.raises(ValueError, match="broker 1 is the last one; it can be stopped"):
        decommission_broker(cluster, 1, NOW_MS)
    first, second = new_broker(cluster), new_broker(cluster)
    add_broker(cluster, first, NOW_MS)
    with pytest.raises(ValueError, match="there is a broker 2 already"):
        add_broker(cluster, second, NOW_MS)
    for node_id in range(3, BROKERS_MAX + 1):
        assert join(cluster) == node_id
    with pytest.raises(ValueError, match="there were 100 brokers; of these may come back: none"):
        new_broker(cluster)
    decommission_broker(cluster, 7, NOW_MS)
    with pytest.raises(ValueError, match="of these may come back: 7"):
        new_broker(cluster)
    assert join(cluster, 7) == 7


def test_a_reset_restores_the_first_brokers() -> None:
    cluster = make_cluster(3)
    join(cluster)
    decommission_broker(cluster, 1, NOW_MS)
    failover.fence_broker(cluster, 2, NOW_MS)

    cluster.reset()

    assert listed(cluster) == [1, 2, 3]
    assert {broker.availability for broker in cluster.brokers.values()} == {Availability.UP}
    assert (cluster.controller_id, tuple(cluster.quotas.brokers)) == (1, (1, 2, 3))
    assert join(cluster) == 4


def test_the_own_value_of_a_shared_key_applies_only_to_a_single_broker() -> None:
    cluster = make_cluster(1)
    cluster.set_config(cluster.config.with_dynamic(1, {"message.max.bytes": "5000"}))
    topic = cluster.create_topic("t", [(1,)], {})
    assert topic.max_message_bytes == 5000
    join(cluster)
    assert topic.max_message_bytes == 1_048_588
    decommission_broker(cluster, 2, NOW_MS)
    assert topic.max_message_bytes == 5000
