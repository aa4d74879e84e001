"""SyncGroup on the wire."""

import pytest

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.groups.group_cluster import GroupCluster, versions


@pytest.mark.parametrize("version", versions(ApiKey.SYNC_GROUP))
def test_every_version_gets_its_assignment(version: int) -> None:
    cluster = GroupCluster()
    (joined,) = cluster.join()

    (response,) = cluster.sync(joined.member_id, 1, version)

    assert (response.error_code, response.assignment) == (ErrorCode.NONE, b"partitions")
    expected = ("consumer", "range") if version >= 5 else (None, None)
    assert (response.protocol_type, response.protocol_name) == expected


@pytest.mark.parametrize("version", versions(ApiKey.SYNC_GROUP))
def test_every_version_can_be_refused(version: int) -> None:
    cluster = GroupCluster()
    member_id = cluster.stable_member()

    (response,) = cluster.sync(member_id, 2, version)
    assert (response.error_code, response.assignment) == (ErrorCode.ILLEGAL_GENERATION, b"")
    (response,) = cluster.sync(member_id, 1, version, broker_id=cluster.other_id)
    assert response.error_code == ErrorCode.NOT_COORDINATOR


def test_version_5_checks_the_protocol_type_and_name() -> None:
    cluster = GroupCluster()
    member_id = cluster.stable_member()

    (right,) = cluster.sync(member_id, 1, 5, protocol_type="consumer", protocol_name="range")
    (wrong,) = cluster.sync(member_id, 1, 5, protocol_type="consumer", protocol_name="sticky")

    assert right.error_code == ErrorCode.NONE
    assert wrong.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_follower_waits_for_its_leader() -> None:
    cluster = GroupCluster()
    leader_id = cluster.stable_member()
    newcomer = cluster.join()
    cluster.join(member_id=leader_id)

    waiting = cluster.sync(newcomer[0].member_id, 2)
    assert waiting == []
    cluster.sync(leader_id, 2)

    assert [(response.error_code, response.assignment) for response in waiting] == [(0, b"")]


def test_version_5_without_a_protocol_is_an_inconsistent_group_protocol() -> None:
    (response,) = GroupCluster().sync("member", 1, 5, protocol_name=None)
    assert response.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
