"""The queries of the live figures, by Arrow: sums over the rows of the newest segments.

Each one returns sums that can be added to those of earlier batches, in rows that are as many as
tenants, seconds, kinds of requests and bins of latency. `analysis.queries` has the definitions.
"""

from collections.abc import Iterable, Mapping
from math import log
from typing import Any

import pyarrow as pa
from pyarrow import acero
from pyarrow.compute import (
    Expression,
    coalesce,
    field,
    floor,
    if_else,
    ln,
    max_element_wise,
    scalar,
)

from loadgen.analysis.checks import MUTE_TOLERANCE_US
from loadgen.analysis.latencies import GROWTH
from loadgen.expected_answers import ACKNOWLEDGED

COLUMNS = (
    "worker",
    "event_id",
    "tenant",
    "user",
    "api",
    "intended_us",
    "submitted_us",
    "sent_us",
    "response_us",
    "producer_id",
    "node",
    "error_code",
    "throttle_time_ms",
    "attempt",
    "status",
    "kind",
    "mutations",
    "early_us",
)
"""The columns of the rows that the queries need."""
Rows = list[dict[str, Any]]
Aggregates = Mapping[str, tuple[str, Expression]]
"""By the name of the column: what Arrow calls the function, and its argument."""
NO_TIME = scalar(None).cast(pa.int64())


def with_columns(rows: pa.Table, columns: Mapping[str, Expression]) -> pa.Table:
    """Return a table with further columns."""
    found = {name: field(name) for name in rows.column_names} | dict(columns)
    return _result(rows, _projection(found))


def requests(rows: pa.Table) -> Rows:
    """Count the requests of each kind in each second in which they were sent."""
    early_us, throttle_time_ms = field("early_us"), field("throttle_time_ms")
    muted_us = early_us - MUTE_TOLERANCE_US
    took_us = field("response_us") - field("sent_us")
    keys = {name: field(name) for name in ("tenant", "api", "status", "kind", "error_code")}
    aggregates = {
        "requests": _count(),
        "throttled": _count_if(throttle_time_ms > 0),
        "throttle_total_ms": ("sum", throttle_time_ms),
        "throttle_max_ms": ("max", throttle_time_ms),
        "sent_early": _count_if(early_us > 1000),
        "early_max_us": ("max", early_us),
        "responded_early": _count_if((muted_us > 0) & (took_us < muted_us)),
        "rows_of_events": _count_if((field("event_id") >= 0) & ~field("is_whole_event")),
        "end_us": ("max", coalesce(field("response_us"), field("sent_us"))),
    }
    return _sums(rows, {**keys, "second": _cell(field("sent_us"), 1e6)}, aggregates)


def lateness(rows: pa.Table, is_open: Expression) -> Rows:
    """Count the events of each worker by how late it was, and say until when it has rows.

    `is_open` are the rows of tenants whose events have intended times.
    """
    is_first = (field("event_id") >= 0) & (field("attempt") <= 1)
    is_due = (field("intended_us") >= 0) & (field("status") != "not_sent")
    late = _bin(field("submitted_us") - field("intended_us"), is_first & is_due & is_open)
    read_us = coalesce(field("response_us"), field("sent_us"))
    keys = {"worker": field("worker"), "bin": late}
    return _sums(rows, keys, {"events": _count(), "read_us": ("max", read_us)})


def whole_events(rows: pa.Table) -> Rows:
    """Count the latencies of events that have one row, which `is_whole_event`."""
    took_us = field("response_us") - field("intended_us")
    keys = {
        "tenant": field("tenant"),
        "second": _cell(field("intended_us"), 1e6),
        "unfinished_cell": NO_TIME,
        "bin": _bin(took_us, scalar(True)),
    }
    aggregates = {
        "events": _count(),
        "response_max_us": ("max", took_us),
        "expired": ("sum", scalar(0)),
        "latest_us": ("max", field("response_us") - field("submitted_us")),
    }
    return _sums(rows, keys, aggregates, field("is_whole_event"))


def new_producer_ids(rows: pa.Table, users: Iterable[str]) -> Rows:
    """Return the first success in the batch of each producer id of users with a quota on them.

    One row with id -1 is for all other requests of a user at a broker.
    """
    is_success = (field("status") == "responded") & (field("error_code") == 0)
    keys = {
        "user": field("user"),
        "node": field("node"),
        "producer_id": if_else(coalesce(is_success, False), field("producer_id"), -1),
        "mutations": scalar(0),
    }
    is_sent = (field("api") == "Produce") & field("sent_us").is_valid()
    has_id = field("producer_id").is_valid() & is_in("user", users)
    return _sums(rows, keys, _FIRST, is_sent & has_id)


def accepted_mutations(rows: pa.Table, tenants: Iterable[str]) -> Rows:
    """Return the mutations that were accepted at each time, of tenants with a quota on them."""
    keys = {name: field(name) for name in ("tenant", "user", "response_us")}
    aggregates = {"sent_us": _FIRST["sent_us"], "mutations": ("sum", field("mutations"))}
    is_accepted = (field("mutations") > 0) & is_in("tenant", tenants)
    return _sums(rows, keys, aggregates, is_accepted)


def events(rows: pa.Table, is_main_api: Expression) -> pa.Table:
    """Return the events that may have rows in several batches, as far as these rows say.

    `is_main_api` are the rows whose response may complete their event.
    """
    is_success = (field("status") == "responded") & _is_stored()
    response_us = field("response_us")
    columns = {
        **{name: field(name) for name in (*_EVENT_KEYS, "intended_us", "submitted_us")},
        "completed_us": if_else(coalesce(is_success & is_main_api, False), response_us, NO_TIME),
        "expired_us": if_else(field("status") == "expired", response_us, NO_TIME),
        "touched_us": coalesce(response_us, field("sent_us"), field("intended_us")),
    }
    may_have_more = (field("event_id") >= 0) & ~field("is_whole_event")
    return merged(_result(rows, _filter(may_have_more), _projection(columns)))


