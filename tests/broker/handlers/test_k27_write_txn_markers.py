"""WriteTxnMarkers: tools and brokers end transactions of a partition."""

from typing import Any

import pytest

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import ALL_VERSIONS, NOW_MS
from tests.broker.transactional_driver import (
    TransactionDriver,
    make_driver,
    transactional_cluster,
)

NONE = ErrorCode.NONE
_Marker = messages.WriteTxnMarkersRequest.WritableTxnMarker


def _marker(producer_id: int, *topics: tuple[str, list[int]], epoch: int = 0) -> Any:
    return _Marker(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=True,
        topics=[
            _Marker.WritableTxnMarkerTopic(name=name, partition_indexes=indexes)
            for name, indexes in topics
        ],
    )


def _write(driver: TransactionDriver, *markers: Any) -> dict[int, dict[tuple[str, int], int]]:
    request = messages.WriteTxnMarkersRequest(version=1, markers=list(markers))
    response = driver.call(request, 1)
    return {
        marker.producer_id: {
            (topic.name, partition.partition_index): partition.error_code
            for topic in marker.topics
            for partition in topic.partitions
        }
        for marker in response.markers
    }


def test_a_hanging_transaction_is_ended() -> None:
    """Without verification a batch opens a transaction that no coordinator knows."""
    driver = make_driver(**{"transaction.partition.verification.enable": "false"})
    _, producer = driver.init()
    assert driver.produce(producer, 0) == (NONE, 0)
    assert driver.describe().transaction_state == "Empty"
    assert driver.producers() == [(*producer, 0, 0)]
    assert driver.fetch(0).last_stable_offset == 0
    assert driver.write_marker(producer, commit=False) == NONE
    assert driver.fetch(0).aborted == [(producer.producer_id, 0)]
    assert driver.producers() == [(*producer, 0, -1)]


def test_markers_of_older_epochs_and_coordinators_are_refused() -> None:
    driver = make_driver()
    assert driver.write_marker((5, 3), commit=True, coordinator_epoch=2) == NONE
    assert driver.write_marker((5, 2), commit=True, coordinator_epoch=2) == (
        ErrorCode.INVALID_PRODUCER_EPOCH
    )
    assert driver.write_marker((5, 3), commit=True, coordinator_epoch=1) == (
        ErrorCode.TRANSACTION_COORDINATOR_FENCED
    )
    # A marker of an unknown producer fences its older epochs.
    batch = driver.produce((5, 2), 0, is_transactional=False)
    assert batch[0] == ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize(
    ("version", "transaction_version", "error_code"),
    [
        (1, 2, NONE),
        (2, 0, NONE),
        (2, 1, NONE),
        (2, 2, ErrorCode.INVALID_PRODUCER_EPOCH),
        (2, 3, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_a_marker_of_the_epoch_of_an_open_transaction_is_late_with_version_2(
    version: int, transaction_version: int, error_code: ErrorCode
) -> None:
    driver = make_driver(**ALL_VERSIONS, **{"transaction.partition.verification.enable": "false"})
    assert driver.produce((5, 3), 0) == (NONE, 0)
    marker = {"version": version, "transaction_version": transaction_version}
    assert driver.write_marker((5, 3), commit=True, **marker) == error_code
    assert driver.write_marker((5, 4), commit=True, **marker) == NONE
    assert driver.write_marker((5, 4), commit=True, **marker) == NONE  # it is written again
    assert driver.write_marker((5, 3), commit=True, **marker) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_marker_of_an_unknown_transaction_version_is_not_written() -> None:
    driver = make_driver(**ALL_VERSIONS, **{"transaction.partition.verification.enable": "false"})
    assert driver.produce((5, 3), 0) == (NONE, 0)
    unknown = {"version": 2, "transaction_version": -1}
    refused = driver.write_marker((5, 4), commit=True, **unknown)
    assert refused == ErrorCode.UNKNOWN_SERVER_ERROR
    assert driver.produce((5, 3), 1) == (NONE, 1)  # the transaction goes on


def test_the_last_epoch_ends_its_own_transaction() -> None:
    driver = make_driver(**ALL_VERSIONS, **{"transaction.partition.verification.enable": "false"})
    last = (5, 2**15 - 1)
    assert driver.produce(last, 0) == (NONE, 0)
    assert driver.write_marker(last, commit=True, version=2, transaction_version=2) == NONE


def test_only_a_leader_with_enough_replicas_writes() -> None:
    driver = TransactionDriver(transactional_cluster(2))
    cluster = driver.cluster
    driver.broker_id = 2
    assert driver.write_marker((5, 0), commit=True) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    driver.broker_id = 1
    assert driver.write_marker((5, 0), commit=True, index=2) == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    topic = cluster.topics.get("t")
    assert topic is not None
    cluster.alter_topic_config(topic, {"min.insync.replicas": "2"})
    topic.partitions[0].isr = (1,)
    assert driver.write_marker((5, 0), commit=True) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert driver.write_marker((-1, 0), commit=True) == ErrorCode.UNKNOWN_SERVER_ERROR


def test_the_response_has_each_producer_and_partition_once() -> None:
    driver = make_driver()
    response = _write(
        driver,
        _marker(5, ("missing", [1, 1])),
        _marker(6),
        _marker(5, ("t", [0]), ("missing", [2]), ("other", [])),
    )
    assert response == {
        5: {
            ("missing", 1): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ("t", 0): NONE,
            ("missing", 2): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
    }


def test_a_marker_that_cannot_be_written_fails_the_request_where_the_partition_exists() -> None:
    driver = make_driver()
    unknown = {("missing", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert _write(driver, _marker(-1, ("missing", [0]))) == {-1: unknown}
    failed = ErrorCode.UNKNOWN_SERVER_ERROR
    epoch_missing = _marker(6, ("t", [0]), epoch=-1)
    later = _marker(7, ("missing", [0]))
    assert _write(driver, epoch_missing, later, _marker(8)) == {
        6: {("t", 0): failed},
        7: {("missing", 0): failed},
        8: {},
    }
    assert driver.producers() == []


def test_a_marker_of_a_negative_producer_id_changes_no_producer() -> None:
    driver = make_driver()
    assert _write(driver, _marker(-2, ("t", [0]), epoch=-5)) == {-2: {("t", 0): NONE}}
    assert driver.producers() == []
    assert driver.fetch(0).high_watermark == 1
    assert _write(driver, _marker(5, ("t", [0]), epoch=-2)) == {
        5: {("t", 0): ErrorCode.INVALID_PRODUCER_EPOCH}
    }


def test_pending_offsets_are_dropped_in_consumer_offsets() -> None:
    driver = make_driver()
    _, producer = driver.init()
    driver.add_offsets(producer, "g")
    assert driver.commit_offset(producer, "g", 3) == NONE
    (topic,) = driver.describe().topics
    driver.topic = topic.topic
    (index,) = topic.partitions
    assert driver.write_marker(producer, commit=False, index=index) == NONE
    assert driver.write_marker(producer, commit=False, index=50) == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    driver.topic = "t"
    assert driver.fetch_offset("g") == (NONE, -1)
    assert driver.now_ms == NOW_MS
