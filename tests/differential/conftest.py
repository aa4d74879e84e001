"""The clusters that conversations are played with."""

from collections.abc import Iterator

import pytest

from scenarios.maven import CannotRunError
from tests.differential.clusters import (
    REPLAY_REBALANCE_DELAY_MS,
    ComparedCluster,
    Setup,
    apache_cluster,
    compared,
)
from tests.differential.keeping import ReplayClusters, replay_clusters


@pytest.fixture(scope="session")
def clusters() -> Iterator[ReplayClusters]:
    with replay_clusters() as running:
        yield running


@pytest.fixture
def ours(clusters: ReplayClusters) -> ComparedCluster:
    """One broker of ours without topics of clients, configured to behave like Kafka 4.4."""
    unguarded = clusters[1, False]
    unguarded.reset()
    cluster = compared(unguarded)
    cluster.warm_up()
    return cluster


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComparedCluster]:
    """One broker of Apache Kafka 4.4 with its default features, or a skip that says why not."""
    yield from _running(tmp_path_factory, Setup(rebalance_delay_ms=REPLAY_REBALANCE_DELAY_MS))


@pytest.fixture(scope="session")
def authorizing_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComparedCluster]:
    """The same with an authorizer."""
    setup = Setup(rebalance_delay_ms=REPLAY_REBALANCE_DELAY_MS, has_authorizer=True)
    yield from _running(tmp_path_factory, setup)


def _running(tmp_path_factory: pytest.TempPathFactory, setup: Setup) -> Iterator[ComparedCluster]:
    try:
        with apache_cluster(tmp_path_factory.mktemp("compared-kafka"), setup) as cluster:
            yield cluster
    except CannotRunError as error:
        pytest.skip(str(error))
