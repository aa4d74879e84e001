"""Handle responses and lost requests: complete, retry, split or fail batches."""

from client.errors import ClientError, error_name
from client.producer import transaction_responses
from client.producer.actions import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionOutcome,
    ProduceRequest,
    ProduceResponse,
    Request,
    RequestFailed,
    Response,
)
from client.producer.batch import Batch
from client.producer.delivery import DeliveryRefusedError
from client.producer.idempotence import PartitionSequences
from client.producer.state import ProducerState
from client.producer.transaction_errors import TransactionAbortedError
from protocol.errors import INVALID_METADATA_ERRORS, RETRIABLE_ERRORS, ErrorCode

_DELIVERED = {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}
_MAYBE_STORED = {
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.KAFKA_STORAGE_ERROR,
}
"""Errors after which the records may have been appended."""
_SEQUENCE_ERRORS = {ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID}


def on_response(state: ProducerState, node_id: int, response: Response, now_ms: int) -> None:
    """Handle the response to the oldest request of a connection."""
    request = state.nodes.responded(node_id, response.throttle_time_ms, now_ms)
    match request, response:
        case ProduceRequest(), ProduceResponse():
            for batch in request.batches:
                outcome = response.outcomes.get(batch.partition)
                if outcome is None:
                    _on_no_response(state, batch, now_ms, "the response lacks the partition")
                else:
                    _on_outcome(state, batch, outcome, now_ms)
        case MetadataRequest(), MetadataResponse():
            wait_ms = state.backoff_ms(state.metadata.failures + 1)
            failed_topics = state.metadata.on_response(response, now_ms, wait_ms)
            state.accumulator.place_waiting(state.metadata)
            for topic, error_code in failed_topics.items():
                _fail_topic(state, topic, error_code)
        case InitProducerIdRequest(transactional_id=None), InitProducerIdResponse():
            _on_producer_id(state, response, now_ms)
        case _, RequestFailed(error=error):
            _on_lost_request(state, request, now_ms, str(error))
            fail_all(state, error)
        case _:
            transaction_responses.on_response(state, request, response, now_ms)


def on_disconnect(state: ProducerState, node_id: int, now_ms: int, reason: str) -> None:
    """Handle a lost connection and the loss of all responses on it."""
    state.metadata.refresh()
    transaction_responses.on_node_lost(state, node_id)
    for request in state.nodes.lost(node_id, now_ms):
        _on_lost_request(state, request, now_ms, reason)


def close_gaps(state: ProducerState) -> None:
    """Start new epochs where sequence numbers are missing.

    Not in a transaction: it is aborted instead, and the next one has a new epoch.
    """
    if state.transactions is not None:
        return
    for batch in state.idempotence.resolve():
        state.accumulator.remove(batch)
        state.fail(
            batch,
            DeliveryRefusedError(
                *batch.partition,
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                "records before it were lost, and so was the response to one of its requests",
                attempts=batch.attempts,
                is_possibly_stored=True,
            ),
        )


def fail_all(state: ProducerState, error: ClientError) -> None:
    """Fail every record that has no outcome yet; a transactional producer is unusable then."""
    if state.transactions is not None:
        state.transactions.on_fatal_error(error)
    for batches in list(state.on_wire.values()):
        for batch in batches:
            if not batch.is_done:
                _cancel(state, batch)
                state.fail(batch, error)
    fail_unsent(state, error)


def fail_unsent(state: ProducerState, error: ClientError) -> None:
    """Fail every record that waits or is queued."""
    for batch in [batch for queue in state.accumulator.queues.values() for batch in queue]:
        state.accumulator.remove(batch)
        _cancel(state, batch)
        state.fail(batch, error)
    for topic in list(state.accumulator.waiting):
        for _, delivery, _, bytes_reserved in state.accumulator.take_waiting(topic):
            state.accumulator.release(bytes_reserved)
            delivery.resolve(error)


def end_records(state: ProducerState) -> None:
    """Fail the records of a transaction that will be aborted, and of an unusable producer."""
    transactions = state.transactions
    if transactions is None:
        return
    if transactions.is_fatal:
        assert transactions.error is not None
        fail_all(state, transactions.error)
    elif transactions.drops_records:
        fail_unsent(state, TransactionAbortedError())


def _cancel(state: ProducerState, batch: Batch) -> None:
    """Give up the sequence numbers of a batch, or leave them to the response in flight."""
    sequences = state.idempotence.of(batch)
    if sequences is None:
        return
    if batch.is_on_wire:
        sequences.is_unresolved = True
    else:
        sequences.give_up(batch)
        if state.transactions is not None:
            state.transactions.needs_epoch_bump = True


def _fail_topic(state: ProducerState, topic: str, error_code: int) -> None:
    for record, delivery, _, bytes_reserved in state.accumulator.take_waiting(topic):
        state.accumulator.release(bytes_reserved)
        error = DeliveryRefusedError(topic, record.partition, error_code)
        transaction_responses.on_record_failed(state, error)
        delivery.resolve(error)


