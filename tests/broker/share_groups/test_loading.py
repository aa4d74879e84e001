"""A share group is what its records say."""

from typing import Any

from broker.cluster.coordinator_loading import load_log
from broker.share_groups.share_group import ShareGroup
from protocol.errors import ErrorCode
from tests.broker.share_driver import GROUP, TOPIC, ShareDriver, member_id


def what_records_say(group: ShareGroup) -> Any:
    return {
        "members": group.members,
        "targets": group.targets,
        "epochs": (group.group_epoch, group.assignment_epoch, group.assignment_ms),
        "states": group.initialized,
        "topics": group._metadata,
    }


def loaded(driver: ShareDriver) -> ShareGroup:
    partition = driver.cluster.group_log.partition(GROUP)
    assert partition is not None
    load_log(driver.cluster, partition, driver.now_ms)
    group = driver.cluster.share.groups.get(GROUP)
    assert group is not None
    return group


def test_members_go_on_with_a_group_that_was_loaded() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.join(2)
    known = driver.cluster.share.groups.get(GROUP)
    assert known is not None
    group = loaded(driver)
    assert group is not known
    assert what_records_say(group) == what_records_say(known)
    member = group.members[member_id(1)]
    assert driver.heartbeat(1, member.member_epoch).error_code == ErrorCode.NONE
    assert group.group_epoch == known.group_epoch
    assert GROUP not in driver.cluster.groups.table._groups


def test_an_epoch_begins_if_a_topic_has_changed_since_the_records() -> None:
    driver = ShareDriver()
    driver.join(1)
    group = driver.cluster.share.groups.get(GROUP)
    topic = driver.cluster.topics.get(TOPIC)
    assert group is not None
    assert topic is not None
    epoch = group.group_epoch
    driver.cluster.add_partitions(topic, [(1,)])
    again = loaded(driver)
    driver.heartbeat(1, again.members[member_id(1)].member_epoch)
    assert again.group_epoch > epoch
