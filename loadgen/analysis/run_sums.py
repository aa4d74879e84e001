"""Add up the rows of a run: in this process, or in a job of Spark with one shuffle.

A task reads some of the files and reduces their rows to sums. What has to come together is cut into
parts: the events that have several rows and the latencies of a second by time, batches by event id.
Each other sum is small and goes to any one part. A second task for each part merges what all tasks
have found for it.
"""

import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as field_of
from itertools import chain, groupby
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow.compute import coalesce, field, scalar

from loadgen import query_settings
from loadgen.analysis import quota_bounds, row_sums, stored_batches
from loadgen.analysis.arrow_queries import Grouping, Integers, columns_of, numbers_of, starts_of
from loadgen.analysis.backlogs import lag_cell_us
from loadgen.analysis.measures import period_s_of
from loadgen.analysis.read_back import ARROW_SCHEMA as READ_BACK_SCHEMA
from loadgen.analysis.received_batches import (
    END_TO_ENDS,
    LAG_CELLS,
    RECEIPT_COLUMNS,
    ReceivedBatches,
)
from loadgen.analysis.row_sums import HEAT, MEASURED, PARTS_OF_EVENTS, RESPONSES, Sums
from loadgen.plan.plan import Plan
from loadgen.plan.schedule import event_counts
from loadgen.receipts import ARROW_SCHEMA as RECEIPTS_SCHEMA
from loadgen.rows import ARROW_SCHEMA as RESULTS_SCHEMA
from loadgen.rows import EVENT_STEP
from loadgen.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_PER_TASK = 125_000
"""Two workers with tasks of so many rows need 750 MB for a run of a hundred million."""
TASKS_MIN, TASKS_MAX = 2, 2000
"""Each task has a few rows for each part."""
_SHARES_OF_SMALL_SUMS = 8
ROWS_AT_ONCE = 131_072
"""Enough that Arrow's work for each query is small beside that for the rows."""
TABLES_AT_ONCE = 64
RESULTS, READ_BACK, RECEIPTS = "results", "read_back", "receipts"
SCHEMA = "part int, name string, data binary"
_ARROW_SCHEMA = pa.schema([("part", pa.int32()), ("name", pa.string()), ("data", pa.binary())])
_END = "end_us"
_LOOPS = 4096
"""So many events of a closed loop are in one part."""
_COLUMNS = dict.fromkeys(
    (*row_sums.COLUMNS, *stored_batches.SENT_COLUMNS, *quota_bounds.ID_COLUMNS)
)
_SCHEMAS = {
    RESULTS: pa.schema([RESULTS_SCHEMA.field(name) for name in _COLUMNS]),
    READ_BACK: pa.schema(
        [READ_BACK_SCHEMA.field(name) for name in stored_batches.READ_BACK_COLUMNS]
    ),
    RECEIPTS: pa.schema([RECEIPTS_SCHEMA.field(name) for name in RECEIPT_COLUMNS]),
}
"""The columns that are needed."""
Windows = Sequence[tuple[Any, ...]]

IN_FLIGHT = Grouping({name: field(name) for name in ("fault", "event_id")}, {})
"""The events of which a request was in flight in the window of a fault."""
STORED_AROUND = Grouping(
    {"fault": field("fault"), **stored_batches.STORED.keys},
    stored_batches.STORED.aggregates,
    stored_batches.STORED.where,
)
"""`stored_batches.STORED` for the events of IN_FLIGHT."""
SEEN = Grouping(
    {"event_id": field("event_id")},
    {},
    (field("event_id") >= 0) & (field("event_id") < EVENT_STEP),
)
"""The events of the schedule that have rows; those that a closed loop adds have larger ids."""
MERGED = {
    "seen": SEEN,
    "measured": MEASURED,
    "heat": HEAT,
    "responses": RESPONSES,
    "events": PARTS_OF_EVENTS,
    "in_flight": IN_FLIGHT,
    "stored": stored_batches.STORED,
    "stored_around": STORED_AROUND,
    "lag_cells": LAG_CELLS,
    "in_time": row_sums.BATCHES_IN_TIME,
    "expiries": row_sums.EXPIRIES,
    "new_ids": quota_bounds.NEW_IDS,
}
"""How to merge sums that are not in `row_sums.of_rows`; others have rows of different keys."""


