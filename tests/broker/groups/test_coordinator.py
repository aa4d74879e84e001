"""The table of groups, committed offsets and their retention."""

from struct import pack

import pytest

from broker.groups.requests import MemberIdentity, OffsetToCommit
from broker.groups.results import (
    CommittedOffset,
    DescribedMember,
    GroupDescription,
    GroupListing,
    GroupState,
    LeftMember,
    SyncResult,
)
from protocol.errors import ErrorCode
from tests.broker.groups.driver import GROUP, SESSION_MS, Driver

RETENTION_MS = 10_080 * 60_000
CHECK_MS = 600_000


def subscription(*topics: str) -> bytes:
    names = b"".join(pack(">h", len(name)) + name.encode() for name in topics)
    return pack(">hi", 0, len(topics)) + names + pack(">i", -1)


# Missing groups -----------------------------------------------------------------------------


def test_a_missing_group_has_no_members() -> None:
    driver = Driver()
    who = MemberIdentity("m", "i")

    assert driver.sync("m", 1) == [SyncResult(ErrorCode.UNKNOWN_MEMBER_ID)]
    assert driver.heartbeat("m", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    left = (LeftMember("m", "i", ErrorCode.UNKNOWN_MEMBER_ID),)
    assert driver.groups.leave(GROUP, [who], 0) == (ErrorCode.NONE, left)
    assert driver.groups.describe(GROUP) is None
    assert driver.groups.table.delete_group(GROUP, 0) is ErrorCode.GROUP_ID_NOT_FOUND
    assert driver.groups.table.delete_offsets(GROUP, [], 1_000) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        (),
    )
    assert (driver.committed(), list(driver.groups.table.all_committed(GROUP))) == (None, [])
    assert len(driver.groups.table) == 0


def test_an_empty_group_id_is_refused() -> None:
    groups, responses = Driver().groups, []
    driver = Driver()
    invalid = ErrorCode.INVALID_GROUP_ID

    assert groups.heartbeat("", "m", None, 1, 0) is invalid
    assert groups.leave("", [MemberIdentity("m")], 0) == (invalid, ())
    assert groups.table.delete_offsets("", [("t", 0)], 1_000) == (invalid, ())
    responses = driver.sync_to("")
    assert responses == [SyncResult(invalid)]


# Commits ------------------------------------------------------------------------------------


def test_a_commit_without_a_generation_creates_the_group() -> None:
    driver = Driver()

    assert driver.commit(offset=5) is ErrorCode.NONE
    assert driver.commit(offset=6) is ErrorCode.NONE

    assert driver.committed() == 6
    assert driver.groups.table.list_groups() == [
        GroupListing(GROUP, GroupState.EMPTY.value, "classic", "")
    ]


def test_a_commit_stores_every_field_of_the_request() -> None:
    driver = Driver()
    driver.commit(offsets=(OffsetToCommit("t", 0, 5, leader_epoch=3, metadata="note"),))

    found = driver.groups.table.committed(GROUP, "t", 0)

    assert found == CommittedOffset(5, 3, "note", committed_ms=driver.now_ms)


@pytest.mark.parametrize(("knows", "code"), [(True, 69), (False, 22)])
def test_a_commit_with_a_generation_to_a_missing_group_is_refused(knows: bool, code: int) -> None:
    driver = Driver()
    error_code = driver.commit(generation_id=1, member_id="m", knows_missing_groups=knows)
    assert error_code == code
    assert len(driver.groups.table) == 0


def test_a_commit_keeps_its_members_session() -> None:
    driver = Driver()
    (member_id,) = driver.stable("a")
    for _ in range(5):
        driver.advance(SESSION_MS - 1)
        driver.commit(member_id=member_id, generation_id=1)

    assert driver.heartbeat(member_id, 1) is ErrorCode.NONE


