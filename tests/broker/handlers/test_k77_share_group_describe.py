"""ShareGroupDescribe on the wire."""

from typing import Any

from broker.administration.authorized_operations import GROUP_OPERATIONS, bit_field
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.share_driver import GROUP, TOPIC, ShareDriver, member_id


def describe(driver: ShareDriver, *group_ids: str, **fields: Any) -> list[Any]:
    request = messages.ShareGroupDescribeRequest(group_ids=list(group_ids), **fields)
    groups: list[Any] = driver.ask(request, broker_id=driver.coordinator_id).groups
    return groups


def test_topics_of_a_member_have_the_order_of_kafkas_set() -> None:
    driver = ShareDriver()
    driver.heartbeat(1, 0, ["a", "aa", "b"])

    (group,) = describe(driver, GROUP)

    assert group.members[0].subscribed_topic_names == ["aa", "a", "b"]


def test_a_group_is_described_with_its_members_and_their_partitions() -> None:
    driver = ShareDriver()
    driver.join(1)

    (group,) = describe(driver, GROUP, include_authorized_operations=True)

    assert (group.error_code, group.group_state, group.assignor_name) == (0, "Stable", "simple")
    assert (group.group_epoch, group.assignment_epoch) == (3, 3)
    assert group.authorized_operations == bit_field(GROUP_OPERATIONS)
    (member,) = group.members
    assert (member.member_id, member.member_epoch) == (member_id(1), 3)
    assert (member.client_id, member.client_host) == ("test-client", "/127.0.0.1")
    assert member.subscribed_topic_names == [TOPIC]
    (topic,) = member.assignment.topic_partitions
    assert (topic.topic_id, topic.topic_name, topic.partitions) == (
        driver.topic.topic_id,
        TOPIC,
        [0],
    )


def test_a_group_that_is_left_is_empty() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.heartbeat(1, -1)

    (group,) = describe(driver, GROUP)

    assert (group.group_state, group.members) == ("Empty", [])
    assert group.authorized_operations == -(1 << 31)


def test_each_group_has_its_own_error() -> None:
    driver = ShareDriver(broker_count=2)

    empty, missing = describe(driver, "missing", "")

    assert missing.error_code in {ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.NOT_COORDINATOR}
    assert empty.error_code == ErrorCode.INVALID_GROUP_ID
    request = messages.ShareGroupDescribeRequest(group_ids=[GROUP])
    (other,) = driver.ask(request, broker_id=3 - driver.coordinator_id).groups
    assert other.error_code == ErrorCode.NOT_COORDINATOR


def test_share_groups_may_be_off() -> None:
    driver = ShareDriver(cluster_features="share.version=0")

    (group,) = describe(driver, GROUP)

    assert group.error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_share_group_is_no_consumer_group() -> None:
    driver = ShareDriver()
    driver.join(1)
    request = messages.ConsumerGroupDescribeRequest(group_ids=[GROUP])
    (group,) = driver.ask(request, 1, broker_id=driver.coordinator_id).groups
    assert (group.error_code, group.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Group {GROUP} is not a consumer group.",
    )
