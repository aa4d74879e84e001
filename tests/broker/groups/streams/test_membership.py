"""Timers, records and endpoints of streams groups."""

from broker.groups.requests import CommitRequest, JoinRequest, OffsetToCommit
from broker.groups.results import JoinResult
from broker.groups.streams.member import Endpoint
from broker.groups.streams.requests import StreamsHeartbeatResult
from protocol.errors import ErrorCode
from tests.broker.groups.consumer.driver import Topics
from tests.broker.groups.streams.driver import (
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    STATELESS,
    StreamsDriver,
    refused,
)


def test_a_member_without_a_heartbeat_is_removed_and_its_tasks_move() -> None:
    driver = StreamsDriver()
    driver.join("a")
    driver.join("b")
    driver.settle("ab")
    driver.advance(SESSION_MS - 1)
    driver.heartbeat("b")
    driver.advance(1)
    assert list(driver.group.members) == ["b"]
    driver.settle("b")
    assert len(driver.active("b")) == 4


def test_a_member_has_its_rebalance_timeout_to_release_tasks() -> None:
    driver = StreamsDriver()
    driver.join("a")
    driver.join("b")
    driver.heartbeat("a")
    for _ in range(2):
        driver.advance(REBALANCE_MS // 2)
        for member_id in driver.group.members:
            driver.send(member_id, member_epoch=driver.epochs[member_id])
    assert list(driver.group.members) == ["b"]


def test_the_last_member_that_leaves_completes_the_epoch() -> None:
    driver = StreamsDriver(group_streams_assignment_interval_ms=1000)
    driver.join("a")
    driver.send("a", member_epoch=-1)
    assert (driver.group.group_epoch, driver.group.assignment_epoch) == (3, 3)
    driver.join("b")
    assert len(driver.active("b")) == 4


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


def test_endpoints_are_sent_to_those_that_do_not_know_them() -> None:
    driver = StreamsDriver()
    driver.join("a", user_endpoint=Endpoint("a", 1))
    driver.join("b", user_endpoint=Endpoint("b", 2))
    driver.settle("ab")
    result = driver.heartbeat("a")
    assert result.endpoints is not None
    found = {entry.endpoint.host: entry.active for entry in result.endpoints}
    assert sorted([*found["a"]["t"], *found["b"]["t"]]) == [0, 1, 2, 3]
    assert [entry.endpoint.host for entry in result.endpoints] == ["b", "a"]
    known = driver.heartbeat("a", endpoint_epoch=result.endpoint_epoch)
    assert known.endpoints is None


def test_members_without_an_endpoint_are_in_no_list() -> None:
    driver = StreamsDriver()
    driver.join("a")
    result = driver.heartbeat("a", endpoint_epoch=-1)
    assert result.endpoints == ()


def test_a_new_coordinator_goes_on_with_what_is_written() -> None:
    driver = StreamsDriver()
    driver.join("a", user_endpoint=Endpoint("a", 1))
    driver.heartbeat("a", shutdown_application=True)
    driver.groups.table.unload(GROUP, driver.now_ms)
    result = driver.heartbeat("a")
    assert (result.statuses, result.tasks, result.endpoint_epoch) == ((), None, 0)
    driver.advance(SESSION_MS)
    assert driver.group.is_empty


def test_an_empty_classic_group_is_converted_and_keeps_its_offsets() -> None:
    driver = StreamsDriver()
    commit = CommitRequest(GROUP, [OffsetToCommit("t", 0, 7)])
    assert driver.groups.table.commit(commit, driver.now_ms) == (ErrorCode.NONE,)
    driver.join("a")
    committed = driver.groups.table.committed(GROUP, "t", 0)
    assert committed is not None
    assert committed.offset == 7


def join_classic(driver: StreamsDriver) -> JoinResult:
    results: list[JoinResult] = []
    request = JoinRequest(GROUP, "", 10_000, 10_000, "consumer", {"range": b""})
    driver.groups.join(request, results.append, driver.now_ms)
    driver.timers.run_due(driver.now_ms)
    return results[0]


def test_a_classic_member_joins_a_streams_group_only_if_it_is_empty() -> None:
    driver = StreamsDriver()
    driver.join("a")
    assert join_classic(driver).error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert driver.groups.heartbeat(GROUP, "a", None, 2, 0) is ErrorCode.UNKNOWN_MEMBER_ID
    driver.send("a", member_epoch=-1)
    assert join_classic(driver).error_code is ErrorCode.NONE
    result = driver.send("a", member_epoch=0, topology=STATELESS)
    assert refused(result) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group g is not a streams group.")


def test_a_rebalance_of_an_administrator_begins_an_epoch() -> None:
    driver = StreamsDriver()
    driver.join("a")
    assert driver.groups.rebalance(GROUP, driver.now_ms) is ErrorCode.NONE
    result = driver.heartbeat("a")
    assert isinstance(result, StreamsHeartbeatResult)
    assert result.member_epoch == 3
