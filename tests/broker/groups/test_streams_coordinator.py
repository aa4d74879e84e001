"""The groups of streams heartbeats, among those of other types."""

from broker.groups.requests import CommitRequest, JoinRequest, OffsetToCommit
from broker.groups.results import JoinResult
from protocol.errors import ErrorCode
from tests.broker.groups.streams.driver import GROUP, STATELESS, StreamsDriver, refused


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
