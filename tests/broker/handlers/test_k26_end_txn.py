"""EndTxn: markers in the partitions, the next producer, and what waits for a leader."""

import pytest

from broker.cluster import failover
from broker.cluster.coordinators import move_transaction_coordinator
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS
from tests.broker.transactional_driver import (
    TransactionDriver,
    make_driver,
    transactional_cluster,
)

NONE = ErrorCode.NONE


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("version", range(6))
def test_a_transaction_ends_in_each_version(version: int, commit: bool) -> None:
    driver = make_driver()
    _, producer = driver.init()
    driver.add(producer, 0)
    assert driver.produce(producer, 0) == (NONE, 0)
    error_code, following = driver.end(producer, commit=commit, version=version)
    assert error_code == NONE
    epoch = producer.producer_epoch + 1
    assert following == ((producer.producer_id, epoch) if version == 5 else (-1, -1))
    assert driver.describe().transaction_state == ("CompleteCommit" if commit else "CompleteAbort")
    fetched = driver.fetch(0)
    assert fetched.last_stable_offset == 2
    assert fetched.aborted == ([] if commit else [(producer.producer_id, 0)])
    fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert driver.end((producer.producer_id, 9), commit=commit, version=version)[0] == fenced


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("elect", [True, False])
def test_a_transaction_stays_prepared_until_the_leader_is_there_again(
    version: int,
    elect: bool,
) -> None:
    cluster = transactional_cluster(2)
    topic = cluster.topics.get("t")
    assert topic is not None
    for partition in topic.partitions:
        partition.replicas = partition.isr = (1,)
    move_transaction_coordinator(cluster, "tx", 2, NOW_MS)
    driver = TransactionDriver(cluster, 2)
    _, producer = driver.init()
    driver.add(producer, 0)
    driver.broker_id = 1
    assert driver.produce(producer, 0) == (NONE, 0)
    driver.broker_id = 2
    failover.stop_broker(cluster, 1, NOW_MS, elect=elect)
    assert driver.end(producer, commit=True, version=version)[0] == NONE
    assert driver.describe().transaction_state == "PrepareCommit"
    assert driver.describe().topics[0].partitions == [0]
    busy = ErrorCode.CONCURRENT_TRANSACTIONS
    assert driver.end(producer, commit=True, version=version)[0] == busy
    assert driver.init()[0] == busy
    current = cluster.transactions.get("tx")
    assert current is not None
    assert driver.add((current.producer_id, current.producer_epoch), 0) == [busy]
    assert topic.partitions[0].last_stable_offset == 0
    failover.start_broker(cluster, 1, NOW_MS)
    cluster.timers.run_due(NOW_MS)
    assert driver.describe().transaction_state == "CompleteCommit"
    assert topic.partitions[0].last_stable_offset == 2


def test_the_coordinator_moves_with_its_transactions() -> None:
    cluster = transactional_cluster(2)
    first = cluster.transaction_coordinator_id("tx") or 0
    driver = TransactionDriver(cluster, first)
    _, producer = driver.init()
    driver.add(producer, 0)
    failover.stop_broker(cluster, first, NOW_MS)
    driver.broker_id = cluster.transaction_coordinator_id("tx") or 0
    assert driver.broker_id != first
    assert driver.produce(producer, 0) == (NONE, 0)
    assert driver.end(producer, commit=True)[0] == NONE
    assert driver.describe().transaction_state == "CompleteCommit"


def test_a_deleted_topic_needs_no_marker() -> None:
    driver = make_driver()
    _, producer = driver.init()
    driver.add(producer, 0, 1)
    topic = driver.cluster.topics.get("t")
    assert topic is not None
    driver.cluster.delete_topic(topic, NOW_MS)
    assert driver.end(producer, commit=True)[0] == NONE
    assert driver.describe().transaction_state == "CompleteCommit"
