"""`mock-kafka load` runs the load generator, or names the missing package."""

import subprocess
import sys

import pytest

from loadgen.options import SUBCOMMANDS
from mock_kafka import cli, load


def test_help_lists_options_and_plans(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["load", "--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    for word in ("--bootstrap-server", "--rate-scale", "--master", "producer-churn", "topic-storm"):
        assert word in printed


def test_each_subcommand_has_its_own_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in SUBCOMMANDS:
        with pytest.raises(SystemExit) as ended:
            load.main([name, "--help"])
        assert ended.value.code == 0
        assert capsys.readouterr().out.startswith(f"usage: mock-kafka load {name} ")


def test_help_needs_none_of_the_optional_packages() -> None:
    program = (
        "import sys\n"
        "for name in 'jinja2 matplotlib numpy pandas pyarrow pyspark rich yaml'.split():\n"
        "    sys.modules[name] = None\n"
        "from mock_kafka.cli import main\n"
        "main(['load', '--help'])\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "producer-churn" in done.stdout


def test_without_pyspark_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert load.main(["steady", "--out", "x"]) == 2
    assert "pip install 'mock-kafka[spark]'" in capsys.readouterr().err


def test_an_unknown_plan_is_an_error_of_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    assert cli.main(["load", "stead", "--out", f"{tmp_path}/out"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("mock-kafka load: 'stead' is neither a file nor a built-in plan")
