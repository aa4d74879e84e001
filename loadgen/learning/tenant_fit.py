"""Turn a stream of requests into the fields of a tenant, and keep what its fit is measured on."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from loadgen.clients.produce_frames import record_batch
from loadgen.learning.distances import Values
from loadgen.learning.traffic import Numbers, Stream, Traffic

SIZES_MAX = 16
"""How many sizes a learned tenant has at most; each stands for an equal share of the batches."""
AROUND_BATCH_BYTES = 60
"""About the size of a Produce request without its batch and client id."""
_RECORD_BYTES_MIN, _RECORD_BYTES_MAX = 8, 1_000_000
_EQUAL_SIZES = 0.02
_SHORT_LIFE = 0.5
"""A producer id that lives for a smaller share of its tenant's time was replaced."""
_OF_GROUPS = ("JoinGroup", "Heartbeat", "ConsumerGroupHeartbeat", "SyncGroup", "OffsetCommit")


@dataclass(slots=True)
class TenantFit:
    """A tenant without its arrivals, and the samples that its plan is compared with.

    Attributes:
        fields: the fields of the plan file.
        times_us: when each event happened, sorted.
        batch_bytes: the sizes of the batches; empty if they are unknown.
        new_ids_us: when each producer id was used first, sorted; empty if ids are not replaced.
    """

    stream: Stream
    fields: dict[str, Any]
    times_us: Numbers
    batch_bytes: Numbers
    new_ids_us: Numbers


def fit_of(stream: Stream, traffic: Traffic) -> TenantFit | None:
    """Return the tenant of a stream; None if no behaviour does what it did."""
    if stream.kind == "produce":
        return _producers(stream, traffic)
    if stream.kind == "transactions":
        return _transactions(stream, traffic)
    if stream.kind == "fetch":
        return _consumers(stream, traffic)
    times_us = traffic.columns["time_us"][stream.rows]
    topics = np.maximum(1, traffic.columns["topics"][stream.rows])
    partitions = traffic.columns["mutations"][stream.rows] / topics
    fields = {
        "behaviour": stream.kind,
        "clients": _distinct(traffic, "connection", stream.rows),
        "topics_per_request": max(1, round(float(topics.mean()))),
        "partitions": max(1, round(float(partitions.mean()))),
    }
    return TenantFit(stream, fields, times_us, _none(), _none())


def record_bytes_for(batch_bytes: float, records: int) -> int:
    """Return the size of values with which a batch of `records` is about this large."""
    size = round(batch_bytes / records)
    for _ in range(3):  # lengths in a record take more bytes in a larger one
        size = min(max(_RECORD_BYTES_MIN, size), _RECORD_BYTES_MAX)
        size += round((batch_bytes - len(record_batch(records, size, 0)[0])) / records)
    return min(max(_RECORD_BYTES_MIN, size), _RECORD_BYTES_MAX)


def _producers(stream: Stream, traffic: Traffic) -> TenantFit:
    rows = stream.rows
    times_us, ids = traffic.columns["time_us"][rows], traffic.columns["producer_id"][rows]
    fields: dict[str, Any] = {"behaviour": "steady", "topic": stream.topic}
    has_id = ids >= 0
    connections = _distinct(traffic, "connection", rows)
    if has_id.mean() < 0.5:
        fields |= {"clients": _per_broker(traffic, rows), "idempotent": False}
        return _sized(TenantFit(stream, fields, times_us, _none(), _none()), traffic)
    rows, times_us, ids = rows[has_id], times_us[has_id], ids[has_id]
    _, firsts, counts = np.unique(ids, return_index=True, return_counts=True)
    lasts = len(ids) - 1 - np.unique(ids[::-1], return_index=True)[1]
    lives_us = (times_us[lasts] - times_us[firsts]) * counts / np.maximum(1, counts - 1)
    span_us = max(1, int(times_us[-1] - times_us[0]))
    alive = float(lives_us.sum()) / span_us
    batches = len(ids) / len(counts)
    new_ids_us = np.sort(times_us[firsts])
    if len(counts) * _SHORT_LIFE <= max(1.0, alive):
        fields["clients"] = len(counts)
        return _sized(TenantFit(stream, fields, times_us, _none(), _none()), traffic)
    if batches < 1.5:
        fields |= {"behaviour": "new-producer-per-batch", "clients": connections}
        events_us = times_us
    elif _is_restart_loop(len(counts), connections, lives_us, span_us):
        clients = max(1, int(np.ceil(4 * alive)))
        fields |= {
            "behaviour": "restart-loop",
            "clients": clients,
            "batches": min(1000, round(batches)),
        }
        events_us = new_ids_us
    else:
        clients = min(len(counts) - 1, max(1, round(alive)))
        fields |= {
            "behaviour": "new-producer-per-error",
            "clients": clients,
            "error_every": max(1, round(len(ids) / (len(counts) - clients) - 1)),
        }
        # The batch with the error came again with the new id: both are one event.
        again = np.isin(np.arange(len(ids)), firsts[np.argsort(firsts)][clients:])
        events_us = times_us[~again]
    return _sized(TenantFit(stream, fields, events_us, _none(), new_ids_us), traffic)


