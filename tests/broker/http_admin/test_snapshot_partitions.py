"""A partition is led, has records and knows its producers as when it was saved."""

from typing import Any

import msgspec
import pytest

from broker.cluster.failover import stop_broker
from broker.cluster.topics import Partition
from broker.http_admin.operation import Problem
from broker.http_admin.snapshot import SaveQuery, get_snapshot
from broker.http_admin.state import Admin
from protocol.errors import ErrorCode
from protocol.records import read_header
from tests.broker.cluster_builder import NOW_MS
from tests.broker.http_admin.admin_server import admin_of, make_admin
from tests.broker.http_admin.snapshots import document_of, load
from tests.broker.transactional_driver import TransactionDriver, transactional_cluster


def partition_of(admin: Admin) -> Partition:
    return admin.partition("t", 0)


async def loaded(admin: Admin, batches: bool = False, /, **overrides: str) -> Admin:
    other = make_admin(len(admin.cluster.brokers), **overrides)
    document = msgspec.json.encode(get_snapshot(admin, SaveQuery(batches=batches)))
    await load(other, document)
    return other


def idempotent(driver: TransactionDriver, sequence: int, *values: bytes) -> tuple[int, int]:
    return driver.produce((1000, 0), sequence, *values, is_transactional=False)


@pytest.mark.parametrize("rule", ["1", "5"])
async def test_an_idempotent_producer_goes_on_and_its_retries_are_duplicates(rule: str) -> None:
    overrides = {"producer.state.batches": rule}
    driver = TransactionDriver(transactional_cluster(**overrides))
    for sequence in range(3):
        idempotent(driver, sequence, b"v")
    before = partition_of(admin_of(driver.cluster)).producers.entry(1000)
    other = await loaded(admin_of(driver.cluster), **overrides)
    assert partition_of(other).producers.entry(1000) == before
    again = TransactionDriver(other.cluster)
    repeated = idempotent(again, 2, b"v")
    assert repeated == idempotent(driver, 2, b"v")
    assert idempotent(again, 3, b"w") == (ErrorCode.NONE, 3)
    assert idempotent(again, 9, b"x")[0] == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert partition_of(other).log.log_end_offset == 4


@pytest.mark.parametrize(("saved_rule", "rule"), [("1", "5"), ("5", "1")])
async def test_the_state_of_a_producer_is_loaded_under_the_other_rule(
    saved_rule: str, rule: str
) -> None:
    driver = TransactionDriver(transactional_cluster(**{"producer.state.batches": saved_rule}))
    for sequence in range(3):
        idempotent(driver, sequence, b"v")
    converted = partition_of(admin_of(driver.cluster)).producers
    other = await loaded(admin_of(driver.cluster), **{"producer.state.batches": rule})
    converted.convert(batches=int(rule), window=1000)
    assert partition_of(other).producers.entry(1000) == converted.entry(1000)


async def test_all_batches_are_what_they_were_if_they_are_asked_for() -> None:
    driver = TransactionDriver(transactional_cluster())
    idempotent(driver, 0, b"a", b"b")
    _, producer = driver.init()
    for is_commit in (True, False):
        driver.add(producer, 0)
        driver.produce(producer, int(not is_commit), b"c")
        driver.end(producer, commit=is_commit)
    log = partition_of(admin_of(driver.cluster)).log
    other = await loaded(admin_of(driver.cluster), True)
    again = partition_of(other).log
    assert list(again.rewind()) == list(log.rewind())
    assert again.epoch_starts == log.epoch_starts
    assert list(again.transaction_index.overlapping(0, 99)) == list(
        log.transaction_index.overlapping(0, 99)
    )
    readable = await loaded(admin_of(driver.cluster))
    headers = [read_header(batch, 0) for batch in partition_of(readable).log.rewind()]
    assert [header.producer_id for header in headers] == [-1, -1, 0, 0]


async def test_leaders_epochs_and_replicas_in_sync_are_as_they_were() -> None:
    driver = TransactionDriver(transactional_cluster(3))
    idempotent(driver, 0, b"a")
    stop_broker(driver.cluster, 1, NOW_MS)
    partition = partition_of(admin_of(driver.cluster))
    TransactionDriver(driver.cluster, broker_id=partition.leader_id).produce(
        (1000, 0), 1, b"b", is_transactional=False
    )
    other = await loaded(admin_of(driver.cluster))
    again = partition_of(other)
    for name in ("leader_id", "leader_epoch", "isr", "replicas", "replica_ends"):
        assert getattr(again, name) == getattr(partition, name), name
    assert again.log.epoch_starts == partition.log.epoch_starts == ((0, 0), (1, 1))
    assert not other.cluster.is_alive(1)
    batches = [read_header(batch, 0).partition_leader_epoch for batch in again.log.rewind()]
    assert batches == [0, 1]
    assert await document_of(other) == await document_of(admin_of(driver.cluster))


@pytest.mark.parametrize(
    ("partition", "reason"),
    [
        ({"batches": ["AAAA"]}, "3 bytes are no record batch"),
        ({"replicas": [1], "leader_id": 2}, "its leader, or one in sync, is none"),
        ({"replicas": [1], "leader_id": 1, "isr": [3]}, "its leader, or one in sync, is none"),
        (
            {"producers": [{"producer_id": 7, "producer_epoch": 0}] * 2},
            "producer 7 is there twice",
        ),
    ],
)
async def test_a_partition_that_cannot_be_is_refused(
    partition: dict[str, Any], reason: str
) -> None:
    admin = make_admin(3)
    with pytest.raises(Problem, match=reason):
        await load(admin, {"topics": [{"name": "t", "partitions": [partition]}]})
    assert list(admin.cluster.topics.all()) == []
