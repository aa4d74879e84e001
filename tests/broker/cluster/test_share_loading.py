"""Where a share partition begins, and what a new leader knows."""

from typing import Any

import pytest

from broker.cluster import batch_times
from broker.cluster.share_leaders import LedSharePartition
from broker.cluster.share_loading import (
    are_share_groups_enabled,
    duration_ms,
    load_share_partition,
)
from broker.errors import Refusal
from broker.fetch.dead_letter_queue import DeadLetterQueue
from broker.share_groups.share_state import SharePartitionKey
from protocol.errors import ErrorCode
from protocol.pacing import LOOK_EVERY
from tests.broker.cluster_builder import make_cluster
from tests.broker.interleaving import once, run_with_pauses
from tests.broker.share_driver import ACCEPT, GROUP, RELEASE, RENEW, ShareDriver, part

HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("PT1H", HOUR_MS),
        ("P1DT2H3M4.5S", 26 * HOUR_MS + 184_500),
        ("pt0,25s", 250),
        ("P2D", 48 * HOUR_MS),
    ],
)
def test_an_iso_8601_duration_is_parsed(text: str, milliseconds: int) -> None:
    assert duration_ms(text) == milliseconds


def test_what_is_no_duration_is_an_error() -> None:
    with pytest.raises(ValueError, match="1 hour"):
        duration_ms("1 hour")


def test_a_group_starts_at_the_end_unless_it_is_configured() -> None:
    driver = ShareDriver()
    driver.configure("share.auto.offset.reset", "latest")
    driver.join(1)
    driver.produce(b"old")

    assert driver.acquire(1) == []
    driver.produce(b"new")
    assert driver.acquire(1) == [(1, 1, 1)]


def test_a_group_may_start_at_a_time() -> None:
    driver = ShareDriver()
    driver.configure("share.auto.offset.reset", "by_duration:PT1H")
    driver.join(1)
    driver.produce(b"old", timestamps=[driver.now_ms - HOUR_MS - 1])
    (response,) = driver.fetch(1)
    assert part(response).error_code == ErrorCode.OFFSET_NOT_AVAILABLE
    driver.produce(b"new", timestamps=[driver.now_ms - HOUR_MS])

    assert driver.acquire(1) == [(1, 1, 1)]


def test_the_new_leader_goes_on_where_the_old_one_was() -> None:
    driver = ShareDriver(broker_count=2)
    driver.join(1)
    driver.produce(b"a")
    driver.produce(b"b")
    driver.acquire(1, max_records=1)
    driver.acquire(1)
    driver.acknowledge(1, (0, 0, [ACCEPT]))

    driver.cluster.move_leader(driver.topic.partitions[0], 2, driver.now_ms)

    (moved,) = driver.fetch(1)
    entry = part(moved)
    assert entry.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (entry.current_leader.leader_id, entry.current_leader.leader_epoch) == (2, 1)
    assert [endpoint.node_id for endpoint in moved.node_endpoints] == [2]
    # The new leader does not know who had acquired the record.
    assert driver.acquire(2, broker_id=2) == [(1, 1, 1)]


def test_a_partition_whose_state_does_not_exist_cannot_be_fetched() -> None:
    driver = ShareDriver()

    (response,) = driver.fetch(1)

    assert part(response).error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_share_groups_are_off_in_a_new_cluster_before_kafka_4_2() -> None:
    for release, is_enabled in (("4.1", False), ("4.2", True), ("4.4", True)):
        cluster = make_cluster(1, **{"broker.api.versions": release})
        assert are_share_groups_enabled(cluster) == is_enabled


def test_the_settings_of_a_group_come_from_its_configuration() -> None:
    assert ShareDriver().cluster.share.setting(GROUP, "share.auto.offset.reset") == "earliest"


def test_a_partition_that_another_request_loaded_meanwhile_is_not_loaded_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a")
    cluster, partition = driver.cluster, driver.topic.partitions[0]
    read = cluster.share.states.read
    others: list[object] = []

    def load() -> object:
        return load_share_partition(
            cluster, 1, driver.topic.topic_id, partition, GROUP, driver.now_ms, DeadLetterQueue
        )

    def read_and_let_another_in(*arguments: Any) -> Any:
        state = read(*arguments)
        monkeypatch.undo()
        others.append(load())
        return state

    monkeypatch.setattr(cluster.share.states, "read", read_and_let_another_in)

    assert [load()] == others


def test_a_broker_that_leads_no_more_when_it_has_read_the_state_refuses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = ShareDriver(broker_count=2)
    driver.join(1)
    cluster, partition = driver.cluster, driver.topic.partitions[0]
    read = cluster.share.states.read

    def read_and_move(*arguments: Any) -> Any:
        state = read(*arguments)
        cluster.move_leader(partition, 2, driver.now_ms)
        return state

    monkeypatch.setattr(cluster.share.states, "read", read_and_move)

    found = load_share_partition(
        cluster, 1, driver.topic.topic_id, partition, GROUP, driver.now_ms, DeadLetterQueue
    )

    assert isinstance(found, Refusal)
    assert found.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert not cluster.share.leaders[1].partitions


def test_a_group_starts_where_another_request_has_put_it_while_its_log_was_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batch_times, "_BATCHES_PER_STEP", 1)
    driver = ShareDriver()
    driver.configure("share.auto.offset.reset", "by_duration:PT1H")
    driver.join(1)
    for _ in range(LOOK_EVERY + 1):
        driver.produce(b"v", timestamps=[driver.now_ms])
    cluster, partition = driver.cluster, driver.topic.partitions[0]
    topic_id = driver.topic.topic_id
    key = SharePartitionKey(GROUP, topic_id, 0)
    alter_offset = once(lambda: cluster.share.states.initialize(key, 7, 5, driver.now_ms))

    led = run_with_pauses(
        lambda: load_share_partition(
            cluster, 1, topic_id, partition, GROUP, driver.now_ms, DeadLetterQueue
        ),
        alter_offset,
    )

    assert isinstance(led, LedSharePartition)
    assert led.share_partition.start_offset == 5


def test_the_internal_key_switches_share_groups_on_before_kafka_4_3() -> None:
    for release, is_enabled in (("4.1", True), ("4.2", True), ("4.3", False)):
        keys = {
            "broker.api.versions": release,
            "cluster.features": "share.version=0",
            "group.share.enable": "true",
        }
        assert are_share_groups_enabled(make_cluster(1, **keys)) == is_enabled


def test_limits_of_a_group_hold_for_what_is_loaded() -> None:
    driver = ShareDriver(broker_api_versions="4.3")
    driver.join(1)
    driver.produce(b"v")
    assert driver.acquire(1) == [(0, 0, 1)]
    driver.configure("share.delivery.count.limit", "2")
    driver.version = 2
    driver.configure("share.renew.acknowledge.enable", "false")

    refused = driver.acknowledge(1, (0, 0, [RENEW]), is_renew_ack=True)

    assert part(refused).error_code == ErrorCode.INVALID_RECORD_STATE
    driver.acknowledge(1, (0, 0, [RELEASE]))
    assert driver.acquire(1) == [(0, 0, 2)]
    driver.acknowledge(1, (0, 0, [RELEASE]))
    assert driver.acquire(1) == []
