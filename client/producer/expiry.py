"""KIP-91's deadline: which records are out of time now, and in which phase they are.

Batches of a partition expire in the order they were made, those in flight first. What is in flight
stays so, for its response decides about the sequence numbers; only its records hear the outcome.
"""

from client.producer.batch import Batch
from client.producer.connections import State
from client.producer.delivery import DeliveryTimeoutError, Phase
from client.producer.state import ProducerState
from client.producer.topic_metadata import NO_LEADER_ID


def expire(state: ProducerState, now_ms: int) -> None:
    """Settle every record whose time is over: now - created >= delivery_timeout_ms."""
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
        delivery.resolve(
            DeliveryTimeoutError(
                record.topic, record.partition, Phase.METADATA, now_ms - created_ms
            )
        )


def _expire(state: ProducerState, batch: Batch, now_ms: int) -> None:
    # By a poll that comes late a wait may be over that nothing has yet come of.
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
    state.fail(batch, error)


def phase_of(state: ProducerState, batch: Batch, now_ms: int) -> Phase:
    """What a batch waits for at a time."""
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
    return Phase.QUEUED
