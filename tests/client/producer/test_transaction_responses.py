"""Errors of coordinators: which are retried, which need an abort, which end the producer."""

from typing import Any

import pytest

from client.producer.actions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    Request,
    Response,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from client.producer.delivery import DeliveryRefusedError
from client.producer.transaction_errors import (
    FatalTransactionError,
    ProducerFencedError,
    TransactionAbortableError,
)
from client.producer.transactions import TransactionState
from protocol.errors import ErrorCode
from tests.client.producer.driver import stored
from tests.client.producer.transaction_driver import (
    GROUP,
    OFFSETS,
    PARTITION,
    TransactionDriver,
    names,
)

ABORTABLE, FATAL = TransactionState.ABORTABLE_ERROR, TransactionState.FATAL_ERROR


def refusal(kind: type[Request], error_code: int) -> Response:
    """Return a response of this type with an error."""
    if kind is ProduceRequest:
        return stored(-1, error_code=error_code)
    if kind is AddPartitionsToTxnRequest:
        return AddPartitionsToTxnResponse({PARTITION: error_code})
    if kind is TxnOffsetCommitRequest:
        return TxnOffsetCommitResponse({PARTITION: error_code})
    classes: dict[Any, Any] = {
        FindCoordinatorRequest: FindCoordinatorResponse,
        InitProducerIdRequest: InitProducerIdResponse,
        AddOffsetsToTxnRequest: AddOffsetsToTxnResponse,
        EndTxnRequest: EndTxnResponse,
    }
    response: Response = classes[kind](error_code)
    return response


def run_one(driver: TransactionDriver) -> None:
    """Run a transaction with a record and an offset, and commit it if it is usable."""
    driver.core.send_offsets_to_transaction(OFFSETS, GROUP)
    driver.send()
    driver.run(50)
    if driver.state is TransactionState.IN_TRANSACTION:
        driver.commit()
        driver.run(2_000)


@pytest.mark.parametrize(
    ("kind", "error_code", "state"),
    [
        (AddPartitionsToTxnRequest, ErrorCode.PRODUCER_FENCED, FATAL),
        (AddPartitionsToTxnRequest, ErrorCode.INVALID_PRODUCER_EPOCH, FATAL),
        (AddPartitionsToTxnRequest, ErrorCode.INVALID_TXN_STATE, FATAL),
        (AddPartitionsToTxnRequest, ErrorCode.INVALID_PRODUCER_ID_MAPPING, FATAL),
        (AddPartitionsToTxnRequest, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ABORTABLE),
        (AddPartitionsToTxnRequest, ErrorCode.OPERATION_NOT_ATTEMPTED, ABORTABLE),
        (AddPartitionsToTxnRequest, ErrorCode.TRANSACTION_ABORTABLE, ABORTABLE),
        (AddOffsetsToTxnRequest, ErrorCode.PRODUCER_FENCED, FATAL),
        (AddOffsetsToTxnRequest, ErrorCode.GROUP_AUTHORIZATION_FAILED, ABORTABLE),
        (AddOffsetsToTxnRequest, ErrorCode.TRANSACTION_ABORTABLE, ABORTABLE),
        (TxnOffsetCommitRequest, ErrorCode.ILLEGAL_GENERATION, ABORTABLE),
        (TxnOffsetCommitRequest, ErrorCode.FENCED_INSTANCE_ID, ABORTABLE),
        (TxnOffsetCommitRequest, ErrorCode.UNKNOWN_MEMBER_ID, ABORTABLE),
        (TxnOffsetCommitRequest, ErrorCode.INVALID_PRODUCER_EPOCH, FATAL),
        (EndTxnRequest, ErrorCode.PRODUCER_FENCED, FATAL),
        (EndTxnRequest, ErrorCode.INVALID_TXN_STATE, FATAL),
        (EndTxnRequest, ErrorCode.TRANSACTION_ABORTABLE, ABORTABLE),
        (ProduceRequest, ErrorCode.INVALID_PRODUCER_EPOCH, ABORTABLE),
        (ProduceRequest, ErrorCode.INVALID_TXN_STATE, ABORTABLE),
        (ProduceRequest, ErrorCode.TRANSACTION_ABORTABLE, ABORTABLE),
        (ProduceRequest, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ABORTABLE),
        (ProduceRequest, ErrorCode.UNKNOWN_PRODUCER_ID, ABORTABLE),
        (ProduceRequest, ErrorCode.PRODUCER_FENCED, FATAL),
        (ProduceRequest, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, FATAL),
    ],
)
def test_an_error_is_abortable_or_fatal_as_in_kafkas_client(
    kind: type[Request], error_code: ErrorCode, state: TransactionState
) -> None:
    driver = TransactionDriver(1)
    driver.begin()
    driver.script[kind] = [refusal(kind, error_code)]
    run_one(driver)
    assert driver.state is state
    error = driver.transactions.error
    is_fenced = state is FATAL and error_code in {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    }
    assert isinstance(error, ProducerFencedError) is is_fenced
    assert isinstance(error, TransactionAbortableError) is (state is ABORTABLE)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "kind",
    [
        FindCoordinatorRequest,
        InitProducerIdRequest,
        AddPartitionsToTxnRequest,
        AddOffsetsToTxnRequest,
        TxnOffsetCommitRequest,
        ProduceRequest,
        EndTxnRequest,
    ],
)
@pytest.mark.parametrize(
    "error_code",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.REQUEST_TIMED_OUT,
        None,
    ],
)
def test_a_retriable_error_or_a_lost_response_delays_the_transaction(
    kind: type[Request], error_code: ErrorCode | None, version: int
) -> None:
    driver = TransactionDriver(version)
    response = None if error_code is None else refusal(kind, error_code)
    driver.script[kind] = [response, response]
    operation = driver.core.init_transactions()
    driver.run(500)
    assert (operation.is_done, operation.error) == (True, None)
    driver.core.begin_transaction()
    offsets = driver.core.send_offsets_to_transaction(OFFSETS, GROUP)
    driver.send()
    commit = driver.commit()
    driver.run(900)
    assert (offsets.is_done, offsets.error) == (True, None)
    assert (commit.is_done, commit.error) == (True, None)
    is_sent = version == 1 or kind not in {AddPartitionsToTxnRequest, AddOffsetsToTxnRequest}
    assert bool(driver.script[kind]) is not is_sent