@dataclass(frozen=True, slots=True)
class RunSums:
    """What to add up, and how; tasks get a pickled copy."""

    plan: Plan
    measured_us: int
    """How much of the measured part there was."""
    id_quotas: Mapping[str, tuple[float, float]]
    """The ids per window, and the window in seconds, of users."""
    windows: Windows = ()
    """The rows of `recoveries.windows_of`."""
    sources: frozenset[str] = frozenset(_SCHEMAS)
    """The names of the records that there are."""
    counts_seen: bool = False
    """Whether to count the events that have rows."""
    buckets: quota_bounds.Buckets = field_of(default_factory=dict)
    """The buckets of mutations."""
    parts: int = 1

    def none(self) -> Sums:
        """Return the sums of no rows."""
        found: Sums = {}
        for source, schema in _SCHEMAS.items():
            if source in self.sources:
                found |= self.of_rows(source, schema.empty_table())
        if RECEIPTS in self.sources:
            found |= ReceivedBatches(self.plan).received(found["receipts"])
        return found

    def of_rows(self, source: str, rows: pa.Table) -> Sums:
        """Return the sums of rows of requests, or of another record."""
        if source == READ_BACK:
            return {"batches": stored_batches.stored_batches(rows)}
        received = ReceivedBatches(self.plan)
        if source == RECEIPTS:
            return {"receipts": received.of_receipts(rows)}
        found = {name: query.of(rows) for name, query in row_sums.of_rows(self.plan).items()}
        found |= row_sums.EventSums(self.plan).of_rows(rows)
        if self.counts_seen:
            found["seen"] = SEEN.of(rows)
        found["in_time"] = row_sums.batches_in_time(rows, self.plan)
        found["accepted"] = quota_bounds.accepted_mutations(rows)
        found["new_ids"] = quota_bounds.NEW_IDS.of(rows)
        if RECEIPTS in self.sources:
            found |= received.of_rows(rows)
        if READ_BACK in self.sources:
            found["batches"] = stored_batches.sent_batches(rows, self.plan)
            if self.windows:
                found["in_flight"] = self._in_flight(rows)
        return found

    def _in_flight(self, rows: pa.Table) -> pa.Table:
        """Return the events that had a request in flight in a window of a fault."""
        found = []
        for fault, tenant, _, begun_us, _, until_us, _ in self.windows:
            ended_us = coalesce(field("response_us"), until_us)
            is_inside = (field("sent_us") < until_us) & (ended_us >= begun_us)
            is_mine = (field("tenant") == tenant) & (field("event_id") >= 0)
            keys = {"fault": scalar(fault).cast(pa.int32()), "event_id": field("event_id")}
            found.append(columns_of(rows, keys, is_mine & is_inside))
        return IN_FLIGHT.of(pa.concat_tables(found))

    def merged(self, found: Mapping[str, Sequence[pa.Table]]) -> Sums:
        """Return sums of parts of the rows together."""
        queries = row_sums.of_rows(self.plan) | MERGED
        return {
            name: queries[name].merged(tables) if name in queries else pa.concat_tables(tables)
            for name, tables in found.items()
        }

    def with_received(self, sums: Sums) -> Sums:
        """Return sums with what follows from `receipts`, of whole logs, instead of these."""
        tables = _lists(sums)
        receipts = pa.concat_tables(tables.pop("receipts"))
        for name, table in ReceivedBatches(self.plan).received(receipts).items():
            tables[name].append(table)
        return self.merged(tables)

    def finished(self, sums: Sums, end_us: int) -> Sums:
        """Return the result for a part whose sums are complete; the run ended at `end_us`."""
        events = sums.pop("events")
        of_events = row_sums.EventSums(self.plan).of_events(events, end_us)
        tables = _lists(sums)
        for name, table in of_events.items():
            tables[name].append(table)
        sums = self.merged(tables)
        if "ranges" in sums:
            batches, ranges = sums.pop("sent_offsets"), sums.pop("ranges")
            received = ReceivedBatches(self.plan)
            end_to_ends = received.end_to_ends(batches, ranges, end_us)
            sums["end_to_end_times"] = row_sums.with_bins(end_to_ends, END_TO_ENDS)
        sums["measured_times"] = row_sums.with_bins(sums.pop("measured"), MEASURED)
        if "seen" in sums:
            sums["events_seen"] = pa.table({"events": [len(sums.pop("seen"))]})
        sums["expiries"] = row_sums.EXPIRIES.of(sums.pop("in_time"))
        accepted = sums.pop("accepted")
        sums["mutations"] = quota_bounds.mutation_points(accepted)
        sums["mutation_bounds"] = quota_bounds.mutation_bounds(accepted, self.buckets)
        sums["ids"] = quota_bounds.id_points(sums.pop("new_ids"), self.id_quotas)
        sums["latencies"] = row_sums.percentiles(sums.pop("responses"))
        batches, in_flight = sums.pop("batches", None), sums.pop("in_flight", None)
        if batches is not None:
            stored = stored_batches.of_events(batches)
            sums["stored"] = stored_batches.STORED.of(stored)
            if in_flight is not None:
                around = in_flight.join(stored, "event_id", join_type="inner")
                sums["stored_around"] = STORED_AROUND.of(around)
        return sums

    def pieces(self, sums: Sums, task: int) -> Iterator[tuple[int, str, pa.Table]]:
        """Yield the parts of sums: the number of the part, the name and the rows."""
        for name, table in sums.items():
            numbers = self._part_numbers(name, table)
            if numbers is None:
                share = zlib.crc32(name.encode()) + task % _SHARES_OF_SMALL_SUMS
                yield share % self.parts, name, table
                continue
            order = np.argsort(numbers.astype(np.uint32), kind="stable")
            in_order, numbers = table.take(pa.array(order)), numbers[order]
            starts = starts_of([numbers])
            for start, length in zip(starts, np.diff(starts, append=len(order)), strict=True):
                yield int(numbers[start]), name, in_order.slice(start, length)

    def _part_numbers(self, name: str, table: pa.Table) -> Integers | None:
        """Return the part of each row; None if the rows may be in any."""
        if name in self._times_us:
            column, size_us = self._times_us[name]
            period_us = period_s_of(self.plan) * 1_000_000
            periods = ceil(self.plan.duration_s * 1e6 / period_us)
            found = numbers_of(table[column]) * size_us // period_us
            return found.clip(0, periods - 1) * self.parts // periods
        if name == "new_ids":
            users = _hashes_of(table["user"], {})
            return (users + numbers_of(table["node"].fill_null(0))) % self.parts
        if name == "accepted":
            buckets = {
                tenant: bucket for bucket, (names, *_) in self.buckets.items() for tenant in names
            }
            return _hashes_of(table["tenant"], buckets) % self.parts
        if name == "receipts":
            return numbers_of(table["log"]) % self.parts
        if name in {"sent_offsets", "ranges"}:
            blocks = numbers_of(table["offset"]) // ReceivedBatches(self.plan).block_offsets
            return (numbers_of(table["log"]) + blocks) % self.parts
        if name in {"batches", "in_flight", "in_time", "seen"}:
            event_ids = numbers_of(table["event_id"].fill_null(0))
            loops = event_ids // EVENT_STEP // _LOOPS
            firsts = event_ids % EVENT_STEP * self.parts // sum(event_counts(self.plan))
            return (firsts + loops) % self.parts
        return None

    @property
    def _times_us(self) -> Mapping[str, tuple[str, int]]:
        """The sums that are cut by time, by their column of times and its unit in µs."""
        return {
            "events": ("intended_us", 1),
            "lag_cells": ("cell", lag_cell_us(self.plan)),
            "measured": ("period", period_s_of(self.plan) * 1_000_000),
            "responses": ("second", 1_000_000),
            "seconds": ("second", 1_000_000),
        }


