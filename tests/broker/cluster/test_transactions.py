"""Markers, timeouts and expiry in a cluster."""

import pytest

from broker.cluster import transactions
from broker.cluster.background_tasks import start_background_tasks
from broker.cluster.cluster import Cluster
from broker.pending_response import PendingResponse
from broker.transactions.coordinator import ProducerIdAndEpoch
from broker.transactions.marker import Marker, MarkerRequest
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS
from tests.broker.interleaving import run_with_pauses
from tests.broker.transactional_driver import (
    TransactionDriver,
    make_driver,
    transactional_cluster,
)

NONE = ErrorCode.NONE


@pytest.mark.parametrize(("version", "level"), [(4, "1"), (5, "2")])
def test_a_transaction_that_timed_out_is_aborted_and_its_producer_fenced(
    version: int, level: str
) -> None:
    driver = make_driver(**{"cluster.features": f"transaction.version={level}"})
    cluster = driver.cluster
    start_background_tasks(cluster, NOW_MS)
    _, producer = driver.init(timeout_ms=5_000)
    driver.add(producer, 0)
    driver.produce(producer, 0)
    cluster.timers.run_due(NOW_MS + 4_000)
    assert driver.describe().transaction_state == "Ongoing"
    driver.now_ms = NOW_MS + 10_000
    cluster.timers.run_due(driver.now_ms)
    assert driver.describe().transaction_state == "CompleteAbort"
    assert driver.fetch(0).aborted == [(producer.producer_id, 0)]
    fenced = driver.end(producer, commit=True, version=version)[0]
    # In version 2 that is the retry of an end with another outcome.
    assert fenced == (ErrorCode.PRODUCER_FENCED if version == 4 else ErrorCode.INVALID_TXN_STATE)
    assert driver.produce(producer, 1)[0] == ErrorCode.INVALID_PRODUCER_EPOCH


def test_an_idle_transactional_id_expires() -> None:
    driver = make_driver(**{"transactional.id.expiration.ms": "1000"})
    start_background_tasks(driver.cluster, NOW_MS)
    driver.init()
    driver.cluster.timers.run_due(NOW_MS + 3_600_000)
    driver.now_ms = NOW_MS + 3_600_000
    assert driver.describe().error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_a_marker_waits_for_enough_replicas() -> None:
    driver = TransactionDriver(transactional_cluster(2))
    cluster = driver.cluster
    driver.broker_id = cluster.transaction_coordinator_id("tx") or 1
    _, producer = driver.init()
    driver.add(producer, 0)
    topic = cluster.topics.get("t")
    assert topic is not None
    cluster.alter_topic_config(topic, {"min.insync.replicas": "2"})
    topic.partitions[0].isr = (1,)
    driver.end(producer, commit=True)
    assert driver.describe().transaction_state == "PrepareCommit"
    cluster.alter_topic_config(topic, {})
    cluster.timers.run_due(NOW_MS + 1_000)
    assert driver.describe().transaction_state == "CompleteCommit"


def test_one_timer_writes_missing_markers_however_often_a_producer_asks() -> None:
    driver = TransactionDriver(transactional_cluster(2))
    cluster = driver.cluster
    _, producer = driver.init()
    driver.add(producer, 0)
    topic = cluster.topics.get("t")
    assert topic is not None
    cluster.alter_topic_config(topic, {"min.insync.replicas": "2"})
    topic.partitions[0].isr = (1,)
    timers = len(cluster.timers)
    for _ in range(10):
        assert driver.init()[0] == ErrorCode.CONCURRENT_TRANSACTIONS
    assert len(cluster.timers) == timers + 1


