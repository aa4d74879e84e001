"""TxnOffsetCommit: offsets that are valid when their transaction is."""

from typing import Any
from uuid import UUID

import pytest

from broker.cluster.brokers import Availability
from broker.cluster.coordinators import move_coordinator, move_transaction_coordinator
from broker.groups.consumer.requests import ConsumerHeartbeat
from broker.groups.requests import CommitRequest, OffsetToCommit
from broker.share_groups.member import ShareHeartbeat
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import ALL_VERSIONS, NOW_MS
from tests.broker.groups.consumer.driver import JOINED
from tests.broker.interleaving import run_with_pauses
from tests.broker.transactional_driver import (
    TransactionDriver,
    make_driver,
    transactional_cluster,
)

NONE = ErrorCode.NONE
ILLEGAL = ErrorCode.ILLEGAL_GENERATION
STALE = ErrorCode.STALE_MEMBER_EPOCH
UNSTABLE = (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)


def joined_epoch(driver: TransactionDriver) -> int:
    """Let m join the consumer group `modern`; return its epoch."""
    join = ConsumerHeartbeat(
        "modern",
        "m",
        0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=("t",),
        owned_partitions={},
    )
    return driver.cluster.groups.consumer_heartbeat(join, NOW_MS).member_epoch


def topic_id_of(driver: TransactionDriver) -> UUID:
    topic = driver.cluster.topics.get("t")
    assert topic is not None
    return topic.topic_id


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("version", range(7))
def test_offsets_move_with_their_transaction(version: int, commit: bool) -> None:
    driver = make_driver(**ALL_VERSIONS)
    _, producer = driver.init()
    topic_id = topic_id_of(driver)
    if version < 5:
        abortable = version >= 4
        assert driver.commit_offset(producer, "g", 3, version) == (
            ErrorCode.TRANSACTION_ABORTABLE if abortable else ErrorCode.INVALID_TXN_STATE
        )
        assert driver.add_offsets(producer, "g") == NONE
    assert driver.commit_offset(producer, "g", 3, version, topic_id=topic_id) == NONE
    assert driver.fetch_offset("g") == UNSTABLE
    assert driver.fetch_offset("g", require_stable=False) == (NONE, -1)
    assert driver.end(producer, commit=commit, version=min(version, 5))[0] == NONE
    assert driver.fetch_offset("g") == (NONE, 3 if commit else -1)


def test_missing_topics_groups_and_epochs_are_refused() -> None:
    driver = make_driver()
    _, producer = driver.init()
    driver.add_offsets(producer, "g")
    assert driver.commit_offset(producer, "", 3) == ErrorCode.INVALID_GROUP_ID
    assert (
        driver.commit_offset(producer, "g", 3, generation_id_or_member_epoch=1)
        == ErrorCode.ILLEGAL_GENERATION
    )
    assert driver.commit_offset(producer, "g", 3) == NONE
    driver.topic = "missing"
    assert driver.commit_offset(producer, "g", 3) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    driver.topic = "t"
    stale = (producer.producer_id, producer.producer_epoch - 1)
    assert driver.commit_offset(stale, "g", 3) == ErrorCode.INVALID_PRODUCER_EPOCH
    other = (producer.producer_id + 1, 0)
    assert driver.commit_offset(other, "g", 3) == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_version_6_says_what_older_versions_call_an_illegal_generation() -> None:
    driver = make_driver(**ALL_VERSIONS)
    _, producer = driver.init()
    topic_id = topic_id_of(driver)
    assert joined_epoch(driver) == JOINED

    def commit(group_id: str, version: int, topic_id: UUID = topic_id, **fields: Any) -> int:
        return driver.commit_offset(producer, group_id, 3, version, topic_id=topic_id, **fields)

    stale: dict[str, Any] = {"member_id": "m", "generation_id_or_member_epoch": 9}
    expected = {5: (ILLEGAL, ILLEGAL), 6: (ErrorCode.GROUP_ID_NOT_FOUND, STALE)}
    for version, (of_missing_group, of_stale_member) in expected.items():
        assert commit("g", version, generation_id_or_member_epoch=1) == of_missing_group
        assert commit("modern", version, **stale) == of_stale_member
        assert commit("modern", version, member_id="x") == ErrorCode.UNKNOWN_MEMBER_ID
        assert (
            commit("modern", version, **stale | {"generation_id_or_member_epoch": JOINED}) == NONE
        )
    assert commit("g", 6, UUID(int=77)) == ErrorCode.UNKNOWN_TOPIC_ID
    assert "g" not in driver.cluster.groups.table


