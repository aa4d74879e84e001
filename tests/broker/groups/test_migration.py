"""Groups that change their protocol while they have members."""

from typing import Any

import pytest

from broker.groups.group import Group
from broker.groups.requests import CommitRequest, MemberIdentity, OffsetToCommit
from broker.groups.results import GroupState
from protocol.consumer_protocol import encode_assignment
from protocol.data_messages import ConsumerProtocolAssignment, encode_data
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
from tests.broker.groups.consumer.driver import GROUP, ConsumerDriver


def classic_group(assignment: bytes | None = None, **config: Any) -> tuple[ConsumerDriver, str]:
    """A stable classic group with one member that owns all partitions of t."""
    driver = ConsumerDriver(**config)
    (joined,) = join(driver)
    data = encode_assignment({"t": [0, 1, 2, 3]}) if assignment is None else assignment
    sync(driver, joined.member_id, 1, {joined.member_id: data})
    return driver, joined.member_id


def the_group(driver: ConsumerDriver) -> Group:
    group = driver.groups.table._groups[GROUP]
    assert isinstance(group, Group)
    return group


def group_type(driver: ConsumerDriver) -> str:
    return driver.groups.table.list_groups()[0].group_type


def test_the_first_member_of_the_consumer_protocol_upgrades_a_group_whose_members_stay() -> None:
    driver, member_id = classic_group()
    driver.groups.table.commit(CommitRequest(GROUP, (OffsetToCommit("t", 0, 7),), 1, member_id), 0)
    driver.written()

    joined = driver.join("new")

    assert (joined.error_code, joined.member_epoch, joined.assignment) == (ErrorCode.NONE, 2, {})
    assert group_type(driver) == "consumer"
    assert driver.owned(member_id)[T] == {0, 1, 2, 3}
    committed = driver.groups.table.committed(GROUP, "t", 0)
    assert committed is not None
    assert committed.offset == 7
    assert driver.written_names()[:6] == [
        ("-GroupMetadata", ""),
        ("ConsumerGroupMemberMetadata", member_id),
        ("ConsumerGroupMetadata", ""),
        ("ConsumerGroupTargetAssignmentMember", member_id),
        ("ConsumerGroupTargetAssignmentMetadata", ""),
        ("ConsumerGroupCurrentMemberAssignment", member_id),
    ]
    assert heartbeat(driver, member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    join(driver, member_id, [0, 1, 2, 3])
    kept = partitions(sync(driver, member_id, 1))
    assert len(kept) == 2


def test_a_heartbeat_that_has_waited_upgrades_a_group_without_ending_sessions() -> None:
    driver, member_id = classic_group()
    for _ in range(2):
        driver.advance(CLASSIC_SESSION_MS - 1)
        assert heartbeat(driver, member_id, 1) == ErrorCode.NONE
    handled_ms = driver.now_ms
    driver.now_ms -= CLASSIC_SESSION_MS  # when the request was read
    driver.join("new")
    driver.now_ms = handled_ms

    driver.advance(CLASSIC_SESSION_MS - 1)

    assert member_id in driver.group.members


def test_a_member_that_waits_is_asked_to_join_again_after_the_upgrade() -> None:
    driver, _ = classic_group()
    waiting = join(driver)
    driver.join("new")
    assert waiting == []
    driver.advance(0)
    assert waiting[0].error_code is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_static_member_that_upgrades_a_group_in_a_rebalance_begins_a_new_epoch() -> None:
    driver = ConsumerDriver()
    join(driver, group_instance_id="i")
    assert the_group(driver).state is GroupState.COMPLETING_REBALANCE

    joined = driver.join("new", group_instance_id="i")

    assert joined.member_epoch == 2
    assert joined.assignment is not None
    assert joined.assignment[T] == {0, 1, 2, 3}
    assert driver.heartbeat("new", 2, group_instance_id="i").member_epoch == 2


def test_a_static_member_that_upgrades_a_stable_group_begins_no_epoch() -> None:
    driver = ConsumerDriver()
    (joined,) = join(driver, group_instance_id="i")
    data = encode_assignment({"t": [0, 1, 2, 3]})
    sync(driver, joined.member_id, 1, {joined.member_id: data}, group_instance_id="i")

    assert driver.join("new", group_instance_id="i").member_epoch == 1


def test_a_static_member_that_upgrades_a_group_gets_partitions_that_nobody_owned() -> None:
    driver = ConsumerDriver()
    (joined,) = join(driver, group_instance_id="i")
    data = encode_assignment({"t": [0, 1]})
    sync(driver, joined.member_id, 1, {joined.member_id: data}, group_instance_id="i")

    upgraded = driver.join("new", group_instance_id="i")

    assert upgraded.member_epoch == 2
    assert upgraded.assignment is not None
    assert upgraded.assignment[T] == {0, 1, 2, 3}


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_the_policy_can_forbid_upgrades(policy: str) -> None:
    driver, _ = classic_group(group_consumer_migration_policy=policy)
    refused = driver.join("new")
    assert refused.error_code is ErrorCode.GROUP_ID_NOT_FOUND
    assert refused.error_message == (
        "Cannot upgrade classic group g to consumer group because online upgrade is disabled."
    )
    assert group_type(driver) == "classic"


def test_groups_that_are_too_large_or_no_consumers_are_not_upgraded() -> None:
    driver, _ = classic_group(group_consumer_max_size=0)
    assert "maximum size" in (driver.join("new").error_message or "")
    driver, _ = classic_group()
    the_group(driver).protocol_type = "connect"
    assert "embedded protocol" in (driver.join("new").error_message or "")


def test_assignments_that_the_broker_cannot_read_are_not_upgraded() -> None:
    custom = ConsumerProtocolAssignment(assigned_partitions=[], user_data=b"x")
    driver, _ = classic_group(encode_data(custom, 0))
    assert "custom assignor" in (driver.join("new").error_message or "")
    driver, _ = classic_group(b"x")
    assert "malformed" in (driver.join("new").error_message or "")


def test_a_group_is_downgraded_when_its_last_member_of_the_consumer_protocol_leaves() -> None:
    driver, member_id = classic_group()
    driver.join("new")
    driver.written()
    driver.heartbeat("new", -1)

    group = the_group(driver)
    assert (group.state, group.generation_id) == (GroupState.PREPARING_REBALANCE, 2)
    assert [member.member_id for member in group.members] == [member_id]
    assert driver.written_names()[-2:] == [("-ConsumerGroupMetadata", ""), ("GroupMetadata", "")]
    assert heartbeat(driver, member_id, 2) is ErrorCode.REBALANCE_IN_PROGRESS
    (joined,) = join(driver, member_id)
    assert (joined.generation_id, joined.leader_id) == (3, member_id)


def test_the_members_of_a_downgraded_group_have_sessions() -> None:
    driver, _ = classic_group()
    driver.join("new")
    driver.heartbeat("new", -1)
    driver.advance(10_000)
    assert the_group(driver).state is GroupState.EMPTY


def test_a_classic_client_with_the_same_instance_replaces_the_last_new_one_without_rebalance() -> (
    None
):
    driver = ConsumerDriver()
    driver.join("new", group_instance_id="i")
    driver.heartbeat("new", -2, group_instance_id="i")
    (joined,) = join(driver, owned=[], group_instance_id="i")
    group = the_group(driver)
    assert (group.state, joined.error_code) == (GroupState.STABLE, ErrorCode.NONE)
    assert partitions(sync(driver, joined.member_id, joined.generation_id, group_instance_id="i"))


def test_a_group_that_is_downgraded_before_it_has_a_target_rebalances() -> None:
    driver = ConsumerDriver(release=(4, 3), group_consumer_assignment_interval_ms=1000)
    driver.join("new", group_instance_id="i")
    driver.heartbeat("new", -2, group_instance_id="i")
    driver.topics.create("u", 1)
    join(
        driver,
        group_instance_id="i",
        protocols={"cooperative-sticky": subscription([], "t", "u")},
    )
    assert the_group(driver).state is GroupState.PREPARING_REBALANCE


def test_a_group_that_is_downgraded_while_a_member_waits_for_partitions_rebalances() -> None:
    driver = ConsumerDriver()
    driver.join("new", group_instance_id="i")
    (waiting,) = join(driver)
    assert not partitions(sync(driver, waiting.member_id, waiting.generation_id))
    driver.heartbeat("new", -2, group_instance_id="i")

    (joined,) = join(driver, group_instance_id="i")

    assert joined.generation_id == waiting.generation_id
    kept = heartbeat(driver, waiting.member_id, waiting.generation_id)
    assert kept is ErrorCode.REBALANCE_IN_PROGRESS
    synced = sync(driver, joined.member_id, joined.generation_id, group_instance_id="i")
    assert synced.error_code is ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize("policy", ["disabled", "upgrade"])
def test_the_policy_can_forbid_downgrades(policy: str) -> None:
    driver = ConsumerDriver(group_consumer_migration_policy=policy)
    driver.join("new")
    (joined,) = join(driver)
    driver.heartbeat("new", -1)
    assert list(driver.group.members) == [joined.member_id]


def test_an_administrator_can_downgrade_a_group_by_removing_its_new_members() -> None:
    driver = ConsumerDriver()
    driver.join("new")
    (joined,) = join(driver)
    driver.groups.leave(GROUP, [MemberIdentity("new")], driver.now_ms)
    assert [member.member_id for member in the_group(driver).members] == [joined.member_id]
