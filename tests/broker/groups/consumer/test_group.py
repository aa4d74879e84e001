"""The state of a group: subscriptions, epochs, records, committed offsets."""

from dataclasses import replace
from uuid import UUID

import pytest

from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.member import ClassicMetadata, ConsumerMember
from broker.groups.consumer.regexes import ResolvedRegex
from broker.groups.requests import CommitRequest, OffsetToCommit
from protocol.consumer_protocol import encode_assignment
from protocol.errors import ErrorCode
from tests.broker.groups.consumer.classic_clients import T, join, sync
from tests.broker.groups.consumer.driver import GROUP, ConsumerDriver, Topics

OFFSETS = (OffsetToCommit("t", 0, 7),)
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
    topics = Topics(t=1)
    assert group.reconcile(newcomer, None, topics).assigned_partitions == {}
    group.remove_member("a")
    assert group.reconcile(group.members["b"], None, topics).assigned_partitions == owned


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
        ("ConsumerGroupTargetAssignmentMetadata", ""),
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
    request = CommitRequest(GROUP, OFFSETS, **fields)  # type: ignore[arg-type]
    assert group.check_commit(request, is_transactional=False) is error_code


def test_a_transaction_commits_without_a_member_and_a_stale_epoch_is_an_illegal_generation() -> (
    None
):
    group = group_with(member("a", "t"))
    assert group.check_commit(CommitRequest(GROUP, ()), is_transactional=True) is ErrorCode.NONE
    stale = CommitRequest(GROUP, OFFSETS, generation_id=2, member_id="a")
    assert group.check_commit(stale, is_transactional=True) is ErrorCode.STALE_MEMBER_EPOCH
    older = stale._replace(knows_missing_groups=False)
    assert group.check_commit(older, is_transactional=True) is ErrorCode.ILLEGAL_GENERATION


def shared(release: tuple[int, ...] = (4, 3)) -> tuple[ConsumerDriver, int, int, int]:
    """Let b take two partitions of a; return one that a kept, one that it lost, and its epoch."""
    driver = ConsumerDriver(release=release)
    driver.join("a")
    had = driver.owned("a")
    first_epoch = driver.group.members["a"].member_epoch
    driver.join("b")
    revoking = driver.heartbeat("a", first_epoch, owned_partitions=had).assignment
    driver.heartbeat("a", first_epoch, owned_partitions=revoking)
    driver.heartbeat("b", first_epoch + 1, owned_partitions={})
    (kept, *_), (lost, *_) = map(sorted, (driver.owned("a")[T], driver.owned("b")[T]))
    assert driver.group.members["a"].member_epoch == first_epoch + 1
    return driver, kept, lost, first_epoch


def test_a_commit_of_an_older_epoch_is_taken_for_partitions_that_the_member_had_then() -> None:
    driver, kept, lost, epoch = shared()
    assert driver.commit("a", epoch, kept) is ErrorCode.NONE
    assert driver.commit("a", epoch - 1, kept) is ErrorCode.STALE_MEMBER_EPOCH
    assert driver.commit("a", epoch, kept, lost) is ErrorCode.STALE_MEMBER_EPOCH
    assert driver.commit("b", epoch, lost) is ErrorCode.STALE_MEMBER_EPOCH
    assert driver.commit("b", epoch + 1, lost) is ErrorCode.NONE
    assert driver.commit("a", epoch + 2, kept) is ErrorCode.STALE_MEMBER_EPOCH


def test_a_commit_of_an_older_epoch_is_taken_for_a_partition_that_has_to_be_revoked() -> None:
    driver = ConsumerDriver(release=(4, 3))
    driver.join("a")
    driver.join("b")
    epoch = driver.group.members["a"].member_epoch
    driver.heartbeat("a", epoch, owned_partitions=driver.owned("a"))
    (revoked, *_) = driver.group.members["a"].partitions_pending_revocation[T]
    driver.group.put_member(replace(driver.group.members["a"], member_epoch=epoch + 5))
    assert driver.commit("a", epoch, revoked) is ErrorCode.NONE
    assert driver.commit("a", epoch - 1, revoked) is ErrorCode.STALE_MEMBER_EPOCH


