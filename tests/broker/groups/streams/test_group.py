"""What a streams group permits its members and others."""

from broker.groups.requests import CommitRequest, OffsetToCommit
from broker.groups.streams.group import StreamsGroup, StreamsGroupState
from protocol.errors import ErrorCode
from tests.broker.groups.streams.driver import GROUP, StreamsDriver


def test_a_commit_of_an_older_epoch_is_taken_for_a_task_that_the_member_had_then() -> None:
    driver = StreamsDriver()
    driver.join("a")
    driver.join("b")
    driver.settle("ab")
    (kept, *_), (moved, *_) = driver.active("a"), driver.active("b")

    def commit(epoch: int, index: int, *, topic: str = "t", is_new: bool = True) -> ErrorCode:
        request = CommitRequest(
            GROUP, [OffsetToCommit(topic, index, 1)], epoch, "a", knows_missing_groups=is_new
        )
        return driver.group.check_commit(request, is_transactional=False)

    assert commit(3, kept[1]) is ErrorCode.NONE
    assert commit(2, kept[1]) is ErrorCode.NONE
    assert commit(1, kept[1]) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(2, moved[1]) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(2, kept[1], topic="u") is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(4, kept[1]) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(3, kept[1], is_new=False) is ErrorCode.UNSUPPORTED_VERSION


def test_an_administrator_commits_while_the_group_is_empty() -> None:
    request = CommitRequest(GROUP, [OffsetToCommit("t", 0, 1)])
    empty = StreamsGroup(GROUP)
    assert empty.state is StreamsGroupState.EMPTY
    assert empty.check_commit(request, is_transactional=False) is ErrorCode.NONE
    driver = StreamsDriver()
    driver.join("a")
    found = driver.group.check_commit(request, is_transactional=False)
    assert found is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.group.check_commit(request, is_transactional=True) is ErrorCode.NONE


def test_a_commit_of_a_wrong_epoch_in_a_transaction_has_the_error_of_its_version() -> None:
    driver = StreamsDriver()
    driver.join("a")
    request = CommitRequest(GROUP, [OffsetToCommit("t", 0, 1)], 9, "a")
    found = driver.group.check_commit(request, is_transactional=True)
    assert found is ErrorCode.STALE_MEMBER_EPOCH
    older = request._replace(knows_missing_groups=False)
    found = driver.group.check_commit(older, is_transactional=True)
    assert found is ErrorCode.ILLEGAL_GENERATION


def test_members_fetch_offsets_with_their_epoch() -> None:
    driver = StreamsDriver()
    driver.join("a")
    assert driver.group.check_fetch("a", 2) is ErrorCode.NONE
    assert driver.group.check_fetch("a", 1) is ErrorCode.STALE_MEMBER_EPOCH
    assert driver.group.check_fetch("b", 2) is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.group.check_fetch(None, -1) is ErrorCode.NONE


def test_offsets_of_topics_that_the_members_read_stay() -> None:
    driver = StreamsDriver()
    driver.join("a")
    assert driver.group.is_subscribed_to("t")
    assert not driver.group.is_subscribed_to("u")
    driver.send("a", member_epoch=-1)
    assert not driver.group.is_subscribed_to("t")


def test_metadata_that_is_too_long_is_answered_before_epochs_are_looked_at() -> None:
    driver = StreamsDriver(offset_metadata_max_bytes=3)
    driver.join("a")
    driver.join("b")
    driver.settle("ab")
    kept, moved = driver.active("a")[0][1], driver.active("b")[0][1]

    def commit(epoch: int, *offsets: OffsetToCommit) -> tuple[ErrorCode, ...]:
        request = CommitRequest(GROUP, offsets, epoch, "a")
        return driver.groups.table.commit(request, driver.now_ms)

    long = OffsetToCommit("t", moved, 1, metadata="long")
    assert commit(2, long) == (ErrorCode.OFFSET_METADATA_TOO_LARGE,)
    assert commit(2, long, OffsetToCommit("t", kept, 1)) == (
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ErrorCode.NONE,
    )
    stale = ErrorCode.STALE_MEMBER_EPOCH
    assert commit(2, long, OffsetToCommit("t", moved, 1)) == (stale, stale)
    assert commit(9, long) == (stale,)
