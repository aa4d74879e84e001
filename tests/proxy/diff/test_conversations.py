"""Kept conversations, with one of our brokers as the real cluster: nothing may differ."""

from pathlib import Path

import pytest

from tests.differential.canonical import Names
from tests.differential.conversation import FOLDER, Disconnect, Send, Wait, load
from tests.proxy.diff.real_cluster import START_MS, BothClusters, Client

PATHS = [
    path
    for folder in ("samples", "scenarios")
    for path in sorted((FOLDER / folder).rglob("*.json"))
    if load(path).conversation.brokers == 1 and not load(path).conversation.has_authorizer
]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_cluster_that_is_our_broker_has_no_difference(path: Path) -> None:
    both, names = BothClusters(), Names("zq00000000-", START_MS)
    clients: dict[str, Client] = {}
    for step in load(path).conversation.steps:
        if isinstance(step, Wait):
            both.run(step.duration_ms)
        elif isinstance(step, Disconnect):
            clients.pop(step.connection).close()
        elif isinstance(step, Send):
            client = clients.setdefault(step.connection, both.client())
            response = client.ask_with(names.resolve, step.api, step.version, step.arguments)
            if response is not None:
                names.canonical(step.api, response)
    report = both.end()
    found = [line for line in report.lines() if line.startswith("DIFFERENT")]
    assert found == []
