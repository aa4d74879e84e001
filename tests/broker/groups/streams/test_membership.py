"""Timers of streams groups, and what a new coordinator knows."""

from broker.groups.streams.member import Endpoint
from broker.groups.streams.requests import StreamsHeartbeatResult
from protocol.errors import ErrorCode
from tests.broker.groups.streams.driver import GROUP, REBALANCE_MS, SESSION_MS, StreamsDriver


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


def test_a_new_coordinator_goes_on_with_what_is_written() -> None:
    driver = StreamsDriver()
    driver.join("a", user_endpoint=Endpoint("a", 1))
    driver.heartbeat("a", shutdown_application=True)
    driver.groups.table.unload(GROUP, driver.now_ms)
    result = driver.heartbeat("a")
    assert (result.statuses, result.tasks, result.endpoint_epoch) == ((), None, 0)
    driver.advance(SESSION_MS)
    assert driver.group.is_empty


def test_a_rebalance_of_an_administrator_begins_an_epoch() -> None:
    driver = StreamsDriver()
    driver.join("a")
    assert driver.groups.rebalance(GROUP, driver.now_ms) is ErrorCode.NONE
    result = driver.heartbeat("a")
    assert isinstance(result, StreamsHeartbeatResult)
    assert result.member_epoch == 3
