"""TxnOffsetCommit: offsets that are valid when their transaction is."""

import pytest

from broker.cluster.brokers import Availability
from broker.cluster.coordinators import move_coordinator, move_transaction_coordinator
from broker.groups.requests import CommitRequest, OffsetToCommit
from broker.share_groups.member import ShareHeartbeat
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS
from tests.broker.interleaving import run_with_pauses
from tests.broker.transactional_driver import (
    TransactionDriver,
    make_driver,
    transactional_cluster,
)

NONE = ErrorCode.NONE
UNSTABLE = (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("version", range(6))
def test_offsets_move_with_their_transaction(version: int, commit: bool) -> None:
    driver = make_driver()
    _, producer = driver.init()
    if version < 5:
        abortable = version >= 4
        assert driver.commit_offset(producer, "g", 3, version) == (
            ErrorCode.TRANSACTION_ABORTABLE if abortable else ErrorCode.INVALID_TXN_STATE
        )
        assert driver.add_offsets(producer, "g") == NONE
    assert driver.commit_offset(producer, "g", 3, version) == NONE
    assert driver.fetch_offset("g") == UNSTABLE
    assert driver.fetch_offset("g", require_stable=False) == (NONE, -1)
    assert driver.end(producer, commit=commit, version=version)[0] == NONE
    assert driver.fetch_offset("g") == (NONE, 3 if commit else -1)


def test_missing_topics_groups_and_epochs_are_refused() -> None:
    driver = make_driver()
    _, producer = driver.init()
    driver.add_offsets(producer, "g")
    assert driver.commit_offset(producer, "", 3) == ErrorCode.INVALID_GROUP_ID
    assert driver.commit_offset(producer, "g", 3, generation_id=1) == ErrorCode.ILLEGAL_GENERATION
    assert driver.commit_offset(producer, "g", 3) == NONE
    driver.topic = "missing"
    assert driver.commit_offset(producer, "g", 3) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    driver.topic = "t"
    stale = (producer.producer_id, producer.producer_epoch - 1)
    assert driver.commit_offset(stale, "g", 3) == ErrorCode.INVALID_PRODUCER_EPOCH
    other = (producer.producer_id + 1, 0)
    assert driver.commit_offset(other, "g", 3) == ErrorCode.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize("generation_id", [-1, 1])
def test_a_share_group_takes_no_offsets_of_transactions(generation_id: int) -> None:
    driver = make_driver(**{"cluster.features": "share.version=1"})
    _, producer = driver.init()
    driver.add_offsets(producer, "g")
    request = ShareHeartbeat("g", "m", 0, "app", "/host", subscribed_topic_names=("t",))
    driver.cluster.share.groups.heartbeat(request, NOW_MS)

    committed = driver.commit_offset(producer, "g", 3, generation_id=generation_id)

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
