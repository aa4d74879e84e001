"""Figures of a run come from its rows, within the width of a histogram's bin."""

from pathlib import Path

import numpy as np
import pytest

from loadgen.comparison.run_figures import ApiFigures, count_rows, read_run
from loadgen.storage import Storage, StorageError
from tests.loadgen.comparison.made_runs import rows, write_run

KEY = ("a", "Produce")


def test_percentiles_are_those_of_the_rows_to_half_a_percent(tmp_path: Path) -> None:
    latency_us = np.random.default_rng(1).lognormal(8, 1, 20_000)
    run = read_run(Storage(str(write_run(tmp_path / "a", 1, rows(latency_us)))))
    for share in (0.5, 0.9, 0.99, 0.999):
        exact = np.quantile(latency_us.astype(int), share)
        assert run.apis[KEY].percentile_us(share) == pytest.approx(exact, rel=0.012)


def test_errors_and_throttles_are_counted(tmp_path: Path) -> None:
    table = rows(np.full(100, 1000.0), errors=7, throttled=20)
    figures = read_run(Storage(str(write_run(tmp_path / "a", 1, table)))).apis[KEY]
    assert (figures.requests, figures.successful, figures.throttled) == (100, 93, 20)
    assert figures.throttle_time_ms == 1000


def test_rows_outside_the_measured_part_are_left_out() -> None:
    apis: dict[tuple[str, str], ApiFigures] = {}
    [batch] = rows(np.full(100, 1000.0)).to_batches()
    count_rows(batch, 1_000_000, apis)
    assert apis[KEY].requests == 50


def test_two_batches_count_like_one() -> None:
    table = rows(np.random.default_rng(2).lognormal(8, 1, 1000), errors=3)
    in_one: dict[tuple[str, str], ApiFigures] = {}
    in_ten: dict[tuple[str, str], ApiFigures] = {}
    for batch in table.to_batches():
        count_rows(batch, 2_000_000, in_one)
    for batch in table.to_batches(max_chunksize=100):
        count_rows(batch, 2_000_000, in_ten)
    assert in_ten[KEY].requests == in_one[KEY].requests == 1000
    assert in_ten[KEY].curve() == in_one[KEY].curve()


def test_a_request_without_a_response_is_not_successful_and_has_no_latency() -> None:
    table = rows(np.full(2, 1000.0))
    index = table.schema.get_field_index("status")
    table = table.set_column(index, "status", [["responded", "no_response"]])
    apis: dict[tuple[str, str], ApiFigures] = {}
    count_rows(table.to_batches()[0], 2_000_000, apis)
    assert (apis[KEY].requests, apis[KEY].successful) == (2, 1)
    assert apis[KEY].latencies.sum() == 1


def test_a_folder_without_a_run_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(StorageError, match="not a summary of this version"):
        read_run(Storage(str(tmp_path)))
