"""The clusters that conversations are played with."""

from collections.abc import Iterator

import pytest

from scenarios.maven import CannotRunError
from tests.differential.clusters import (
    REPLAY_REBALANCE_DELAY_MS,
    ComparedCluster,
    apache_cluster,
    our_cluster,
)


@pytest.fixture(scope="session")
def ours() -> Iterator[ComparedCluster]:
    """One broker of ours, with Kafka's rule for duplicates."""
    with our_cluster("4.1", REPLAY_REBALANCE_DELAY_MS) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComparedCluster]:
    """One broker of Apache Kafka 4.1 with its default features, or a skip that says why not."""
    folder = tmp_path_factory.mktemp("compared-kafka")
    try:
        with apache_cluster(folder, "4.1", REPLAY_REBALANCE_DELAY_MS) as cluster:
            yield cluster
    except CannotRunError as error:
        pytest.skip(str(error))
