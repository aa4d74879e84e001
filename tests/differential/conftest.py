"""The clusters that conversations are played with."""

from collections.abc import Iterator

import pytest

from mock_kafka import MockKafka
from scenarios.maven import CannotRunError
from tests.differential.clusters import (
    REPLAY_REBALANCE_DELAY_MS,
    ComparedCluster,
    apache_cluster,
    compared,
    our_config,
)


@pytest.fixture(scope="session")
def shared_ours() -> Iterator[MockKafka]:
    with MockKafka(config=our_config("4.1", REPLAY_REBALANCE_DELAY_MS)) as kafka:
        yield kafka


@pytest.fixture
def ours(shared_ours: MockKafka) -> ComparedCluster:
    """One empty broker of ours, configured to behave like Apache Kafka 4.1."""
    shared_ours.reset()
    return compared(shared_ours)


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComparedCluster]:
    """One broker of Apache Kafka 4.1 with its default features, or a skip that says why not."""
    folder = tmp_path_factory.mktemp("compared-kafka")
    try:
        with apache_cluster(folder, "4.1", REPLAY_REBALANCE_DELAY_MS) as cluster:
            yield cluster
    except CannotRunError as error:
        pytest.skip(str(error))
