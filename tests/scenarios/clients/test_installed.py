import importlib.util
from typing import get_args

import pytest

from scenarios.clients.installed import ClientName, is_installed, load_client
from scenarios.clients.python_clients import CLIENTS


def test_a_library_is_looked_for_under_the_name_of_its_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[str] = []
    monkeypatch.setattr(importlib.util, "find_spec", searched.append)
    assert not is_installed("kafka-python")
    assert not is_installed("aiokafka")
    assert not is_installed("confluent-kafka")
    assert searched == ["kafka", "aiokafka", "confluent_kafka"]


def test_every_client_is_loaded_by_its_name() -> None:
    loaded = [load_client(name) for name in get_args(ClientName)]
    assert [client.name for client in loaded] == list(get_args(ClientName))
    assert tuple(loaded) == CLIENTS
