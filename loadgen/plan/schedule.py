"""Compute every event of a plan and its intended time, here or in Spark.

Time and client of an event depend only on its number, its tenant's name and the seed, by a hash
(splitmix64). The result is therefore the same in any partition and for any number of partitions.
The times of a given number of events of a Poisson process are independent and uniform, so no row
depends on another one.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from loadgen.plan.plan import Plan, Tenant
from loadgen.plan.rates import RatePiece
from loadgen.plan.yaml_reader import PlanError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS_MAX = 2**32 - 1
"""The ids of events that a closed loop adds begin above."""
SCHEMA = "event_id bigint, t_us bigint, tenant int, client int, salt bigint"
"""`t_us`: intended time after time zero; `client`: counted over all tenants; `salt`: 62 random bits
for the behaviour."""
ARROW_SCHEMA = pa.schema(
    [
        pa.field("event_id", pa.int64()),
        pa.field("t_us", pa.int64()),
        pa.field("tenant", pa.int32()),
        pa.field("client", pa.int32()),
        pa.field("salt", pa.int64()),
    ]
)

Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.floating]

GOLDEN = 0x9E3779B97F4A7C15
_TIME, _CLIENT, _SALT = range(3)


def event_counts(plan: Plan) -> list[int]:
    """Return the number of events of each tenant; a closed loop has one per client to start it.

    Raises:
        PlanError: there are more than EVENTS_MAX.
    """
    counts = [_count(plan, tenant) for tenant in plan.tenants]
    if sum(counts) > EVENTS_MAX:
        raise PlanError(
            f"{sum(counts)} events are more than {EVENTS_MAX}: split the load into several runs"
        )
    return counts


def first_clients(plan: Plan) -> list[int]:
    """Return the number of each tenant's first client."""
    return [sum(t.clients for t in plan.tenants[:index]) for index in range(len(plan.tenants))]


def events(plan: Plan, event_ids: npt.NDArray[np.int64]) -> pa.RecordBatch:
    """Return the rows of these events (`ARROW_SCHEMA`), in the order of the ids."""
    counts = event_counts(plan)
    ends = np.cumsum(counts)
    tenants = np.searchsorted(ends, event_ids, side="right").astype(np.int32)
    t_us = np.empty(len(event_ids), np.int64)
    clients = np.empty(len(event_ids), np.int32)
    salts = np.empty(len(event_ids), np.int64)
    firsts = first_clients(plan)
    for index in np.unique(tenants):
        rows = tenants == index
        tenant = plan.tenants[index]
        numbers = event_ids[rows] - (int(ends[index]) - counts[index])
        key = mixed(np.array([plan.seed << 32 | crc32(tenant.name.encode())], np.uint64))
        t_us[rows] = _times_us(plan, tenant, numbers, counts[index], key)
        clients[rows] = firsts[index] + _clients(tenant, numbers, key)
        salts[rows] = _bits(numbers, key, _SALT) >> np.uint64(2)
    columns = [event_ids, t_us, tenants, clients, salts]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=ARROW_SCHEMA)


def schedule(spark: "SparkSession", plan: Plan, partitions: int) -> "DataFrame":
    """Return all events as a DataFrame (`SCHEMA`), unsorted."""

    def rows_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield events(plan, batch.column(0).to_numpy())

    ids = spark.range(0, sum(event_counts(plan)), numPartitions=partitions)
    return ids.mapInArrow(rows_of, SCHEMA)


def all_events(plan: Plan) -> pa.Table:
    """Return all events with the columns of `schedule`, computed here."""
    ids = np.arange(sum(event_counts(plan)), dtype=np.int64)
    return pa.Table.from_batches([events(plan, ids)])


def by_worker(found: pa.Table, workers: int) -> Iterator[pa.Table]:
    """Yield the events of each worker, sorted by time: those of every so manyth client."""
    owners = found.column("client").to_numpy() % workers
    for worker in range(workers):
        mine = found.filter(pa.array(owners == worker))
        yield mine.sort_by([("t_us", "ascending"), ("event_id", "ascending")])


