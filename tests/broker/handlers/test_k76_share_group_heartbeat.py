"""ShareGroupHeartbeat on the wire."""

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.share_driver import GROUP, TOPIC, ShareDriver, member_id


def test_the_second_heartbeat_assigns_the_partitions() -> None:
    driver = ShareDriver(partition_count=2)

    first = driver.heartbeat(1, 0, [TOPIC])
    assert (first.member_epoch, first.heartbeat_interval_ms) == (1, 5000)
    assert first.assignment.topic_partitions == []
    second = driver.heartbeat(1, 1)
    (assigned,) = second.assignment.topic_partitions
    assert (assigned.topic_id, assigned.partitions) == (driver.topic.topic_id, [0, 1])
    third = driver.heartbeat(1, second.member_epoch)
    assert (third.error_code, third.assignment) == (ErrorCode.NONE, None)


def test_a_member_leaves_and_is_unknown() -> None:
    driver = ShareDriver()
    driver.join(1)

    left = driver.heartbeat(1, -1)

    assert (left.error_code, left.member_id, left.member_epoch) == (0, member_id(1), -1)
    assert driver.heartbeat(1, -1).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.heartbeat(1, 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_errors_have_kafkas_messages() -> None:
    driver = ShareDriver(broker_count=2)
    missing = driver.heartbeat(1, 1)
    assert (missing.error_code, missing.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Share group g not found.",
    )
    invalid = driver.heartbeat(1, 0)
    assert invalid.error_code == ErrorCode.INVALID_REQUEST
    request = messages.ShareGroupHeartbeatRequest(
        group_id=GROUP, member_id=member_id(1), member_epoch=0, subscribed_topic_names=[TOPIC]
    )
    other = driver.ask(request, broker_id=3 - driver.coordinator_id)
    assert (other.error_code, other.error_message) == (
        ErrorCode.NOT_COORDINATOR,
        "This is not the correct coordinator.",
    )


def test_a_group_of_another_type_is_no_share_group() -> None:
    driver = ShareDriver()
    commit: type = messages.OffsetCommitRequest
    topic = commit.OffsetCommitRequestTopic  # type: ignore[attr-defined]
    partition = topic.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    driver.ask(
        commit(group_id=GROUP, topics=[topic(name=TOPIC, partitions=[partition])]), version=8
    )

    response = driver.heartbeat(1, 0, [TOPIC])

    assert (response.error_code, response.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group g is not a share group.",
    )


def test_share_groups_may_be_off() -> None:
    driver = ShareDriver(cluster_features="share.version=0")

    assert driver.heartbeat(1, 0, [TOPIC]).error_code == ErrorCode.UNSUPPORTED_VERSION