def test_metadata_beyond_the_limit_is_refused_for_its_partition_only() -> None:
    driver = Driver(offset_metadata_max_bytes=3)
    offsets = (
        OffsetToCommit("t", 0, 1, metadata="abcd"),
        OffsetToCommit("t", 1, 2, metadata="abc"),
    )

    error_codes = driver.groups.table.commit(driver.commit_request(offsets=offsets), 0)

    assert error_codes == (ErrorCode.OFFSET_METADATA_TOO_LARGE, ErrorCode.NONE)
    assert [index for _, index, _ in driver.groups.table.all_committed(GROUP)] == [1]


# Deleting -----------------------------------------------------------------------------------


def test_offsets_of_a_topic_are_kept_while_a_consumer_subscribes_to_it() -> None:
    driver = Driver()
    (member_id,) = driver.stable("a", protocols={"range": subscription("t")})
    offsets = (OffsetToCommit("t", 0, 1), OffsetToCommit("u", 0, 2))
    commit = driver.commit_request(offsets=offsets, member_id=member_id, generation_id=1)
    driver.groups.table.commit(commit, driver.now_ms)

    outcome = driver.groups.table.delete_offsets(GROUP, [("t", 0), ("u", 0), ("v", 0)], 1_000)

    codes = (ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ErrorCode.NONE, ErrorCode.NONE)
    assert outcome == (ErrorCode.NONE, codes)
    assert [name for name, _, _ in driver.groups.table.all_committed(GROUP)] == ["t"]


def test_an_unreadable_subscription_counts_as_all_topics() -> None:
    driver = Driver()
    driver.stable("a", protocols={"range": b"\xff"})

    _, codes = driver.groups.table.delete_offsets(GROUP, [("t", 0)], 1_000)

    assert codes == (ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,)


def test_offsets_of_a_group_with_other_protocols_cannot_be_deleted() -> None:
    driver = Driver()
    driver.stable("a", protocol_type="connect")

    assert driver.groups.table.delete_offsets(GROUP, [("t", 0)], 1_000) == (
        ErrorCode.NON_EMPTY_GROUP,
        (),
    )


def test_offsets_of_a_group_without_members_can_be_deleted() -> None:
    driver = Driver()
    driver.stable("a", protocols={"range": subscription("t")})
    driver.advance(SESSION_MS)
    driver.commit()

    assert driver.groups.table.delete_offsets(GROUP, [("t", 0)], 1_000) == (
        ErrorCode.NONE,
        (ErrorCode.NONE,),
    )
    assert driver.committed() is None


def test_a_group_is_deleted_with_its_offsets_when_it_has_no_members() -> None:
    driver = Driver()
    (member_id,) = driver.stable("a")
    driver.commit(member_id=member_id, generation_id=1)
    assert driver.groups.table.delete_group(GROUP, driver.now_ms) is ErrorCode.NON_EMPTY_GROUP
    driver.advance(SESSION_MS)

    assert driver.groups.table.delete_group(GROUP, driver.now_ms) is ErrorCode.NONE
    assert driver.committed() is None
    assert driver.join()[0].generation_id == 1


def test_every_group_drops_the_offsets_of_a_deleted_topic() -> None:
    driver = Driver()
    driver.commit()
    driver.commit(group_id="other")

    driver.groups.table.forget_topic("t", 1_000)

    assert list(driver.groups.table.all_committed(GROUP)) == []
    assert list(driver.groups.table.all_committed("other")) == []


# Showing ------------------------------------------------------------------------------------


def test_a_stable_group_is_described_with_metadata_and_assignments() -> None:
    driver = Driver()
    (member_id,) = driver.stable("a", group_instance_id="i")
    member = DescribedMember(member_id, "i", "a", "/host", b"meta", b"for i-id1")
    stable = GroupDescription(GROUP, GroupState.STABLE, "consumer", "range", (member,), 1)
    assert driver.describe() == stable

    driver.join(client_id="b")

    preparing = driver.describe()
    assert (preparing.protocol_name, preparing.state) == ("", GroupState.PREPARING_REBALANCE)
    assert [described.metadata for described in preparing.members] == [b"", b""]


