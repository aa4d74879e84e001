"""KIP-91's deadline: fail records after `delivery_timeout_ms`, with the phase they were in.

Batches of a partition expire in the order of creation, those in flight first. A batch in flight
stays in flight, since its response decides about the sequence numbers; its records fail at once.
"""

from client.producer import transaction_responses
from client.producer.batch import Batch
from client.producer.connections import State
from client.producer.delivery import DeliveryTimeoutError, Phase
from client.producer.state import ProducerState
from client.producer.topic_metadata import NO_LEADER_ID


def expire(state: ProducerState, now_ms: int) -> None:
    """Fail every record with now - created >= delivery_timeout_ms."""
    created_until_ms = now_ms - state.settings.delivery_deadline_ms
    for batches in list(state.on_wire.values()):
        for batch in batches:
            if not batch.is_done and batch.created_ms <= created_until_ms:
                _expire(state, batch, now_ms)
    for batch in state.accumulator.expired(created_until_ms):
        _expire(state, batch, now_ms)
    for record, delivery, created_ms, bytes_reserved in state.accumulator.take_expired_waiting(
        created_until_ms
    ):
        state.accumulator.release(bytes_reserved)
        error = DeliveryTimeoutError(
            record.topic, record.partition, Phase.METADATA, now_ms - created_ms
        )
        transaction_responses.on_record_failed(state, error)
        delivery.resolve(error)


def _expire(state: ProducerState, batch: Batch, now_ms: int) -> None:
    # As of the last poll: by now a wait may be over, but nothing was done since.
    phase = phase_of(state, batch, state.polled_ms)
    error = DeliveryTimeoutError(
        *batch.partition,
        phase,
        now_ms - batch.created_ms,
        attempts=batch.attempts,
        is_possibly_stored=batch.is_on_wire or batch.no_response > 0,
        last_error=batch.last_error,
    )
    sequences = state.idempotence.of(batch)
    if batch.is_on_wire:
        if sequences is not None:
            sequences.is_unresolved = True
    else:
        state.accumulator.remove(batch)
        if sequences is not None:
            sequences.give_up(batch)
    transaction_responses.on_record_failed(state, error)
    state.fail(batch, error)


def phase_of(state: ProducerState, batch: Batch, now_ms: int) -> Phase:
    """Return what a batch waits for at a time."""
    if batch.is_on_wire:
        return Phase.IN_FLIGHT
    leader_id = state.metadata.leader_of(batch.partition)
    if leader_id == NO_LEADER_ID:
        return Phase.NO_LEADER
    node = state.nodes[leader_id]
    if node.state is not State.UP:
        return Phase.CONNECTING
    if now_ms < node.mute_until_ms:
        return Phase.THROTTLED
    if now_ms < batch.retry_at_ms:
        return Phase.BACKOFF
    if state.needs_producer_id:
        return Phase.PRODUCER_ID
    if state.transactions is not None and not state.transactions.may_produce(batch.partition):
        return Phase.TRANSACTION
    return Phase.QUEUED
