"""The program for spark-submit."""

from pathlib import Path

import pytest

from loadgen.job import main


@pytest.mark.long  # it starts a JVM
def test_spark_submit_needs_a_target(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["steady", "--out", str(tmp_path)]) == 2
    assert "--bootstrap-server" in capsys.readouterr().err