def _is_restart_loop(ids: int, connections: int, lives_us: Values, span_us: int) -> bool:
    """Return whether programs restarted, rather than replaced their producers."""
    if connections > 1:
        return ids < 1.5 * connections
    return float(np.median(lives_us)) < 0.5 * span_us / ids  # the trace has no connections


def _sized(fit: TenantFit, traffic: Traffic) -> TenantFit:
    """Add the number and the size of the records in a batch."""
    rows = fit.stream.rows
    rows = rows[traffic.is_api("Produce")[rows]]
    records = traffic.columns["records"][rows]
    count = max(1, round(float(records.mean())))
    fit.fields["records"] = min(count, 10_000)
    sizes = traffic.columns["batch_bytes"][rows]
    if not sizes.any():
        around = AROUND_BATCH_BYTES + len(fit.stream.client_id)
        sizes = np.maximum(0, traffic.columns["request_bytes"][rows] - around)
    if not sizes.any():
        return fit
    fit.batch_bytes = sizes
    mean = float(sizes.mean())
    if fit.fields["behaviour"] != "steady" or sizes.std() <= _EQUAL_SIZES * mean:
        fit.fields["record_bytes"] = record_bytes_for(mean, count)
        return fit
    middles = (np.arange(SIZES_MAX) + 0.5) / SIZES_MAX
    chosen = [record_bytes_for(size, count) for size in np.quantile(sizes, middles).tolist()]
    fit.fields["record_bytes"] = chosen
    return fit


def _transactions(stream: Stream, traffic: Traffic) -> TenantFit | None:
    rows = stream.rows
    ends = rows[traffic.is_api("EndTxn")[rows]]
    batches = rows[traffic.is_api("Produce")[rows]]
    if not len(ends) or not len(batches):
        return None
    fields = {
        "behaviour": "transactional",
        "topic": _most_frequent(traffic, "topic", batches),
        "clients": _distinct(traffic, "transactional_id", batches),
        "batches": min(1000, max(1, round(len(batches) / len(ends)))),
        "abort_every": 0,
        "crash_every": 0,
    }
    times_us = traffic.columns["time_us"][ends]
    return _sized(TenantFit(stream, fields, times_us, _none(), _none()), traffic)


def _consumers(stream: Stream, traffic: Traffic) -> TenantFit | None:
    """Return the members of the group that the same clients have named; None without a group."""
    columns = traffic.columns
    client = columns["client_id"][stream.rows]
    of_clients = (
        traffic.is_api(*_OF_GROUPS)
        & (columns["user"] == columns["user"][stream.rows[0]])
        & np.isin(columns["client_id"], np.unique(client))
    )
    rows = np.flatnonzero(of_clients)
    if not len(rows) or not stream.topic:
        return None
    fields = {
        "behaviour": "consumer-group",
        "topic": stream.topic,
        "group": _most_frequent(traffic, "group", rows),
        "clients": _distinct(traffic, "connection", rows),
    }
    if traffic.is_api("ConsumerGroupHeartbeat")[rows].any():
        fields["group_protocol"] = "consumer"
    return TenantFit(stream, fields, columns["time_us"][stream.rows], _none(), _none())


def _distinct(traffic: Traffic, column: str, rows: Numbers) -> int:
    return min(100_000, len(np.unique(traffic.columns[column][rows])))


def _per_broker(traffic: Traffic, rows: Numbers) -> int:
    """Return the largest number of connections to one broker: producers have one to each."""
    pairs = np.unique(
        np.stack([traffic.columns["broker"][rows], traffic.columns["connection"][rows]]), axis=1
    )
    return int(np.unique(pairs[0], return_counts=True)[1].max())


def _most_frequent(traffic: Traffic, column: str, rows: Numbers) -> str:
    numbers, counts = np.unique(traffic.columns[column][rows], return_counts=True)
    return traffic.texts[column][int(numbers[counts.argmax()])]


def _none() -> Numbers:
    return np.empty(0, np.int64)
