"""LeaveGroup on the wire."""

from typing import Any

import pytest

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.groups.group_cluster import GROUP, GroupCluster, versions


def leave(cluster: GroupCluster, version: int, member_id: str, **changes: Any) -> Any:
    fields: dict[str, Any] = {"group_id": GROUP, "member_id": member_id}
    if version >= 3:
        identity = messages.LeaveGroupRequest.MemberIdentity(version=version, member_id=member_id)
        fields = {"group_id": GROUP, "members": [identity]}
    return cluster.ask(ApiKey.LEAVE_GROUP, version, **(fields | changes))


@pytest.mark.parametrize("version", versions(ApiKey.LEAVE_GROUP))
def test_every_version_removes_a_member(version: int) -> None:
    cluster = GroupCluster()
    member_id = cluster.stable_member()

    response = leave(cluster, version, member_id)

    assert response.error_code == ErrorCode.NONE
    assert [(member.member_id, member.error_code) for member in response.members] == (
        [(member_id, ErrorCode.NONE)] if version >= 3 else []
    )
    assert cluster.cluster.groups.table.list_groups(["Empty"]) != []


@pytest.mark.parametrize("has_group", [True, False])
@pytest.mark.parametrize("version", versions(ApiKey.LEAVE_GROUP))
def test_an_unknown_member_is_an_error_of_the_member_if_the_version_has_that_field(
    version: int, has_group: bool
) -> None:
    cluster = GroupCluster()
    if has_group:
        cluster.stable_member()

    response = leave(cluster, version, "made-up")

    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert response.error_code == (ErrorCode.NONE if version >= 3 else unknown)
    assert [member.error_code for member in response.members] == ([unknown] if version >= 3 else [])


@pytest.mark.parametrize("version", versions(ApiKey.LEAVE_GROUP))
def test_an_error_of_the_request_is_the_error_of_the_response(version: int) -> None:
    cluster = GroupCluster()
    elsewhere = leave(cluster, version, "m", broker_id=cluster.other_id)
    assert (elsewhere.error_code, elsewhere.members) == (ErrorCode.NOT_COORDINATOR, [])

    nameless_id = cluster.cluster.coordinator_id("")
    nameless = leave(cluster, version, "m", group_id="", broker_id=nameless_id)
    assert (nameless.error_code, nameless.members) == (ErrorCode.INVALID_GROUP_ID, [])


@pytest.mark.parametrize("version", versions(ApiKey.LEAVE_GROUP, 3))
def test_a_static_member_is_removed_by_its_instance(version: int) -> None:
    cluster = GroupCluster()
    cluster.stable_member(group_instance_id="i")
    identity = messages.LeaveGroupRequest.MemberIdentity(
        version=version, member_id="", group_instance_id="i"
    )

    response = leave(cluster, version, "", members=[identity])

    assert [(member.group_instance_id, member.error_code) for member in response.members] == [
        ("i", 0)
    ]
