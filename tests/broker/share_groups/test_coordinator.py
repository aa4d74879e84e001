"""The table of share groups, on a cluster."""

import pytest

from broker.errors import Refusal
from broker.share_groups.coordinator import request_problem
from broker.share_groups.member import ShareHeartbeat
from protocol.errors import ErrorCode
from tests.broker.share_driver import GROUP, TOPIC, ShareDriver, member_id

SESSION_MS = 45_000


def test_a_member_that_is_silent_is_removed() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.join(2)
    driver.advance(SESSION_MS - 1)
    assert driver.heartbeat(2, 4).error_code == ErrorCode.NONE

    driver.advance(1)

    group = driver.cluster.share.groups.get(GROUP)
    assert group is not None
    assert list(group.members) == [member_id(2)]
    assert driver.heartbeat(1, 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_number_of_members_is_limited() -> None:
    driver = ShareDriver(group_share_max_size="1")
    driver.join(1)

    response = driver.heartbeat(2, 0, [TOPIC])

    assert response.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert response.error_message == (
        "The share group has reached its maximum capacity of 1 members."
    )


def test_a_group_without_members_can_be_deleted() -> None:
    driver = ShareDriver()
    driver.join(1)
    groups = driver.cluster.share.groups
    group = groups.get(GROUP)
    assert group is not None

    assert groups.delete(group, driver.now_ms) == ErrorCode.NON_EMPTY_GROUP
    driver.heartbeat(1, -1)
    assert groups.delete(group, driver.now_ms) == ErrorCode.NONE

    assert GROUP not in groups
    assert len(groups) == 0
    assert isinstance(groups.find(GROUP), Refusal)


def test_nothing_is_left_of_groups_without_a_log() -> None:
    driver = ShareDriver()
    driver.join(1)
    topic = driver.cluster.topics.get("__consumer_offsets")
    assert topic is not None

    driver.cluster.delete_topic(topic, driver.now_ms)

    assert driver.cluster.share.groups.all() == []
    driver.advance(SESSION_MS)


def test_sessions_begin_again_with_a_new_coordinator() -> None:
    driver = ShareDriver(broker_count=2)
    driver.join(1)
    driver.advance(SESSION_MS - 1)
    partition = driver.cluster.group_log.partition(GROUP)
    assert partition is not None

    driver.cluster.move_leader(partition, 3 - driver.coordinator_id, driver.now_ms)
    driver.advance(SESSION_MS - 1)

    assert driver.heartbeat(1, 2).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"member_id": ""}, "MemberId can't be empty."),
        ({"group_id": " "}, "GroupId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        ({"subscribed_topic_names": ()}, "SubscribedTopicNames must be set in first request."),
        ({"member_epoch": -2}, "MemberEpoch is invalid."),
    ],
)
def test_a_malformed_request_is_refused(changes: dict[str, object], problem: str) -> None:
    fields: dict[str, object] = {
        "group_id": "g",
        "member_id": "m",
        "member_epoch": 0,
        "client_id": "",
        "client_host": "",
        "subscribed_topic_names": ("t",),
    }
    refusal = request_problem(ShareHeartbeat(**fields | changes))  # type: ignore[arg-type]

    assert refusal is not None
    assert (refusal.error_code, refusal.message) == (ErrorCode.INVALID_REQUEST, problem)
    assert request_problem(ShareHeartbeat(**fields)) is None  # type: ignore[arg-type]
