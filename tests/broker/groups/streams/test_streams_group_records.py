"""The records of a streams group."""

from broker.groups.streams.member import Endpoint
from protocol.errors import ErrorCode
from tests.broker.groups.consumer.driver import Topics
from tests.broker.groups.streams.driver import GROUP, StreamsDriver


def test_the_records_of_a_first_heartbeat_are_those_of_kafka() -> None:
    driver = StreamsDriver(Topics(t=2))
    driver.join("a", client_tags={"z": "1", "a": "2"}, user_endpoint=Endpoint("h", 9))
    records = driver.take_records()
    assert [name for name, _value in records] == [
        "StreamsGroupMemberMetadata",
        "StreamsGroupTopology",
        "StreamsGroupMetadata",
        "StreamsGroupTargetAssignmentMember",
        "StreamsGroupTargetAssignmentMetadata",
        "StreamsGroupCurrentMemberAssignment",
    ]
    values = dict(records)
    member = values["StreamsGroupMemberMetadata"]
    assert [tag.key for tag in member.client_tags] == ["a", "z"]
    assert (member.user_endpoint.host, member.user_endpoint.port) == ("h", 9)
    epoch = values["StreamsGroupMetadata"]
    assert (epoch.epoch, epoch.validated_topology_epoch) == (2, 1)
    assert [(c.key, c.value) for c in epoch.last_assignment_configs] == [
        ("num.standby.replicas", "0")
    ]
    current = values["StreamsGroupCurrentMemberAssignment"]
    (tasks,) = current.active_tasks
    assert (tasks.partitions, tasks.assignment_epochs) == ([0, 1], [2, 2])
    target = values["StreamsGroupTargetAssignmentMetadata"]
    assert (target.assignment_epoch, target.assignment_timestamp) == (2, 1_000)


def test_a_heartbeat_that_changes_nothing_writes_nothing() -> None:
    driver = StreamsDriver()
    driver.join("a")
    driver.heartbeat("a")
    driver.take_records()
    driver.heartbeat("a")
    assert driver.take_records() == []


def test_a_deleted_group_leaves_tombstones_only() -> None:
    driver = StreamsDriver()
    driver.join("a")
    assert driver.groups.table.delete_group(GROUP, driver.now_ms) is ErrorCode.NON_EMPTY_GROUP
    driver.send("a", member_epoch=-1)
    driver.take_records()
    assert driver.groups.table.delete_group(GROUP, driver.now_ms) is ErrorCode.NONE
    assert driver.take_records() == [
        ("StreamsGroupTargetAssignmentMetadata", None),
        ("StreamsGroupMetadata", None),
        ("StreamsGroupTopology", None),
    ]
