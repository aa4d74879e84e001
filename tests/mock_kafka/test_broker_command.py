"""The broker of another environment is used if the user says so, or if this one can't run it."""

import shlex
import shutil
import sys
from pathlib import Path

import pytest

from mock_kafka import MockKafka, StartError, broker_command
from mock_kafka.broker_command import BrokerCommand

OWN = (sys.executable, "-I")
OTHER = [sys.executable, "-P", "-m", "mock_kafka"]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(broker_command.COMMAND_VARIABLE, raising=False)
    broker_command._lacks_requirements.cache_clear()


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a `mock-kafka` on the PATH, behind that of this environment, which lacks nothing."""
    monkeypatch.setattr(broker_command, "missing_requirements", list)
    path = tmp_path / "mock-kafka"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:{tmp_path}")
    return path


def found() -> BrokerCommand:
    return broker_command.broker_command()


def test_the_argument_comes_first_then_the_variable(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(broker_command.COMMAND_VARIABLE, "uvx --from 'a b' mock-kafka")
    assert found().words == ("uvx", "--from", "a b", "mock-kafka")
    for command in (["x", "y z"], "x 'y z'"):
        given = broker_command.broker_command(command)
        assert (given.words, given.is_own) == (("x", "y z"), False)


def test_this_environment_is_used_if_it_has_what_the_broker_needs(program: Path) -> None:
    assert found().words[:2] == OWN
    assert found().is_own


def test_the_program_of_another_environment_is_used_if_this_one_lacks_packages(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_command, "missing_requirements", lambda: ["structlog>=24.1"])
    assert found().words == (str(program),)
    program.unlink()
    assert found().words[:2] == OWN


def test_another_environment_does_not_get_the_path_of_this_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", "src")
    monkeypatch.setenv("MOCK_KAFKA_ADMIN_PORT", "9099")
    environment = broker_command.broker_command(["x"]).environment
    assert not {"PYTHONPATH", "MOCK_KAFKA_ADMIN_PORT"} & environment.keys()
    assert "PATH" in environment
    assert broker_command.broker_command().environment["PYTHONPATH"] == "src"


@pytest.mark.slow
def test_a_command_behind_a_shell_ends_with_its_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    # The shell stays, and would end without its child.
    wrapped = f'{shlex.join(OTHER)} "$@"; exit $?'
    command = [str(shutil.which("sh")), "-c", wrapped, "sh"]
    with MockKafka(brokers=2, command=command) as kafka:
        assert len(kafka.bootstrap_servers_list) == 2
        assert kafka.create_topic("orders").name == "orders"
        url = kafka.admin_url
    assert not kafka.is_running
    with MockKafka(port=int(url.rpartition(":")[2]), command=shlex.join(OTHER)) as kafka:
        assert kafka.topics() == []


def test_a_program_that_is_not_there_is_a_start_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(broker_command.COMMAND_VARIABLE, "/no/mock-kafka")
    with pytest.raises(StartError, match=r"'/no/mock-kafka' can't be started"):
        MockKafka().start()


def test_a_program_that_is_another_one_is_a_start_error_with_the_command() -> None:
    with pytest.raises(StartError, match=r"exit status 7\): sh -c exit 7"):
        MockKafka(command=["sh", "-c", "exit 7"]).start()


def test_a_command_in_this_process_is_an_error() -> None:
    with pytest.raises(ValueError, match="remove command"):
        MockKafka(in_process=True, command="mock-kafka")
