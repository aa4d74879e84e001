"""`mock-kafka` runs the command that its first argument names."""

import re
import subprocess
import sys
from importlib.metadata import version

import pytest

from mock_kafka import cli
from mock_kafka.commands import COMMANDS


def test_help_names_every_command_and_an_example_of_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["--help"]) == 0
    text = capsys.readouterr().out
    for command, (_, summary) in COMMANDS.items():
        assert f"  {command:10} {summary}\n" in text
        assert re.search(rf"\n  (eval \"\$\()?mock-kafka {command} ", text)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_each_command_has_its_own_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        cli.main([command, "--help"])
    assert exit_info.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: mock-kafka {command} ")


@pytest.mark.parametrize(
    ("arguments", "word"), [([], "usage"), (["server"], "did you mean serve?")]
)
def test_a_missing_or_unknown_command_is_a_usage_error(
    arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    captured = capsys.readouterr()
    assert (captured.out, word in captured.err) == ("", True)
    assert not arguments or captured.err.count("\n") == 2


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--version", "-V"):
        assert cli.main([option]) == 0
        assert capsys.readouterr().out == f"mock-kafka {version('mock-kafka')}\n"


@pytest.mark.slow
def test_the_package_is_the_command() -> None:
    command = [sys.executable, "-m", "mock_kafka", "-V"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == f"mock-kafka {version('mock-kafka')}\n"


def test_the_exit_status_is_that_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["serve", "-o", "num.partitions=none"]) == 1
    assert "num.partitions" in capsys.readouterr().err
