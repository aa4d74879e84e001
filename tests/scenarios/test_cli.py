import sys
from pathlib import Path

import pytest

from mock_kafka import cli
from scenarios import registry
from scenarios.picture import MissingLibraryError


def test_the_list_names_every_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["scenario", "--list"]) == 0
    listed = capsys.readouterr().out
    for name, scenario in registry.SCENARIOS.items():
        assert f"  {name}" in listed
        assert scenario.help in listed


@pytest.mark.parametrize("arguments", [[], ["nothing"]])
def test_a_wrong_name_is_reported_with_the_right_ones(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["scenario", *arguments]) == 2
    assert "delivery-timeout" in capsys.readouterr().err


def test_a_scenario_gets_the_folder_and_gives_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[tuple[str, Path | None]] = []

    def run(name: str, out: Path | None) -> int:
        requested.append((name, out))
        return 5

    monkeypatch.setattr(registry, "run", run)
    assert cli.main(["scenario", "delivery-timeout", "--out", "pictures"]) == 5
    assert requested == [("delivery-timeout", Path("pictures"))]


def test_a_terminal_shows_for_how_long_a_scenario_has_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(name: str, out: Path | None) -> int:
        sys.stdout.write("its table\n")
        return 0

    monkeypatch.setattr(registry, "run", run)
    monkeypatch.delenv("TERM", raising=False)
    assert cli.main(["scenario", "delivery-timeout"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("its table\n", "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    assert cli.main(["scenario", "delivery-timeout"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "its table\n"
    assert "delivery-timeout" in captured.err
    assert "0:00:00" in captured.err


def test_a_missing_library_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(name: str, out: Path | None) -> int:
        raise MissingLibraryError("install it")

    monkeypatch.setattr(registry, "run", run)
    assert cli.main(["scenario", "delivery-timeout", "--out", "pictures"]) == 1
    assert capsys.readouterr().err == "mock-kafka scenario: install it\n"