@dataclass(frozen=True, slots=True)
class Source:
    """Where rows of a run are; the names are those of Parquet files."""

    name: str
    storage: Storage
    files: Sequence[str]

    def tables(self) -> Iterator[pa.Table]:
        """Yield the rows with the columns that are needed."""
        return self.storage.tables(self.files, _SCHEMAS[self.name].names, ROWS_AT_ONCE)


def source_of(name: str, storage: Storage) -> Source:
    """Return the source of rows in a folder, or in the file of that path.

    Raises:
        StorageError: it cannot be read.
    """
    # Segments of several workers that belong to the same time are read together.
    files = sorted(storage.parquet_files(), key=lambda file: (file.rpartition("-")[2], file))
    return Source(name, storage, files)


def _of_sources(run: RunSums, sources: Iterable[Source]) -> tuple[Sums, int]:
    """Return the sums of some files, and the time of their last response."""
    found = _lists(run.none())
    for source in sources:
        for rows in source.tables():
            for name, table in run.of_rows(source.name, rows).items():
                found[name].append(table)
    sums = run.merged(found)
    times = sums["requests"]["end_us"].drop_null().to_pylist() if "requests" in sums else []
    return sums, max([run.measured_us, *times])


def here(run: RunSums, sources: Sequence[Source]) -> Sums:
    """Return the result of a run, computed in this process."""
    sums, end_us = _of_sources(run, sources)
    if "receipts" in sums:
        sums = run.with_received(sums)
    return run.finished(sums, end_us)


def in_job(spark: "SparkSession", run: RunSums, sources: Sequence[Source], rows: int) -> Sums:
    """Return the result of a run of about so many rows, computed in a job."""
    with query_settings.changed(spark, query_settings.LARGE_VALUES):
        results = job(spark, run, sources, rows).collect()
    found: defaultdict[str, list[pa.Table]] = defaultdict(list)
    for row in results:
        found[row["name"]].append(_table_of(row["data"]))
    del results
    sums = run.merged(found)
    pa.default_memory_pool().release_unused()
    return sums