@pytest.mark.parametrize(
    ("version", "stale"), [(5, ErrorCode.ILLEGAL_GENERATION), (6, ErrorCode.STALE_MEMBER_EPOCH)]
)
def test_a_transaction_takes_the_epoch_in_which_a_member_got_a_partition(
    version: int, stale: ErrorCode
) -> None:
    driver = make_driver(**{"broker.api.versions": "4.4"})
    _, producer = driver.init()
    topic_id = topic_id_of(driver)
    groups = driver.cluster.groups
    epoch = joined_epoch(driver)
    groups.rebalance("modern", NOW_MS)
    beat = ConsumerHeartbeat("modern", "m", epoch, client_id="c", client_host="/h")
    assert groups.consumer_heartbeat(beat, NOW_MS).member_epoch == epoch + 1

    def commit(epoch: int) -> int:
        member: dict[str, Any] = {"member_id": "m", "generation_id_or_member_epoch": epoch}
        return driver.commit_offset(producer, "modern", 3, version, topic_id=topic_id, **member)

    assert commit(epoch) == NONE
    assert commit(epoch - 1) == stale


@pytest.mark.parametrize("generation_id", [-1, 1])
def test_a_share_group_takes_no_offsets_of_transactions(generation_id: int) -> None:
    driver = make_driver(**{"cluster.features": "share.version=1"})
    _, producer = driver.init()
    driver.add_offsets(producer, "g")
    request = ShareHeartbeat("g", "m", 0, "app", "/host", subscribed_topic_names=("t",))
    driver.cluster.share.groups.heartbeat(request, NOW_MS)

    committed = driver.commit_offset(producer, "g", 3, generation_id_or_member_epoch=generation_id)

    assert committed == ErrorCode.GROUP_ID_NOT_FOUND
    assert "g" not in driver.cluster.groups.table


@pytest.mark.parametrize(
    ("version", "error_code"),
    [
        (1, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (3, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (5, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_a_coordinator_that_does_not_answer_is_waited_for(
    version: int, error_code: ErrorCode
) -> None:
    cluster = transactional_cluster(2)
    move_transaction_coordinator(cluster, "tx", 2, NOW_MS)
    move_coordinator(cluster, "g", 1, 0)
    driver = TransactionDriver(cluster, 2)
    _, producer = driver.init()
    driver.broker_id = 1
    cluster.set_availability(cluster.brokers[2], Availability.ISOLATED)
    assert driver.commit_offset(producer, "g", 3, version) == error_code
    found = driver.produce(producer, 0, version=12)
    assert found[0] == ErrorCode.NOT_ENOUGH_REPLICAS


def test_offsets_of_a_transaction_that_ends_during_a_pause_are_refused() -> None:
    driver = make_driver()
    _, producer = driver.init()
    driver.add_offsets(producer, "g")
    cluster = driver.cluster
    request = CommitRequest(
        group_id="g",
        offsets=(OffsetToCommit("t", 0, 3, -1, ""),),
        generation_id=-1,
        member_id="",
        group_instance_id=None,
    )
    is_open = True

    def end() -> None:
        nonlocal is_open
        if is_open:
            is_open = False
            assert driver.end(producer, commit=False)[0] == NONE

    error_codes = run_with_pauses(
        lambda: cluster.groups.table.commit_in_transaction(
            request,
            offsets_partition=cluster.group_log.partition_index("g"),
            producer=(producer.producer_id, producer.producer_epoch),
            now_ms=NOW_MS,
            verify=lambda: NONE if is_open else ErrorCode.INVALID_TXN_STATE,
        ),
        end,
    )

    assert error_codes == (ErrorCode.INVALID_TXN_STATE,)
    assert driver.fetch_offset("g") == (NONE, -1)
