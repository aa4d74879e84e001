"""Sums of parts of the rows are those of all rows, and columns are cut where values change."""

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow.compute import field, scalar

from loadgen.analysis.arrow_queries import (
    Grouping,
    bin_number,
    columns_of,
    count,
    count_if,
    spans_of,
    starts_of,
    tenant_number,
)
from tests.examples import examples

ROWS = st.lists(
    st.fixed_dictionaries(
        {"tenant": st.sampled_from(["a", "b", None]), "time_us": st.none() | st.integers(-9, 9)}
    ),
    max_size=30,
)
SCHEMA = pa.schema([("tenant", pa.string()), ("time_us", pa.int64())])
QUERY = Grouping(
    {"tenant": field("tenant")},
    {
        "rows": count(),
        "late": count_if(field("time_us") > 3),
        "sum_us": ("sum", field("time_us")),
        "first_us": ("min", field("time_us")),
        "last_us": ("max", field("time_us")),
    },
)


def in_order(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=str)


@settings(max_examples=examples(30))
@given(ROWS, ROWS)
def test_the_sums_of_parts_add_up(some: list[Any], others: list[Any]) -> None:
    parts = [QUERY.of(pa.Table.from_pylist(rows, SCHEMA)) for rows in (some, others)]
    together = QUERY.of(pa.Table.from_pylist(some + others, SCHEMA))

    assert in_order(QUERY.merged(parts)) == in_order(together)
    for row in together.to_pylist():
        mine = [r["time_us"] for r in some + others if r["tenant"] == row["tenant"]]
        known = [time_us for time_us in mine if time_us is not None]
        assert row["rows"] == len(mine)
        assert row["sum_us"] == (sum(known) if known else None)


def test_a_time_that_is_missing_is_in_no_bin() -> None:
    rows = pa.table({"time_us": pa.array([None, -5, 1, 1000], pa.int64())})
    found = columns_of(rows, {"bin": bin_number(field("time_us"), scalar(True))})

    assert found["bin"].to_pylist() == [None, 0, 0, 694]


def test_tenants_are_numbered_from_one_and_others_are_zero() -> None:
    rows = pa.table({"tenant": ["b", "c", None, "a"]})
    found = columns_of(rows, {"number": tenant_number(["a", "b"])})

    assert found["number"].to_pylist() == [2, 0, 0, 1]


def test_runs_of_equal_rows_begin_where_any_column_differs() -> None:
    columns = [np.array([1, 1, 1, 2]), np.array([5, 6, 6, 6])]

    assert starts_of(columns).tolist() == [0, 1, 3]
    assert spans_of(columns) == [(0, 1), (1, 3), (3, 4)]
    assert spans_of([np.empty(0, np.int64)]) == []
