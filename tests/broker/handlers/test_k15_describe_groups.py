"""DescribeGroups on the wire."""

import pytest

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.groups.group_cluster import GROUP, GroupCluster, versions


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_GROUPS))
def test_every_version_describes_a_stable_group(version: int) -> None:
    cluster = GroupCluster()
    member_id = cluster.stable_member(group_instance_id="i")

    (group,) = cluster.ask(ApiKey.DESCRIBE_GROUPS, version, groups=[GROUP]).groups

    assert (group.error_code, group.group_id, group.group_state) == (0, GROUP, "Stable")
    assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
    assert group.authorized_operations is None
    (member,) = group.members
    assert (member.member_id, member.client_id) == (member_id, "client")
    assert member.client_host == "/127.0.0.1"
    assert (member.member_metadata, member.member_assignment) == (b"meta", b"partitions")
    assert member.group_instance_id == ("i" if version >= 4 else None)


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_GROUPS, 3))
def test_authorized_operations_that_were_not_requested_are_the_smallest_int32(version: int) -> None:
    cluster = GroupCluster()
    response = cluster.handle(ApiKey.DESCRIBE_GROUPS, version, groups=["missing"])

    # The last field of the last group; flexible versions end both structs with a tag section.
    tail = bytes(response.encode(version=version))
    tail = tail[:-2] if version >= 5 else tail
    assert tail[-4:] == b"\x80\x00\x00\x00"


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_GROUPS))
def test_a_missing_group_is_dead_and_from_version_6_an_error(version: int) -> None:
    cluster = GroupCluster()

    (group,) = cluster.ask(ApiKey.DESCRIBE_GROUPS, version, groups=[GROUP]).groups

    is_error = version >= 6
    assert group.error_code == (ErrorCode.GROUP_ID_NOT_FOUND if is_error else ErrorCode.NONE)
    assert (group.error_message is not None) == is_error
    assert (group.group_state, group.members) == ("Dead", [])


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_GROUPS))
def test_another_brokers_group_is_an_error_of_that_group(version: int) -> None:
    cluster = GroupCluster()
    other_name = next(
        name
        for name in map(str, range(100))
        if cluster.cluster.coordinator_id(name) != cluster.coordinator_id
    )

    groups = cluster.ask(ApiKey.DESCRIBE_GROUPS, version, groups=[other_name, GROUP]).groups

    found = {group.group_id: group for group in groups}
    assert found.keys() == {other_name, GROUP}
    assert found[other_name].error_code == ErrorCode.NOT_COORDINATOR
    assert found[GROUP].group_state == "Dead"


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_GROUPS, 3))
def test_all_operations_of_a_group_are_authorized(version: int) -> None:
    cluster = GroupCluster()
    cluster.stable_member()
    missing = next(
        name
        for name in map(str, range(100))
        if cluster.cluster.coordinator_id(name) == cluster.coordinator_id
    )

    groups = cluster.ask(
        ApiKey.DESCRIBE_GROUPS,
        version,
        groups=[GROUP, missing],
        include_authorized_operations=True,
    ).groups

    operations = {group.group_id: group.authorized_operations for group in groups}
    assert operations[GROUP] == {3, 6, 8, 10, 11}
    # An error has no operations; before v6 a missing group is a dead one.
    assert operations[missing] == (None if version >= 6 else {3, 6, 8, 10, 11})


@pytest.mark.parametrize(
    ("release", "operations", "has_request_order"),
    [("3.9", {3, 6, 8}, True), ("4.0", {3, 6, 8, 10, 11}, False)],
)
def test_releases_have_their_own_order_and_operations_of_groups(
    release: str, operations: set[int], has_request_order: bool
) -> None:
    cluster = GroupCluster(broker_api_versions=release)
    names = [f"g{number}" for number in range(12)]

    groups = cluster.ask(
        ApiKey.DESCRIBE_GROUPS, 5, groups=names, include_authorized_operations=True
    ).groups

    assert ([group.group_id for group in groups] == names) == has_request_order
    described = [group for group in groups if group.error_code == ErrorCode.NONE]
    assert described
    assert all(set(group.authorized_operations) == operations for group in described)
