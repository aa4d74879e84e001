import importlib.util
import sys

import pytest

from atlas.clients import CLIENTS, atlas_version, why_missing
from scenarios.maven import CannotRunError

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


def test_the_version_of_the_atlas_is_that_of_the_project() -> None:
    assert atlas_version().count(".") == 2
