"""Make the events of a replay: the batches and topic changes of a trace, scaled in time and number.

Producers of the trace become producers of clients: each client has one at a time, so that a client
stands for traced producers whose times do not overlap.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from loadgen.learning.tenant_fit import AROUND_BATCH_BYTES, record_bytes_for
from loadgen.learning.tenant_names import free_name
from loadgen.learning.traffic import TOPIC_CHANGES, Numbers, Stream, Traffic, streams_of
from loadgen.plan.plan import Plan, Tenant, Topic
from loadgen.plan.replayed_batch import PARTITION_MAX, TOPICS_MAX, packed
from loadgen.plan.schedule import ARROW_SCHEMA

DURATION_S_MAX = 86_400
_RECORDS_MAX = 10_000
_CLIENTS_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Scale:
    """How a replay differs from its trace.

    Attributes:
        speed: 2 for twice as fast.
        number: how many clients there are for each one of the trace: 2.5 is two for each, and a
            third one for every other.
        topic_prefix: comes before the names of topics.
    """

    speed: float = 1.0
    number: float = 1.0
    topic_prefix: str = "replay."


@dataclass(frozen=True, slots=True)
class ReplayedTraffic:
    """A plan, its events (`schedule.ARROW_SCHEMA`, sorted by time) and what they leave out."""

    plan: Plan
    events: pa.Table
    left_out: dict[str, int]
    """The number of requests by API."""


@dataclass(slots=True)
class _Part:
    """A tenant and its events; times in µs of the trace."""

    tenant: Tenant
    times_us: Numbers
    clients: Numbers
    salts: Numbers
    rows: Numbers
    """The rows of the trace, of which some may belong to no event."""


def replayed(
    traffic: Traffic, name: str, scale: Scale, passwords: Mapping[str, str]
) -> ReplayedTraffic:
    """Return the replay of a trace; `passwords` has one for each user, or is empty.

    Raises:
        ValueError: there is nothing to replay, or too much.
    """
    produce = _produce_streams(traffic)
    topics = _topics(traffic, produce)
    parts = [_producers(stream, traffic, topics, scale.topic_prefix) for stream in produce]
    for stream in streams_of(traffic):
        if stream.kind in TOPIC_CHANGES.values():
            parts += _topic_changes(stream, traffic)
    if not parts:
        raise ValueError("there are no Produce requests and no changes of topics to replay")
    used = np.zeros(len(traffic), bool)
    for part in parts:
        used[part.rows] = True
    parts = [_multiplied(part, scale.number) for part in parts]
    parts = [part for part in parts if len(part.times_us)]
    if not parts:
        raise ValueError(f"{scale.number:g} clients for each one of the trace are none")
    zero_us = min(int(part.times_us.min()) for part in parts)
    for part in parts:
        part.times_us = np.round((part.times_us - zero_us) / scale.speed).astype(np.int64)
    duration_s = (max(int(part.times_us.max()) for part in parts) + 1) / 1e6
    if duration_s > DURATION_S_MAX:
        raise ValueError(
            f"the replay lasts {duration_s:.0f} s, and {DURATION_S_MAX} s are the maximum:"
            " use --speed"
        )
    plan = Plan(
        name=name,
        duration_s=duration_s,
        tenants=_named(parts, duration_s, passwords),
        topics=tuple(
            Topic(f"{scale.topic_prefix}{topic}", partitions)
            for topic, partitions in topics.items()
        ),
    )
    numbers, counts = np.unique(traffic.columns["api"][~used], return_counts=True)
    left_out = dict(zip((traffic.texts["api"][n] for n in numbers), counts.tolist(), strict=True))
    return ReplayedTraffic(plan, _events(parts), left_out)


def _produce_streams(traffic: Traffic) -> list[Stream]:
    """Return the Produce requests of each user and client id, over all topics."""
    found: dict[tuple[str, str], list[Numbers]] = {}
    for stream in streams_of(traffic):
        if stream.kind in {"produce", "transactions"}:
            rows = stream.rows[traffic.is_api("Produce")[stream.rows]]
            if len(rows):
                found.setdefault((stream.user, stream.client_id), []).append(rows)
    return [
        Stream("produce", user, client_id, "", np.sort(np.concatenate(rows)))
        for (user, client_id), rows in found.items()
    ]


def _topics(traffic: Traffic, streams: Sequence[Stream]) -> dict[str, int]:
    """Return the number of partitions of each topic, as far as requests have named them.

    Raises:
        ValueError: there are too many.
    """
    if not streams:
        return {}
    rows = np.concatenate([stream.rows for stream in streams])
    topics = traffic.columns["topic"][rows]
    found = {}
    for number in np.unique(topics):
        highest = int(traffic.columns["partition"][rows][topics == number].max())
        if highest > PARTITION_MAX:
            raise ValueError(f"partition {highest} is above {PARTITION_MAX}")
        found[traffic.texts["topic"][number] or "topic"] = max(1, highest + 1)
    if len(found) > TOPICS_MAX:
        raise ValueError(f"{len(found)} topics are more than {TOPICS_MAX}")
    return found


def _producers(
    stream: Stream, traffic: Traffic, topics: Mapping[str, int], topic_prefix: str
) -> _Part:
    """Return the tenant of Produce requests: the senders of the trace are shared among clients."""
    rows, columns = stream.rows, traffic.columns
    times_us, ids = columns["time_us"][rows], columns["producer_id"][rows]
    # Without a producer id a connection is the sender.
    senders = np.where(ids >= 0, ids, -1 - columns["connection"][rows])
    _, firsts, owners = np.unique(senders, return_index=True, return_inverse=True)
    owners = owners.reshape(-1)
    lasts = len(rows) - 1 - np.unique(senders[::-1], return_index=True)[1]
    slots, count = _slots(times_us[firsts], times_us[lasts])
    is_first = np.zeros(len(rows), bool)
    is_first[firsts] = True
    indices = {name: index for index, name in enumerate(topics)}
    index_of = [indices.get(text or "topic", 0) for text in traffic.texts["topic"]]
    numbers = np.array(index_of, np.int64)[columns["topic"][rows]]
    records = np.clip(columns["records"][rows], 1, _RECORDS_MAX)
    salts = packed(
        is_first,
        records,
        _record_bytes(columns["batch_bytes"][rows], columns["request_bytes"][rows], records),
        np.maximum(0, columns["partition"][rows]),
        numbers,
    )
    tenant = Tenant(
        "",
        "replay",
        stream.client_id,
        user=stream.user,
        clients=count,
        topic=topic_prefix + list(topics)[int(numbers[0])],
        idempotent=bool((ids >= 0).any()),
    )
    return _Part(tenant, times_us, slots[owners], salts, rows)


def _slots(firsts_us: Numbers, lasts_us: Numbers) -> tuple[Numbers, int]:
    """Return a client for each sender, and how many there are; no client has two at a time."""
    slots = np.empty(len(firsts_us), np.int64)
    free: list[tuple[int, int]] = []
    count = 0
    for sender in np.argsort(firsts_us, kind="stable").tolist():
        if free and free[0][0] < firsts_us[sender]:
            _, slot = heapq.heappop(free)
        else:
            slot, count = count, count + 1
        slots[sender] = slot
        heapq.heappush(free, (int(lasts_us[sender]), slot))
    return slots, count


def _record_bytes(batch_bytes: Numbers, request_bytes: Numbers, records: Numbers) -> Numbers:
    sizes = batch_bytes if batch_bytes.any() else np.maximum(0, request_bytes - AROUND_BATCH_BYTES)
    pairs, owners = np.unique(np.stack([sizes, records]), axis=1, return_inverse=True)
    of_pairs = [record_bytes_for(size, count) for size, count in pairs.T.tolist()]
    return np.array(of_pairs, np.int64)[owners.reshape(-1)]


def _topic_changes(stream: Stream, traffic: Traffic) -> list[_Part]:
    """Return a tenant for each number of topics and partitions that requests change."""
    rows, columns = stream.rows, traffic.columns
    topics = np.clip(columns["topics"][rows], 1, _RECORDS_MAX)
    partitions = np.clip(columns["mutations"][rows] // topics, 1, _RECORDS_MAX)
    kinds, owners = np.unique(np.stack([topics, partitions]), axis=1, return_inverse=True)
    found = []
    for number, (per_request, count) in enumerate(kinds.T.tolist()):
        own_rows = rows[owners.reshape(-1) == number]
        tenant = Tenant(
            "",
            stream.kind,
            stream.client_id,
            user=stream.user,
            topics_per_request=per_request,
            partitions=count,
        )
        zeros = np.zeros(len(own_rows), np.int64)
        found.append(_Part(tenant, columns["time_us"][own_rows], zeros, zeros, own_rows))
    return found


def _multiplied(part: _Part, number: float) -> _Part:
    """Return the part with `number` clients for each one; a fraction is a share of the clients."""
    clients = part.tenant.clients
    ordinals = np.arange(clients)
    copies = np.floor((ordinals + 1) * number).astype(np.int64) - np.floor(
        ordinals * number
    ).astype(np.int64)
    first_copies = np.cumsum(copies) - copies
    repeats = copies[part.clients]
    sources = np.repeat(np.arange(len(part.clients)), repeats)
    within = np.arange(len(sources)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return _Part(
        replace(part.tenant, clients=max(1, int(copies.sum()))),
        part.times_us[sources],
        first_copies[part.clients][sources] + within,
        part.salts[sources],
        part.rows,
    )


def _named(
    parts: Sequence[_Part], duration_s: float, passwords: Mapping[str, str]
) -> tuple[Tenant, ...]:
    """Return the tenants with names, rates and users."""
    found: list[Tenant] = []
    names: set[str] = set()
    for part in parts:
        tenant = part.tenant
        kind = "" if tenant.behaviour == "replay" else tenant.behaviour
        name = free_name([tenant.client_id or str(tenant.user), kind], str(tenant.user), names)
        names.add(name)
        user = tenant.user if passwords else None
        found.append(
            replace(
                tenant,
                name=name,
                client_id=tenant.client_id or name,
                arrival="trace",
                rate=len(part.times_us) / duration_s,
                user=user,
                password=passwords[user] if user is not None else None,
            )
        )
    if sum(tenant.clients for tenant in found) > _CLIENTS_MAX:
        raise ValueError(f"more than {_CLIENTS_MAX} clients: use --number")
    return tuple(found)


def _events(parts: Sequence[_Part]) -> pa.Table:
    """Return the schedule; ids are counted over the tenants, within a tenant by time."""
    columns: list[list[Numbers]] = [[] for _ in ARROW_SCHEMA]
    first_id = first_client = 0
    for index, part in enumerate(parts):
        order = np.argsort(part.times_us, kind="stable")
        count = len(order)
        values = (
            np.arange(first_id, first_id + count),
            part.times_us[order],
            np.full(count, index),
            first_client + part.clients[order],
            part.salts[order],
        )
        for column, found in zip(columns, values, strict=True):
            column.append(found)
        first_id += count
        first_client += part.tenant.clients
    arrays = [
        pa.array(np.concatenate(column)).cast(field.type)
        for column, field in zip(columns, ARROW_SCHEMA, strict=True)
    ]
    table = pa.Table.from_arrays(arrays, schema=ARROW_SCHEMA)
    return table.sort_by([("t_us", "ascending"), ("event_id", "ascending")])
