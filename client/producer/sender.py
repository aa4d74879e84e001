"""Decide what to send next: connections, Metadata, InitProducerId and Produce requests."""

from collections.abc import Iterator

from client.producer.actions import (
    Action,
    Connect,
    CoordinatorKey,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    MetadataRequest,
    ProduceRequest,
    Request,
    Send,
    StampedBatch,
)
from client.producer.batch import Batch, TopicPartition
from client.producer.connections import State
from client.producer.state import ProducerState
from client.producer.topic_metadata import NO_LEADER_ID
from client.resources import Address
from protocol.batch_builder import stamp_producer


def next_actions(state: ProducerState, now_ms: int) -> list[Action]:
    """Return all that can be done now, in order."""
    by_node: dict[int, list[TopicPartition]] = {}
    for partition in state.accumulator.queues:
        leader_id = state.metadata.leader_of(partition)
        if leader_id == NO_LEADER_ID:
            state.metadata.add_topic(partition.topic)
        else:
            by_node.setdefault(leader_id, []).append(partition)
    transactions = state.transactions
    if transactions is not None:
        transactions.wanted = transactions.next_request(
            state.accumulator.queues, is_drained=state.is_drained
        )
    actions = [*_cluster_requests(state, now_ms), *_coordinator_request(state, now_ms)]
    for node_id, partitions in by_node.items():
        if state.nodes.may_connect(node_id, now_ms):
            actions.append(_connect(state, node_id, state.metadata.brokers[node_id], now_ms))
        actions += _produce_requests(state, node_id, partitions, now_ms)
    return actions


def _cluster_requests(state: ProducerState, now_ms: int) -> Iterator[Action]:
    """Request metadata, a producer id and a coordinator from any broker, if due."""
    due_ms = state.metadata.due_ms()
    is_metadata_due = due_ms is not None and now_ms >= due_ms
    is_id_due = (
        state.needs_producer_id
        and not state.is_producer_id_requested
        and now_ms >= state.producer_id_retry_ms
        and bool(state.accumulator.queues or state.accumulator.waiting)
    )
    coordinator_key = _unknown_coordinator(state, now_ms)
    if not is_metadata_due and not is_id_due and coordinator_key is None:
        return
    addresses = state.metadata.brokers or state.bootstrap
    node_id = state.nodes.least_loaded(addresses, now_ms)
    if node_id is None and addresses is not state.bootstrap:
        node_id = state.nodes.least_loaded(state.bootstrap, now_ms)
    if node_id is None:
        yield from _connect_to_any(state, now_ms)
        return
    if is_metadata_due:
        state.metadata.is_requested = True
        yield _send(state, node_id, MetadataRequest(state.metadata.requested_topics), now_ms)
    if is_id_due:
        state.is_producer_id_requested = True
        yield _send(state, node_id, InitProducerIdRequest(), now_ms)
    if coordinator_key is not None and state.transactions is not None:
        request = FindCoordinatorRequest(coordinator_key)
        state.transactions.on_sent(request)
        yield _send(state, node_id, request, now_ms)


def _unknown_coordinator(state: ProducerState, now_ms: int) -> CoordinatorKey | None:
    """Return whose coordinator must be found now for the next request of the transaction."""
    transactions = state.transactions
    if transactions is None or transactions.wanted is None or now_ms < transactions.retry_ms:
        return None
    key = transactions.coordinator_key(transactions.wanted)
    return None if key in transactions.coordinators else key


def _coordinator_request(state: ProducerState, now_ms: int) -> Iterator[Action]:
    """Send the next request of the transaction to its coordinator, or connect to it."""
    transactions = state.transactions
    if transactions is None or transactions.wanted is None or now_ms < transactions.retry_ms:
        return
    request = transactions.wanted
    coordinator = transactions.coordinators.get(transactions.coordinator_key(request))
    if coordinator is None:
        return
    node_id, address = coordinator
    if state.nodes.may_connect(node_id, now_ms):
        yield _connect(state, node_id, address, now_ms)
    elif state.nodes[node_id].is_usable(now_ms):
        transactions.on_sent(request)
        yield _send(state, node_id, request, now_ms)


