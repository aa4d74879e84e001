"""The offsets of share groups; the tests of the handlers have their errors."""

from broker.administration.share_offsets import (
    alter_offsets,
    delete_offsets,
    delete_share_group,
    empty_group,
    share_offset,
)
from broker.errors import Refusal
from broker.share_groups.sessions import TopicIdPartition
from broker.share_groups.share_group import ShareGroup
from broker.share_groups.share_state import SharePartitionKey
from protocol.errors import ErrorCode
from tests.broker.share_driver import ACCEPT, GROUP, ShareDriver


def left(driver: ShareDriver) -> ShareGroup:
    """Let the member leave; return the group."""
    driver.fetch(1, epoch=-1)
    driver.heartbeat(1, -1)
    group = empty_group(driver.cluster, GROUP)
    assert isinstance(group, ShareGroup)
    return group


def reading() -> ShareDriver:
    driver = ShareDriver()
    driver.join(1)
    for value in (b"a", b"b", b"c"):
        driver.produce(value)
    driver.acquire(1)
    driver.acknowledge(1, (0, 1, [ACCEPT]))
    return driver


def test_a_group_reads_on_from_an_altered_offset() -> None:
    driver = reading()
    key = SharePartitionKey(GROUP, driver.topic.topic_id, 0)
    refused = empty_group(driver.cluster, GROUP)
    assert isinstance(refused, Refusal)
    assert refused.error_code is ErrorCode.NON_EMPTY_GROUP
    group = left(driver)
    assert share_offset(driver.cluster, key)[:2] == (2, 0)
    partition = TopicIdPartition(driver.topic.topic_id, 0)
    missing = TopicIdPartition(driver.topic.topic_id, 7)

    results = alter_offsets(driver.cluster, group, {partition: 1, missing: 0}, driver.now_ms)

    assert results[partition] is None
    assert results[missing] is not None
    assert share_offset(driver.cluster, key)[:2] == (1, 0)
    driver.join(2)
    assert driver.acquire(2) == [(1, 2, 1)]


def test_a_group_whose_offsets_are_deleted_starts_again() -> None:
    driver = reading()
    group = left(driver)

    assert delete_offsets(driver.cluster, group, driver.topic.topic_id, driver.now_ms) is None

    key = SharePartitionKey(GROUP, driver.topic.topic_id, 0)
    assert share_offset(driver.cluster, key)[:2] == (-1, 0)
    assert delete_offsets(driver.cluster, group, driver.topic.topic_id, 0) is not None
    driver.join(2)
    assert driver.acquire(2) == [(0, 2, 1)]


def test_a_deleted_group_leaves_no_state() -> None:
    driver = reading()
    group = driver.cluster.share.groups.get(GROUP)
    assert group is not None
    assert delete_share_group(driver.cluster, group, driver.now_ms) is ErrorCode.NON_EMPTY_GROUP
    left(driver)

    assert delete_share_group(driver.cluster, group, driver.now_ms) is ErrorCode.NONE

    assert driver.cluster.share.states.keys() == []
    assert GROUP not in driver.cluster.share.groups
