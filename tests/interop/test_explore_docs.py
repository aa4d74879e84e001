"""The examples of docs/explore.md do what it says."""

import re
import sys
from pathlib import Path

import pytest

from mock_kafka import cli

pytestmark = pytest.mark.slow

pytest_plugins = ["pytester"]

TEXT = (Path(__file__).parents[2] / "docs" / "explore.md").read_text(encoding="utf-8")
PROGRAM, TEST = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


def test_the_program_has_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "orders.py").write_text(PROGRAM)
    command = f"{sys.executable} {tmp_path / 'orders.py'}"
    out = ("--out", str(tmp_path / "out"), "--repeats", "1")
    assert cli.main(["explore", "--command", command, *out]) == 1
    printed = capsys.readouterr().out
    assert "profiles: producer; seeds from 0" in printed
    assert "repeated: failed 1 of 1" in printed


def test_the_test_passes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_orders=TEST)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--explore-runs", "5")
    result.assert_outcomes(passed=1)