def _connect_to_any(state: ProducerState, now_ms: int) -> Iterator[Action]:
    """Connect to any broker, unless a connection is being opened or is throttled.

    Known brokers come first, then the bootstrap servers.
    """
    addresses = {**state.metadata.brokers, **state.bootstrap}
    ready = [node for node in _untried(state) if state.nodes.may_connect(node, now_ms)]
    if ready:
        node_id = min(ready, key=lambda candidate: state.nodes[candidate].connect_failures)
        yield _connect(state, node_id, addresses[node_id], now_ms)


def _untried(state: ProducerState) -> list[int]:
    """Return the brokers to which a connection may help, because none is open.

    While one is being opened, only those that have failed less often: a broker that is cut off from
    the network keeps its connection attempt until the timeout.
    """
    nodes = {id: state.nodes[id] for id in {**state.metadata.brokers, **state.bootstrap}}
    if any(node.state is State.UP for node in nodes.values()):
        return []
    failures = [node.connect_failures for node in nodes.values() if node.state is State.CONNECTING]
    return [
        node_id
        for node_id, node in nodes.items()
        if node.state is State.DOWN and (not failures or node.connect_failures < min(failures))
    ]


def _connect(state: ProducerState, node_id: int, address: Address, now_ms: int) -> Action:
    state.nodes.connecting(node_id, now_ms)
    return Connect(node_id, address)


def _send(state: ProducerState, node_id: int, request: Request, now_ms: int) -> Action:
    state.nodes.sent(node_id, request, now_ms)
    return Send(node_id, request)


def _produce_requests(
    state: ProducerState, node_id: int, partitions: list[TopicPartition], now_ms: int
) -> Iterator[Action]:
    """Send Produce requests, each with at most one batch of a partition, up to the limit."""
    node = state.nodes[node_id]
    while node.is_usable(now_ms) and node.produce_count < state.in_flight_max:
        batches: list[Batch] = []
        size_bytes = 0
        for partition in partitions:
            queue = state.accumulator.queues.get(partition)
            if not queue or not _is_sendable(state, queue, node_id, now_ms):
                continue
            batch = _within_window(state, queue[0])
            if batches and size_bytes + batch.size_bytes > state.settings.max_request_size:
                break
            size_bytes += batch.size_bytes
            _prepare(state, batch, node_id)
            batches.append(batch)
        if not batches:
            return
        taken = dict.fromkeys(batch.partition for batch in batches)
        partitions = [other for other in partitions if other not in taken] + list(taken)
        yield from _produce(state, node_id, batches, now_ms)


def _is_sendable(state: ProducerState, queue: list[Batch], node_id: int, now_ms: int) -> bool:
    """Return whether the oldest batch of a partition may be sent to this node now."""
    batch = queue[0]
    if now_ms < _waits_until_ms(state, queue, node_id, now_ms):
        return False
    if state.in_flight_max == 1 and batch.partition in state.on_wire:
        return False
    if state.transactions is not None and not state.transactions.may_produce(batch.partition):
        return False
    return not state.settings.enable_idempotence or state.idempotence.may_send(batch)


def _waits_until_ms(state: ProducerState, queue: list[Batch], node_id: int, now_ms: int) -> int:
    """Return when the lingering or the backoff of the oldest batch ends; 0 for neither."""
    batch = queue[0]
    if batch.attempts:
        return batch.retry_at_ms if batch.leader_tried == node_id else 0
    if len(queue) == 1 and state.accumulator.is_lingering(batch, now_ms):
        return batch.created_ms + state.settings.linger_ms
    return 0


def _within_window(state: ProducerState, batch: Batch) -> Batch:
    """Return the batch, or its first part if it has more records than the window."""
    window = state.idempotence.window
    while window is not None and not batch.has_sequence and batch.record_count > window:
        batch = state.accumulator.split_queued(batch)
    return batch


def _prepare(state: ProducerState, batch: Batch, node_id: int) -> None:
    state.accumulator.pop(batch)
    if state.settings.enable_idempotence:
        state.idempotence.assign_sequence(batch)
    if state.transactions is not None:
        state.transactions.on_produce()
    batch.attempts += 1
    batch.leader_tried = node_id
    batch.is_on_wire = True
    state.on_wire.setdefault(batch.partition, []).append(batch)


