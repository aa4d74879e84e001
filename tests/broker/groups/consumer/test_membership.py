"""Sessions of members, and groups whose coordinator moves."""

from uuid import UUID

from broker.groups.consumer.group_state import ConsumerGroupState
from broker.groups.consumer.membership import assignors_of, new_member_id
from protocol.errors import ErrorCode
from tests.broker.groups.consumer.driver import (
    GROUP,
    JOINED,
    REBALANCE_MS,
    SESSION_MS,
    ConsumerDriver,
)


def test_a_silent_member_is_removed_after_its_session_and_the_others_get_its_partitions() -> None:
    driver = ConsumerDriver()
    driver.join("a")
    driver.advance(SESSION_MS - 1)
    driver.join("b")
    driver.advance(1)
    assert list(driver.group.members) == ["b"]
    assert driver.group.state is ConsumerGroupState.ASSIGNING
    assert len(driver.heartbeat("b", JOINED + 1).assignment or ()) == 1
    assert driver.heartbeat("a", JOINED).error_code is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_heartbeats_and_does_not_revoke_is_removed_after_its_rebalance_timeout() -> (
    None
):
    driver = ConsumerDriver()
    owned = driver.join("a").assignment
    driver.join("b")
    driver.heartbeat("a", JOINED, owned_partitions=owned)
    for _ in range(5):
        driver.advance(REBALANCE_MS // 5)
        driver.heartbeat("a", JOINED)
        driver.heartbeat("b", JOINED + 1)
    assert list(driver.group.members) == ["b"]


def test_a_static_member_that_does_not_come_back_is_removed_with_its_session() -> None:
    driver = ConsumerDriver()
    driver.join("a", group_instance_id="i")
    driver.heartbeat("a", -2, group_instance_id="i")
    driver.advance(SESSION_MS)
    assert driver.group.is_empty
    assert driver.join("b", group_instance_id="i").error_code is ErrorCode.NONE


def test_the_id_that_a_static_member_had_before_does_not_time_out() -> None:
    driver = ConsumerDriver()
    driver.join("a", group_instance_id="i")
    driver.heartbeat("a", -2, group_instance_id="i")
    driver.join("b", group_instance_id="i")
    driver.advance(SESSION_MS - 1)
    driver.heartbeat("b", JOINED, group_instance_id="i")
    driver.advance(1)
    assert list(driver.group.members) == ["b"]


def test_a_new_coordinator_gives_every_member_a_session() -> None:
    driver = ConsumerDriver()
    owned = driver.join("a").assignment
    driver.join("b")
    driver.heartbeat("a", JOINED, owned_partitions=owned)
    driver.advance(SESSION_MS - 1)
    driver.groups.table.unload(GROUP, driver.now_ms)
    driver.advance(SESSION_MS - 1)
    assert set(driver.group.members) == {"a", "b"}
    driver.advance(1)
    assert driver.group.is_empty


def test_a_group_that_is_forgotten_or_deleted_has_no_timers() -> None:
    driver = ConsumerDriver()
    driver.join("a")
    driver.groups.table.forget_all(driver.now_ms)
    driver.advance(SESSION_MS)
    assert driver.heartbeat("a", 1).error_code is ErrorCode.GROUP_ID_NOT_FOUND


def test_assignors_are_known_by_name_and_by_kafkas_class() -> None:
    package = "org.apache.kafka.coordinator.group.assignor"
    assert list(assignors_of((f"{package}.RangeAssignor", "uniform"))) == ["range", "uniform"]
    assert list(assignors_of(("com.example.Own", f"{package}.UniformAssignor"))) == ["uniform"]


def test_a_member_id_does_not_begin_like_an_option_of_a_command_line() -> None:
    ids = iter([UUID(int=0xF8 << 120), UUID(int=1)])
    assert new_member_id(lambda: next(ids)) == "AAAAAAAAAAAAAAAAAAAAAQ"
