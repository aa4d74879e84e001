"""`__transaction_state`: the records of transactional ids, as Kafka's coordinator writes them."""

from typing import Any

import pytest

from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.cluster.internal_topics import TRANSACTION_STATE
from broker.cluster.topics import NO_LEADER, Topic
from broker.cluster.transactions import abort_timed_out, end_prepared
from protocol.coordinator_records import TRANSACTION_RECORDS, decode_key, decode_value
from protocol.errors import ErrorCode
from protocol.records import read_header, read_records
from tests.broker.cluster_builder import NOW_MS
from tests.broker.transactional_driver import (
    TransactionDriver,
    make_driver,
    transactional_cluster,
)

NONE = ErrorCode.NONE
EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)


def transaction_topic(cluster: Cluster) -> Topic:
    topic = cluster.topics.get(TRANSACTION_STATE.name)
    assert topic is not None
    return topic


def written(cluster: Cluster, transactional_id: str = "tx") -> list[Any]:
    """Return the values of a transactional id in its partition, None for a deletion."""
    partition = cluster.transaction_log.partition(transactional_id)
    assert partition is not None
    values = []
    for batch in partition.log.rewind():
        for record in read_records(batch):
            key = decode_key(TRANSACTION_RECORDS, record.key or b"")
            assert key.transactional_id == transactional_id
            values.append(decode_value(TRANSACTION_RECORDS, key, record.value))
    return values


def partitions(value: Any) -> dict[str, list[int]] | None:
    """Return the partitions of a record by topic."""
    if value.transaction_partitions is None:
        return None
    return {part.topic: list(part.partition_ids) for part in value.transaction_partitions}


@pytest.mark.parametrize(
    ("release", "new_id"), [("4.2", False), ("4.3", True), ("4.4", True)], ids=str
)
def test_records_have_the_previous_producer_id_since_kafka_4_3(release: str, new_id: bool) -> None:
    cluster = transactional_cluster(1)
    cluster.set_config(cluster.config.with_dynamic(None, {"broker.api.versions": release}))
    driver = TransactionDriver(cluster)
    _, producer = driver.init()

    (value,) = written(cluster)

    assert value.producer_id == producer.producer_id
    assert value.previous_producer_id == (value.producer_id if new_id else -1)
    assert value.next_producer_id == -1


@pytest.mark.parametrize("commit", [True, False])
def test_each_change_of_a_transaction_is_a_record(commit: bool) -> None:
    driver = make_driver()
    _, producer = driver.init()
    driver.now_ms += 1
    assert driver.produce(producer, 0, version=12)[0] == NONE
    assert driver.produce(producer, 0, index=1, version=12)[0] == NONE
    assert driver.commit_offset(producer, "g", 3, version=5) == NONE
    driver.now_ms += 1
    assert driver.end(producer, commit=commit, version=5)[0] == NONE
    driver.cluster.transactions.expire(driver.now_ms + 604_800_000)

    *values, deletion = written(driver.cluster)
    prepared, complete = (
        (PREPARE_COMMIT, COMPLETE_COMMIT) if commit else (PREPARE_ABORT, COMPLETE_ABORT)
    )
    assert [value.transaction_status for value in values] == [
        EMPTY,
        ONGOING,
        ONGOING,
        ONGOING,
        prepared,
        complete,
    ]
    offsets = {"__consumer_offsets": [driver.cluster.group_log.partition_index("g")]}
    assert [partitions(value) for value in values] == [
        None,
        {"t": [0]},
        {"t": [0, 1]},
        {"t": [0, 1], **offsets},
        {"t": [0, 1], **offsets},
        {},
    ]
    assert [value.producer_epoch for value in values] == [0, 0, 0, 0, 1, 1]
    assert [value.client_transaction_version for value in values] == [0, 2, 2, 2, 2, 2]
    times = [value.transaction_last_update_timestamp_ms for value in values]
    assert times == [NOW_MS, *[NOW_MS + 1] * 3, *[NOW_MS + 2] * 2]
    begun = [value.transaction_start_timestamp_ms for value in values]
    assert begun == [-1, *[NOW_MS + 1] * 5]
    assert {value.producer_id for value in values} == {producer.producer_id}
    assert {value.transaction_timeout_ms for value in values} == {60_000}
    assert deletion is None


def test_a_fenced_transaction_is_a_record() -> None:
    driver = make_driver()
    driver.add(driver.init()[1], 0)
    driver.init()
    driver.init()
    statuses = [value.transaction_status for value in written(driver.cluster)]
    assert statuses == [EMPTY, ONGOING, PREPARE_ABORT, COMPLETE_ABORT, EMPTY]


def test_a_request_that_changes_nothing_writes_nothing() -> None:
    driver = make_driver()
    _, producer = driver.init()
    driver.add(producer, 0)
    count = len(written(driver.cluster))
    driver.add(producer, 0)
    driver.add((producer.producer_id, 7), 1)
    driver.end((producer.producer_id, 7), commit=True)
    assert len(written(driver.cluster)) == count


@pytest.mark.parametrize(("level", "value_version"), [("0", 0), ("1", 1), ("2", 1)])
def test_the_version_of_the_records_follows_the_feature(level: str, value_version: int) -> None:
    driver = make_driver()
    driver.cluster.features.apply({"transaction.version": int(level)})
    driver.init()
    (partition,) = (part for part in transaction_topic(driver.cluster).partitions if len_of(part))
    (batch,) = partition.log.rewind()
    (record,) = read_records(batch)
    assert int.from_bytes((record.value or b"")[:2], "big") == value_version


