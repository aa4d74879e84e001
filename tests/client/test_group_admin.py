"""The admin client for groups, with a cluster and with scripted responses."""

from collections.abc import Iterator
from typing import Any

import pytest

from client.admin import Admin
from client.blocking_admin import open_admin
from client.errors import ApiError
from client.group_admin import EARLIEST, LATEST
from client.resources import GroupDescription, GroupListing, PartitionOffset
from mock_kafka import MockKafka
from protocol import messages
from protocol.errors import ErrorCode
from tests.client.running_cluster import admin_without_groups, running_cluster
from tests.client.scripted import Clock, admin_of

NOT_COORDINATOR = ErrorCode.NOT_COORDINATOR


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[MockKafka]:
    with running_cluster() as kafka:
        yield kafka


@pytest.fixture
def admin(shared_cluster: MockKafka) -> Iterator[Admin]:
    with admin_without_groups(shared_cluster) as admin:
        yield admin


def test_offsets_are_committed_listed_and_deleted(admin: Admin) -> None:
    offsets = {("t", 0): PartitionOffset(2, metadata="note"), ("t", 2): PartitionOffset(3)}
    assert admin.alter_group_offsets("g", offsets) == {("t", 0): None, ("t", 2): None}
    assert admin.group_offsets("g") == offsets
    assert admin.list_groups() == [GroupListing("g", "classic", "Empty", "")]
    assert admin.list_groups(["Stable"]) == admin.list_groups(types=["consumer"]) == []
    assert admin.list_groups(["Empty"], ["classic"]) == admin.list_groups()

    assert admin.delete_group_offsets("g", [("t", 0)]) == {("t", 0): None}
    assert admin.group_offsets("g") == {("t", 2): PartitionOffset(3)}
    unknown = admin.delete_group_offsets("g", [("t", 9)])["t", 9]
    assert unknown is not None
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_offsets_of_topics_that_do_not_exist_are_errors_of_their_partitions(admin: Admin) -> None:
    (error,) = admin.alter_group_offsets("g", {("gone", 0): PartitionOffset(1)}).values()
    assert error is not None
    assert error.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_topics_that_do_not_exist_have_their_error_where_topics_have_ids() -> None:
    offsets = {(name, 0): PartitionOffset(1) for name in ("gone", "t", "missing")}
    with (
        MockKafka(config={"broker.api.versions": "OffsetCommit=10"}, in_process=True) as kafka,
        open_admin(kafka.bootstrap_servers) as admin,
    ):
        kafka.create_topic("t")
        results = admin.alter_group_offsets("g", offsets)
    codes = {name: error and error.error_code for (name, _), error in results.items()}
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == {"gone": unknown, "t": None, "missing": unknown}


def test_a_group_without_members_is_described_and_deleted(admin: Admin) -> None:
    admin.alter_group_offsets("g", {("t", 0): PartitionOffset(1)})
    group = admin.describe_groups(["g"])["g"]
    assert isinstance(group, GroupDescription)
    assert (group.group_type, group.state, group.members) == ("classic", "Empty", ())
    assert group.coordinator in admin.describe_cluster().brokers.values()

    assert admin.delete_groups(["g"]) == {"g": None}
    error = admin.delete_groups(["g"])["g"]
    assert error is not None
    assert error.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_missing_group_is_an_error(admin: Admin) -> None:
    error = admin.describe_groups(["g"])["g"]
    assert isinstance(error, ApiError)
    assert (error.error_code, str(error)) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group g not found.",
    )
    with pytest.raises(ApiError):
        admin.delete_group_offsets("g", [("t", 0)])
    assert admin.share_group_offsets("g") == {}
    with pytest.raises(ApiError):
        admin.delete_share_group_offsets("g", ["t"])
    admin.alter_share_group_offsets("g", {("t", 0): PartitionOffset(1)})  # this makes the group
    assert [group.group_id for group in admin.list_groups()] == ["g"]


