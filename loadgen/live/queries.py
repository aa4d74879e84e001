"""The queries of the live figures, by Arrow: sums over the rows of the newest segments.

Each one returns sums that can be added to those of earlier batches, in rows that are as many as
tenants, seconds, kinds of requests and bins of latency. `analysis.arrow_queries` has what
the summary shares with them.
"""

from collections.abc import Iterable

import pyarrow as pa
from pyarrow.compute import Expression, coalesce, field, if_else, scalar

from loadgen.analysis.arrow_queries import (
    NO_TIME,
    Aggregates,
    Grouping,
    Rows,
    bin_number,
    cell_of,
    columns_of,
    completed_us,
    count,
    count_if,
    has_lateness,
    is_in,
    throttle_sums,
    with_columns,
)

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


def requests(rows: pa.Table) -> Rows:
    """Count the requests of each kind in each second in which they were sent."""
    keys = {name: field(name) for name in ("tenant", "api", "status", "kind", "error_code")}
    aggregates = {
        **throttle_sums(),
        "rows_of_events": count_if((field("event_id") >= 0) & ~field("is_whole_event")),
    }
    return _sums(rows, Grouping({**keys, "second": cell_of(field("sent_us"), 1e6)}, aggregates))


def lateness(rows: pa.Table, is_open: Expression) -> Rows:
    """Count the events of each worker by how late it was, and say until when it has rows.

    `is_open` are the rows of tenants whose events have intended times.
    """
    late = bin_number(field("submitted_us") - field("intended_us"), has_lateness(is_open))
    read_us = coalesce(field("response_us"), field("sent_us"))
    keys = {"worker": field("worker"), "bin": late}
    return _sums(rows, Grouping(keys, {"events": count(), "read_us": ("max", read_us)}))


def whole_events(rows: pa.Table) -> Rows:
    """Count the latencies of events that have one row, which `is_whole_event`."""
    took_us = field("response_us") - field("intended_us")
    keys = {
        "tenant": field("tenant"),
        "second": cell_of(field("intended_us"), 1e6),
        "unfinished_cell": NO_TIME,
        "bin": bin_number(took_us, scalar(True)),
    }
    aggregates = {
        "events": count(),
        "response_max_us": ("max", took_us),
        "expired": ("sum", scalar(0)),
        "latest_us": ("max", field("response_us") - field("submitted_us")),
    }
    return _sums(rows, Grouping(keys, aggregates, field("is_whole_event")))


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
    return _sums(rows, Grouping(keys, _FIRST, is_sent & has_id))


def accepted_mutations(rows: pa.Table, tenants: Iterable[str]) -> Rows:
    """Return the mutations that were accepted at each time, of tenants with a quota on them."""
    keys = {name: field(name) for name in ("tenant", "user", "response_us")}
    aggregates = {"sent_us": _FIRST["sent_us"], "mutations": ("sum", field("mutations"))}
    is_accepted = (field("mutations") > 0) & is_in("tenant", tenants)
    return _sums(rows, Grouping(keys, aggregates, is_accepted))


def events(rows: pa.Table, is_main_api: Expression) -> pa.Table:
    """Return the events that may have rows in several batches, as far as these rows say.

    `is_main_api` are the rows whose response may complete their event.
    """
    response_us = field("response_us")
    columns = {
        **{name: field(name) for name in (*_EVENT_KEYS, "intended_us", "submitted_us")},
        "completed_us": completed_us(is_main_api),
        "expired_us": if_else(field("status") == "expired", response_us, NO_TIME),
        "touched_us": coalesce(response_us, field("sent_us"), field("intended_us")),
    }
    may_have_more = (field("event_id") >= 0) & ~field("is_whole_event")
    return merged(columns_of(rows, columns, may_have_more))


def merged(events: pa.Table) -> pa.Table:
    """Return one row for each event, of rows that have what parts of its requests say."""
    aggregates = {
        "intended_us": ("min", field("intended_us")),
        "submitted_us": ("min", field("submitted_us")),
        "completed_us": ("max", field("completed_us")),
        "expired_us": ("min", field("expired_us")),
        "touched_us": ("max", field("touched_us")),
    }
    return Grouping({name: field(name) for name in _EVENT_KEYS}, aggregates).of(events)


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
        "second": cell_of(intended_us, 1e6),
        "unfinished_cell": if_else(has_completed, NO_TIME, cell_of(intended_us, 1e4)),
        "bin": bin_number(completed_us - intended_us, has_completed),
    }
    aggregates = {
        "events": ("sum", field("change")),
        "response_max_us": ("max", completed_us - intended_us),
        "expired": ("sum", if_else(field("expired_us").is_valid(), field("change"), 0)),
        "latest_us": ("max", ended_us - field("submitted_us")),
    }
    return _sums(pa.concat_tables(parts), Grouping(keys, aggregates))


_EVENT_KEYS = ("tenant", "event_id", "completes_once")
_FIRST: Aggregates = {
    "sent_us": ("min", field("sent_us")),
    "response_us": ("min", field("response_us")),
}


def _sums(rows: pa.Table, grouping: Grouping) -> Rows:
    found: Rows = grouping.of(rows).to_pylist()
    return found
