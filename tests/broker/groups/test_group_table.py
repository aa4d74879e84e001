"""Groups of both protocols in one table."""

import pytest

from broker.groups.requests import CommitRequest, JoinRequest, MemberIdentity, OffsetToCommit
from broker.groups.results import GroupListing, JoinResult
from protocol.errors import ErrorCode
from tests.broker.groups.consumer.driver import GROUP, JOINED, ConsumerDriver, Topics

HOUR_MS = 3_600_000


def commit(driver: ConsumerDriver, topic: str = "t", **fields: object) -> ErrorCode:
    request = CommitRequest(GROUP, (OffsetToCommit(topic, 0, 7),), **fields)  # type: ignore[arg-type]
    (error_code,) = driver.groups.table.commit(request, driver.now_ms)
    return error_code


def classic_join(driver: ConsumerDriver) -> JoinResult:
    responses: list[JoinResult] = []
    request = JoinRequest(GROUP, "", 10_000, 10_000, "consumer", {"range": b""})
    driver.groups.join(request, responses.append, driver.now_ms)
    return responses[0]


def offset(driver: ConsumerDriver) -> int | None:
    committed = driver.groups.table.committed(GROUP, "t", 0)
    return None if committed is None else committed.offset


def test_groups_are_listed_with_their_type_and_state() -> None:
    driver = ConsumerDriver()
    driver.join("a")
    driver.groups.table.commit(CommitRequest("simple", (OffsetToCommit("t", 0, 7),)), driver.now_ms)
    consumer = GroupListing(GROUP, "Stable", "consumer", "consumer")
    classic = GroupListing("simple", "Empty", "classic", "")
    list_groups = driver.groups.table.list_groups
    assert list_groups() == [consumer, classic]
    assert list_groups(types=["Consumer"]) == list_groups([" STABLE "]) == [consumer]
    assert list_groups(types=["classic"]) == [classic]
    assert list_groups(types=[" consumer"]) == list_groups(types=["unknown"]) == []
    assert list_groups(["Empty"], ["consumer"]) == list_groups(types=["other"]) == []


def test_a_member_commits_with_its_epoch_and_the_offset_stays_for_the_group() -> None:
    driver = ConsumerDriver()
    driver.join("a")
    assert commit(driver, member_id="a", generation_id=JOINED - 1) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(driver, member_id="a", generation_id=JOINED) is ErrorCode.NONE
    assert offset(driver) == 7
    check_fetch = driver.groups.table.check_fetch
    assert check_fetch(GROUP, "a", JOINED - 1) is ErrorCode.STALE_MEMBER_EPOCH
    assert check_fetch(GROUP, "a", JOINED) is ErrorCode.NONE
    assert check_fetch("other", "a", JOINED) is ErrorCode.NONE


def test_an_empty_group_changes_its_type_with_the_next_member_and_keeps_its_offsets() -> None:
    driver = ConsumerDriver()
    commit(driver)
    driver.join("a")
    assert driver.groups.table.list_groups()[0].group_type == "consumer"
    driver.heartbeat("a", -1)
    driver.written()

    assert classic_join(driver).error_code is ErrorCode.NONE
    assert driver.groups.table.list_groups()[0].group_type == "classic"
    assert driver.written_names()[:3] == [
        ("-ConsumerGroupTargetAssignmentMetadata", ""),
        ("-ConsumerGroupPartitionMetadata", ""),
        ("-ConsumerGroupMetadata", ""),
    ]
    assert offset(driver) == 7


def test_a_group_with_members_is_not_deleted_and_an_empty_one_is() -> None:
    driver = ConsumerDriver()
    driver.join("a")
    delete = driver.groups.table.delete_group
    assert delete(GROUP, driver.now_ms) is ErrorCode.NON_EMPTY_GROUP
    driver.heartbeat("a", -1)
    assert delete(GROUP, driver.now_ms) is ErrorCode.NONE
    assert GROUP not in driver.groups.table
    assert delete(GROUP, driver.now_ms) is ErrorCode.GROUP_ID_NOT_FOUND


def test_offsets_of_topics_that_members_subscribe_to_are_not_deleted() -> None:
    driver = ConsumerDriver(Topics(t=1, u=1))
    driver.join("a")
    for topic in ("t", "u"):
        commit(driver, topic, member_id="a", generation_id=JOINED)
    assert driver.groups.table.delete_offsets(GROUP, [("t", 0), ("u", 0)], driver.now_ms) == (
        ErrorCode.NONE,
        (ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ErrorCode.NONE),
    )
    assert [name for name, _, _ in driver.groups.table.all_committed(GROUP)] == ["t"]


def test_an_empty_group_goes_with_its_last_expired_offset() -> None:
    driver = ConsumerDriver()
    driver.join("a")
    commit(driver, member_id="a", generation_id=JOINED)
    driver.groups.table.expire_offsets(driver.now_ms + 24 * 7 * HOUR_MS)
    assert offset(driver) == 7
    driver.heartbeat("a", -1)
    driver.groups.table.expire_offsets(driver.now_ms + 24 * 7 * HOUR_MS)
    assert GROUP not in driver.groups.table


@pytest.mark.parametrize(
    ("leaver", "error_code"),
    [
        (MemberIdentity("a"), ErrorCode.NONE),
        (MemberIdentity("", "i"), ErrorCode.NONE),
        (MemberIdentity("s", "i"), ErrorCode.NONE),
        (MemberIdentity("a", "i"), ErrorCode.FENCED_INSTANCE_ID),
        (MemberIdentity("x"), ErrorCode.UNKNOWN_MEMBER_ID),
        (MemberIdentity("a", "j"), ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_an_administrator_removes_members_with_a_leave_group(
    leaver: MemberIdentity, error_code: ErrorCode
) -> None:
    driver = ConsumerDriver()
    driver.join("a")
    driver.join("s", group_instance_id="i")
    _, (left,) = driver.groups.leave(GROUP, [leaver], driver.now_ms)
    assert left.error_code is error_code
    is_removed = error_code is ErrorCode.NONE
    assert len(driver.group.members) == 1 + (not is_removed)
    assert driver.group.group_epoch == JOINED + 1 + is_removed
