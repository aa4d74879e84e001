"""The cluster that the tests of this folder record."""

from collections.abc import Iterator

import pytest

from mock_kafka import MockKafka
from proxy.recording.world_admin import WorldAdmin, open_world_admin
from tests.proxy.recording.clusters import filled_cluster


@pytest.fixture(scope="session")
def filled() -> Iterator[MockKafka]:
    """A cluster that no test changes."""
    with filled_cluster() as kafka:
        yield kafka


@pytest.fixture
def world_admin(filled: MockKafka) -> Iterator[WorldAdmin]:
    """A client of that cluster."""
    with open_world_admin(filled.bootstrap_servers, {}) as admin:
        yield admin
