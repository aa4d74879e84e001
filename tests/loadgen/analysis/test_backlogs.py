"""A backlog has recovered when the lag is as before the pause, at a rate that is judged."""

from msgspec.structs import replace

from loadgen.analysis.backlogs import (
    POINTS_MAX,
    Cell,
    backlog_verdicts,
    backlogs_of,
    cells_of,
    groups_of,
    lag_cell_us,
    series_of,
)
from loadgen.plan.pauses import Pause
from loadgen.plan.plan import Plan, Tenant

PAUSE = Pause(2, 3, recovers_within_s=2, drain_records_per_s_min=100)


def plan_of(pause: Pause = PAUSE, duration_s: float = 10.0) -> Plan:
    reader = Tenant("reader", "consumer-group", group="g", pauses=(pause,))
    return Plan(name="p", duration_s=duration_s, tenants=(reader,))


def cells(drained_per_cell: int, until_s: float = 10.0) -> list[Cell]:
    """Make cells in which 10 records are produced, and as many received except in the pause."""
    found, lag = [], 5
    for number in range(round(until_s * 10)):
        end_s = round((number + 1) / 10, 1)
        is_reading = not 2 < end_s <= 5
        received = min(lag + 10, drained_per_cell) if is_reading and lag > 5 else 10 * is_reading
        lag += 10 - received
        found.append(Cell(end_s, lag, received, 10))
    return found


def test_cells_are_sums_of_changes_and_keep_the_lag_where_nothing_happens() -> None:
    rows = [
        {"group_id": "g", "cell": 4, "change": -5, "received": 5, "produced": 0},
        {"group_id": "g", "cell": -1, "change": 3, "received": 0, "produced": 3},
        {"group_id": "g", "cell": 1, "change": 4, "received": 1, "produced": 5},
        {"group_id": "other", "cell": 7, "change": 2, "received": 0, "produced": 2},
    ]
    found = cells_of(rows, plan_of())
    assert [(cell.end_s, cell.lag) for cell in found["g"]] == [
        (0.0, 3), (0.1, 3), (0.2, 7), (0.3, 7), (0.4, 7), (0.5, 2),
    ]  # fmt: skip
    assert [cell.received for cell in found["g"]] == [0, 0, 1, 0, 0, 5]
    assert found["other"] == [Cell(0.8, 2, 0, 2)]


def test_a_long_run_has_longer_cells() -> None:
    assert lag_cell_us(plan_of(duration_s=3600)) == 100_000
    assert lag_cell_us(plan_of(duration_s=36_000)) == 1_000_000


def test_a_backlog_that_drains_in_time_passes_both_checks() -> None:
    plan = plan_of()
    # 300 records wait, and 30 in each tenth of a second are 20 more than are produced.
    [row] = backlogs_of(plan, {"g": cells(30)}, 10.0)
    assert (row["backlog_records"], row["usual_lag"]) == (305, 10)
    assert row["recovered_in_s"] == 1.5
    assert (row["drained_records"], row["drain_records_per_s"]) == (450, 300.0)
    assert row["produced_records_per_s"] == 100.0
    found = backlog_verdicts(plan, [row])
    assert [(verdict.check, verdict.verdict) for verdict in found] == [
        ("backlog: drained in 2 s", "passed"),
        ("backlog: drained at 100 records/s or more", "passed"),
    ]
    assert "305 records behind" in found[0].details
    assert "recovered in 1.5 s" in found[0].details


def test_a_backlog_that_drains_late_or_slowly_fails() -> None:
    plan = plan_of(replace(PAUSE, drain_records_per_s_min=400))
    [row] = backlogs_of(plan, {"g": cells(20)}, 10.0)
    assert row["recovered_in_s"] == 3.0
    assert [verdict.verdict for verdict in backlog_verdicts(plan, [row])] == ["failed", "failed"]


def test_a_backlog_that_stays_until_the_end_fails_also_without_a_limit() -> None:
    plan = plan_of(Pause(2, 3))
    [row] = backlogs_of(plan, {"g": cells(11)}, 10.0)
    assert row["recovered_in_s"] is None
    [verdict] = backlog_verdicts(plan, [row])
    assert (verdict.check, verdict.verdict) == ("backlog: drained before the end", "failed")
    assert "not recovered" in verdict.details


def test_a_run_that_ends_in_the_pause_or_without_rows_is_not_judged() -> None:
    for of_group, measured_s in ((cells(30, 4.0), 4.0), ([], 10.0), (cells(30), 4.0)):
        rows = backlogs_of(plan_of(), {"g": of_group}, measured_s)
        [verdict] = backlog_verdicts(plan_of(), rows)
        assert verdict.verdict == "not checked"


def test_the_figures_of_a_group_are_those_of_the_measured_part() -> None:
    warm_up = Cell(0.0, 99, 1000, 1000)
    [found] = groups_of({"g": [warm_up, *cells(30)]}, 10.0)
    assert found == {
        "group_id": "g",
        "received": 1000,
        "received_per_s": 100.0,
        "lag_max": 305,
        "lag_at_the_end": 5,
    }


def test_the_series_keeps_peaks_and_few_points() -> None:
    many = [Cell(number / 10, number % 700, 0, 0) for number in range(5_000)]
    found = series_of({"g": many})
    assert len(found) <= POINTS_MAX
    assert max(row["lag"] for row in found) == 699
    assert [row["end_s"] for row in found] == sorted(row["end_s"] for row in found)
