"""Bins of latencies become the percentiles of each second, and lists for each group."""

from collections import defaultdict
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.analysis.latencies import Latencies
from loadgen.analysis.row_sums import (
    MEASURED,
    RESPONSES,
    SHARES_PERCENT,
    percentiles,
    rows_with_bins,
    with_bins,
)
from tests.examples import examples

KEYS = st.tuples(st.integers(0, 3), st.sampled_from(["a", "b"]), st.integers(0, 9))
COUNTS = st.dictionaries(KEYS, st.integers(1, 40), max_size=40)
SCHEMA = pa.schema(
    [("second", pa.int64()), ("tenant", pa.string()), ("bin", pa.int32()), ("events", pa.int64())]
)


@settings(max_examples=examples(50))
@given(COUNTS)
def test_a_percentile_is_the_first_bin_that_has_its_share(
    counts: dict[tuple[int, str, int], int],
) -> None:
    rows = [dict(zip(SCHEMA.names, (*key, count), strict=True)) for key, count in counts.items()]
    found = percentiles(RESPONSES.of(pa.Table.from_pylist(rows, SCHEMA))).to_pylist()

    by_group: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    for (second, tenant, number), count in counts.items():
        by_group[second, tenant] += [number] * count
    assert {(row["second"], row["tenant"]) for row in found} == set(by_group)
    for row in found:
        times = sorted(by_group[row["second"], row["tenant"]])
        for name, percent in SHARES_PERCENT.items():
            rank = -(-percent * len(times) // 100)
            assert row[name] == times[rank - 1]


def test_a_group_is_one_row_with_its_bins_in_order() -> None:
    rows: list[dict[str, Any]] = [
        {"tenant": "a", "measure": "response", "period": period, "bin": number, "events": events,
         "completed": events - 1, "max_us": 10 * number, "sum_us": 100 * number}
        for period, number, events in [(1, 7, 2), (0, 3, 5), (1, 2, 9)]
    ]  # fmt: skip
    first, second = rows_with_bins(with_bins(MEASURED.of(pa.Table.from_pylist(rows)), MEASURED))

    assert first["times"].counts == {3: 5}
    assert second["times"].counts == {2: 9, 7: 2}
    assert (second["completed"], second["max_us"], second["sum_us"]) == (9, 70, 900)
    shares = [0.5, 0.9, 1.0]
    expected = Latencies([(2, 9), (7, 2)]).percentiles_us(shares)
    assert second["times"].percentiles_us(shares) == expected
    assert (
        rows_with_bins(with_bins(MEASURED.of(pa.Table.from_pylist(rows)).slice(0, 0), MEASURED))
        == []
    )
