"""Sums of batches of rows add up to the same figures in any division."""

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.live import batch_sums, queries
from loadgen.live.batch_sums import OPEN_S, BatchSums
from loadgen.live.figures import LiveFigures
from loadgen.rows import ARROW_SCHEMA
from tests.examples import examples
from tests.loadgen.live.made_batches import SECOND, TARGET
from tests.loadgen.live.made_rows import PLAN, SEGMENTS, Row, no_response, row

ROWS = [row for segment in SEGMENTS for row in segment]


def table_of(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, ARROW_SCHEMA).select(queries.COLUMNS)


def figures_of(*batches: list[Row], sums: BatchSums | None = None) -> dict[str, Any]:
    figures, sums = LiveFigures(PLAN, TARGET), sums or BatchSums(PLAN, TARGET)
    for rows in batches:
        figures.take(sums.read(table_of(rows)))
    figures.end(5 * SECOND)
    return figures.as_dict()


def events_of(found: dict[str, Any], tenant: str) -> tuple[int, int]:
    [row] = [row for row in found["tenants"] if row["tenant"] == tenant]
    return row["events"], row["completed"]


@given(st.lists(st.integers(0, len(ROWS)), max_size=6))
@settings(max_examples=examples(10), deadline=None)
def test_the_figures_are_the_same_in_any_division_into_batches(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(ROWS)]
    parts = [ROWS[start:end] for start, end in pairwise(places)]
    assert figures_of(*filter(None, parts)) == figures_of(ROWS)


def test_an_event_of_several_requests_ends_with_the_last_of_them() -> None:
    sums = BatchSums(PLAN, TARGET)
    first, last = row(1, "again", response_us=20_000), row(1, "again", response_us=90_000)
    found = figures_of([first], [last], [no_response(1, "again")], sums=sums)
    assert events_of(found, "again") == (1, 1)
    [tenant] = [row for row in found["tenants"] if row["tenant"] == "again"]
    assert tenant["response_max_us"] == 80_000
    assert tenant["response_us"] == pytest.approx([80_000] * 5, rel=0.01)


def test_an_event_is_over_when_nothing_was_read_of_it_for_a_minute() -> None:
    sums = BatchSums(PLAN, TARGET)
    figures_of([no_response(1, "again"), row(2, "again")], sums=sums)
    assert sums.open_events == 2
    later = row(3, "again", sent_us=(OPEN_S - 1) * SECOND)
    figures_of([later], sums=sums)
    assert sums.open_events == 3
    figures_of([{**later, "event_id": 4, "response_us": (OPEN_S + 2) * SECOND}], sums=sums)
    assert sums.open_events == 2


def test_memory_is_bounded_and_the_events_that_were_read_last_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batch_sums, "OPEN_EVENTS_MAX", 3)
    sums = BatchSums(PLAN, TARGET)
    found = figures_of(
        [row(number, "again") for number in (1, 2, 3, 4, 5)],
        [row(5, "again", response_us=900_000)],
        sums=sums,
    )
    assert sums.open_events == 3
    assert events_of(found, "again") == (5, 5)