def job(spark: "SparkSession", run: RunSums, sources: Sequence[Source], rows: int) -> "DataFrame":
    """Return the results of parts, as rows of SCHEMA.

    Receipts have a stage more: they are brought together by log, before ranges of their offsets
    meet the batches.
    """
    tasks = min(TASKS_MAX, max(TASKS_MIN, ceil(rows / ROWS_PER_TASK)))
    run = replace(run, parts=tasks)
    frame = _of_files(spark, run, [source for source in sources if source.name != RECEIPTS], tasks)
    receipts = [source for source in sources if source.name == RECEIPTS]
    if receipts:
        of_receipts = replace(run, parts=max(TASKS_MIN, tasks // 8))
        ranges = _of_parts(_of_files(spark, of_receipts, receipts, tasks), of_receipts, run)
        frame = frame.union(ranges)
    return _of_parts(frame, run, None)


def _of_files(
    spark: "SparkSession", run: RunSums, sources: Sequence[Source], tasks: int
) -> "DataFrame":
    """Return parts of the sums of files: rows of SCHEMA."""
    shares = [list(_shares(source, tasks)) for source in sources]

    def of_files(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                sums, end_us = _of_sources(run, [share[task] for share in shares])
                yield from _batches_of(run, sums, task, end_us)

    return spark.range(0, tasks, 1, tasks).mapInArrow(of_files, SCHEMA)


def _of_parts(frame: "DataFrame", run: RunSums, following: RunSums | None) -> "DataFrame":
    """Return the results of parts, or parts of what follows: rows of SCHEMA."""

    def of_parts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = chain.from_iterable(zip(*batch.columns, strict=True) for batch in batches)
        for part, of_part in groupby(rows, lambda row: row[0].as_py()):
            sums, end_us = _merged_part(run, of_part)
            if following is not None:
                yield from _batches_of(following, run.with_received(sums), part, end_us)
            else:
                for name, table in run.finished(sums, end_us).items():
                    yield _batch([(part, name, _bytes_of(table))])
            # One part after the other needs the memory of one part.
            pa.default_memory_pool().release_unused()

    # Spark puts some of the parts together.
    parts = frame.repartition(run.parts, "part").sortWithinPartitions("part")
    return parts.mapInArrow(of_parts, SCHEMA)


def _merged_part(run: RunSums, rows: Iterable[Sequence[pa.Scalar]]) -> tuple[Sums, int]:
    """Return the sums in the rows of a part, and the end of the run."""
    found, end_us = _lists(run.none()), run.measured_us
    for _, name, data in rows:
        if name.as_py() == _END:
            end_us = max(end_us, int.from_bytes(data.as_py()))
            continue
        tables = found[name.as_py()]
        tables.append(_table_of(data.as_buffer()))
        # Thousands of small tables need more memory than their rows.
        if len(tables) == TABLES_AT_ONCE:
            tables[:] = run.merged({name.as_py(): tables}).values()
    return run.merged(found), end_us


def _batches_of(run: RunSums, sums: Sums, task: int, end_us: int) -> Iterator[pa.RecordBatch]:
    yield _batch((part, _END, end_us.to_bytes(8)) for part in range(run.parts))
    for part, name, table in run.pieces(sums, task):
        yield _batch([(part, name, _bytes_of(table))])
    pa.default_memory_pool().release_unused()


def _shares(source: Source, tasks: int) -> Iterator[Source]:
    """Cut the files of a source into one share for each task, of about as many files."""
    for task in range(tasks):
        begin, end = (len(source.files) * number // tasks for number in (task, task + 1))
        yield Source(source.name, source.storage, source.files[begin:end])


def _hashes_of(texts: pa.ChunkedArray, others: Mapping[str, str]) -> Integers:
    """Return a hash of each text, or of the other text that it stands for."""
    encoded = texts.combine_chunks().dictionary_encode(null_encoding="encode")
    names = [others.get(name, name) or "" for name in encoded.dictionary.to_pylist()]
    hashes = np.array([zlib.crc32(name.encode()) for name in names], np.int64)
    return hashes[numbers_of(encoded.indices)]


def _lists(sums: Sums) -> defaultdict[str, list[pa.Table]]:
    return defaultdict(list, {name: [table] for name, table in sums.items()})


def _batch(rows: Iterable[tuple[int, str, bytes]]) -> pa.RecordBatch:
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=_ARROW_SCHEMA)


def _bytes_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    # Spark keeps what it shuffles and collects as it is.
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _table_of(data: Any) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()
