"""What the cluster has for share groups."""

from unittest.mock import Mock

from broker.share_groups.member import ShareHeartbeat
from protocol.errors import ErrorCode
from tests.broker.interleaving import at_pause, run_with_pauses
from tests.broker.share_driver import GROUP, ShareDriver


def test_a_deleted_topic_is_forgotten_by_groups_states_and_leaders() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a")
    driver.acquire(1)
    share = driver.cluster.share

    driver.cluster.delete_topic(driver.topic, driver.now_ms)

    assert share.leaders[1].partitions == {}
    assert share.states.keys() == []
    group = share.groups.get(GROUP)
    assert group is not None
    assert group.initialized == {}


def test_no_state_is_left_without_its_log() -> None:
    driver = ShareDriver()
    driver.join(1)
    topic = driver.cluster.topics.get("__share_group_state")
    assert topic is not None

    driver.cluster.delete_topic(topic, driver.now_ms)

    assert driver.cluster.share.states.keys() == []


def test_the_settings_of_a_group_are_its_own_or_those_of_the_brokers() -> None:
    driver = ShareDriver(group_share_heartbeat_interval_ms="6000")
    setting = driver.cluster.share.setting

    assert setting(GROUP, "share.heartbeat.interval.ms") == 6000
    assert setting("other", "share.auto.offset.reset") == "latest"
    driver.configure("share.heartbeat.interval.ms", "7000")
    assert setting(GROUP, "share.heartbeat.interval.ms") == 7000
    assert setting("other", "share.heartbeat.interval.ms") == 6000


def test_sessions_end_when_share_groups_are_switched_off() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.acquire(1)

    driver.cluster.share.switch_off(driver.now_ms)

    leader = driver.cluster.share.leaders[1]
    assert (len(leader.sessions), leader.partitions) == (0, {})


def test_sessions_begin_again_with_a_pause_per_group_and_not_those_of_a_deleted_one() -> None:
    driver = ShareDriver()
    share, log = driver.cluster.share, driver.cluster.group_log
    group_ids = [f"g{number}" for number in range(5)]
    for group_id in group_ids:
        share.groups.heartbeat(
            ShareHeartbeat(group_id, "m", 0, "c", "h", None, ("t",)), driver.now_ms
        )
    share.groups.restart_sessions = restart = Mock()  # type: ignore[method-assign]
    indexes = {log.partition_index(group_id) for group_id in group_ids}

    def delete_last() -> None:
        share.groups.heartbeat(ShareHeartbeat("g4", "m", -1, "c", "h"), driver.now_ms)
        deleted = share.groups.get("g4")
        assert deleted is not None
        assert share.groups.delete(deleted, driver.now_ms) == ErrorCode.NONE

    run_with_pauses(
        lambda: share.restart_sessions(log, indexes, driver.now_ms), at_pause(5, delete_last)
    )

    assert [call.args[0].group_id for call in restart.call_args_list] == group_ids[:4]
