"""The error names packages that are missing or too old for the broker."""

import os
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest

from mock_kafka import StartError, cli
from mock_kafka.broker_command import COMMAND_VARIABLE, broker_command
from mock_kafka.broker_process import BrokerProcess
from mock_kafka.missing_requirements import explanation, missing_requirements


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the versions that are installed, by name; tests change it."""
    declared = [
        "msgspec[toml]>=0.18.5",
        "structlog>=24.1",
        "uvloop>=0.21; sys_platform != 'win32'",
        'pyarrow>=18; extra == "analysis"',
        'mock-kafka[analysis]; extra == "spark"',
        'pyspark<5,>=4.1; extra == "spark"',
    ]
    versions = {"msgspec": "0.18.6", "structlog": "24.1.0"}

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
    installed["msgspec"] = "0.9"
    del installed["structlog"]
    assert missing_requirements() == [
        "msgspec>=0.18.5 (0.9 is installed)",
        "structlog>=24.1 (not installed)",
    ]


def test_an_extra_has_the_packages_of_the_extras_that_it_names(installed: dict[str, str]) -> None:
    assert explanation("spark") == (
        "pyarrow>=18 (not installed), pyspark<5,>=4.1 (not installed):"
        " pip install 'pyarrow>=18' 'pyspark<5,>=4.1'"
    )
    installed |= {"pyarrow": "18.0.0", "pyspark": "4.1"}
    assert explanation("spark") == ""


def test_nobody_is_told_to_replace_what_is_installed(installed: dict[str, str]) -> None:
    installed["pyspark"] = "3.5.1"
    assert explanation("spark") == (
        "pyarrow>=18 (not installed), pyspark<5,>=4.1 (3.5.1 is installed): to keep what is"
        " installed, install mock-kafka with its extra `spark` in a separate environment, for"
        " example with `uv tool install` or `pipx install`, and call its `mock-kafka`"
    )


def test_where_pip_refuses_to_install_another_environment_is_the_advice(
    installed: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed["pyarrow"] = "18.0.0"
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: str(tmp_path))
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert explanation("spark").endswith(": pip install 'pyspark<5,>=4.1'")
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    assert explanation("spark") == (
        "pyspark<5,>=4.1 (not installed): nothing can be installed in this Python; install"
        " mock-kafka with its extra `spark` in a separate environment, for example with"
        " `uv tool install` or `pipx install`, and call its `mock-kafka`"
    )
    monkeypatch.setattr(sys, "prefix", "/a/virtual/environment")
    assert explanation("spark").endswith(": pip install 'pyspark<5,>=4.1'")


def test_without_metadata_nothing_is_known_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def requires(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    assert missing_requirements() == []


def test_a_command_of_the_shell_names_what_is_missing(
    installed: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_name: str) -> int:
        raise ModuleNotFoundError("No module named 'structlog'")

    monkeypatch.setattr(cli, "imported", fails)
    with pytest.raises(ModuleNotFoundError):
        cli.main(["serve"])
    del installed["structlog"]
    assert cli.main(["serve"]) == 1
    assert "needs structlog>=24.1 (not installed): install" in capsys.readouterr().err


def test_a_command_of_an_extra_names_its_packages(
    installed: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_name: str) -> int:
        raise ModuleNotFoundError("No module named 'pyarrow'")

    monkeypatch.setattr(cli, "imported", fails)
    monkeypatch.setitem(cli.EXTRAS, "scenario", "analysis")
    assert cli.main(["scenario", "cascade"]) == 1
    assert capsys.readouterr().err == (
        "mock-kafka scenario: this command needs pyarrow>=18 (not installed):"
        " pip install 'pyarrow>=18'\n"
    )


def test_two_programs_that_lack_packages_do_not_call_each_other(
    installed: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class ReplacedError(Exception):
        """Raised instead of running another program."""

    def replaced(_path: str, words: list[str], environment: dict[str, str]) -> None:
        raise ReplacedError(words, environment)

    monkeypatch.setattr(os, "execvpe", replaced)
    monkeypatch.setattr(sys, "argv", ["mock-kafka", "certs", "--out", "d"])
    monkeypatch.setitem(sys.modules, "broker.__main__", None)
    monkeypatch.delattr("broker.__main__", raising=False)
    monkeypatch.setenv(COMMAND_VARIABLE, "/opt/bin/mock-kafka")
    monkeypatch.setenv("PYTHONPATH", "src")
    monkeypatch.setenv("MOCK_KAFKA_PORT", "9092")
    del installed["structlog"]
    with pytest.raises(ReplacedError) as found:
        cli.main()
    words, environment = found.value.args
    assert words == ["/opt/bin/mock-kafka", "certs", "--out", "d"]
    assert "PYTHONPATH" not in environment
    assert environment["MOCK_KAFKA_PORT"] == "9092"

    monkeypatch.setattr(os, "environ", environment)
    assert cli.main() == 1
    assert capsys.readouterr().err.startswith("mock-kafka certs: the broker needs structlog>=24.1")


@pytest.mark.slow
def test_a_start_error_names_what_is_missing(installed: dict[str, str]) -> None:
    installed["msgspec"] = "0.9"
    with pytest.raises(StartError, match=r"exit status 2\): .*msgspec>=0.18.5 \(0.9 is inst"):
        BrokerProcess(["no-such-command"], 20, broker_command())
