"""The lag of groups over time, and how they drain the backlog of a pause.

The lag of a partition is its end minus the position of the group, as Kafka has it: both are known
from offsets, the end from responses to Produce and Fetch, the position from what was received.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from loadgen.analysis.arrow_queries import numbers_of, spans_of
from loadgen.analysis.checks import Verdict
from loadgen.plan.pauses import Pause
from loadgen.plan.plan import Plan, Tenant

CELL_US = 100_000
"""A recovery is known to a tenth of a second, in runs of up to an hour."""
CELLS_MAX = 36_000
POINTS_MAX = 1_000
"""Points of the lag of a group in `summary.json` and in the chart."""
BEFORE_S = 1.0
"""The time before a pause in which the usual lag is measured: earlier the group may have joined."""

_NOWHERE = -1
Rows = list[dict[str, Any]]


class Cell(NamedTuple):
    """A short time of a group: the lag at its end, and the records of it."""

    end_s: float
    lag: int
    received: int
    produced: int


def lag_cell_us(plan: Plan) -> int:
    """Return the length of a cell."""
    return max(CELL_US, ceil(plan.duration_s * 1e6 / CELLS_MAX))


def lag_rows(cells: pa.Table, groups: Sequence[str]) -> Rows:
    """Return a row for each group and cell in which the lag of one of its logs changes.

    `cells` are the rows of `received_batches.LAG_CELLS`; `groups` are those of the logs.
    """
    table = cells.sort_by([("log", "ascending"), ("cell", "ascending")])
    logs, at = (numbers_of(table[name]) for name in ("log", "cell"))
    ends, positions, firsts, received, produced = (
        numbers_of(table[name].fill_null(_NOWHERE)) for name in table.column_names[2:]
    )
    change = np.zeros(len(logs), np.int64)
    for start, end in spans_of([logs]):
        position = np.maximum.accumulate(positions[start:end])
        position[position == _NOWHERE] = firsts[start:end].min()
        lag = np.maximum(0, np.maximum.accumulate(ends[start:end]) - position)
        change[start:end] = np.diff(lag, prepend=0)
    names = pa.array(groups, pa.string()).take(pa.array((logs >> 32) - 1))
    changes = {"change": change, "received": received, "produced": produced}
    found = pa.table({"group_id": names, "cell": at, **changes})
    sums = found.group_by(["group_id", "cell"], use_threads=False).aggregate(
        [(name, "sum") for name in changes]
    )
    rows: Rows = sums.rename_columns(
        [name.removesuffix("_sum") for name in sums.column_names]
    ).to_pylist()
    return rows


def cells_of(rows: Rows, plan: Plan) -> dict[str, list[Cell]]:
    """Return the cells of each group in the order of time, from the rows of `lag_rows`."""
    by_group: dict[str, dict[int, dict[str, Any]]] = {}
    for row in rows:
        by_group.setdefault(row["group_id"], {})[row["cell"]] = row
    return {group: list(_cells(by_cell, plan)) for group, by_cell in sorted(by_group.items())}


def _cells(by_cell: Mapping[int, Mapping[str, Any]], plan: Plan) -> Iterator[Cell]:
    """Yield all cells from the first one with a record; between rows the lag stays."""
    cell_s = lag_cell_us(plan) / 1e6
    cells = range(min(by_cell), max(by_cell) + 1)
    changes = (by_cell[cell]["change"] if cell in by_cell else 0 for cell in cells)
    for cell, lag in zip(cells, accumulate(changes), strict=True):
        row = by_cell.get(cell, {})
        end_s = round((cell + 1) * cell_s, 6)
        yield Cell(end_s, lag, row.get("received", 0), row.get("produced", 0))


def series_of(cells: Mapping[str, Sequence[Cell]]) -> Rows:
    """Return the lag of each group over time, the largest of each point."""
    found = []
    for group, of_group in cells.items():
        step = ceil(len(of_group) / POINTS_MAX)
        for start in range(0, len(of_group), step):
            part = of_group[start : start + step]
            found.append(
                {"group_id": group, "end_s": part[-1].end_s, "lag": max(cell.lag for cell in part)}
            )
    return found


def groups_of(cells: Mapping[str, Sequence[Cell]], measured_s: float) -> Rows:
    """Return what each group received in the measured part, and its lag."""
    found = []
    for group, of_group in cells.items():
        part = [cell for cell in of_group if 0 < cell.end_s <= measured_s]
        received = sum(cell.received for cell in part)
        found.append(
            {
                "group_id": group,
                "received": received,
                "received_per_s": round(received / measured_s, 1) if measured_s else 0.0,
                "lag_max": max((cell.lag for cell in part), default=0),
                "lag_at_the_end": of_group[-1].lag,
            }
        )
    return found


def backlogs_of(plan: Plan, cells: Mapping[str, Sequence[Cell]], measured_s: float) -> Rows:
    """Return a row for each pause; it has recovered when the lag is as before it.

    `recovered_in_s` is None if that was not in the run, `is_over` whether the run went on after the
    pause.
    """
    return [
        _backlog(tenant, pause, cells.get(tenant.group, ()), measured_s)
        for tenant in plan.tenants
        for pause in tenant.pauses
    ]


def _backlog(
    tenant: Tenant, pause: Pause, cells: Sequence[Cell], measured_s: float
) -> dict[str, Any]:
    usual = _usual_lag(pause, cells)
    after = [cell for cell in cells if cell.end_s > pause.end_s]
    at_the_end = [cell.lag for cell in cells if cell.end_s <= pause.end_s]
    recovered = next((number for number, cell in enumerate(after) if cell.lag <= usual), None)
    part = after if recovered is None else after[: recovered + 1]
    took_s = part[-1].end_s - pause.end_s if part else 0.0
    received = sum(cell.received for cell in part)
    produced = sum(cell.produced for cell in part)
    return {
        "tenant": tenant.name,
        "group_id": tenant.group,
        "at_s": pause.at_s,
        "for_s": pause.for_s,
        "is_over": bool(part) and pause.end_s < measured_s,
        "backlog_records": at_the_end[-1] if at_the_end else 0,
        "usual_lag": usual,
        "recovered_in_s": None if recovered is None else round(took_s, 3),
        "drained_records": received,
        "drain_records_per_s": round(received / took_s, 1) if took_s else None,
        "produced_records_per_s": round(produced / took_s, 1) if took_s else None,
    }


def _usual_lag(pause: Pause, cells: Sequence[Cell]) -> int:
    """Return the largest lag just before a pause, and at least what is produced in a cell."""
    begin_s = max(0.0, pause.at_s - BEFORE_S)
    before = [cell.lag for cell in cells if begin_s < cell.end_s <= pause.at_s]
    produced = sum(cell.produced for cell in cells)
    return max([ceil(produced / len(cells)) if cells else 0, *before])


def backlog_verdicts(plan: Plan, rows: Sequence[Mapping[str, Any]]) -> list[Verdict]:
    """Return the verdicts about each pause; `rows` are those of `backlogs_of`."""
    pauses = [pause for tenant in plan.tenants for pause in tenant.pauses]
    return [
        verdict
        for pause, row in zip(pauses, rows, strict=True)
        for verdict in _verdicts(pause, row)
    ]


def _verdicts(pause: Pause, row: Mapping[str, Any]) -> Iterator[Verdict]:
    scope = f"tenant {row['tenant']}, pause at {pause.at_s:g} s for {pause.for_s:g} s"
    limit_s, took_s = pause.recovers_within_s, row["recovered_in_s"]
    check = "backlog: drained " + ("before the end" if limit_s is None else f"in {limit_s:g} s")
    if not row["is_over"]:
        yield Verdict(check, scope, "not checked", "the run ended before the end of the pause")
        return
    rate = row["drain_records_per_s"]
    in_time = took_s is not None and (limit_s is None or took_s <= limit_s)
    took = "not recovered" if took_s is None else f"recovered in {took_s:.1f} s"
    details = (
        f"{row['backlog_records']:,} records behind at the end of the pause, {took}"
        f" (a lag of at most {row['usual_lag']:,}), at {rate:,.0f} records/s,"
        f" {row['produced_records_per_s']:,.0f} produced/s at that time"
    )
    yield Verdict(check, scope, "passed" if in_time else "failed", details)
    lowest = pause.drain_records_per_s_min
    if lowest is not None:
        yield Verdict(
            f"backlog: drained at {lowest:g} records/s or more",
            scope,
            "passed" if rate >= lowest else "failed",
            f"{rate:,.0f} records/s",
        )