@pytest.mark.parametrize(
    ("error_code", "state"),
    [
        (ErrorCode.PRODUCER_FENCED, FATAL),
        (ErrorCode.INVALID_TRANSACTION_TIMEOUT, FATAL),
        (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, TransactionState.UNINITIALIZED),
    ],
)
def test_an_init_without_the_right_may_be_tried_again(
    error_code: ErrorCode, state: TransactionState
) -> None:
    driver = TransactionDriver()
    driver.script[InitProducerIdRequest] = [InitProducerIdResponse(error_code)]
    operation = driver.core.init_transactions()
    driver.run()
    assert operation.error is not None
    assert driver.state is state
    if state is FATAL:
        with pytest.raises(FatalTransactionError):
            driver.core.init_transactions()
    else:
        again = driver.core.init_transactions()
        driver.run()
        assert (again.is_done, again.error) == (True, None)


def test_an_abort_that_is_abortable_is_fatal() -> None:
    driver = TransactionDriver(2)
    driver.begin()
    driver.send()
    driver.run()
    driver.script[EndTxnRequest] = [EndTxnResponse(ErrorCode.TRANSACTION_ABORTABLE)]
    abort = driver.abort()
    driver.run()
    assert isinstance(abort.error, FatalTransactionError)


def test_a_fenced_producer_fails_its_records_and_sends_nothing_more() -> None:
    driver = TransactionDriver(1)
    driver.begin()
    driver.script[AddPartitionsToTxnRequest] = [
        AddPartitionsToTxnResponse({PARTITION: ErrorCode.PRODUCER_FENCED})
    ]
    (delivery,) = driver.send()
    driver.run(1_000)
    assert isinstance(delivery.outcome, ProducerFencedError)
    assert "id t, producer id 7 and epoch 0" in str(delivery.outcome)
    assert "Produce" not in names(driver.seen)


def test_the_first_partition_waits_only_shortly_for_the_markers_of_the_last_transaction() -> None:
    driver = TransactionDriver(1, retry_backoff_ms=500, retry_backoff_max_ms=500)
    driver.begin()
    driver.script[AddPartitionsToTxnRequest] = [
        refusal(AddPartitionsToTxnRequest, ErrorCode.CONCURRENT_TRANSACTIONS)
    ]
    driver.send()
    driver.run(20)
    assert names(driver.seen).count("AddPartitionsToTxn") == 2


def test_a_record_out_of_order_behind_another_is_retried() -> None:
    driver = TransactionDriver(2, batch_size=1)
    driver.begin()
    driver.send(b"a")
    driver.run()
    first, second = driver.send(b"b", b"c")
    while len(driver.produce_requests) < 2:
        driver.poll()
    driver.response(stored(-1, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    driver.response(stored(-1, error_code=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER))
    driver.commit()
    driver.run(500)
    assert driver.state is TransactionState.READY
    assert not isinstance(first.outcome, DeliveryRefusedError)
    assert not isinstance(second.outcome, DeliveryRefusedError)