def merged(events: pa.Table) -> pa.Table:
    """Return one row for each event, of rows that have what parts of its requests say."""
    aggregates = {
        "intended_us": ("min", field("intended_us")),
        "submitted_us": ("min", field("submitted_us")),
        "completed_us": ("max", field("completed_us")),
        "expired_us": ("min", field("expired_us")),
        "touched_us": ("max", field("touched_us")),
    }
    return _grouped(events, {name: field(name) for name in _EVENT_KEYS}, aggregates)


def latencies(before: pa.Table, after: pa.Table) -> Rows:
    """Return by how much events change the counts of latencies, as they were before a batch.

    Events that have not completed count in cells of 10 ms. A maximum never becomes smaller.
    """
    changes = {"change": scalar(-1)}, {"change": scalar(1)}
    parts = [with_columns(*part) for part in zip((before, after), changes, strict=True)]
    completed_us, intended_us = field("completed_us"), field("intended_us")
    has_completed = completed_us.is_valid()
    ended_us = coalesce(field("expired_us"), completed_us)
    keys = {
        "tenant": field("tenant"),
        "second": _cell(intended_us, 1e6),
        "unfinished_cell": if_else(has_completed, NO_TIME, _cell(intended_us, 1e4)),
        "bin": _bin(completed_us - intended_us, has_completed),
    }
    aggregates = {
        "events": ("sum", field("change")),
        "response_max_us": ("max", completed_us - intended_us),
        "expired": ("sum", if_else(field("expired_us").is_valid(), field("change"), 0)),
        "latest_us": ("max", ended_us - field("submitted_us")),
    }
    return _sums(pa.concat_tables(parts), keys, aggregates)


def is_in(column: str, names: Iterable[str]) -> Expression:
    """Return which rows have one of the names in a column of texts."""
    return field(column).isin(pa.array(names, pa.string()))


def is_whole_event(tenants: Iterable[str]) -> Expression:
    """Return which rows are all that there is of their events; of tenants of `steady`."""
    is_event = (field("api") == "Produce") & (field("attempt") == 1) & (field("event_id") >= 0)
    is_success = (field("status") == "responded") & _is_stored()
    return coalesce(is_in("tenant", tenants) & is_event & is_success, False)


def is_main_api(api_of: Mapping[str, str]) -> Expression:
    """Return which rows have the API of their tenant, by the name of the tenant; or "any"."""
    found = scalar(False)
    for api in set(api_of.values()):
        tenants = [tenant for tenant, main_api in api_of.items() if main_api == api]
        has_api = scalar(True) if api == "any" else field("api") == api
        found |= has_api & is_in("tenant", tenants)
    return found


_EVENT_KEYS = ("tenant", "event_id", "completes_once")
_FIRST: Aggregates = {
    "sent_us": ("min", field("sent_us")),
    "response_us": ("min", field("response_us")),
}


def _is_stored() -> Expression:
    """Return which responses acknowledge a batch."""
    return field("error_code").isin(list(map(int, ACKNOWLEDGED)))


def _cell(time_us: Expression, size_us: float) -> Expression:
    # Without the cast the result is a float of 32 bits, the smallest type that the literal fits.
    return floor(time_us.cast(pa.float64()) / size_us).cast(pa.int64())


def _bin(time_us: Expression, is_counted: Expression) -> Expression:
    """Return what `bin_of` does, and null for what is not counted."""
    at_least_1_us = max_element_wise(time_us.cast(pa.float64()), 1.0)
    return if_else(is_counted, floor(ln(at_least_1_us) / log(GROWTH)).cast(pa.int32()), None)


def _count() -> tuple[str, Expression]:
    return "sum", scalar(1)


def _count_if(condition: Expression) -> tuple[str, Expression]:
    return "sum", if_else(coalesce(condition, False), 1, 0)


def _sums(
    rows: pa.Table,
    keys: Mapping[str, Expression],
    aggregates: Aggregates,
    where: Expression | None = None,
) -> Rows:
    found: Rows = _grouped(rows, keys, aggregates, where).to_pylist()
    return found


def _grouped(
    rows: pa.Table,
    keys: Mapping[str, Expression],
    aggregates: Aggregates,
    where: Expression | None = None,
) -> pa.Table:
    """Return what SELECT keys, aggregates FROM rows WHERE where GROUP BY keys does."""
    arguments = {name: argument for name, (_, argument) in aggregates.items()}
    grouping = acero.AggregateNodeOptions(
        [(name, f"hash_{function}", None, name) for name, (function, _) in aggregates.items()],
        keys=list(keys),
    )
    steps = [] if where is None else [_filter(where)]
    steps += [_projection({**keys, **arguments}), acero.Declaration("aggregate", grouping)]
    return _result(rows, *steps)


def _filter(where: Expression) -> acero.Declaration:
    return acero.Declaration("filter", acero.FilterNodeOptions(where))


def _projection(columns: Mapping[str, Expression]) -> acero.Declaration:
    options = acero.ProjectNodeOptions(list(columns.values()), list(columns))
    return acero.Declaration("project", options)


def _result(rows: pa.Table, *steps: acero.Declaration) -> pa.Table:
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(rows))
    # The workers need the other cores.
    return acero.Declaration.from_sequence([source, *steps]).to_table(use_threads=False)