def len_of(partition: Any) -> int:
    return int(partition.log.log_end_offset)


def test_records_are_batches_of_one_without_compression() -> None:
    driver = make_driver()
    driver.add(driver.init()[1], 0)
    (partition,) = (part for part in transaction_topic(driver.cluster).partitions if len_of(part))
    headers = [read_header(batch, 0) for batch in partition.log.rewind()]
    assert [header.base_offset for header in headers] == [0, 1]
    assert {(header.records_count, header.attributes) for header in headers} == {(1, 0)}
    assert {header.max_timestamp for header in headers} == {NOW_MS}


def test_many_finished_transactions_are_compacted_to_the_last_state() -> None:
    driver = make_driver()
    _, producer = driver.init()
    for _ in range(400):
        driver.produce(producer, 0, version=12)
        _, producer = driver.end(producer, commit=True, version=5)
    values = written(driver.cluster)
    assert len(values) < 1100 < 3 * 400
    assert values[-1].transaction_status == COMPLETE_COMMIT


class TestTooFewReplicasAreInSync:
    """`transaction.state.log.min.isr` is 2 of 3 replicas, and two brokers stop."""

    def stopped(self, *, after: Any = lambda driver: None) -> tuple[TransactionDriver, Any]:
        cluster = transactional_cluster(3)
        driver = TransactionDriver(cluster)
        driver.broker_id = cluster.transaction_coordinator_id("tx") or 0
        result = after(driver)
        for node_id in (1, 2, 3):
            if node_id != driver.broker_id:
                failover.stop_broker(cluster, node_id, NOW_MS)
        assert cluster.transaction_coordinator_id("tx") == driver.broker_id
        return driver, result

    def start(self, driver: TransactionDriver) -> None:
        for node_id in (1, 2, 3):
            failover.start_broker(driver.cluster, node_id, NOW_MS)

    def test_no_producer_is_initialized(self) -> None:
        driver, _ = self.stopped()
        assert driver.init()[0] == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert written(driver.cluster) == []
        self.start(driver)
        assert driver.init()[0] == NONE

    def test_no_transaction_begins_or_ends(self) -> None:
        def begin(driver: TransactionDriver) -> Any:
            _, producer = driver.init()
            driver.add(producer, 0)
            return producer

        driver, producer = self.stopped(after=begin)
        unavailable = ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert driver.add(producer, 1) == [unavailable]
        for version in (4, 5):
            assert driver.end(producer, commit=True, version=version)[0] == unavailable
        assert driver.init()[0] == unavailable
        abort_timed_out(driver.cluster, NOW_MS + 3_600_000)
        assert driver.describe().transaction_state == "Ongoing"
        self.start(driver)
        assert driver.end(producer, commit=True)[0] == NONE
        assert driver.describe().transaction_state == "CompleteCommit"

    def test_no_transactional_id_expires(self) -> None:
        driver, _ = self.stopped(after=lambda driver: driver.init())
        driver.cluster.transactions.expire(NOW_MS + 604_800_000)
        assert driver.describe().error_code == NONE
        self.start(driver)
        driver.cluster.transactions.expire(NOW_MS + 604_800_000)
        assert driver.describe().error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND

    def test_a_transaction_with_all_markers_waits_for_its_last_record(self) -> None:
        cluster = transactional_cluster(3)
        driver = TransactionDriver(cluster)
        driver.broker_id = cluster.transaction_coordinator_id("tx") or 0
        _, producer = driver.init()
        driver.add(producer, 0)
        topic, log = cluster.topics.get("t"), cluster.transaction_log.partition("tx")
        assert topic is not None
        assert log is not None
        cluster.set_leader(topic.partitions[0], NO_LEADER, NOW_MS)
        assert driver.end(producer, commit=True)[0] == NONE
        in_sync, log.isr = log.isr, (driver.broker_id,)
        cluster.set_leader(topic.partitions[0], 1, NOW_MS)
        end_prepared(cluster, "tx", NOW_MS)
        assert topic.partitions[0].log.log_end_offset == 1
        assert driver.describe().transaction_state == "PrepareCommit"
        assert driver.describe().topics == []
        log.isr = in_sync
        end_prepared(cluster, "tx", NOW_MS)
        assert driver.describe().transaction_state == "CompleteCommit"


def test_the_epoch_of_the_coordinator_is_that_of_its_partition() -> None:
    cluster = transactional_cluster(2)
    driver = TransactionDriver(cluster)
    partition = cluster.transaction_log.partition("tx")
    topic = cluster.topics.get("t")
    assert partition is not None
    assert topic is not None
    for epoch, leader_id in enumerate((partition.leader_id, 3 - partition.leader_id)):
        cluster.move_leader(partition, leader_id, NOW_MS)
        driver.broker_id = leader_id
        _, producer = driver.init()
        driver.add(producer, 0)
        driver.end(producer, commit=True)
        (described,) = (
            row
            for row in topic.partitions[0].producers.describe()
            if row.producer_id == producer.producer_id
        )
        assert described.coordinator_epoch == partition.leader_epoch == epoch


def test_without_the_topic_no_transactional_id_is_left() -> None:
    driver = make_driver()
    driver.init()
    driver.cluster.delete_topic(transaction_topic(driver.cluster), NOW_MS)
    assert len(driver.cluster.transactions) == 0
    assert driver.init()[0] == ErrorCode.NOT_COORDINATOR