def test_groups_are_listed_by_state_and_type_in_any_case() -> None:
    driver = Driver()
    driver.stable("a")
    driver.commit(group_id="simple")

    def listed(states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> list[str]:
        return [group.group_id for group in driver.groups.table.list_groups(states, types)]

    assert listed() == listed(types=("Classic",)) == [GROUP, "simple"]
    assert listed(states=("stable",)) == listed(states=(" STABLE ", "Dead")) == [GROUP]
    assert listed(states=("Empty",), types=("consumer", "classic")) == ["simple"]
    assert listed(types=("consumer",)) == listed(states=("nonsense",)) == []


# Expiry -------------------------------------------------------------------------------------


def test_offsets_expire_a_retention_time_after_the_last_member_leaves() -> None:
    driver = Driver()
    (member_id,) = driver.stable("a")
    driver.commit(member_id=member_id, generation_id=1)
    driver.advance(SESSION_MS)

    driver.advance(RETENTION_MS - CHECK_MS)
    assert driver.committed() == 7
    driver.advance(2 * CHECK_MS)

    assert driver.committed() is None
    assert len(driver.groups.table) == 0


def test_offsets_committed_without_members_expire_by_their_commit() -> None:
    driver = Driver()
    driver.commit()
    driver.advance(RETENTION_MS // 2)
    driver.commit(offsets=(OffsetToCommit("u", 0, 1),))

    driver.advance(RETENTION_MS // 2 + CHECK_MS)

    assert [name for name, _, _ in driver.groups.table.all_committed(GROUP)] == ["u"]


def test_a_commit_may_have_a_retention_time() -> None:
    driver = Driver()
    driver.commit(retention_ms=2 * CHECK_MS)

    driver.advance(2 * CHECK_MS - 1)
    assert driver.committed() == 7
    driver.advance(CHECK_MS + 1)

    assert driver.committed() is None


@pytest.mark.parametrize("retention_ms", [2**63 - 1, -2, -(2**63)])
def test_a_retention_time_beyond_the_largest_timestamp_is_over_at_once(retention_ms: int) -> None:
    driver = Driver()
    driver.commit(retention_ms=retention_ms)
    assert driver.committed() == 7
    driver.advance(CHECK_MS)
    assert driver.committed() is None


def test_only_offsets_of_subscribed_topics_are_kept_while_there_are_members() -> None:
    driver = Driver()
    protocols = {"range": subscription("t")}
    (member_id,) = driver.stable("a", protocols=protocols, session_timeout_ms=1_800_000)
    offsets = (OffsetToCommit("t", 0, 1), OffsetToCommit("u", 0, 2))
    commit = driver.commit_request(offsets=offsets, member_id=member_id, generation_id=1)
    driver.groups.table.commit(commit, driver.now_ms)

    while driver.now_ms < RETENTION_MS + 2 * CHECK_MS:
        driver.advance(1_000_000)
        driver.heartbeat(member_id, 1)

    assert [name for name, _, _ in driver.groups.table.all_committed(GROUP)] == ["t"]


def test_a_group_without_members_and_offsets_is_deleted_at_the_next_check() -> None:
    driver = Driver()
    for number in range(100):
        driver.join(group_id=f"g{number}", must_know_id=True)
    assert len(driver.groups.table) == 100

    driver.advance(CHECK_MS)

    assert len(driver.groups.table) == 0
    assert driver.timers.next_due_ms() is None


def test_a_group_with_a_reserved_member_id_is_not_deleted() -> None:
    driver = Driver()
    driver.advance(1)
    driver.join()
    driver.groups.table.delete_group(GROUP, 0)
    driver.advance(CHECK_MS - SESSION_MS)
    pending_id = driver.join(must_know_id=True, group_id="late")[0].member_id

    driver.groups.table.expire_offsets(driver.now_ms)

    assert driver.join(pending_id, group_id="late")[0].error_code is ErrorCode.NONE
