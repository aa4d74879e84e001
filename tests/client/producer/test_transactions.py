"""The core of a transactional producer: operations in, requests to coordinators out."""

import pytest

from client.errors import ClientError
from client.producer.actions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    CoordinatorType,
    EndTxnRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    ProduceRequest,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from client.producer.batch import TopicPartition
from client.producer.delivery import Delivered, DeliveryTimeoutError, Phase
from client.producer.transaction_errors import (
    FatalTransactionError,
    TransactionAbortableError,
    TransactionAbortedError,
    TransactionStateError,
)
from client.producer.transactional_offsets import OffsetAndMetadata
from client.producer.transactions import TransactionState
from protocol.errors import ErrorCode
from protocol.records import TRANSACTIONAL_FLAG, read_header
from tests.client.producer.driver import Driver, record
from tests.client.producer.transaction_driver import (
    GROUP,
    OFFSETS,
    PARTITION,
    TransactionDriver,
    names,
)


def test_init_asks_the_coordinator_of_the_transactional_id() -> None:
    driver = TransactionDriver()
    operation = driver.core.init_transactions()
    requests = driver.run()
    assert names(requests) == ["FindCoordinator", "InitProducerId"]
    find, init = (request for request in requests)
    assert isinstance(find, FindCoordinatorRequest)
    assert find.key == (CoordinatorType.TRANSACTION, "t")
    assert init == InitProducerIdRequest("t", 500, -1, -1)
    assert operation.is_done
    assert driver.state is TransactionState.READY


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (
            1,
            ["AddPartitionsToTxn", "AddOffsetsToTxn", "FindCoordinator", "TxnOffsetCommit"],
        ),
        (2, ["FindCoordinator", "TxnOffsetCommit"]),
    ],
)
def test_version_2_adds_partitions_and_offsets_by_themselves(
    version: int, expected: list[str]
) -> None:
    driver = TransactionDriver(version)
    driver.begin()
    (delivery,) = driver.send()
    offsets = driver.core.send_offsets_to_transaction(OFFSETS, GROUP)
    commit = driver.commit()
    requests = driver.run(100)
    assert sorted(names(requests)) == sorted([*expected, "Produce", "EndTxn"])
    assert names(requests)[-1] == "EndTxn"
    assert isinstance(delivery.outcome, Delivered)
    assert offsets.is_done
    assert commit.is_done
    assert commit.error is None
    (end,) = (request for request in requests if isinstance(request, EndTxnRequest))
    assert end == EndTxnRequest("t", 7, 0, is_commit=True, transaction_version=version)
    (committed,) = (r for r in requests if isinstance(r, TxnOffsetCommitRequest))
    assert committed.group == GROUP
    assert committed.offsets == tuple(OFFSETS.items())


@pytest.mark.parametrize(("version", "epoch"), [(1, 0), (2, 1)])
def test_the_second_transaction_goes_on_with_the_epoch_of_the_version(
    version: int, epoch: int
) -> None:
    driver = TransactionDriver(version)
    driver.begin()
    for expected_epoch, sequence in ((0, 0), (epoch, 0 if version == 2 else 1)):
        driver.send()
        commit = driver.commit()
        requests = driver.run(100)
        assert commit.error is None
        (produce,) = (request for request in requests if isinstance(request, ProduceRequest))
        header = read_header(produce.data[0].records, 0)
        assert header.attributes & TRANSACTIONAL_FLAG
        assert (header.producer_epoch, header.base_sequence) == (expected_epoch, sequence)
        assert (produce.transactional_id, produce.transaction_version) == ("t", version)
        driver.core.begin_transaction()


def test_a_record_is_sent_only_after_its_partition_was_added() -> None:
    driver = TransactionDriver(1)
    driver.begin()
    driver.send()
    while not any(isinstance(request, AddPartitionsToTxnRequest) for _, request in driver.requests):
        driver.step()
        driver.seen += driver.poll()
    assert not driver.produce_requests
    assert names(driver.run()) == ["Produce"]


