"""Every broker names the same coordinator."""

from typing import Any

import pytest

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
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

    assert find(cluster, version, key_type=1).node_id == cluster.coordinator_id
    for key_type in (2, 3, -1):
        assert find(cluster, version, key_type=key_type).error_code == ErrorCode.INVALID_REQUEST


def test_each_key_of_a_batch_has_its_own_result() -> None:
    cluster = GroupCluster()
    keys = [f"group-{number}" for number in range(50)]

    response = cluster.ask(ApiKey.FIND_COORDINATOR, 4, coordinator_keys=keys)

    assert [coordinator.key for coordinator in response.coordinators] == keys
    assert {coordinator.node_id for coordinator in response.coordinators} == {1, 2, 3}
