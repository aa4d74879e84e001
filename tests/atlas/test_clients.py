import importlib.util
import os
import sys
from contextlib import closing
from pathlib import Path

import pytest

from atlas.adapters import build
from atlas.clients import CLIENTS, OLDER_RELEASES, atlas_version
from atlas.lane import Lane
from scenarios.maven import CannotRunError
from tests.atlas.missing_clients import why_missing
from tests.atlas.plain_runs import check_plain

PYTHON = ("kafka-python", "aiokafka", "confluent-kafka", "mock-kafka-client")


@pytest.mark.parametrize("name", PYTHON)
def test_an_adapter_in_python_is_a_module_of_this_environment(name: str) -> None:
    command = CLIENTS[name].start()
    assert command.words[:2] == (sys.executable, "-m")
    assert importlib.util.find_spec(command.words[2]) is not None
    assert command.environment["PYTHONPATH"]
    assert why_missing(name) is None


def test_a_client_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert why_missing("aiokafka") == "the package aiokafka is not installed"
    with pytest.raises(CannotRunError):
        CLIENTS["aiokafka"].start()


def test_a_client_has_its_own_name() -> None:
    assert [client.name for client in CLIENTS.values()] == list(CLIENTS)
    with pytest.raises(KeyError):
        why_missing("librdkafka")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, ...]]:
    """The calls of pip, which does nothing, with an empty cache folder."""
    calls: list[tuple[str, ...]] = []
    monkeypatch.setattr("scenarios.maven.CACHE", tmp_path)
    monkeypatch.setattr(
        build, "run_tool", lambda program, arguments, _folder: calls.append((program, *arguments))
    )
    return calls


@pytest.mark.parametrize("name", OLDER_RELEASES)
def test_an_older_release_is_installed_once_and_found_first(
    name: str, installed: list[tuple[str, ...]], tmp_path: Path
) -> None:
    library, version = name.split("==")
    assert library in CLIENTS
    command = CLIENTS[name].start()
    assert CLIENTS[name].start() == command
    [call] = installed
    assert call[:4] == (sys.executable, "-m", "pip", "install")
    assert call[-1] == name
    first, *others = command.environment["PYTHONPATH"].split(os.pathsep)
    assert Path(first).parent == tmp_path
    assert version in Path(first).name
    assert str(tmp_path) not in "".join(others)


def test_an_older_release_says_what_is_missing(
    installed: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    del installed

    def fail(*_arguments: object) -> None:
        raise CannotRunError("python failed: no matching distribution")

    monkeypatch.setattr(build, "run_tool", fail)
    assert why_missing("aiokafka==0.12.0") == "python failed: no matching distribution"


@pytest.mark.long
@pytest.mark.interop
@pytest.mark.parametrize("name", OLDER_RELEASES)
def test_an_older_release_does_the_plain_workloads(name: str) -> None:
    reason = why_missing(name)
    if reason is not None:
        pytest.skip(reason)
    with closing(Lane(name)) as lane:
        for workload in ("produce", "consume", "group", "create_topic"):
            check_plain(lane, workload)
        assert lane.client_version == name.partition("==")[2]


def test_the_version_of_the_atlas_is_that_of_the_project() -> None:
    assert atlas_version().count(".") == 2
