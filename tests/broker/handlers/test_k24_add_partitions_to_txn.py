"""AddPartitionsToTxn: partitions of one transaction, or of several from v4 on."""

import pytest

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.transactional_driver import (
    TransactionDriver,
    make_driver,
    transactional_cluster,
)

NONE = ErrorCode.NONE


def transaction_version(driver: TransactionDriver) -> int:
    transaction = driver.cluster.transactions.get("tx")
    assert transaction is not None
    return transaction.transaction_version


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_added_in_each_version_of_clients(version: int) -> None:
    driver = make_driver()
    _, producer = driver.init()
    assert driver.add(producer, 0, 1, version=version) == [NONE, NONE]
    assert driver.describe().topics[0].partitions == [0, 1]
    assert transaction_version(driver) == 0
    fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert driver.add((producer.producer_id, 7), 0, version=version) == [fenced]


@pytest.mark.parametrize("version", [4, 5])
def test_brokers_add_and_verify_partitions_of_several_transactions(version: int) -> None:
    driver = make_driver()
    other = TransactionDriver(driver.cluster, transactional_id="other")
    producers = {"tx": driver.init()[1], "other": other.init()[1]}
    other.add(producers["other"], 0)
    request_class = messages.AddPartitionsToTxnRequest
    transaction_class = request_class.AddPartitionsToTxnTransaction
    topic_class = messages.entry_class(transaction_class(version=version), "topics")
    request = request_class(
        version=version,
        transactions=[
            transaction_class(
                version=version,
                transactional_id=name,
                producer_id=producers[name].producer_id,
                producer_epoch=producers[name].producer_epoch,
                verify_only=name == "other",
                topics=[topic_class(version=version, name="t", partitions=[0, 1])],
            )
            for name in producers
        ],
    )
    response = driver.call(request, version)
    found = {
        result.transactional_id: [
            part.partition_error_code for part in result.topic_results[0].results_by_partition
        ]
        for result in response.results_by_transaction
    }
    assert found == {"tx": [NONE, NONE], "other": [NONE, ErrorCode.TRANSACTION_ABORTABLE]}
    assert transaction_version(driver) == 2


def _results(driver: TransactionDriver, *topics: tuple[str, list[int]]) -> list[object]:
    topic_class = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    request = messages.AddPartitionsToTxnRequest(
        version=3,
        v3_and_below_transactional_id="tx",
        v3_and_below_topics=[
            topic_class(name=name, partitions=indexes) for name, indexes in topics
        ],
    )
    return [
        (
            topic.name,
            [
                (part.partition_index, part.partition_error_code)
                for part in topic.results_by_partition
            ],
        )
        for topic in driver.call(request, 3).results_by_topic_v3_and_below
    ]


def test_duplicates_are_reported_unless_a_partition_is_missing() -> None:
    driver = make_driver()
    unknown = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert _results(driver, ("t", [0, 0]), ("t", []), ("t", [1])) == [
        ("t", [(0, unknown), (0, unknown)]),
        ("t", []),
        ("t", [(1, unknown)]),
    ]
    assert _results(driver, ("t", [0, 0]), ("x", []), ("t", [2])) == [
        ("t", [(0, ErrorCode.OPERATION_NOT_ATTEMPTED), (2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)])
    ]


def test_a_missing_partition_keeps_the_others_out() -> None:
    driver = make_driver()
    _, producer = driver.init()
    assert driver.add(producer, 0, 2) == [
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert driver.describe().topics == []


def test_only_the_coordinator_answers() -> None:
    driver = TransactionDriver(transactional_cluster(2))
    driver.broker_id = driver.cluster.transaction_coordinator_id("tx") or 0
    _, producer = driver.init()
    driver.broker_id = 3 - driver.broker_id
    assert driver.add(producer, 0) == [ErrorCode.NOT_COORDINATOR]
    assert driver.init()[0] == ErrorCode.NOT_COORDINATOR
    assert driver.end(producer, commit=True)[0] == ErrorCode.NOT_COORDINATOR
    assert driver.describe().error_code == ErrorCode.NOT_COORDINATOR
    assert driver.list_transactions().transaction_states == []
    driver.transactional_id = ""
    assert driver.add(producer, 0) == [ErrorCode.INVALID_REQUEST]