def test_a_record_whose_partition_is_never_added_expires_with_that_phase() -> None:
    driver = TransactionDriver(1, delivery_timeout_ms=300)
    driver.script[AddPartitionsToTxnRequest] = [None] * 1_000
    driver.begin()
    (delivery,) = driver.send()
    driver.run(299)
    assert delivery.outcome is None
    driver.run(1)
    assert isinstance(delivery.outcome, DeliveryTimeoutError)
    assert delivery.outcome.phase is Phase.TRANSACTION
    assert driver.state is TransactionState.ABORTABLE_ERROR


@pytest.mark.parametrize("version", [1, 2])
def test_a_transaction_without_records_ends_without_a_request(version: int) -> None:
    driver = TransactionDriver(version)
    driver.begin()
    commit = driver.commit()
    assert driver.run() == []
    assert commit.is_done
    driver.core.begin_transaction()
    abort = driver.abort()
    assert driver.run() == []
    assert abort.is_done


def test_a_commit_ends_lingering_and_waits_for_the_records() -> None:
    driver = TransactionDriver(2, linger_ms=500)
    driver.begin()
    driver.send()
    assert names(driver.run(100)) == []
    driver.commit()
    while not driver.produce_requests:
        driver.seen += driver.poll()
        driver.connect()
    assert not any(isinstance(request, EndTxnRequest) for _, request in driver.requests)
    assert names(driver.run())[-1] == "EndTxn"


def test_an_abort_drops_records_that_were_not_sent_and_waits_for_the_others() -> None:
    driver = TransactionDriver(2, max_in_flight_requests_per_connection=1, batch_size=1)
    driver.begin()
    first, second = driver.send(b"a", b"b")
    while not driver.produce_requests:
        driver.step()
        driver.poll()
    abort = driver.abort()
    driver.poll()
    assert isinstance(second.outcome, TransactionAbortedError)
    assert first.outcome is None
    assert not abort.is_done
    assert names(driver.run()) == ["EndTxn"]
    assert isinstance(first.outcome, Delivered)
    assert abort.is_done
    assert isinstance(driver.seen[-1], EndTxnRequest)
    assert not driver.seen[-1].is_commit


def test_an_abort_sends_an_unanswered_add_partitions_again_before_the_end() -> None:
    driver = TransactionDriver(1)
    driver.begin()
    driver.send()
    driver.script[AddPartitionsToTxnRequest] = [None]
    while driver.script[AddPartitionsToTxnRequest]:
        driver.step()
    abort = driver.abort()
    assert names(driver.run(100)) == ["FindCoordinator", "AddPartitionsToTxn", "EndTxn"]
    assert abort.is_done


def test_an_abort_sends_an_unanswered_add_offsets_again_but_no_offsets() -> None:
    driver = TransactionDriver(1)
    driver.begin()
    driver.script[AddOffsetsToTxnRequest] = [None]
    operation = driver.core.send_offsets_to_transaction(OFFSETS, GROUP)
    while driver.script[AddOffsetsToTxnRequest]:
        driver.step()
    abort = driver.abort()
    assert isinstance(operation.error, TransactionAbortedError)
    assert names(driver.run(100)) == ["FindCoordinator", "AddOffsetsToTxn", "EndTxn"]
    assert abort.is_done


@pytest.mark.parametrize(
    ("version", "expected"), [(1, ["EndTxn", "InitProducerId"]), (2, ["EndTxn"])]
)
def test_after_a_failed_record_only_an_abort_is_possible_and_the_epoch_is_bumped(
    version: int, expected: list[str]
) -> None:
    driver = TransactionDriver(version, delivery_timeout_ms=400)
    driver.begin()
    driver.script[ProduceRequest] = [None] * 1_000
    (delivery,) = driver.send()
    commit = driver.commit()
    driver.run(500)
    assert isinstance(delivery.outcome, DeliveryTimeoutError)
    assert isinstance(commit.error, TransactionAbortableError)
    assert commit.error.cause is delivery.outcome
    for call in (driver.core.begin_transaction, driver.commit, driver.send):
        with pytest.raises(TransactionAbortableError):
            call()
    driver.script.clear()
    abort = driver.abort()
    requests = [name for name in names(driver.run(100)) if name != "FindCoordinator"]
    assert requests == expected
    assert (abort.is_done, abort.error) == (True, None)
    assert driver.core.producer_epoch == 1
    driver.core.begin_transaction()
    (delivery,) = driver.send()
    commit = driver.commit()
    driver.run(100)
    assert isinstance(delivery.outcome, Delivered)
    assert (commit.is_done, commit.error) == (True, None)


