"""When the batches that producers sent were received: end-to-end latencies and the lag of groups.

Producers know the offsets of their batches, and members of groups the ranges of offsets that they
have received. A log is a partition as one group reads it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyarrow.compute import (
    Expression,
    coalesce,
    field,
    index_in,
    max_element_wise,
    scalar,
)

from loadgen.analysis.arrow_queries import (
    NO_TIME,
    Grouping,
    bin_number,
    cell_of,
    columns_of,
    count,
    count_if,
    is_acknowledged,
    is_in,
    numbers_of,
    spans_of,
    tenant_number,
)
from loadgen.analysis.backlogs import lag_cell_us
from loadgen.analysis.measures import period_s_of, readings_of
from loadgen.plan.plan import Plan

BATCHES_PER_BLOCK = 2**17
RECEIPT_COLUMNS = (
    "tenant",
    "partition",
    "received_us",
    "first_offset",
    "next_offset",
    "high_watermark",
)
"""The columns of the receipts that are needed."""
LAG_CELLS = Grouping(
    {name: field(name) for name in ("log", "cell")},
    {
        "end_offset": ("max", field("end_offset")),
        "position": ("max", field("position")),
        "first_offset": ("min", field("first_offset")),
        "received": ("sum", field("received")),
        "produced": ("sum", field("produced")),
    },
)
"""What moves the lag of a log, by short times."""
END_TO_ENDS = Grouping(
    {name: field(name) for name in ("tenant", "group_id", "period", "bin")},
    {
        "events": ("sum", field("events")),
        "received": ("sum", field("received")),
        "max_us": ("max", field("max_us")),
        "sum_us": ("sum", field("sum_us")),
    },
)
"""End-to-end latencies in bins."""


@dataclass(frozen=True, slots=True)
class ReceivedBatches:
    """Makes sums of batches and receipts."""

    plan: Plan

    def of_rows(self, rows: pa.Table) -> Mapping[str, pa.Table]:
        """Return `lag_cells` and `sent_offsets` of the batches in the rows of requests."""
        stored = self._stored_once(rows)
        end_offset = field("offset") + field("records")
        cells = self._lag_cells(
            field("response_us"), end_offset, NO_TIME, scalar(0), field("records")
        )
        columns = {
            **{name: field(name) for name in ("log", "offset", "intended_us")},
            "number": field("number").cast(pa.int16()),
        }
        is_measured = (field("intended_us") >= 0) & (field("event_id") >= 0)
        return {
            "lag_cells": cells.of(stored),
            "sent_offsets": columns_of(stored, columns, is_measured),
        }

    def _stored_once(self, rows: pa.Table) -> pa.Table:
        """Return the batches that some group reads, once for each group."""
        topics = [topic for _, topic in readings_of(self.plan)]
        names = ("event_id", "intended_us", "response_us", "records", "topic", "partition")
        columns = {name: field(name) for name in names}
        columns["offset"] = field("base_offset")
        columns["number"] = tenant_number([tenant.name for tenant in self.plan.tenants])
        is_first = is_acknowledged() & (field("kind") == "new") & (field("api") == "Produce")
        where = is_first & field("base_offset").is_valid() & is_in("topic", set(topics))
        found = columns_of(rows, columns, where)
        logs = []
        for reading, topic in enumerate(topics, start=1):
            log = {**{name: field(name) for name in columns}, "log": _log(scalar(reading))}
            logs.append(columns_of(found, log, field("topic") == topic))
        return pa.concat_tables(logs)

    def _lag_cells(
        self,
        time_us: Expression,
        end_offset: Expression,
        position: Expression,
        received: Expression,
        produced: Expression,
    ) -> Grouping:
        values = (end_offset, position, field("offset"), received, produced)
        return Grouping(
            {"log": field("log"), "cell": cell_of(time_us, lag_cell_us(self.plan))},
            {
                name: (function, value.cast(pa.int64()))
                for (name, (function, _)), value in zip(
                    LAG_CELLS.aggregates.items(), values, strict=True
                )
            },
        )

    def of_receipts(self, rows: pa.Table) -> pa.Table:
        """Return the ranges of offsets by log, in any order."""
        readings = readings_of(self.plan)
        readers = [tenant for tenant in self.plan.tenants if tenant.is_received]
        names = pa.array([tenant.name for tenant in readers], pa.string())
        reading = [readings.index((tenant.group, tenant.topic)) + 1 for tenant in readers]
        reader = index_in(field("tenant"), value_set=names)
        columns = {**{name: field(name) for name in RECEIPT_COLUMNS}, "reader": reader}
        found = columns_of(rows, columns, is_in("tenant", names.to_pylist()))
        numbers = np.array(reading, np.int64)[numbers_of(found["reader"])]
        found = found.append_column("reading", pa.array(numbers))
        kept = {name: field(name) for name in RECEIPT_COLUMNS if name != "tenant"}
        return columns_of(found, {**kept, "log": _log(field("reading"))})

    def received(self, receipts: pa.Table) -> Mapping[str, pa.Table]:
        """Return `lag_cells` and `ranges` of offsets that no other range has, from whole logs.

        What a group had received before, perhaps by a member that lost the partition, is left out.
        Ranges end at the end of a block of offsets.
        """
        keys = ("log", "received_us", "next_offset")
        table = receipts.sort_by([(key, "ascending") for key in keys])
        following = numbers_of(table["next_offset"])
        before = np.zeros_like(following)
        for start, end in spans_of([numbers_of(table["log"])]):
            before[start + 1 : end] = np.maximum.accumulate(following[start : end - 1])
        offset = np.maximum(numbers_of(table["first_offset"]), before)
        table = table.append_column("offset", pa.array(offset))
        table = table.filter(field("offset") < field("next_offset"))
        position = field("next_offset")
        end_offset = max_element_wise(field("high_watermark"), position)
        received = position - field("offset")
        cells = self._lag_cells(field("received_us"), end_offset, position, received, scalar(0))
        return {"lag_cells": cells.of(table), "ranges": self._cut(table)}

    def _cut(self, table: pa.Table) -> pa.Table:
        """Cut ranges at the ends of blocks."""
        size = self.block_offsets
        offset, following = numbers_of(table["offset"]), numbers_of(table["next_offset"])
        first, last = offset // size, (following - 1) // size
        pieces = last - first + 1
        row = np.repeat(np.arange(len(offset)), pieces)
        block = np.arange(len(row)) - np.repeat(np.cumsum(pieces) - pieces, pieces) + first[row]
        return pa.table(
            {
                "log": table["log"].take(pa.array(row)),
                "offset": np.maximum(offset[row], block * size),
                "next_offset": np.minimum(following[row], (block + 1) * size),
                "received_us": table["received_us"].take(pa.array(row)),
            }
        )

    @property
    def block_offsets(self) -> int:
        """How many offsets a block has, so that it has about BATCHES_PER_BLOCK batches."""
        return BATCHES_PER_BLOCK * max(tenant.records for tenant in self.plan.tenants)

    def end_to_ends(self, batches: pa.Table, ranges: pa.Table, end_us: int) -> pa.Table:
        """Return END_TO_ENDS of whole blocks: `sent_offsets` and `ranges`.

        The last range that begins at a batch or before it has received the batch, unless it ends
        before. Batches that nobody received count until `end_us`.
        """
        ranges = ranges.sort_by([("log", "ascending"), ("offset", "ascending")])
        batches = batches.sort_by("log")
        logs, offsets = numbers_of(batches["log"]), numbers_of(batches["offset"])
        of_ranges = [numbers_of(ranges[name]) for name in ranges.column_names]
        received_us = np.zeros(len(logs), np.int64)
        is_received = np.zeros(len(logs), np.bool_)
        for start, end in spans_of([logs]):
            first, last = np.searchsorted(of_ranges[0], [logs[start], logs[start] + 1])
            if first == last:
                continue
            _, begins, ends, times_us = (column[first:last] for column in of_ranges)
            mine = offsets[start:end]
            number = np.searchsorted(begins, mine, side="right") - 1
            is_received[start:end] = (number >= 0) & (ends[number] > mine)
            received_us[start:end] = times_us[number]
        groups = pa.array([group for group, _ in readings_of(self.plan)], pa.string())
        tenants = pa.array([tenant.name for tenant in self.plan.tenants], pa.string())
        received = pa.array(received_us, mask=~is_received)
        found = pa.table(
            {
                "tenant": tenants.take(pa.array(numbers_of(batches["number"]) - 1)),
                "group_id": groups.take(pa.array((logs >> 32) - 1)),
                "intended_us": batches["intended_us"],
                "received_us": received,
            }
        )
        time_us = coalesce(field("received_us"), end_us) - field("intended_us")
        keys = {
            "tenant": field("tenant"),
            "group_id": field("group_id"),
            "period": cell_of(field("intended_us"), period_s_of(self.plan) * 1e6),
            "bin": bin_number(time_us, scalar(True)),
        }
        sums = {
            "events": count(),
            "received": count_if(field("received_us").is_valid()),
            "max_us": ("max", time_us),
            "sum_us": ("sum", time_us),
        }
        return Grouping(keys, sums).of(found)


def _log(reading: Expression) -> Expression:
    return reading.cast(pa.int64()) * 2**32 + field("partition")
