"""DeleteGroups on the wire."""

import pytest

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.groups.group_cluster import GROUP, GroupCluster, versions


@pytest.mark.parametrize("version", versions(ApiKey.DELETE_GROUPS))
def test_every_version_deletes_groups_without_members(version: int) -> None:
    cluster = GroupCluster()
    cluster.commit(("t", 0, 1))

    response = cluster.ask(ApiKey.DELETE_GROUPS, version, groups_names=[GROUP, GROUP])
    again = cluster.ask(ApiKey.DELETE_GROUPS, version, groups_names=[GROUP])

    assert [(result.group_id, result.error_code) for result in response.results] == [(GROUP, 0)]
    assert [result.error_code for result in again.results] == [ErrorCode.GROUP_ID_NOT_FOUND]
    assert again.results[0].error_message is None
    assert len(cluster.cluster.groups.table) == 0


@pytest.mark.parametrize("version", versions(ApiKey.DELETE_GROUPS))
def test_a_group_with_members_or_another_coordinator_is_not_deleted(version: int) -> None:
    cluster = GroupCluster()
    cluster.stable_member()

    def delete(**fields: int) -> int:
        response = cluster.ask(ApiKey.DELETE_GROUPS, version, groups_names=[GROUP], **fields)
        return int(response.results[0].error_code)

    assert delete() == ErrorCode.NON_EMPTY_GROUP
    assert delete(broker_id=cluster.other_id) == ErrorCode.NOT_COORDINATOR
    assert len(cluster.cluster.groups.table) == 1