def test_a_commit_names_a_partition_by_the_id_of_its_topic() -> None:
    driver, kept, _, epoch = shared()
    driver.topics.delete("t")
    driver.topics.create("t", 4)
    assert driver.commit("a", epoch, kept) is ErrorCode.STALE_MEMBER_EPOCH
    assert driver.commit("a", epoch + 1, kept) is ErrorCode.NONE


def test_before_kafka_4_3_only_the_current_epoch_commits_and_no_record_has_epochs() -> None:
    driver, kept, _, epoch = shared(release=(4, 2))
    assert driver.commit("a", epoch, kept) is ErrorCode.STALE_MEMBER_EPOCH
    assert partition_epochs(driver) == {()}
    driver.release = (4, 3)  # an upgrade of the brokers
    assert driver.commit("a", epoch, kept) is ErrorCode.NONE
    driver.join("c")
    assert () not in partition_epochs(driver)


def test_metadata_that_is_too_long_is_answered_before_epochs_are_looked_at() -> None:
    driver, kept, lost, epoch = shared()
    long = OffsetToCommit("t", lost, 1, metadata="x" * 5000, topic_id=T)
    request = CommitRequest(GROUP, [long, OffsetToCommit("t", kept, 1, topic_id=T)], epoch, "a")
    found = driver.groups.table.commit(request, driver.now_ms)
    assert found == (ErrorCode.OFFSET_METADATA_TOO_LARGE, ErrorCode.NONE)


def partition_epochs(driver: ConsumerDriver) -> set[tuple[int, ...]]:
    """Return the epochs of the partitions of all current assignments that were written."""
    return {
        tuple(entry.assignment_epochs)
        for key, value in driver.written()
        if value is not None and "CurrentMember" in type(key).__name__
        for entry in (*value.assigned_partitions, *value.partitions_pending_revocation)
    }


def test_a_new_coordinator_reads_the_epochs_of_partitions_in_the_last_record_of_a_member() -> None:
    driver, kept, _, epoch = shared()
    written = {
        key.member_id: value for key, value in driver.written() if hasattr(value, "member_epoch")
    }
    (entry,) = written["a"].assigned_partitions
    assert written["a"].member_epoch == epoch + 1
    assert dict(zip(entry.partitions, entry.assignment_epochs, strict=True))[kept] == epoch
    driver.groups.table.unload(GROUP, driver.now_ms)
    assert driver.commit("a", epoch, kept) is ErrorCode.NONE


def test_a_static_member_that_is_back_has_its_partitions_since_epoch_0() -> None:
    driver = ConsumerDriver(release=(4, 3))
    epoch = driver.join("a", group_instance_id="i").member_epoch
    driver.heartbeat("a", -2, group_instance_id="i")
    assert driver.commit("a", epoch, 0) is ErrorCode.STALE_MEMBER_EPOCH
    driver.join("b", group_instance_id="i")
    assert driver.commit("b", 0, 0) is ErrorCode.NONE
    assert driver.commit("a", epoch, 0) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_classic_member_commits_with_the_generation_in_which_it_got_a_partition() -> None:
    driver = ConsumerDriver(release=(4, 3))
    (joined,) = join(driver)
    data = encode_assignment({"t": [0, 1, 2, 3]})
    sync(driver, joined.member_id, 1, {joined.member_id: data})
    driver.join("new")
    member_id = joined.member_id
    join(driver, member_id, [0, 1, 2, 3])
    kept, *_ = others = sorted(driver.owned(member_id)[T])
    join(driver, member_id, others)
    assert driver.group.members[member_id].member_epoch > 1
    (lost, *_) = {0, 1, 2, 3} - set(others)
    for is_new in (False, True):
        version = {"knows_missing_groups": is_new}
        assert driver.commit(member_id, 1, kept, **version) is ErrorCode.NONE
        assert driver.commit(member_id, 1, lost, **version) is ErrorCode.ILLEGAL_GENERATION
        assert driver.commit(member_id, 0, kept, **version) is ErrorCode.ILLEGAL_GENERATION


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
