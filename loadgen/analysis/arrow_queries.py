"""Queries over the rows of requests by Arrow, whose results can be added up.

The summary and the figures of the live page share what stands here: which rows belong together,
what completes an event, and in which bin a time is.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import log
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import acero
from pyarrow.compute import (
    Expression,
    coalesce,
    field,
    floor,
    if_else,
    index_in,
    ln,
    max_element_wise,
    scalar,
)

from loadgen.analysis.checks import MUTE_TOLERANCE_US
from loadgen.analysis.latencies import GROWTH
from loadgen.expected_answers import ACKNOWLEDGED

Rows = list[dict[str, Any]]
Integers = npt.NDArray[np.int64]
Aggregates = Mapping[str, tuple[str, Expression]]
"""By the name of the column: what Arrow calls the function, and its argument."""
NO_TIME = scalar(None).cast(pa.int64())
ANY_API = "any"


class Grouping(NamedTuple):
    """SELECT keys, aggregates FROM rows WHERE where GROUP BY keys.

    The functions are `sum`, `min` and `max`, so that results of parts of the rows can be merged.
    """

    keys: Mapping[str, Expression]
    aggregates: Aggregates
    where: Expression | None = None

    def of(self, rows: pa.Table) -> pa.Table:
        """Return a row for each group."""
        return self._grouped(rows, self)

    def merged(self, parts: Sequence[pa.Table]) -> pa.Table:
        """Return the result for all rows from those for parts of them; at least one."""
        if len(parts) == 1:
            return parts[0]
        keys = {name: field(name) for name in self.keys}
        aggregates = {name: (kind, field(name)) for name, (kind, _) in self.aggregates.items()}
        return self._grouped(pa.concat_tables(parts), Grouping(keys, aggregates))

    @staticmethod
    def _grouped(rows: pa.Table, grouping: "Grouping") -> pa.Table:
        keys, aggregates, where = grouping
        arguments = {name: argument for name, (_, argument) in aggregates.items()}
        options = acero.AggregateNodeOptions(
            [(name, f"hash_{function}", None, name) for name, (function, _) in aggregates.items()],
            keys=list(keys),
        )
        steps = [] if where is None else [_filter(where)]
        steps += [_projection({**keys, **arguments}), acero.Declaration("aggregate", options)]
        return _result(rows, *steps)


def columns_of(
    rows: pa.Table, columns: Mapping[str, Expression], where: Expression | None = None
) -> pa.Table:
    """Return SELECT columns FROM rows WHERE where."""
    steps = [] if where is None else [_filter(where)]
    return _result(rows, *steps, _projection(columns))


def with_columns(rows: pa.Table, columns: Mapping[str, Expression]) -> pa.Table:
    """Return a table with further columns."""
    return columns_of(rows, {name: field(name) for name in rows.column_names} | dict(columns))


def tenant_number(names: Sequence[str]) -> Expression:
    """Return the position of the tenant of a row among these names, from 1 on; else 0."""
    position = index_in(field("tenant"), value_set=pa.array(names, pa.string()))
    return coalesce(position + 1, 0)


def is_in(column: str, names: Iterable[str]) -> Expression:
    """Return which rows have one of the names in a column of texts."""
    return field(column).isin(pa.array(names, pa.string()))


def is_acknowledged() -> Expression:
    """Return which rows have a response that says that the batch is stored."""
    is_success = field("error_code").isin(list(map(int, ACKNOWLEDGED)))
    return (field("status") == "responded") & is_success


def is_whole_event(tenants: Iterable[str]) -> Expression:
    """Return which rows are all that there is of their events; of tenants of `steady`."""
    is_event = (field("api") == "Produce") & (field("attempt") == 1) & (field("event_id") >= 0)
    return coalesce(is_in("tenant", tenants) & is_event & is_acknowledged(), False)


def is_main_api(api_of: Mapping[str, str]) -> Expression:
    """Return which rows have the API of their tenant, by the name of the tenant; or ANY_API."""
    found = scalar(False)
    for api in set(api_of.values()):
        tenants = [tenant for tenant, main_api in api_of.items() if main_api == api]
        has_api = scalar(True) if api == ANY_API else field("api") == api
        found |= has_api & is_in("tenant", tenants)
    return found


def completed_us(is_main_api: Expression) -> Expression:
    """Return when a row completes its event, and null where it does not."""
    is_success = coalesce(is_acknowledged() & is_main_api, False)
    return if_else(is_success, field("response_us"), NO_TIME)


def has_lateness(is_open: Expression) -> Expression:
    """Return which rows say how late an event was submitted.

    `is_open` are the rows of tenants whose events have intended times.
    """
    is_first = (field("event_id") >= 0) & (field("attempt") <= 1)
    is_due = (field("intended_us") >= 0) & (field("status") != "not_sent")
    return is_first & is_due & is_open


def throttle_sums() -> Aggregates:
    """Return what is counted about throttles of requests, and when the last of these ended."""
    early_us, throttle_time_ms = field("early_us"), field("throttle_time_ms")
    muted_us = early_us - MUTE_TOLERANCE_US
    took_us = field("response_us") - field("sent_us")
    return {
        "requests": count(),
        "throttled": count_if(throttle_time_ms > 0),
        "throttle_total_ms": ("sum", throttle_time_ms),
        "throttle_max_ms": ("max", throttle_time_ms),
        "sent_early": count_if(early_us > 1000),
        "early_max_us": ("max", early_us),
        "responded_early": count_if((muted_us > 0) & (took_us < muted_us)),
        "end_us": ("max", coalesce(field("response_us"), field("sent_us"))),
    }


def cell_of(time_us: Expression, size_us: float) -> Expression:
    """Return the number of the part of the time, each `size_us` long."""
    # Without the cast the result is a float of 32 bits, the smallest type that the literal fits.
    return floor(time_us.cast(pa.float64()) / size_us).cast(pa.int64())


def bin_number(time_us: Expression, is_counted: Expression) -> Expression:
    """Return what `latencies.bin_of` does, and null for what is not counted or has no time."""
    at_least_1_us = max_element_wise(time_us.cast(pa.float64()), 1.0, skip_nulls=False)
    return if_else(is_counted, floor(ln(at_least_1_us) / log(GROWTH)).cast(pa.int32()), None)


def numbers_of(column: pa.Array | pa.ChunkedArray) -> Integers:
    """Return the numbers of a column without nulls."""
    numbers: Integers = np.asarray(column).astype(np.int64, copy=False)
    return numbers


def starts_of(columns: Sequence[Integers]) -> Integers:
    """Return where each run of equal rows begins."""
    if not len(columns[0]):
        return np.empty(0, np.int64)
    differs = np.zeros(len(columns[0]) - 1, np.bool_)
    for column in columns:
        differs |= column[1:] != column[:-1]
    return np.concatenate(([0], np.flatnonzero(differs) + 1))


def spans_of(columns: Sequence[Integers]) -> list[tuple[int, int]]:
    """Return begin and end of each run of equal rows."""
    starts = starts_of(columns).tolist()
    return list(pairwise([*starts, len(columns[0])])) if starts else []


def count() -> tuple[str, Expression]:
    """Return the aggregate that counts rows."""
    return "sum", scalar(1)


def count_if(condition: Expression) -> tuple[str, Expression]:
    """Return the aggregate that counts the rows for which a condition is true."""
    return "sum", flag(condition)


def flag(condition: Expression) -> Expression:
    """Return 1 where a condition is true, else 0."""
    return if_else(coalesce(condition, False), 1, 0)


def _filter(where: Expression) -> acero.Declaration:
    return acero.Declaration("filter", acero.FilterNodeOptions(where))


def _projection(columns: Mapping[str, Expression]) -> acero.Declaration:
    options = acero.ProjectNodeOptions(list(columns.values()), list(columns))
    return acero.Declaration("project", options)


def _result(rows: pa.Table, *steps: acero.Declaration) -> pa.Table:
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(rows))
    # The workers need the other cores.
    return acero.Declaration.from_sequence([source, *steps]).to_table(use_threads=False)
