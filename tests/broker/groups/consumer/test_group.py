"""The state of a group: subscriptions, epochs, records, committed offsets."""

from uuid import UUID

import pytest

from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.member import ClassicMetadata, ConsumerMember
from broker.groups.consumer.regexes import ResolvedRegex
from broker.groups.requests import CommitRequest
from protocol.errors import ErrorCode
from tests.broker.groups.consumer.driver import GROUP, ConsumerDriver, Topics

CLASSIC = ClassicMetadata(10_000, {"range": b""})


def group_with(*members: ConsumerMember) -> ConsumerGroup:
    group = ConsumerGroup(GROUP)
    for member in members:
        group.put_member(member)
    return group


def member(name: str, *topics: str, regex: str = "", **fields: object) -> ConsumerMember:
    return ConsumerMember(
        name,
        3,
        subscribed_topic_names=frozenset(topics),
        subscribed_topic_regex=regex,
        **fields,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("members", "is_homogeneous"),
    [
        ((), True),
        ((member("a", "t"), member("b", "t")), True),
        ((member("a", "t"), member("b", "t", "u")), False),
        ((member("a", regex="x"), member("b", regex="x")), True),
        ((member("a", regex="x"), member("b", regex="y")), False),
        ((member("a", regex="x"), member("b", "t")), False),
        ((member("a", "t", regex="x"), member("b", regex="x")), False),
    ],
)
def test_members_subscribe_to_the_same_topics_or_not(
    members: tuple[ConsumerMember, ...], is_homogeneous: bool
) -> None:
    assert group_with(*members).is_homogeneous is is_homogeneous


def test_a_group_subscribes_to_names_and_to_what_its_expressions_match() -> None:
    group = group_with(member("a", "t"), member("b", regex="o.*"))
    group.put_regex("o.*", ResolvedRegex(frozenset({"orders"}), 1, 0))
    assert group.is_subscribed_to("t")
    assert group.is_subscribed_to("orders")
    assert not group.is_subscribed_to("u")
    group.remove_member("b")
    group.forget_unused_regex("o.*")
    assert not group.is_subscribed_to("orders")


def test_a_partition_is_free_when_its_owner_is_gone() -> None:
    owned = {UUID(int=1): frozenset({0})}
    group = group_with(member("a", "t", assigned_partitions=owned))
    newcomer = member("b", "t")
    group.group_epoch = group.assignment_epoch = 4
    group.put_member(newcomer)
    group._targets["b"] = owned
    assert group.reconcile(newcomer, None).assigned_partitions == {}
    group.remove_member("a")
    assert group.reconcile(group.members["b"], None).assigned_partitions == owned


def test_a_group_with_one_member_writes_its_records_in_kafkas_order() -> None:
    driver = ConsumerDriver()
    driver.join("a")
    assert driver.written_names() == [
        ("ConsumerGroupMemberMetadata", "a"),
        ("ConsumerGroupMetadata", ""),
        ("ConsumerGroupTargetAssignmentMember", "a"),
        ("ConsumerGroupTargetAssignmentMetadata", ""),
        ("ConsumerGroupCurrentMemberAssignment", "a"),
    ]
    driver.heartbeat("a", -1)
    assert driver.written_names() == [
        ("-ConsumerGroupCurrentMemberAssignment", "a"),
        ("-ConsumerGroupTargetAssignmentMember", "a"),
        ("-ConsumerGroupMemberMetadata", "a"),
        ("ConsumerGroupMetadata", ""),
    ]
    driver.groups.table.delete_group(GROUP, driver.now_ms)
    assert driver.written_names() == [
        ("-ConsumerGroupTargetAssignmentMetadata", ""),
        ("-ConsumerGroupPartitionMetadata", ""),
        ("-ConsumerGroupMetadata", ""),
    ]


def test_a_static_member_that_is_back_replaces_the_records_of_the_old_one() -> None:
    driver = ConsumerDriver(Topics(t=1))
    driver.join("a", group_instance_id="i")
    driver.heartbeat("a", -2, group_instance_id="i")
    driver.written()
    driver.join("b", group_instance_id="i")
    assert driver.written_names() == [
        ("-ConsumerGroupCurrentMemberAssignment", "a"),
        ("-ConsumerGroupTargetAssignmentMember", "a"),
        ("-ConsumerGroupMemberMetadata", "a"),
        ("ConsumerGroupMemberMetadata", "b"),
        ("ConsumerGroupTargetAssignmentMember", "b"),
        ("ConsumerGroupCurrentMemberAssignment", "b"),
        ("ConsumerGroupCurrentMemberAssignment", "b"),
    ]


@pytest.mark.parametrize(
    ("fields", "error_code"),
    [
        ({"member_id": "a", "generation_id": 3}, ErrorCode.NONE),
        ({"member_id": "a", "generation_id": 2}, ErrorCode.STALE_MEMBER_EPOCH),
        ({"member_id": "a", "generation_id": -1}, ErrorCode.STALE_MEMBER_EPOCH),
        ({"member_id": "c", "generation_id": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "x", "generation_id": 3}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({}, ErrorCode.UNKNOWN_MEMBER_ID),
        (
            {"member_id": "a", "generation_id": 3, "knows_missing_groups": False},
            ErrorCode.UNSUPPORTED_VERSION,
        ),
        (
            {"member_id": "c", "generation_id": 3, "knows_missing_groups": False},
            ErrorCode.NONE,
        ),
    ],
)
def test_a_member_commits_with_its_epoch(fields: dict[str, object], error_code: ErrorCode) -> None:
    group = group_with(member("a", "t"), member("c", "t", classic=CLASSIC))
    request = CommitRequest(GROUP, (), **fields)  # type: ignore[arg-type]
    assert group.check_commit(request, is_transactional=False) is error_code


def test_a_transaction_commits_without_a_member_and_a_stale_epoch_is_an_illegal_generation() -> (
    None
):
    group = group_with(member("a", "t"))
    assert group.check_commit(CommitRequest(GROUP, ()), is_transactional=True) is ErrorCode.NONE
    stale = CommitRequest(GROUP, (), generation_id=2, member_id="a")
    assert group.check_commit(stale, is_transactional=True) is ErrorCode.STALE_MEMBER_EPOCH
    older = stale._replace(knows_missing_groups=False)
    assert group.check_commit(older, is_transactional=True) is ErrorCode.ILLEGAL_GENERATION


def test_anybody_commits_to_a_group_without_members() -> None:
    request = CommitRequest(GROUP, ())
    assert group_with().check_commit(request, is_transactional=False) is ErrorCode.NONE


@pytest.mark.parametrize(
    ("member_id", "epoch", "error_code"),
    [
        (None, -1, ErrorCode.NONE),
        ("a", 3, ErrorCode.NONE),
        ("a", 2, ErrorCode.STALE_MEMBER_EPOCH),
        ("c", 2, ErrorCode.ILLEGAL_GENERATION),
        ("x", 3, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", 3, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_member_fetches_offsets_with_its_epoch(
    member_id: str | None, epoch: int, error_code: ErrorCode
) -> None:
    group = group_with(member("a", "t"), member("c", "t", classic=CLASSIC))
    assert group.check_fetch(member_id, epoch) is error_code
