"""ConsumerGroupDescribe on the wire."""

from typing import Any

import pytest

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.groups.consumer.driver import JOINED
from tests.broker.groups.group_cluster import GROUP, GroupCluster, versions


def join(cluster: GroupCluster, **fields: Any) -> Any:
    defaults = {
        "group_id": GROUP,
        "member_id": "m",
        "member_epoch": 0,
        "rebalance_timeout_ms": 60_000,
        "subscribed_topic_names": ["t"],
        "topic_partitions": [],
    }
    response = cluster.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, **(defaults | fields))
    assert response.error_code == ErrorCode.NONE
    return response


def describe(cluster: GroupCluster, version: int = 1, **fields: Any) -> Any:
    defaults: dict[str, Any] = {"group_ids": [GROUP]}
    response = cluster.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, version, **(defaults | fields))
    (group,) = response.groups
    return group


def partitions(assignment: Any) -> list[tuple[str, list[int]]]:
    return [(topic.topic_name, topic.partitions) for topic in assignment.topic_partitions]


def test_topics_of_a_member_have_the_order_of_kafkas_set() -> None:
    cluster = GroupCluster()
    join(cluster, subscribed_topic_names=["a", "aa", "b"])

    assert describe(cluster).members[0].subscribed_topic_names == ["aa", "a", "b"]


@pytest.mark.parametrize("version", versions(ApiKey.CONSUMER_GROUP_DESCRIBE))
def test_a_group_is_described_with_its_members_and_their_assignments(version: int) -> None:
    cluster = GroupCluster()
    join(cluster, instance_id="i", rack_id="r", server_assignor="range")
    join(cluster, member_id="n", subscribed_topic_regex="x.*")

    group = describe(cluster, version)

    assert (group.error_code, group.group_id, group.group_state) == (0, GROUP, "Reconciling")
    epoch = JOINED + 1
    assert (group.group_epoch, group.assignment_epoch, group.assignor_name) == (
        epoch,
        epoch,
        "range",
    )
    first, second = group.members
    assert (first.member_id, first.instance_id, first.rack_id) == ("m", "i", "r")
    assert (first.member_epoch, first.client_id, first.client_host) == (
        *(JOINED, "client", "/127.0.0.1"),
    )
    assert (first.subscribed_topic_names, first.subscribed_topic_regex) == (["t"], "")
    assert partitions(first.assignment) == [("t", [0, 1])]
    assert partitions(first.target_assignment) == [("t", [0])]
    assert (partitions(second.assignment), partitions(second.target_assignment)) == (
        [],
        [("t", [1])],
    )
    assert second.subscribed_topic_regex == "x.*"
    assert first.member_type == (1 if version >= 1 else -1)


def test_what_a_member_has_to_revoke_is_assigned_to_it_since_kafka_4_3() -> None:
    for release, described in (("4.2", [0]), ("4.3", [0, 1])):
        cluster = GroupCluster(broker_api_versions=release)
        epoch = join(cluster).member_epoch
        join(cluster, member_id="n")
        heartbeat: dict[str, Any] = {"group_id": GROUP, "member_id": "m", "member_epoch": epoch}
        cluster.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, **heartbeat)
        first, _second = describe(cluster).members
        assert partitions(first.assignment) == [("t", described)]


def test_authorized_operations_are_there_if_requested() -> None:
    cluster = GroupCluster()
    join(cluster)
    assert describe(cluster).authorized_operations == -(2**31)
    assert describe(cluster, include_authorized_operations=True).authorized_operations > 0


def test_missing_and_classic_groups_are_not_found() -> None:
    cluster = GroupCluster()
    group = describe(cluster)
    assert group.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert group.error_message == "Group g not found."
    cluster.commit(("t", 0, 1))
    assert describe(cluster).error_message == "Group g is not a consumer group."


def test_deleted_topics_are_left_out() -> None:
    cluster = GroupCluster()
    join(cluster)
    cluster.cluster.delete_topic(cluster.topic, cluster.now_ms)
    (member,) = describe(cluster).members
    assert partitions(member.assignment) == []


def test_only_the_coordinator_describes_a_group_and_only_with_the_feature() -> None:
    cluster = GroupCluster()
    join(cluster)
    elsewhere = describe(cluster, broker_id=cluster.other_id)
    assert elsewhere.error_code == ErrorCode.NOT_COORDINATOR
    first = cluster.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, group_ids=[GROUP, ""]).groups[0]
    assert (first.group_id, first.error_code) == ("", ErrorCode.INVALID_GROUP_ID)
    cluster.cluster.features.apply({"group.version": 0})
    assert describe(cluster).error_code == ErrorCode.UNSUPPORTED_VERSION
