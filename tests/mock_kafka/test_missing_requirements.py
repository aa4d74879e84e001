"""The error names packages that are missing or too old for the broker."""

from importlib import metadata

import pytest

from mock_kafka import StartError, cli
from mock_kafka.broker_command import broker_command
from mock_kafka.broker_process import BrokerProcess
from mock_kafka.missing_requirements import explanation, missing_requirements


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the versions that are installed, by name; tests change it."""
    declared = [
        "kafka-python[lz4,zstd]>=3.0.12",
        "structlog>=24.1",
        "uvloop>=0.21; sys_platform != 'win32'",
        'pyspark<5,>=4.1; extra == "spark"',
    ]
    versions = {"kafka-python": "3.0.12", "structlog": "24.1.0"}

    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "requires", lambda _name: declared)
    monkeypatch.setattr(metadata, "version", version)
    return versions


def test_nothing_is_missing_in_this_environment() -> None:
    assert missing_requirements() == []
    assert explanation() == ""


def test_a_package_is_missing_or_too_old(installed: dict[str, str]) -> None:
    assert missing_requirements() == []
    installed["kafka-python"] = "2.0.2"
    del installed["structlog"]
    assert missing_requirements() == [
        "kafka-python>=3.0.12 (2.0.2 is installed)",
        "structlog>=24.1 (not installed)",
    ]


def test_without_metadata_nothing_is_known_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def requires(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    assert missing_requirements() == []


def test_a_command_of_the_shell_names_what_is_missing(
    installed: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_arguments: object) -> int:
        raise ModuleNotFoundError("No module named 'structlog'")

    monkeypatch.setitem(cli.COMMANDS, "serve", (fails, ""))
    with pytest.raises(ModuleNotFoundError):
        cli.main(["serve"])
    del installed["structlog"]
    assert cli.main(["serve"]) == 1
    assert "needs structlog>=24.1 (not installed): install" in capsys.readouterr().err


@pytest.mark.slow
def test_a_start_error_names_what_is_missing(installed: dict[str, str]) -> None:
    installed["kafka-python"] = "2.0.2"
    with pytest.raises(
        StartError, match=r"exit status 2\): .*kafka-python>=3.0.12 \(2.0.2 is inst"
    ):
        BrokerProcess(["no-such-command"], 20, broker_command())