def file_of(found: pa.Table) -> bytes:
    """Return events as a Parquet file."""
    content = pa.BufferOutputStream()
    pq.write_table(found, content)
    return bytes(content.getvalue())


def _count(plan: Plan, tenant: Tenant) -> int:
    return max(1, round(plan.events_of(tenant)))


def _times_us(
    plan: Plan, tenant: Tenant, numbers: npt.NDArray[np.int64], count: int, key: Words
) -> npt.NDArray[np.int64]:
    if tenant.arrival == "poisson":
        # 53 bits, like a float; adding 0.5 excludes 0 and 1.
        uniform = ((_bits(numbers, key, _TIME) >> np.uint64(11)) + 0.5) / 2.0**53
        return _after_us(plan, tenant, uniform).astype(np.int64) + _start_us(plan, tenant)
    if tenant.arrival == "constant":
        after_us = np.rint(_after_us(plan, tenant, numbers / count))
        return after_us.astype(np.int64) + _start_us(plan, tenant)
    if tenant.arrival == "burst":
        # A burst has the events until the next one. The half keeps clear of the borders.
        every_us = round(tenant.burst_every_s * 1e6)
        bursts = _after_us(plan, tenant, (numbers + 0.5) / count) // every_us
        return bursts.astype(np.int64) * every_us + _start_us(plan, tenant)
    return np.full(len(numbers), _start_us(plan, tenant), np.int64)


def _start_us(plan: Plan, tenant: Tenant) -> int:
    return round(plan.span_s(tenant)[0] * 1e6)


def _after_us(plan: Plan, tenant: Tenant, shares: Floats) -> Floats:
    """Return the time from the tenant's start until these shares of its events are due."""
    pieces = [piece for piece in plan.rate_pieces(tenant) if piece.events]
    ends = np.cumsum([piece.events for piece in pieces])
    ends /= ends[-1]
    indexes = np.searchsorted(ends, shares, side="right")
    after_us = np.empty(len(shares))
    start_us = _start_us(plan, tenant)
    for index, piece in enumerate(pieces):
        mine = indexes == index
        begin = ends[index - 1] if index else 0.0
        begin_us, end_us = round(piece.begin_s * 1e6), round(piece.end_s * 1e6)
        part = _part_of_time(piece, (shares[mine] - begin) / (ends[index] - begin))
        after_us[mine] = begin_us - start_us + part * (end_us - begin_us)
    return after_us


def _part_of_time(piece: RatePiece, shares: Floats) -> Floats:
    """Return the part of a piece's time in which these shares of its events are due."""
    first, last = piece.first, piece.last
    if first == last:
        return shares
    # The integral up to a part is first * part + (last - first) * part**2 / 2. This form of the
    # root does not subtract numbers that are nearly equal.
    root = np.sqrt(first**2 + (last**2 - first**2) * shares)
    # Only share 0 of a ramp from 0 would divide by 0.
    part: Floats = shares * (first + last) / np.maximum(first + root, np.finfo(np.float64).tiny)
    return part


def _clients(tenant: Tenant, numbers: npt.NDArray[np.int64], key: Words) -> npt.NDArray[np.int32]:
    if tenant.arrival == "poisson":
        return (_bits(numbers, key, _CLIENT) % np.uint64(tenant.clients)).astype(np.int32)
    return (numbers % tenant.clients).astype(np.int32)


def _bits(numbers: npt.NDArray[np.int64], key: Words, stream: int) -> Words:
    """Return 64 bits for each number, different for each stream."""
    counters = numbers.astype(np.uint64) * np.uint64(4) + np.uint64(stream + 1)
    return mixed(key + counters * np.uint64(GOLDEN))


def mixed(words: Words) -> Words:
    """Return 64 bits for each word that look random: the finalizer of splitmix64."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