def test_one_look_at_the_prepared_transactions_serves_many_changes_of_leaders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = transactional_cluster(2)
    topic = cluster.topics.get("t")
    assert topic is not None
    drivers = [TransactionDriver(cluster, transactional_id=f"tx-{n}") for n in range(3)]
    for driver in drivers:
        driver.broker_id = cluster.transaction_coordinator_id(driver.transactional_id) or 0
        _, producer = driver.init()
        driver.add(producer, 0)
        cluster.set_leader(topic.partitions[0], -1, NOW_MS)
        cluster.timers.run_due(NOW_MS)
        driver.end(producer, commit=True)
    looks: list[str] = []
    end_prepared = transactions.end_prepared

    def look(cluster: Cluster, transactional_id: str, now_ms: int) -> None:
        looks.append(transactional_id)
        end_prepared(cluster, transactional_id, now_ms)

    monkeypatch.setattr(transactions, "end_prepared", look)

    for leader_id in (1, 2) * 5:
        cluster.set_leader(topic.partitions[0], leader_id, NOW_MS)
        cluster.set_leader(topic.partitions[1], leader_id, NOW_MS)
    assert not looks  # the caller changes the cluster
    pauses: list[int] = []
    run_with_pauses(lambda: cluster.timers.run_due(NOW_MS), lambda: pauses.append(len(looks)))

    assert looks == ["tx-0", "tx-1", "tx-2"]
    assert pauses == [0, 1, 2]
    assert not cluster.transactions.prepared


class SlowSender:
    """Sends markers, while another request wants to write those of the same transaction."""

    is_needed = True

    def __init__(self, driver: TransactionDriver) -> None:
        self.driver = driver
        self.sent: list[tuple[int, Marker]] = []

    def send(
        self, node_id: int, _topic: str, partition_index: int, marker: Marker, now_ms: int
    ) -> MarkerRequest:
        self.sent.append((partition_index, marker))
        transactions.end_prepared(self.driver.cluster, "tx", now_ms)
        pending = PendingResponse()
        pending.complete(NONE)
        return MarkerRequest(marker, node_id, now_ms, pending)


def test_a_marker_that_is_being_sent_is_not_sent_by_another_request() -> None:
    driver = make_driver()
    _, producer = driver.init()
    driver.add(producer, 0)
    driver.add(producer, 1)
    sender = SlowSender(driver)
    driver.cluster.marker_sender = sender

    transactions.end_requested(
        driver.cluster,
        driver.broker_id,
        "tx",
        ProducerIdAndEpoch(producer.producer_id, producer.producer_epoch),
        is_commit=True,
        transaction_version=0,
        now_ms=NOW_MS,
    )

    assert [index for index, _marker in sender.sent] == [0, 1]
    assert driver.describe().transaction_state == "CompleteCommit"


def test_read_committed_waits_at_the_first_open_transaction() -> None:
    driver = make_driver()
    other = TransactionDriver(driver.cluster, transactional_id="other")
    producer, second = driver.init()[1], other.init()[1]
    driver.add(producer, 0)
    other.add(second, 0)
    assert driver.produce((99, 0), 0, is_transactional=False) == (NONE, 0)
    assert driver.produce(producer, 0) == (NONE, 1)
    assert other.produce(second, 0) == (NONE, 2)
    assert driver.fetch(0).last_stable_offset == driver.list_offset() == 1
    assert driver.list_offset(timestamp=NOW_MS) == 0
    driver.end(producer, commit=False)
    fetched = driver.fetch(0)
    assert fetched.last_stable_offset == 2
    assert fetched.aborted == [(producer.producer_id, 1)]
    assert fetched.records == driver.fetch(0, isolation_level=0).records[: len(fetched.records)]
    other.end(second, commit=True)
    assert driver.fetch(0).last_stable_offset == driver.list_offset() == 5
    topic = driver.cluster.topics.get("t")
    assert topic is not None
    driver.cluster.delete_records_before(topic.partitions[0], 4, NOW_MS)
    assert driver.fetch(4).aborted == []


@pytest.mark.parametrize("batches", ["1", "5"])
def test_finished_transactions_leave_only_their_records(batches: str) -> None:
    driver = make_driver(**{"producer.state.batches": batches})
    _, producer = driver.init()
    topic = driver.cluster.topics.get("t")
    assert topic is not None
    producers = topic.partitions[0].producers
    for number in range(50):
        assert driver.produce(producer, 0, version=12) == (NONE, 2 * number)
        error_code, producer = driver.end(producer, commit=True, version=5)
        assert error_code == NONE
        if number == 0:
            held = producers.bytes_held()
    assert len(driver.cluster.transactions) == len(producers) == 1
    assert producers.bytes_held() <= held + 100
    assert not topic.partitions[0].log.transaction_index
    assert not driver.cluster.transactions.prepared
