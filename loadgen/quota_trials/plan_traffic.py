"""The traffic of a plan without a cluster: what the events of its schedule send.

It is a model: every request succeeds at its intended time, and the partitions of a topic are led by
the brokers in turn. A member of a consumer group fetches at each poll what the other tenants have
produced into its partitions since its last poll.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from loadgen.clients.keyed_producer import KeyedFrames, KeyShares
from loadgen.clients.produce_frames import VERSION_MAX, ProduceFrames
from loadgen.plan.plan import Plan, Tenant
from loadgen.plan.schedule import event_counts, events, first_clients
from loadgen.plan.yaml_reader import PlanError
from loadgen.quota_trials.traffic import FETCH, PRODUCE, TOPICS, Integers, Traffic
from protocol.partition_hash import partition_for_key

EVENTS_MAX = 50_000_000
_NEW_ID = 1 << 40
"""The producer ids that events create begin above those of the clients."""
_ERROR_ID = 1 << 50
_SIZE_BYTES = 4


@dataclass(frozen=True, slots=True)
class _Events:
    """The events of one tenant, in the order of time."""

    event_id: Integers
    time_us: Integers
    client: Integers
    """Counted over all tenants."""
    ordinal: Integers
    """Counted within the tenant."""
    salt: Integers

    def chosen(self, mask: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> "_Events":
        return _Events(
            self.event_id[mask],
            self.time_us[mask],
            self.client[mask],
            self.ordinal[mask],
            self.salt[mask],
        )


@dataclass(frozen=True, slots=True)
class _Requests:
    """Some requests of one tenant; numbers stand for all of them."""

    events: _Events
    api: int
    size_bytes: Integers | int = 0
    producer_id: Integers | int = -1
    broker: Integers | int = 1
    topics: int = 1
    mutations: int = 0


def traffic_of_plan(plan: Plan) -> Traffic:
    """Return the traffic of a plan.

    Raises:
        PlanError: a tenant is a closed loop, or there are more events than EVENTS_MAX.
    """
    for tenant in plan.tenants:
        if tenant.arrival == "closed":
            raise PlanError(
                f"tenant {tenant.name} is a closed loop, whose rate depends on the target: give it"
                " a rate, or use a trace"
            )
    if sum(event_counts(plan)) > EVENTS_MAX:
        raise PlanError(
            f"{plan.name} has {sum(event_counts(plan)):,} events, more than {EVENTS_MAX:,}"
        )
    by_tenant = [_events_of(plan, index) for index in range(len(plan.tenants))]
    parts: list[tuple[int, _Requests]] = []
    readers = []
    for index, tenant in enumerate(plan.tenants):
        if tenant.behaviour in _READERS:
            readers.append(index)
            continue
        parts += [
            (index, part) for part in _BEHAVIOURS[tenant.behaviour](plan, tenant, by_tenant[index])
        ]
    for index in readers:
        produced = [
            part
            for writer, part in parts
            if part.api == PRODUCE and plan.tenants[writer].topic == plan.tenants[index].topic
        ]
        parts += [
            (index, part) for part in _polls(plan, plan.tenants[index], by_tenant[index], produced)
        ]
    return _joined(plan, parts)


def _events_of(plan: Plan, index: int) -> _Events:
    counts = event_counts(plan)
    first = sum(counts[:index])
    batch = events(plan, np.arange(first, first + counts[index], dtype=np.int64))
    columns = {name: np.asarray(batch.column(name)).astype(np.int64) for name in batch.schema.names}
    order = np.argsort(columns["t_us"], kind="stable")
    client = columns["client"][order]
    return _Events(
        columns["event_id"][order],
        columns["t_us"][order],
        client,
        client - first_clients(plan)[index],
        columns["salt"][order],
    )


def _joined(plan: Plan, parts: Sequence[tuple[int, _Requests]]) -> Traffic:
    names = [(tenant.principal, tenant.client_id) for tenant in plan.tenants]
    clients = list(dict.fromkeys(names))

    def column(value: Callable[[int, _Requests], Integers | int]) -> Integers:
        filled = [
            np.broadcast_to(np.asarray(value(index, part), np.int64), len(part.events.time_us))
            for index, part in parts
        ]
        return np.concatenate(filled)[order]

    time_us = np.concatenate([part.events.time_us for _, part in parts])
    order = np.argsort(time_us, kind="stable")
    time_us = time_us[order]
    broker = column(lambda _, part: part.broker)
    return Traffic(
        source=plan.name,
        clients=clients,
        time_ms=(time_us - time_us[0]) // 1000,
        client=column(lambda index, _: clients.index(names[index])),
        connection=column(lambda _, part: part.events.client) * 1000 + broker,
        broker=broker,
        api=column(lambda _, part: part.api),
        size_bytes=column(lambda _, part: part.size_bytes),
        producer_id=column(lambda _, part: part.producer_id),
        topics=column(lambda _, part: part.topics),
        mutations=column(lambda _, part: part.mutations),
    )


def _partitions(plan: Plan, name: str) -> int:
    return next(topic.partitions for topic in plan.topics if topic.name == name)


def _request_bytes(tenant: Tenant, salt: Integers) -> Integers:
    """Return the bytes of each request; the salt of its event chooses among several sizes."""
    frames = [
        ProduceFrames(
            version=VERSION_MAX,
            client_id=tenant.client_id,
            topic=tenant.topic,
            partition=0,
            records=tenant.records,
            record_bytes=record_bytes,
            timestamp_ms=0,
        )
        for record_bytes in tenant.record_sizes
    ]
    sizes = np.array([frame.size - _SIZE_BYTES for frame in frames], np.int64)
    return sizes[salt % len(sizes)]


def _produce(
    plan: Plan, tenant: Tenant, sent: _Events, producer_id: Integers | int, partition: Integers
) -> _Requests:
    broker = partition % _partitions(plan, tenant.topic) % plan.target.brokers + 1
    return _Requests(sent, PRODUCE, _request_bytes(tenant, sent.salt), producer_id, broker)


def _one_producer_per_client(plan: Plan, tenant: Tenant, sent: _Events) -> list[_Requests]:
    producer_id = sent.client if tenant.is_idempotent else -1
    return [_produce(plan, tenant, sent, producer_id, sent.ordinal)]


def _transactional(plan: Plan, tenant: Tenant, sent: _Events) -> list[_Requests]:
    return [
        _produce(plan, tenant, sent, sent.client, sent.ordinal + number)
        for number in range(tenant.batches)
    ]


def _consume_transform_produce(plan: Plan, tenant: Tenant, sent: _Events) -> list[_Requests]:
    fetched = _Requests(sent, FETCH, _request_bytes(tenant, sent.salt))
    return [fetched, _produce(plan, tenant, sent, sent.client, sent.ordinal)]


def _keyed(plan: Plan, tenant: Tenant, sent: _Events) -> list[_Requests]:
    """The key of a batch chooses its partition; batches with keys of equal length have one size."""
    shares = KeyShares(tenant.keys, tenant.key_skew)
    keys = np.array([shares.key_of(salt) for salt in sent.salt.tolist()], np.int64)
    found, positions = np.unique(keys, return_inverse=True)
    texts = [b"key-%d" % number for number in found.tolist()]
    partitions = _partitions(plan, tenant.topic)
    partition = np.array([partition_for_key(text, partitions) for text in texts], np.int64)
    examples = {len(text): text for text in texts}
    sizes = {
        length: len(KeyedFrames(tenant, 0, text, 0, VERSION_MAX).frame(0, 0, 0, 0, 0)) - _SIZE_BYTES
        for length, text in examples.items()
    }
    size_bytes = np.array([sizes[len(text)] for text in texts], np.int64)
    part = _one_producer_per_client(plan, tenant, sent)[0]
    broker = partition[positions] % plan.target.brokers + 1
    return [replace(part, size_bytes=size_bytes[positions], broker=broker)]


def _nothing(_plan: Plan, _tenant: Tenant, _sent: _Events) -> list[_Requests]:
    """Requests that no quota here charges."""
    return []


def _restart_loop(plan: Plan, tenant: Tenant, sent: _Events) -> list[_Requests]:
    part = _produce(plan, tenant, sent, _NEW_ID + sent.event_id, sent.ordinal)
    return [part] * tenant.batches


def _new_producer_per_batch(plan: Plan, tenant: Tenant, sent: _Events) -> list[_Requests]:
    return [_produce(plan, tenant, sent, _NEW_ID + sent.event_id, sent.ordinal)]


def _new_producer_per_error(plan: Plan, tenant: Tenant, sent: _Events) -> list[_Requests]:
    """After an error the batch is sent again with the next id, which the client then keeps."""
    has_error = sent.salt % tenant.error_every == 0
    errors = np.zeros(len(has_error), np.int64)
    for client in np.unique(sent.client):
        mine = sent.client == client
        errors[mine] = np.cumsum(has_error[mine])
    ids = _ERROR_ID + sent.client * (1 << 32) + errors
    again = sent.chosen(has_error)
    return [
        _produce(plan, tenant, sent, ids - has_error, sent.ordinal),
        _produce(plan, tenant, again, ids[has_error], again.ordinal),
    ]


def _retries_lost_responses(plan: Plan, tenant: Tenant, sent: _Events) -> list[_Requests]:
    """Every batch is sent twice."""
    found = []
    for number, kind in enumerate(tenant.kinds):
        some = sent.chosen(sent.salt % len(tenant.kinds) == number)
        ids = _NEW_ID + some.event_id if kind == "wraparound" else some.client
        part = _produce(plan, tenant, some, ids, some.ordinal)
        found += [part] * (2 if kind == "latest" else 2 * tenant.batches)
    return found


def _topic_changes(_plan: Plan, tenant: Tenant, sent: _Events) -> list[_Requests]:
    mutations = tenant.topics_per_request * tenant.partitions
    return [_Requests(sent, TOPICS, topics=tenant.topics_per_request, mutations=mutations)]


def _polls(
    plan: Plan, tenant: Tenant, sent: _Events, produced: Sequence[_Requests]
) -> list[_Requests]:
    """Return what each poll fetches: an equal part of what was produced for each partition."""
    if tenant.lag_s:
        phase_s = sent.time_us / 1e6 % tenant.lag_every_s
        sent = sent.chosen(phase_s < tenant.lag_every_s - tenant.lag_s)
    for pause in tenant.pauses:
        time_s = sent.time_us / 1e6
        sent = sent.chosen((time_s < pause.at_s) | (time_s >= pause.end_s))
    brokers = min(plan.target.brokers, _partitions(plan, tenant.topic))
    times = [part.events.time_us for part in produced]
    sizes = [
        np.broadcast_to(np.asarray(part.size_bytes), len(part.events.time_us)) for part in produced
    ]
    time_us = np.concatenate(times) if times else np.zeros(0, np.int64)
    order = np.argsort(time_us, kind="stable")
    total = np.concatenate([[0], np.cumsum(np.concatenate(sizes)[order])]) if times else np.zeros(1)
    until_now = total[np.searchsorted(time_us[order], sent.time_us)]
    fetched = np.zeros(len(sent.time_us), np.int64)
    for client in np.unique(sent.client):
        mine = sent.client == client
        fetched[mine] = np.diff(until_now[mine], prepend=0) // tenant.clients // brokers
    size_bytes = fetched + _SIZE_BYTES
    return [_Requests(sent, FETCH, size_bytes, broker=number + 1) for number in range(brokers)]


_BEHAVIOURS: Mapping[str, Callable[[Plan, Tenant, _Events], list[_Requests]]] = {
    "steady": _one_producer_per_client,
    "keyed": _keyed,
    "delivery-timeout": _one_producer_per_client,
    "transactional": _transactional,
    "consume-transform-produce": _consume_transform_produce,
    "restart-loop": _restart_loop,
    "new-producer-per-batch": _new_producer_per_batch,
    "new-producer-per-error": _new_producer_per_error,
    "retries-lost-responses": _retries_lost_responses,
    "topic-creator": _topic_changes,
    "topic-expander": _topic_changes,
    "topic-deleter": _topic_changes,
    "admin": _nothing,
    "connection-storm": _nothing,
}
_READERS = {"consumer-group", "share-group"}
