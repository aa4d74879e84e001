"""Handle the responses of transaction and group coordinators, and records that fail.

Sources: the request handlers in Kafka's `TransactionManager`.
"""

from collections.abc import Iterable
from enum import IntEnum

from client.errors import ApiError, ClientError
from client.producer.actions import (
    NO_PRODUCER_ID,
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
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from client.producer.state import ProducerState
from client.producer.transaction_errors import FatalTransactionError, ProducerFencedError
from client.producer.transactions import CoordinatorRequest, ProducerTransactions
from protocol.errors import RETRIABLE_ERRORS, ErrorCode

_FENCED = {ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH}
_OTHER_COORDINATOR = {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE}
_FIRST_PARTITION_BACKOFF_MS = 20
"""How long to wait if the coordinator still writes the markers of the last transaction."""

_INIT_REFUSED = {
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTION_ABORTABLE,
}
_FIND_ABORTABLE = frozenset({ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.TRANSACTION_ABORTABLE})
_ADD_PARTITIONS_FATAL = {
    *_FENCED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
}
_ADD_PARTITIONS_ABORTABLE = frozenset(ErrorCode) - _ADD_PARTITIONS_FATAL
_ADD_OFFSETS_ABORTABLE = frozenset(
    {
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTION_ABORTABLE,
    }
)
_OFFSET_COMMIT_ABORTABLE = frozenset(
    {
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
    }
)
_COMMIT_ABORTABLE = frozenset({ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.TRANSACTION_ABORTABLE})

_PRODUCE_FATAL = {
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
}


class _Verdict(IntEnum):
    """What an error code means; the gravest of a response counts."""

    DONE = 0
    RETRY = 1
    FIND_COORDINATOR = 2
    ABORTABLE = 3
    FATAL = 4


def on_response(state: ProducerState, request: object, response: object, now_ms: int) -> None:
    """Handle the response to a request of a coordinator."""
    transactions = state.transactions
    assert transactions is not None
    assert transactions.in_flight is request
    transactions.in_flight = None
    match request, response:
        case InitProducerIdRequest(), InitProducerIdResponse():
            _on_producer_id(state, transactions, request, response, now_ms)
        case FindCoordinatorRequest(), FindCoordinatorResponse():
            _on_coordinator(state, transactions, request, response, now_ms)
        case AddPartitionsToTxnRequest(), AddPartitionsToTxnResponse():
            _on_partitions_added(state, transactions, request, response, now_ms)
        case AddOffsetsToTxnRequest(), AddOffsetsToTxnResponse(error_code=error_code):
            verdict = _judge(
                state, transactions, request, [error_code], _ADD_OFFSETS_ABORTABLE, now_ms
            )
            if verdict is _Verdict.DONE:
                transactions.on_group_added()
        case TxnOffsetCommitRequest(), TxnOffsetCommitResponse():
            _on_offsets_committed(state, transactions, request, response, now_ms)
        case EndTxnRequest(), EndTxnResponse():
            _on_end(state, transactions, request, response, now_ms)
        case _:
            raise AssertionError(f"{response} is no response to {request}")


def on_lost_request(state: ProducerState, now_ms: int) -> None:
    """Send the request in flight again, whose response is lost, to the coordinator as it is."""
    transactions = state.transactions
    assert transactions is not None
    assert transactions.in_flight is not None
    request, transactions.in_flight = transactions.in_flight, None
    transactions.coordinators.pop(transactions.coordinator_key(request), None)
    _wait(state, transactions, now_ms)


def on_node_lost(state: ProducerState, node_id: int) -> None:
    """Forget the coordinators on a broker whose connection is lost."""
    if state.transactions is not None:
        coordinators = state.transactions.coordinators
        for key in [key for key, found in coordinators.items() if found[0] == node_id]:
            del coordinators[key]


def on_record_failed(state: ProducerState, error: ClientError) -> None:
    """Note that a record of the transaction failed: it can't be committed any more."""
    if state.transactions is None:
        return
    if isinstance(error, ApiError) and error.error_code in _PRODUCE_FATAL:
        state.transactions.on_fatal_error(_fatal_error(state, error.error_code, str(error)))
    else:
        state.transactions.on_abortable_error(error)


def _judge(
    state: ProducerState,
    transactions: ProducerTransactions,
    request: CoordinatorRequest,
    error_codes: Iterable[int],
    abortable: frozenset[ErrorCode],
    now_ms: int,
) -> _Verdict:
    """Act on the gravest error code of a response, unless it is none; return what it means."""
    verdict, error_code = max(
        ((_verdict(error_code, abortable), error_code) for error_code in error_codes),
        default=(_Verdict.DONE, 0),
    )
    name = type(request).__name__.removesuffix("Request")
    if verdict is _Verdict.DONE:
        transactions.failures = 0
        return verdict
    if verdict is _Verdict.FATAL:
        transactions.on_fatal_error(_fatal_error(state, error_code, f"{name} was refused"))
    elif verdict is _Verdict.ABORTABLE:
        transactions.on_abortable_error(ApiError(error_code))
    else:
        if verdict is _Verdict.FIND_COORDINATOR:
            transactions.coordinators.pop(transactions.coordinator_key(request), None)
        _wait(state, transactions, now_ms)
    return verdict


def _verdict(error_code: int, abortable: frozenset[ErrorCode]) -> _Verdict:
    if error_code == ErrorCode.NONE:
        return _Verdict.DONE
    if error_code in _OTHER_COORDINATOR:
        return _Verdict.FIND_COORDINATOR
    if error_code in RETRIABLE_ERRORS:
        return _Verdict.RETRY
    return _Verdict.ABORTABLE if error_code in abortable else _Verdict.FATAL


def _fatal_error(state: ProducerState, error_code: int, reason: str) -> FatalTransactionError:
    assert state.transactions is not None
    if error_code in _FENCED:
        return ProducerFencedError(
            state.transactions.transactional_id,
            state.idempotence.producer_id,
            state.idempotence.epoch,
        )
    error = FatalTransactionError(f"{reason}: {ApiError(error_code)}")
    error.__cause__ = ApiError(error_code)
    return error


def _wait(state: ProducerState, transactions: ProducerTransactions, now_ms: int) -> None:
    transactions.failures += 1
    transactions.retry_ms = now_ms + state.backoff_ms(transactions.failures)


def _on_producer_id(
    state: ProducerState,
    transactions: ProducerTransactions,
    request: InitProducerIdRequest,
    response: InitProducerIdResponse,
    now_ms: int,
) -> None:
    if response.error_code in _INIT_REFUSED:
        transactions.on_init_refused(ApiError(response.error_code))
        return
    verdict = _judge(state, transactions, request, [response.error_code], frozenset(), now_ms)
    if verdict is _Verdict.DONE:
        state.idempotence.on_producer_id(
            response.producer_id, response.producer_epoch, response.window
        )
        state.idempotence.forget_partitions()
        transactions.on_producer_id()


def _on_coordinator(
    state: ProducerState,
    transactions: ProducerTransactions,
    request: FindCoordinatorRequest,
    response: FindCoordinatorResponse,
    now_ms: int,
) -> None:
    verdict = _judge(state, transactions, request, [response.error_code], _FIND_ABORTABLE, now_ms)
    if verdict is _Verdict.DONE:
        assert response.address is not None
        transactions.coordinators[request.key] = (response.node_id, response.address)


def _on_partitions_added(
    state: ProducerState,
    transactions: ProducerTransactions,
    request: AddPartitionsToTxnRequest,
    response: AddPartitionsToTxnResponse,
    now_ms: int,
) -> None:
    error_codes = set(response.error_codes.values())
    verdict = _judge(state, transactions, request, error_codes, _ADD_PARTITIONS_ABORTABLE, now_ms)
    if verdict is _Verdict.DONE:
        transactions.is_begun = True
        transactions.partitions.update(request.partitions)
        transactions.partitions_in_doubt.clear()
    elif verdict is _Verdict.ABORTABLE:
        transactions.partitions_in_doubt.clear()
    elif error_codes == {ErrorCode.CONCURRENT_TRANSACTIONS} and not transactions.partitions:
        transactions.retry_ms = min(transactions.retry_ms, now_ms + _FIRST_PARTITION_BACKOFF_MS)


def _on_offsets_committed(
    state: ProducerState,
    transactions: ProducerTransactions,
    request: TxnOffsetCommitRequest,
    response: TxnOffsetCommitResponse,
    now_ms: int,
) -> None:
    if not transactions.pending_offsets:  # aborted since
        return
    pending = transactions.pending_offsets[0]
    for partition, error_code in response.error_codes.items():
        if error_code == ErrorCode.NONE:
            pending.offsets.pop(partition, None)
    error_codes = set(response.error_codes.values())
    if ErrorCode.REQUEST_TIMED_OUT in error_codes:
        transactions.coordinators.pop(transactions.coordinator_key(request), None)
    _judge(state, transactions, request, error_codes, _OFFSET_COMMIT_ABORTABLE, now_ms)
    if not pending.offsets and not pending.operation.is_done:
        transactions.pending_offsets.remove(pending)
        pending.operation.finish()


def _on_end(
    state: ProducerState,
    transactions: ProducerTransactions,
    request: EndTxnRequest,
    response: EndTxnResponse,
    now_ms: int,
) -> None:
    abortable: frozenset[ErrorCode] = _COMMIT_ABORTABLE if request.is_commit else frozenset()
    verdict = _judge(state, transactions, request, [response.error_code], abortable, now_ms)
    if verdict is _Verdict.DONE:
        if response.producer_id != NO_PRODUCER_ID:
            state.idempotence.on_next_epoch(response.producer_id, response.producer_epoch)
        transactions.on_ended()
