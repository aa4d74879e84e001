"""`mock-kafka load compare` ends with a status for CI."""

from pathlib import Path

import numpy as np
import pytest

from loadgen import compare
from loadgen.storage import StorageError
from tests.loadgen.comparison.made_runs import LATE, VERDICT, rows, write_run, write_side

pytestmark = pytest.mark.slow


def status(out: Path, *runs: str) -> int:
    return compare.main([*runs, "--out", str(out / "page.html")])


def test_slower_runs_end_with_1_and_equal_ones_with_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = write_side(tmp_path / "before", 1.0)
    same = write_side(tmp_path / "same", 1.0)
    slow = write_side(tmp_path / "slow", 1.5)
    assert status(tmp_path, before, same) == 0
    assert "worse" not in capsys.readouterr().out
    assert status(tmp_path, before, same, slow) == 1
    assert "a Produce p99 latency: +5" in capsys.readouterr().out
    assert "<svg " in (tmp_path / "page.html").read_text()
    assert status(tmp_path, slow, before) == 0


def test_a_tolerance_above_the_change_accepts_it(tmp_path: Path) -> None:
    before, slow = write_side(tmp_path / "before", 1.0), write_side(tmp_path / "slow", 1.5)
    out = str(tmp_path / "page.html")
    assert compare.main([before, slow, "--out", out, "--tolerance", "60"]) == 0


def test_runs_may_be_listed_with_commas(tmp_path: Path) -> None:
    before, slow = write_side(tmp_path / "before", 1.0), write_side(tmp_path / "slow", 1.5)
    listed = ",".join(f"{slow}/seed-{seed}" for seed in (1, 2, 3))
    assert status(tmp_path, before, listed) == 1


def test_a_late_load_generator_ends_with_3_unless_a_check_failed(tmp_path: Path) -> None:
    table = rows(np.full(10, 1000.0))
    good = str(write_run(tmp_path / "good", 1, table))
    late = str(write_run(tmp_path / "late", 1, table, verdicts=[VERDICT, LATE]))
    failed = VERDICT | {"verdict": "failed"}
    both = str(write_run(tmp_path / "both", 1, table, verdicts=[failed, LATE]))
    assert status(tmp_path, good, late) == 3
    assert status(tmp_path, late, good) == 3
    assert status(tmp_path, late, both) == 1


def test_an_incomplete_run_beside_a_complete_one_ends_with_1(tmp_path: Path) -> None:
    table = rows(np.full(10, 1000.0))
    good = str(write_run(tmp_path / "good", 1, table))
    aborted = str(write_run(tmp_path / "aborted", 1, table, is_complete=False))
    assert status(tmp_path, good, aborted) == 1


def test_one_seed_is_said_to_have_no_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fast = str(write_run(tmp_path / "fast", 1, rows(np.full(10, 1000.0))))
    slow = str(write_run(tmp_path / "slow", 1, rows(np.full(10, 9000.0))))
    assert status(tmp_path, fast, slow) == 0
    assert "no confidence interval" in capsys.readouterr().out


def test_wrong_runs_are_one_line(tmp_path: Path) -> None:
    good = write_side(tmp_path / "good", 1.0)
    with pytest.raises(StorageError, match="two or more different runs"):
        status(tmp_path, good)
    with pytest.raises(StorageError, match=r"missing has no summary\.json"):
        status(tmp_path, good, str(tmp_path / "missing"))
    for option in (("--confidence", "1.5"), ("--tolerance", "-1"), ("--points", "nan")):
        with pytest.raises(SystemExit):
            compare.main([good, good, *option])
