"""Transactional batches in Produce: verified, added, or refused."""

import pytest

from broker.produce.append import append_batch
from broker.produce.batch_check import read_batch
from broker.produce.transactional_batches import verify_batch
from broker.transactions.transaction import LAST_EPOCH
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.records import BatchHeader
from tests.batches import make_batch
from tests.broker.cluster_builder import make_context
from tests.broker.interleaving import once, run_with_pauses
from tests.broker.transactional_driver import make_driver
from tests.produce_requests import produce_request
from tests.transaction_requests import Producer

NONE = ErrorCode.NONE


@pytest.mark.parametrize("version", range(3, 14))
def test_the_first_batch_of_a_transaction_is_verified(version: int) -> None:
    driver = make_driver()
    _, producer = driver.init()
    topic = driver.cluster.topics.get("t")
    assert topic is not None
    batch = make_batch(
        b"v",
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=0,
        is_transactional=True,
    )
    request = produce_request(
        [(0, batch)], version=version, topic_id=topic.topic_id, transactional_id="tx"
    )
    part = driver.call(request, version).responses[0].partition_responses[0]
    if version >= 12:
        assert (part.error_code, part.base_offset) == (NONE, 0)
        assert driver.describe().topics[0].partitions == [0]
        return
    known = ErrorCode.TRANSACTION_ABORTABLE if version == 11 else ErrorCode.INVALID_TXN_STATE
    assert (part.error_code, part.base_offset) == (known, -1)
    driver.add(producer, 0)
    part = driver.call(request, version).responses[0].partition_responses[0]
    assert (part.error_code, part.base_offset) == (NONE, 0)


def test_batches_of_two_producers_are_refused() -> None:
    driver = make_driver()
    batches = [
        (
            index,
            make_batch(
                b"v",
                producer_id=index,
                producer_epoch=0,
                base_sequence=0,
                is_transactional=True,
            ),
        )
        for index in range(2)
    ]
    request = produce_request(batches, version=11, transactional_id="tx")
    found = driver.call(request, 11).responses[0].partition_responses
    assert {part.error_code for part in found} == {ErrorCode.INVALID_PRODUCER_ID_MAPPING}


def test_a_partition_of_a_refused_batch_is_in_the_transaction() -> None:
    """As in Kafka, which checks the batch after the verification."""
    driver = make_driver(**{"message.max.bytes": "100"})
    _, producer = driver.init()
    found = driver.produce(producer, 0, b"v" * 200, version=12)
    assert found[0] == ErrorCode.MESSAGE_TOO_LARGE
    assert driver.describe().topics[0].partitions == [0]


def test_a_batch_whose_transaction_ends_during_a_pause_is_not_appended() -> None:
    driver = make_driver()
    _, producer = driver.init()
    assert driver.produce(producer, 0, version=11)[0] == ErrorCode.TRANSACTION_ABORTABLE
    driver.add(producer, 0)
    topic = driver.cluster.topics.get("t")
    assert topic is not None
    driver.cluster.alter_topic_config(topic, {"cleanup.policy": "compact"})
    partition = topic.partitions[0]
    batch = make_batch(
        b"v",
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=0,
        is_transactional=True,
    )
    context = make_context(ApiKey.PRODUCE, 11)
    header = read_batch(batch, 0, len(batch), 11)
    assert isinstance(header, BatchHeader)
    assert verify_batch(context, driver.cluster, partition, "tx", header) is None

    result = run_with_pauses(
        lambda: append_batch(
            context, driver.cluster, topic, partition, batch, 0, len(batch), None, "tx", header
        ),
        once(lambda: driver.end(producer, commit=False, version=4)),
    )

    assert result.error_code == ErrorCode.TRANSACTION_ABORTABLE
    # The marker is at offset 0.
    assert partition.last_stable_offset == partition.log.log_end_offset == 1


def test_a_new_epoch_is_no_new_producer_id_for_the_quota() -> None:
    """A new producer id after the last epoch is one, and is charged (KIP-936)."""
    driver = make_driver(**{"client.quotas": "user=<default>,producer_ids_rate=1"})
    _, producer = driver.init()
    for _ in range(5):
        assert driver.produce(producer, 0, version=12)[0] == NONE
        producer = driver.end(producer, commit=True, version=5)[1]
    transaction = driver.cluster.transactions.get("tx")
    assert transaction is not None
    transaction.producer_epoch = LAST_EPOCH
    producer = Producer(producer.producer_id, LAST_EPOCH)
    assert driver.produce(producer, 0, version=12)[0] == NONE
    error_code, following = driver.end(producer, commit=True, version=5)
    assert (error_code, following.producer_epoch) == (NONE, 0)
    assert following.producer_id != producer.producer_id
    refused = driver.produce(following, 0, version=12)[0]
    assert refused == ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_an_epoch_bump_is_no_new_producer_id_but_the_id_after_the_last_epoch_is() -> None:
    """KIP-936 counts producer ids: one new id per hour is allowed here."""
    driver = make_driver(**{"client.quotas": "user=<default>,producer_ids_rate=1"})

    def transact(producer: tuple[int, int]) -> tuple[int, tuple[int, int]]:
        error_code, _offset = driver.produce(producer, 0, version=12)
        if error_code != ErrorCode.NONE:
            return error_code, producer
        return driver.end(producer, commit=True, version=5)

    _, first = driver.init()
    producer: tuple[int, int] = first
    for _ in range(3):
        error_code, producer = transact(producer)
        assert (error_code, producer[0]) == (ErrorCode.NONE, first.producer_id)
    assert producer[1] == first.producer_epoch + 3

    transaction = driver.cluster.transactions.get(driver.transactional_id)
    assert transaction is not None
    transaction.producer_epoch = LAST_EPOCH
    _, second = driver.init()
    assert second.producer_id != first.producer_id
    assert transact(second)[0] == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    driver.now_ms += 3_600_000
    assert transact(second)[0] == ErrorCode.NONE