def _produce(
    state: ProducerState, node_id: int, batches: list[Batch], now_ms: int
) -> Iterator[Action]:
    data = tuple(
        StampedBatch(
            batch.partition.topic,
            state.metadata.topic_id(batch.partition.topic),
            batch.partition.partition,
            stamp_producer(
                batch.payload,
                batch.producer_id,
                batch.producer_epoch,
                batch.base_sequence,
                is_transactional=state.transactions is not None,
            )
            if batch.has_sequence
            else batch.payload,
        )
        for batch in batches
    )
    request = ProduceRequest(
        state.settings.acks,
        state.settings.request_timeout_ms,
        data,
        tuple(batches),
        state.settings.transactional_id,
        0 if state.transactions is None else state.transactions.version,
    )
    if state.settings.acks == 0:
        for batch in batches:
            batch.succeed(-1, -1)
            state.off_wire(batch)
        yield Send(node_id, request)
    else:
        yield _send(state, node_id, request, now_ms)


def next_ms(state: ProducerState, now_ms: int) -> int | None:
    """Return when `poll` has something to do again even without an event."""
    times = [
        *_deadlines(state),
        *state.nodes.next_due_ms(),
        *_cluster_requests_due(state),
        *_coordinator_request_due(state),
        *_batches_due(state, now_ms),
    ]
    return max(now_ms, min(times)) if times else None


def _deadlines(state: ProducerState) -> Iterator[int]:
    timeout_ms = state.settings.delivery_deadline_ms
    for queue in state.accumulator.queues.values():
        yield queue[0].created_ms + timeout_ms
    for batches in state.on_wire.values():
        yield from (batch.created_ms + timeout_ms for batch in batches if not batch.is_done)
    for entries in state.accumulator.waiting.values():
        yield entries[0][2] + timeout_ms


def _cluster_requests_due(state: ProducerState) -> Iterator[int]:
    """Yield when a Metadata, InitProducerId or FindCoordinator request can be sent."""
    metadata_ms = state.metadata.due_ms()
    times = [] if metadata_ms is None else [metadata_ms]
    has_records = bool(state.accumulator.queues or state.accumulator.waiting)
    if state.needs_producer_id and not state.is_producer_id_requested and has_records:
        times.append(state.producer_id_retry_ms)
    transactions = state.transactions
    if transactions is not None and transactions.wanted is not None:
        key = transactions.coordinator_key(transactions.wanted)
        if key not in transactions.coordinators:
            times.append(transactions.retry_ms)
    if not times:
        return
    due_ms = min(times)
    nodes = [state.nodes[node_id] for node_id in {**state.metadata.brokers, **state.bootstrap}]
    yield from (max(node.mute_until_ms, due_ms) for node in nodes if node.state is State.UP)
    yield from (max(state.nodes[node].retry_at_ms, due_ms) for node in _untried(state))


def _coordinator_request_due(state: ProducerState) -> Iterator[int]:
    """Yield when the next request of the transaction can be sent to its known coordinator."""
    transactions = state.transactions
    if transactions is None or transactions.wanted is None:
        return
    coordinator = transactions.coordinators.get(transactions.coordinator_key(transactions.wanted))
    if coordinator is None:
        return
    node = state.nodes[coordinator[0]]
    if node.state is State.UP:
        yield max(transactions.retry_ms, node.mute_until_ms)
    elif node.state is State.DOWN:
        yield max(transactions.retry_ms, node.retry_at_ms)


def _batches_due(state: ProducerState, now_ms: int) -> Iterator[int]:
    """Yield the ends of lingering, backoff, throttling and reconnect backoff."""
    for partition, queue in state.accumulator.queues.items():
        leader_id = state.metadata.leader_of(partition)
        if leader_id == NO_LEADER_ID:
            continue
        node = state.nodes[leader_id]
        due_ms = _waits_until_ms(state, queue, leader_id, now_ms)
        if node.state is State.DOWN:
            due_ms = node.retry_at_ms
        elif node.state is State.UP:
            due_ms = max(due_ms, node.mute_until_ms)
        # A due batch that was not sent waits for a response, which causes the next poll.
        if due_ms > now_ms:
            yield due_ms
