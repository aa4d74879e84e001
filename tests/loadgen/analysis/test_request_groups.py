"""Sums over the groups of requests, compared with the same sums over the rows."""

from collections import Counter
from math import ceil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.latencies import bin_of
from loadgen.analysis.request_groups import (
    duplicates_of,
    groups_of,
    requests_of,
    throttles_of,
    totals_of,
)

TOLERANCE_US = 2_000
Row = dict[str, Any]
rows_of_requests = st.lists(
    st.fixed_dictionaries(
        {
            "tenant": st.sampled_from(["a", "b"]),
            "api": st.sampled_from(["Produce", "EndTxn"]),
            "status": st.sampled_from(["responded", "no_response", "lost", "not_sent", "expired"]),
            "kind": st.sampled_from(["new", "latest", "old", None]),
            "error_code": st.sampled_from([None, 0, 45, 46, 79]),
            "sent_us": st.none() | st.integers(0, 99),
            "response_us": st.none() | st.integers(0, 99),
            "throttle_time_ms": st.none() | st.integers(0, 3),
            "early_us": st.integers(0, 5_000),
        }
    )
)


def numbers(rows: list[Row], column: str) -> list[int]:
    return [row[column] for row in rows if row[column] is not None]


def is_responded_early(row: Row) -> bool:
    if row["response_us"] is None or row["sent_us"] is None or row["early_us"] <= TOLERANCE_US:
        return False
    return bool(row["response_us"] - row["sent_us"] < row["early_us"] - TOLERANCE_US)


def ends_us(rows: list[Row]) -> list[int]:
    ends = [row["sent_us"] if row["response_us"] is None else row["response_us"] for row in rows]
    return [end for end in ends if end is not None]


def grouped(rows: list[Row]) -> list[Row]:
    """Do what the query does, and add its rows up."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    keys = ("tenant", "api", "status", "kind", "error_code")
    for row in rows:
        number = None if row["response_us"] is None else bin_of(row["response_us"])
        groups.setdefault((*(row[key] for key in keys), number), []).append(row)
    found = [
        {
            **dict(zip((*keys, "bin"), group, strict=True)),
            "requests": len(members),
            "bytes": 10 * len(members),
            "mutations": len(members),
            "throttle_ms": sum(numbers(members, "throttle_time_ms"))
            if numbers(members, "throttle_time_ms")
            else None,
            "throttle_max_ms": max(numbers(members, "throttle_time_ms"), default=None),
            "sent": len(numbers(members, "sent_us")),
            "throttled": sum((row["throttle_time_ms"] or 0) > 0 for row in members),
            "sent_early": sum(row["early_us"] > 1000 for row in members),
            "early_max_us": max(numbers(members, "early_us")),
            "responded_early": sum(map(is_responded_early, members)),
            "end_us": max(ends_us(members), default=None),
        }
        for group, members in groups.items()
    ]
    return groups_of(found)


@given(rows_of_requests)
def test_the_totals_are_those_of_all_rows(rows: list[Row]) -> None:
    statuses = Counter(row["status"] for row in rows)
    assert totals_of(grouped(rows)) == {
        "requests": len(numbers(rows, "sent_us")),
        **{
            status: statuses[status]
            for status in ("responded", "no_response", "lost", "not_sent", "expired")
        },
        "errors": sum(row["status"] == "responded" and row["error_code"] == 45 for row in rows),
        "throttled": sum((row["throttle_time_ms"] or 0) > 0 for row in rows),
        "end_us": max(ends_us(rows), default=None),
    }


@given(rows_of_requests)
def test_the_throttles_are_those_of_each_tenant(rows: list[Row]) -> None:
    expected = []
    for tenant in sorted({row["tenant"] for row in rows}):
        mine = [row for row in rows if row["tenant"] == tenant]
        times_ms = numbers(mine, "throttle_time_ms")
        expected.append(
            {
                "tenant": tenant,
                "throttled": sum(time_ms > 0 for time_ms in times_ms),
                "throttle_total_ms": sum(times_ms) if times_ms else None,
                "throttle_max_ms": max(times_ms, default=None),
                "sent_early": sum(row["early_us"] > 1000 for row in mine),
                "early_max_us": max(row["early_us"] for row in mine),
                "responded_early": sum(map(is_responded_early, mine)),
            }
        )
    assert throttles_of(grouped(rows)) == expected


@given(rows_of_requests)
def test_duplicates_are_counted_by_kind_and_error_code(rows: list[Row]) -> None:
    counts = Counter(
        (row["kind"], row["error_code"])
        for row in rows
        if row["api"] == "Produce" and row["kind"] in {"latest", "old"}
    )
    found = duplicates_of(grouped(rows))
    assert {(row["kind"], row["error_code"]): row["requests"] for row in found} == counts
    order = [(row["kind"], row["error_code"] is not None, row["error_code"] or 0) for row in found]
    assert order == sorted(order)


@given(rows_of_requests)
def test_a_group_is_the_sum_of_its_bins_with_the_percentiles_of_its_times(rows: list[Row]) -> None:
    groups = grouped(rows)
    keys = ("tenant", "api", "status", "kind", "error_code")
    found = [tuple(group[key] for key in keys) for group in groups]
    assert set(found) == {tuple(row[key] for key in keys) for row in rows}
    # Nothing comes first, as in SQL.
    order = [tuple((part is not None, part) for part in key) for key in found]
    assert order == sorted(order)
    for key, group in zip(found, groups, strict=True):
        mine = [row for row in rows if tuple(row[name] for name in keys) == key]
        assert (group["requests"], group["bytes"]) == (len(mine), 10 * len(mine))
        times = sorted(max(1, time) for time in numbers(mine, "response_us"))
        if not times:
            assert group["service_us"] is None
            continue
        middle, high = group["service_us"]
        assert middle == pytest.approx(times[ceil(len(times) / 2) - 1], rel=0.006)
        assert high == pytest.approx(times[-1], rel=0.006)  # there are fewer than 100


def test_the_table_of_requests_has_no_columns_of_the_other_sums() -> None:
    [row] = requests_of([{"tenant": "a", "requests": 1, "sent": 1, "end_us": 5, "throttled": 0}])
    assert row == {"tenant": "a", "requests": 1}
