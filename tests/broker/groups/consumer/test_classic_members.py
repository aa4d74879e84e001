"""Members of the classic protocol in a group of the consumer protocol."""

from typing import Any

import pytest

from protocol.errors import ErrorCode
from tests.broker.groups.consumer.classic_clients import (
    CLASSIC_SESSION_MS,
    T,
    heartbeat,
    join,
    partitions,
    subscription,
    sync,
)
from tests.broker.groups.consumer.driver import JOINED, REBALANCE_MS, ConsumerDriver


def mixed() -> tuple[ConsumerDriver, str]:
    """A stable group with a member of each protocol; return the id of the classic one."""
    driver = ConsumerDriver()
    owned = driver.join("new").assignment
    (joined,) = join(driver)
    assert sync(driver, joined.member_id, JOINED + 1).assignment
    kept = driver.heartbeat("new", JOINED, owned_partitions=owned).assignment
    driver.heartbeat("new", JOINED, owned_partitions=kept)
    assert heartbeat(driver, joined.member_id, JOINED + 1) is ErrorCode.REBALANCE_IN_PROGRESS
    join(driver, joined.member_id)
    assert len(partitions(sync(driver, joined.member_id, JOINED + 1))) == 2
    return driver, joined.member_id


def test_a_join_ends_at_once_and_the_broker_is_the_leader() -> None:
    driver = ConsumerDriver()
    driver.join("new")
    (joined,) = join(driver)
    assert joined.error_code is ErrorCode.NONE
    assert (joined.generation_id, joined.protocol_type, joined.protocol_name) == (
        *(JOINED + 1, "consumer", "cooperative-sticky"),
    )
    assert (joined.leader_id, joined.members) == ("", ())
    assert partitions(sync(driver, joined.member_id, JOINED + 1)) == []


def test_a_heartbeat_asks_the_member_to_join_when_its_partitions_are_free() -> None:
    driver, member_id = mixed()
    assert heartbeat(driver, member_id, JOINED + 1) is ErrorCode.NONE
    new, classic = driver.owned("new"), driver.owned(member_id)
    assert new[T] | classic[T] == {0, 1, 2, 3}
    assert not new[T] & classic[T]


def test_a_member_revokes_by_joining_without_the_partitions() -> None:
    driver, member_id = mixed()
    owned = sorted(driver.owned(member_id)[T])
    driver.join("third")
    assert heartbeat(driver, member_id, JOINED + 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert sync(driver, member_id, JOINED + 1).error_code is ErrorCode.REBALANCE_IN_PROGRESS

    (revoking,) = join(driver, member_id, owned)
    assert revoking.generation_id == JOINED + 1
    kept = partitions(sync(driver, member_id, JOINED + 1))
    assert len(kept) == 1
    assert heartbeat(driver, member_id, JOINED + 1) is ErrorCode.REBALANCE_IN_PROGRESS
    (revoked,) = join(driver, member_id, kept)
    assert revoked.generation_id == JOINED + 2
    assert partitions(sync(driver, member_id, JOINED + 2)) == kept


@pytest.mark.parametrize(
    ("fields", "error_code"),
    [
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": {}}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": {"other": subscription([])}}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": {"cooperative-sticky": b"?"}}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"must_know_id": True}, ErrorCode.MEMBER_ID_REQUIRED),
        ({"group_instance_id": "i", "member_id": "x"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_join_that_does_not_fit_is_refused(fields: dict[str, Any], error_code: ErrorCode) -> None:
    driver, _ = mixed()
    (joined,) = join(driver, **fields)
    assert joined.error_code is error_code
    assert len(driver.group.members) == 2


def test_a_full_group_refuses_members_of_both_protocols() -> None:
    driver = ConsumerDriver(group_consumer_max_size=1)
    driver.join("new")
    assert join(driver)[0].error_code is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_sync_and_heartbeat_check_member_generation_and_protocol() -> None:
    driver, member_id = mixed()
    assert sync(driver, "new", JOINED + 1).error_code is ErrorCode.UNKNOWN_MEMBER_ID
    assert sync(driver, member_id, JOINED).error_code is ErrorCode.ILLEGAL_GENERATION
    for result in (
        sync(driver, member_id, JOINED + 1, protocol_type="other"),
        sync(driver, member_id, JOINED + 1, protocol_name="other"),
    ):
        assert result.error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert heartbeat(driver, "nobody", JOINED + 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert heartbeat(driver, member_id, JOINED) is ErrorCode.ILLEGAL_GENERATION


def test_a_member_has_the_session_that_it_asked_for() -> None:
    driver, member_id = mixed()
    driver.advance(CLASSIC_SESSION_MS - 1)
    assert member_id in driver.group.members
    driver.advance(1)
    assert list(driver.group.members) == ["new"]


def test_a_member_that_is_asked_to_join_or_sync_and_does_not_is_removed() -> None:
    for has_joined in (False, True):
        driver, member_id = mixed()
        driver.join("third")
        if has_joined:
            join(driver, member_id, sorted(driver.owned(member_id)[T]))
        for _ in range(REBALANCE_MS // 5000 + 1):
            if member_id in driver.group.members:
                heartbeat(driver, member_id, JOINED + 1)
            for name, member in list(driver.group.members.items()):
                if member.classic is None:
                    driver.heartbeat(name, member.member_epoch)
            driver.advance(5000)
        assert member_id not in driver.group.members


def test_a_member_joins_again_when_there_is_a_target_for_it_since_kafka_4_3() -> None:
    driver = ConsumerDriver(release=(4, 3), group_consumer_assignment_interval_ms=1000)
    driver.join("new")
    driver.advance(1000)
    (joined,) = join(driver)
    epoch = joined.generation_id
    driver.join("third")
    assert driver.group.group_epoch == epoch + 1
    assert heartbeat(driver, joined.member_id, epoch) is ErrorCode.NONE
    assert sync(driver, joined.member_id, epoch).error_code is ErrorCode.NONE
    driver.advance(1000)
    driver.heartbeat("third", epoch, owned_partitions={})
    assert heartbeat(driver, joined.member_id, epoch) is ErrorCode.REBALANCE_IN_PROGRESS
    assert sync(driver, joined.member_id, epoch).error_code is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_classic_member_has_no_expression_since_kafka_4_2() -> None:
    for minor, regex in ((1, "t"), (2, "")):
        driver = ConsumerDriver(release=(4, minor))
        driver.join("new", group_instance_id="i", subscribed_topic_regex="t")
        driver.join("other")
        (joined,) = join(driver, group_instance_id="i")
        assert driver.group.members[joined.member_id].subscribed_topic_regex == regex