def _on_lost_request(state: ProducerState, request: Request, now_ms: int, reason: str) -> None:
    match request:
        case ProduceRequest():
            for batch in request.batches:
                _on_no_response(state, batch, now_ms, reason)
        case MetadataRequest():
            state.metadata.on_failure(now_ms, state.backoff_ms(1))
        case InitProducerIdRequest(transactional_id=None):
            _retry_producer_id(state, now_ms)
        case _:
            transaction_responses.on_lost_request(state, now_ms)


def _on_producer_id(state: ProducerState, response: InitProducerIdResponse, now_ms: int) -> None:
    if response.error_code == ErrorCode.NONE:
        state.is_producer_id_requested = False
        state.producer_id_failures = 0
        state.idempotence.on_producer_id(
            response.producer_id, response.producer_epoch, response.window
        )
        return
    _retry_producer_id(state, now_ms)
    if response.error_code not in RETRIABLE_ERRORS:
        text = f"InitProducerId: {error_name(response.error_code)}"
        fail_all(state, DeliveryRefusedError("", None, response.error_code, text))


def _retry_producer_id(state: ProducerState, now_ms: int) -> None:
    state.is_producer_id_requested = False
    state.producer_id_failures += 1
    state.producer_id_retry_ms = now_ms + state.backoff_ms(state.producer_id_failures)


def _on_no_response(state: ProducerState, batch: Batch, now_ms: int, reason: str) -> None:
    """Retry a batch whose response was lost; its records may have been stored."""
    batch.no_response += 1
    batch.last_error = reason
    state.off_wire(batch)
    _retry(state, batch, ErrorCode.NETWORK_EXCEPTION, reason, now_ms)


def _on_outcome(state: ProducerState, batch: Batch, outcome: PartitionOutcome, now_ms: int) -> None:
    error_code = outcome.error_code
    sequences = state.idempotence.of(batch)
    if error_code in _DELIVERED:
        if sequences is not None:
            sequences.ack(batch)
        if not batch.is_done:
            batch.succeed(outcome.base_offset, outcome.log_append_time_ms)
        state.off_wire(batch)
        return
    batch.last_error = error_name(error_code)
    batch.no_response += error_code in _MAYBE_STORED
    state.off_wire(batch)
    if error_code in INVALID_METADATA_ERRORS:
        state.metadata.refresh()
    is_sequence_error = (
        sequences is not None
        and error_code in _SEQUENCE_ERRORS
        and (state.transactions is None or _waits_for_others(sequences, batch, error_code))
    )
    if error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and is_sequence_error:
        state.idempotence.on_out_of_order(batch)
    elif is_sequence_error:
        state.idempotence.on_unknown_producer_id(batch)
    if is_sequence_error or error_code in RETRIABLE_ERRORS:
        _retry(state, batch, error_code, outcome.error_message, now_ms)
    elif error_code == ErrorCode.MESSAGE_TOO_LARGE and batch.record_count > 1:
        _split(state, batch)
    else:
        _give_up(state, batch, error_code, outcome.error_message)


def _waits_for_others(sequences: PartitionSequences, batch: Batch, error_code: int) -> bool:
    """Return whether a batch is out of order only because one before it is undecided.

    Otherwise a transactional producer can't repair the order of its sequence numbers.
    """
    is_first = sequences.undecided[0] is batch
    return error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not is_first


def _retry(
    state: ProducerState, batch: Batch, error_code: int, message: str | None, now_ms: int
) -> None:
    """Queue the batch again, unless it is done or has no retries left."""
    if batch.is_done or batch.attempts > state.settings.retries:
        _give_up(state, batch, error_code, message)
        return
    batch.retry_at_ms = now_ms + state.backoff_ms(batch.attempts)
    state.accumulator.put_back([batch])


def _split(state: ProducerState, batch: Batch) -> None:
    """Split a batch that is too large, and queue both parts without backoff."""
    sequences = state.idempotence.of(batch)
    if batch.is_done:
        _give_up(state, batch, ErrorCode.MESSAGE_TOO_LARGE, None)
        return
    parts = batch.halves(state.settings.compression_type)
    if sequences is not None:
        sequences.replace(batch, parts)
    state.accumulator.put_back(parts)


def _give_up(state: ProducerState, batch: Batch, error_code: int, message: str | None) -> None:
    sequences = state.idempotence.of(batch)
    if sequences is not None:
        sequences.give_up(batch)
    if not batch.is_done:
        error = DeliveryRefusedError(
            *batch.partition,
            error_code,
            message,
            attempts=batch.attempts,
            is_possibly_stored=batch.no_response > 0,
        )
        transaction_responses.on_record_failed(state, error)
        state.fail(batch, error)