def test_offsets_of_logs_are_listed_by_time(admin: Admin) -> None:
    partitions = [("t", 0), ("t", 1)]
    assert admin.list_offsets(partitions, EARLIEST) == dict.fromkeys(partitions, 0)
    assert admin.list_offsets(partitions, LATEST) == dict.fromkeys(partitions, 3)
    assert admin.list_offsets(partitions, 1500) == dict.fromkeys(partitions, 1)
    assert admin.list_offsets(partitions, 9000) == dict.fromkeys(partitions, -1)
    assert admin.list_offsets([], LATEST) == {}


def test_a_partition_without_leader_or_that_is_missing_has_an_error(
    admin: Admin, shared_cluster: MockKafka
) -> None:
    shared_cluster.move_leader("t", 0, None)
    found = admin.list_offsets([("t", 0), ("t", 9), ("gone", 0), ("t", 1)], LATEST)
    codes = {key: error.error_code for key, error in found.items() if isinstance(error, ApiError)}
    assert codes == {
        ("t", 0): ErrorCode.LEADER_NOT_AVAILABLE,
        ("t", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("gone", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert found["t", 1] == 3
    shared_cluster.move_leader("t", 0, 1)


# The coordinator ----------------------------------------------------------------------------


def coordinator(error_code: int = 0) -> Any:
    return messages.FindCoordinatorResponse(
        coordinators=[],
        error_code=error_code,
        error_message=None,
        node_id=2,
        host="two",
        port=9,
    )


def deleted(error_code: int) -> Any:
    entry = messages.DeleteGroupsResponse.DeletableGroupResult
    return messages.DeleteGroupsResponse(results=[entry(group_id="g", error_code=error_code)])


def test_a_request_follows_its_coordinator() -> None:
    clock = Clock()
    admin, peer = admin_of(
        coordinator(ErrorCode.COORDINATOR_NOT_AVAILABLE),
        coordinator(),
        deleted(NOT_COORDINATOR),
        coordinator(),
        deleted(0),
        clock=clock,
    )
    assert admin.delete_groups(["g"]) == {"g": None}
    assert [address.host for address, _request in peer.asked] == ["one", "one", "two", "one", "two"]
    assert clock.sleeps == [100, 100]


def test_without_a_coordinator_the_call_ends_at_its_timeout() -> None:
    clock = Clock()
    admin, peer = admin_of(*[coordinator(ErrorCode.COORDINATOR_NOT_AVAILABLE)] * 601, clock=clock)
    with pytest.raises(ApiError) as caught:
        admin.delete_groups(["g"])
    assert caught.value.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert sum(clock.sleeps) == 60_000
    assert len(peer.asked) == 600


def test_another_error_of_find_coordinator_is_not_retried() -> None:
    admin, _peer = admin_of(coordinator(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    with pytest.raises(ApiError, match="GROUP_AUTHORIZATION_FAILED"):
        admin.group_offsets("g")


def test_a_share_group_has_start_offsets_and_lag_where_the_broker_says_it() -> None:
    group_class = messages.DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup
    topic_class = group_class.DescribeShareGroupOffsetsResponseTopic
    part_class = topic_class.DescribeShareGroupOffsetsResponsePartition
    parts = [
        part_class(partition_index=0, start_offset=4, leader_epoch=2, lag=7),
        part_class(partition_index=1, start_offset=-1, leader_epoch=0, lag=-1),
        part_class(partition_index=2, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    group = group_class(group_id="g", topics=[topic_class(topic_name="t", partitions=parts)])
    response = messages.DescribeShareGroupOffsetsResponse(groups=[group])
    admin, _peer = admin_of(coordinator(), response)
    assert admin.share_group_offsets("g") == {
        ("t", 0): PartitionOffset(4, 2, lag=7),
        ("t", 1): PartitionOffset(-1, 0),
    }
