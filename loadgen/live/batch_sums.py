"""Reduce the rows of segments to sums; the driver adds them up.

An event may have rows in several batches: those that may get more rows stay here.
"""

import pyarrow as pa
import pyarrow.compute as pc

from loadgen.analysis.arrow_queries import (
    Rows,
    is_in,
    is_main_api,
    is_whole_event,
    with_columns,
)
from loadgen.analysis.quota_bounds import id_quotas, mutation_buckets
from loadgen.analysis.verdicts import main_api
from loadgen.live import queries
from loadgen.live.figures import Batch
from loadgen.plan.plan import Plan
from loadgen.plan.run_spec import PreparedTarget

OPEN_S = 60
"""An event of which nothing was read for so long is over."""
OPEN_EVENTS_MAX = 200_000
"""If more events are open, those of which nothing was read for the longest time are over; 15 MB."""
COMPLETES_ONCE = {
    "steady",
    "keyed",
    "new-producer-per-error",
    "new-producer-per-batch",
    "delivery-timeout",
    "connection-storm",
    "replay",
}
"""The behaviours whose events have one response that completes them."""


class BatchSums:
    """Reduces batches of rows to `Batch`; keeps the events that may get more rows."""

    def __init__(self, plan: Plan, target: PreparedTarget) -> None:
        """Read rows of this plan."""
        tenants = plan.tenants
        has_times = [tenant.name for tenant in tenants if tenant.arrival != "closed"]
        once = [tenant.name for tenant in tenants if tenant.behaviour in COMPLETES_ONCE]
        steady = [tenant.name for tenant in tenants if tenant.behaviour == "steady"]
        self._is_open = is_in("tenant", has_times)
        self._is_main_api = is_main_api({t.name: main_api(t) for t in tenants})
        self._columns = {
            "completes_once": is_in("tenant", once),
            "is_whole_event": is_whole_event(steady),
        }
        self._id_users = list(id_quotas(plan, target))
        self._mutation_tenants = [
            name for names, *_ in mutation_buckets(plan, target).values() for name in names
        ]
        self._open_events: pa.Table | None = None
        self._newest_us = 0

    @property
    def open_events(self) -> int:
        """The number of events that may get more rows."""
        return 0 if self._open_events is None else len(self._open_events)

    def read(self, rows: pa.Table) -> Batch:
        """Return what the rows of a batch add; `rows` has the columns of `queries.COLUMNS`."""
        rows = with_columns(rows, self._columns)
        batch = Batch(
            queries.requests(rows),
            queries.lateness(rows, self._is_open),
            queries.whole_events(rows),
        )
        if self._id_users:
            batch.quota_rows += queries.new_producer_ids(rows, self._id_users)
        if self._mutation_tenants:
            batch.quota_rows += queries.accepted_mutations(rows, self._mutation_tenants)
        times = [row["end_us"] for row in batch.requests if row["end_us"] is not None]
        self._newest_us = max([self._newest_us, *times])
        if any(row["rows_of_events"] for row in batch.requests):
            batch.latencies += self._latencies_of_events(rows)
        return batch

    def _latencies_of_events(self, rows: pa.Table) -> Rows:
        events = queries.events(rows, self._is_main_api)
        if self._open_events is None:
            self._open_events = events.slice(0, 0)
        has_rows = pc.is_in(self._open_events["event_id"], events["event_id"].combine_chunks())
        before = self._open_events.filter(has_rows)
        after = queries.merged(pa.concat_tables([before, events]))
        others = self._open_events.filter(pc.invert(has_rows))
        self._open_events = self._still_open(pa.concat_tables([others, after]))
        return queries.latencies(before, after)

    def _still_open(self, events: pa.Table) -> pa.Table:
        """Return the events that may get more rows."""
        has_ended = pc.or_(events["completed_us"].is_valid(), events["expired_us"].is_valid())
        may_continue = pc.invert(pc.and_(events["completes_once"], has_ended))
        before_us = self._newest_us - OPEN_S * 1_000_000
        is_recent = pc.greater_equal(events["touched_us"], before_us)
        events = events.filter(pc.and_(may_continue, is_recent)).combine_chunks()
        if events.num_rows > OPEN_EVENTS_MAX:
            newest_first = pc.sort_indices(events, [("touched_us", "descending")])
            events = events.take(newest_first[:OPEN_EVENTS_MAX])
        return events
