"""Every broker names the same coordinator."""

from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import make_acl_cluster
from tests.broker.cluster_builder import NOW_MS, call, make_cluster
from tests.broker.groups.group_cluster import GROUP, GroupCluster, versions


def find(cluster: GroupCluster, version: int, key: str = GROUP, **fields: Any) -> Any:
    """Return the coordinator of one key, in any version."""
    if version < 4:
        return cluster.ask(ApiKey.FIND_COORDINATOR, version, key=key, **fields)
    response = cluster.ask(ApiKey.FIND_COORDINATOR, version, coordinator_keys=[key], **fields)
    (coordinator,) = response.coordinators
    assert coordinator.key == key
    return coordinator


@pytest.mark.parametrize("version", versions(ApiKey.FIND_COORDINATOR))
def test_every_version_names_the_coordinator_and_its_address(version: int) -> None:
    cluster = GroupCluster()
    node_id = cluster.coordinator_id

    for broker_id in cluster.cluster.brokers:
        found = find(cluster, version, broker_id=broker_id)
        assert found.error_code == ErrorCode.NONE
        assert (found.node_id, found.host, found.port) == (node_id, "localhost", 9000 + node_id)


@pytest.mark.parametrize("version", versions(ApiKey.FIND_COORDINATOR))
def test_coordinator_not_available_if_no_broker_is_up(version: int) -> None:
    cluster = GroupCluster()
    cluster.stop_all()

    found = find(cluster, version, broker_id=1)

    assert (found.error_code, found.node_id, found.port) == (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        -1,
        -1,
    )


@pytest.mark.parametrize("version", versions(ApiKey.FIND_COORDINATOR, 1))
def test_transactional_ids_have_coordinators_and_other_keys_do_not(version: int) -> None:
    cluster = GroupCluster()

    found = find(cluster, version, key_type=1)
    assert found.node_id == cluster.cluster.transaction_coordinator_id(GROUP)
    for key_type in (2, 3, -1):
        assert find(cluster, version, key_type=key_type).error_code == ErrorCode.INVALID_REQUEST


def test_each_key_of_a_batch_has_its_own_result() -> None:
    cluster = GroupCluster()
    keys = [f"group-{number}" for number in range(50)]

    response = cluster.ask(ApiKey.FIND_COORDINATOR, 4, coordinator_keys=keys)

    assert [coordinator.key for coordinator in response.coordinators] == keys
    assert {coordinator.node_id for coordinator in response.coordinators} == {1, 2, 3}


def find_group(cluster: Cluster, *, now_ms: int = NOW_MS) -> int:
    """Ask for the coordinator of a group; return the error code."""
    request = messages.FindCoordinatorRequest(version=3, key=GROUP, key_type=0)
    return int(call(cluster, request, 3, now_ms=now_ms).error_code)


def test_the_first_request_for_a_group_creates_the_topic_at_once() -> None:
    cluster = make_cluster(3, **{"controller.mutation.time.us": "10000"})

    assert find_group(cluster) == ErrorCode.NONE

    topic = cluster.topics.get("__consumer_offsets")
    assert topic is not None
    assert len(topic.partitions) == 50
    assert len(cluster.controller_queue) == 0
    # Topics of clients are placed as if it was not there.
    assert cluster.create_topic("a", cluster.place(1, 1), {}).partitions[0].leader_id == 1


def test_the_coordinator_of_a_transactional_id_leads_its_partition() -> None:
    cluster = make_cluster(3)
    request = messages.FindCoordinatorRequest(version=3, key="x", key_type=1)
    response = call(cluster, request, 3)
    assert response.error_code == ErrorCode.NONE
    (topic,) = cluster.topics.all()
    assert topic.name == "__transaction_state"
    partition = cluster.transaction_log.partition("x")
    assert partition is not None
    assert response.node_id == partition.leader_id


@pytest.mark.parametrize("key_type", [0, 1])
def test_the_topic_can_be_created_later_as_in_kafka(key_type: int) -> None:
    cluster = make_cluster(3, **{"internal.topic.creation.async": "true"})
    request = messages.FindCoordinatorRequest(version=3, key=GROUP, key_type=key_type)
    assert call(cluster, request, 3).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert call(cluster, request, 3).error_code == ErrorCode.NONE
    assert len(cluster.topics) == 1


def test_a_topic_in_the_queue_of_the_controller_is_created_once() -> None:
    keys = {"internal.topic.creation.async": "true", "controller.mutation.time.us": "10000"}
    cluster = make_cluster(3, **keys)
    for now_ms in (NOW_MS, NOW_MS + 499):
        cluster.timers.run_due(now_ms)
        assert find_group(cluster, now_ms=now_ms) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert len(cluster.controller_queue) == 1
    cluster.timers.run_due(NOW_MS + 500)
    assert find_group(cluster, now_ms=NOW_MS + 500) == ErrorCode.NONE
    assert len(cluster.controller_queue) == 0


def test_a_replication_factor_beyond_the_brokers_leaves_groups_without_a_coordinator() -> None:
    cluster = make_cluster(1, **{"offsets.topic.replication.factor": "3"})
    assert find_group(cluster) == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_the_broker_creates_the_topic_for_a_client_that_may_not_create_topics() -> None:
    cluster = make_acl_cluster("DESCRIBE GROUP g")
    assert find_group(cluster) == ErrorCode.NONE
    assert cluster.topics.get("__consumer_offsets") is not None