def test_an_upgrade_of_the_transaction_version_bumps_the_epoch_after_the_transaction() -> None:
    driver = TransactionDriver(1)
    driver.begin()
    driver.send()
    driver.run()
    driver.version, driver.features_epoch = 2, 2
    driver.disconnect(2)
    commit = driver.commit()
    requests = [name for name in names(driver.run(100)) if name != "FindCoordinator"]
    assert requests == ["EndTxn", "InitProducerId"]
    assert commit.is_done
    driver.core.begin_transaction()
    driver.send()
    driver.commit()
    assert names(driver.run(100)) == ["Produce", "EndTxn"]


def test_operations_out_of_order_change_nothing() -> None:
    driver = TransactionDriver()
    for call in (
        driver.core.begin_transaction,
        driver.commit,
        driver.abort,
        driver.send,
        lambda: driver.core.send_offsets_to_transaction(OFFSETS, GROUP),
    ):
        with pytest.raises(TransactionStateError, match="no producer id"):
            call()
    driver.begin()
    for call in (driver.core.begin_transaction, driver.core.init_transactions):
        with pytest.raises(TransactionStateError, match="in a transaction"):
            call()
    driver.send()
    assert driver.commit().error is None


def test_a_producer_without_a_transactional_id_has_no_transactions() -> None:
    driver = Driver()
    with pytest.raises(TransactionStateError, match="transactional_id"):
        driver.core.init_transactions()
    assert not driver.core.has_open_transaction


def test_closing_fails_the_operation_and_the_records() -> None:
    driver = TransactionDriver()
    driver.begin()
    (delivery,) = driver.send()
    commit = driver.commit()
    driver.core.fail_all(ClientError("closed"))
    assert isinstance(commit.error, FatalTransactionError)
    assert delivery.outcome is not None
    with pytest.raises(FatalTransactionError, match="closed"):
        driver.core.send(record(), driver.now)


def test_no_offsets_need_no_request() -> None:
    driver = TransactionDriver()
    driver.begin()
    operation = driver.core.send_offsets_to_transaction({}, GROUP)
    assert operation.is_done
    assert driver.run() == []


def test_a_lost_end_is_sent_again() -> None:
    driver = TransactionDriver(2)
    driver.begin()
    driver.send()
    driver.script[EndTxnRequest] = [None]
    commit = driver.commit()
    assert [name for name in names(driver.run(200)) if name == "EndTxn"] == ["EndTxn"] * 2
    assert (commit.is_done, commit.error) == (True, None)


def test_offsets_that_are_refused_for_now_are_sent_again_without_the_others() -> None:
    other = TopicPartition("orders", 1)
    driver = TransactionDriver(2)
    driver.begin()
    driver.script[TxnOffsetCommitRequest] = [
        TxnOffsetCommitResponse({PARTITION: 0, other: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS})
    ]
    both = OFFSETS | {other: OffsetAndMetadata(9)}
    operation = driver.core.send_offsets_to_transaction(both, GROUP)
    requests = [r for r in driver.run(200) if isinstance(r, TxnOffsetCommitRequest)]
    assert [len(request.offsets) for request in requests] == [2, 1]
    assert (operation.is_done, operation.error) == (True, None)


def test_an_unanswered_add_offsets_is_ended_by_an_abort_after_an_error() -> None:
    driver = TransactionDriver(1, delivery_timeout_ms=200)
    driver.begin()
    driver.script[AddOffsetsToTxnRequest] = [None] * 100
    driver.script[ProduceRequest] = [None] * 100
    driver.send()
    operation = driver.core.send_offsets_to_transaction(OFFSETS, GROUP)
    driver.run(300)
    assert isinstance(operation.error, TransactionAbortableError)
    driver.script[AddOffsetsToTxnRequest] = [AddOffsetsToTxnResponse(0)]
    abort = driver.abort()
    assert "TxnOffsetCommit" not in names(driver.run(200))
    assert (abort.is_done, abort.error) == (True, None)
