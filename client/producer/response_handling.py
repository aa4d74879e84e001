"""What a response means, or that there will be none: deliver, try again, split, or give up."""

from client.errors import ClientError, error_name
from client.producer.actions import (
    Call,
    CallFailed,
    InitProducerIdCall,
    MetadataCall,
    MetadataResponse,
    PartitionOutcome,
    ProduceCall,
    ProduceResponse,
    ProducerIdResponse,
    Response,
)
from client.producer.batch import Batch
from client.producer.delivery import DeliveryRefusedError
from client.producer.state import ProducerState
from protocol.errors import INVALID_METADATA_ERRORS, RETRIABLE_ERRORS, ErrorCode

_DELIVERED = {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}
_MAYBE_STORED = {
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.KAFKA_STORAGE_ERROR,
}
"""Errors that don't say that the records were not appended."""


def on_response(state: ProducerState, node_id: int, response: Response, now_ms: int) -> None:
    """The oldest request of a connection was answered."""
    call = state.nodes.responded(node_id, response.throttle_time_ms, now_ms)
    match call, response:
        case ProduceCall(), ProduceResponse():
            for batch in call.batches:
                outcome = response.outcomes.get(batch.partition)
                if outcome is None:
                    _on_no_response(state, batch, now_ms, "no word of the partition")
                else:
                    _on_outcome(state, batch, outcome, now_ms)
        case MetadataCall(), MetadataResponse():
            wait_ms = state.backoff_ms(state.metadata.failures + 1)
            hopeless = state.metadata.on_response(response, now_ms, wait_ms)
            state.accumulator.place_waiting(state.metadata)
            for topic, error_code in hopeless.items():
                _fail_topic(state, topic, error_code)
        case InitProducerIdCall(), ProducerIdResponse():
            _on_producer_id(state, response, now_ms)
        case _, CallFailed(error=error):
            _on_lost_call(state, call, now_ms, str(error))
            fail_all(state, error)
        case _:
            raise AssertionError(f"{response} is no answer to {call}")


def on_disconnect(state: ProducerState, node_id: int, now_ms: int, reason: str) -> None:
    """A connection is gone, and with it the answers to all requests on it."""
    state.metadata.refresh()
    for call in state.nodes.lost(node_id, now_ms):
        _on_lost_call(state, call, now_ms, reason)


def close_gaps(state: ProducerState) -> None:
    """Start new epochs where sequence numbers are missing."""
    for batch in state.idempotence.resolve():
        state.accumulator.remove(batch)
        state.fail(
            batch,
            DeliveryRefusedError(
                *batch.partition,
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                "records before it were lost, and one of its own requests was never answered",
                attempts=batch.attempts,
                is_possibly_stored=True,
            ),
        )


def fail_all(state: ProducerState, error: ClientError) -> None:
    """Fail every record that has no outcome yet."""
    queued = [batch for queue in state.accumulator.queues.values() for batch in queue]
    for batches in list(state.on_wire.values()):
        for batch in batches:
            if not batch.is_done:
                _cancel(state, batch)
                state.fail(batch, error)
    for batch in queued:
        state.accumulator.remove(batch)
        _cancel(state, batch)
        state.fail(batch, error)
    for topic in list(state.accumulator.waiting):
        for _, delivery, _, bytes_reserved in state.accumulator.take_waiting(topic):
            state.accumulator.release(bytes_reserved)
            delivery.resolve(error)


def _cancel(state: ProducerState, batch: Batch) -> None:
    """Its records hear of it no more; what is on the wire is decided by its response."""
    sequences = state.idempotence.of(batch)
    if sequences is None:
        return
    if batch.is_on_wire:
        sequences.is_unresolved = True
    else:
        sequences.give_up(batch)


def _fail_topic(state: ProducerState, topic: str, error_code: int) -> None:
    for record, delivery, _, bytes_reserved in state.accumulator.take_waiting(topic):
        state.accumulator.release(bytes_reserved)
        delivery.resolve(DeliveryRefusedError(topic, record.partition, error_code))


def _on_lost_call(state: ProducerState, call: Call, now_ms: int, reason: str) -> None:
    match call:
        case ProduceCall():
            for batch in call.batches:
                _on_no_response(state, batch, now_ms, reason)
        case MetadataCall():
            state.metadata.on_failure(now_ms, state.backoff_ms(1))
        case InitProducerIdCall():
            _retry_producer_id(state, now_ms)


def _on_producer_id(state: ProducerState, response: ProducerIdResponse, now_ms: int) -> None:
    if response.error_code == ErrorCode.NONE:
        state.is_producer_id_asked = False
        state.producer_id_failures = 0
        state.idempotence.granted(response.producer_id, response.producer_epoch, response.window)
        return
    _retry_producer_id(state, now_ms)
    if response.error_code not in RETRIABLE_ERRORS:
        text = f"InitProducerId: {error_name(response.error_code)}"
        fail_all(state, DeliveryRefusedError("", None, response.error_code, text))


def _retry_producer_id(state: ProducerState, now_ms: int) -> None:
    state.is_producer_id_asked = False
    state.producer_id_failures += 1
    state.producer_id_retry_ms = now_ms + state.backoff_ms(state.producer_id_failures)


def _on_no_response(state: ProducerState, batch: Batch, now_ms: int, reason: str) -> None:
    """Nobody knows whether the records were stored."""
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
    is_sequence_error = sequences is not None and error_code in {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
    }
    if error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and is_sequence_error:
        state.idempotence.out_of_order(batch)
    elif is_sequence_error:
        state.idempotence.forgotten(batch)
    if is_sequence_error or error_code in RETRIABLE_ERRORS:
        _retry(state, batch, error_code, outcome.error_message, now_ms)
    elif error_code == ErrorCode.MESSAGE_TOO_LARGE and batch.record_count > 1:
        _split(state, batch)
    else:
        _give_up(state, batch, error_code, outcome.error_message)


def _retry(
    state: ProducerState, batch: Batch, error_code: int, message: str | None, now_ms: int
) -> None:
    """Queue the batch again, unless its records have heard their fate or have no retries left."""
    if batch.is_done or batch.attempts > state.settings.retries:
        _give_up(state, batch, error_code, message)
        return
    batch.retry_at_ms = now_ms + state.backoff_ms(batch.attempts)
    state.accumulator.put_back([batch])


def _split(state: ProducerState, batch: Batch) -> None:
    """Smaller batches may fit; they go at once."""
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
        state.fail(
            batch,
            DeliveryRefusedError(
                *batch.partition,
                error_code,
                message,
                attempts=batch.attempts,
                is_possibly_stored=batch.no_response > 0,
            ),
        )
