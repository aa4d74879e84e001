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
    clusters[1].reset()
    cluster = compared(clusters[1])
    cluster.warm_up()
    return cluster


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComparedCluster]:
    """One broker of Apache Kafka 4.4 with its default features, or a skip that says why not."""
    folder = tmp_path_factory.mktemp("compared-kafka")
    try:
        with apache_cluster(folder, Setup(rebalance_delay_ms=REPLAY_REBALANCE_DELAY_MS)) as cluster:
            yield cluster
    except CannotRunError as error:
        pytest.skip(str(error))
