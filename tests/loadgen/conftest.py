"""One cluster for all tests that need a broker: each has topics of its own."""

from collections.abc import Iterator

import pytest

from mock_kafka import MockKafka


@pytest.fixture(scope="session")
def servers() -> Iterator[str]:
    """The bootstrap servers of a cluster of two brokers."""
    with MockKafka(brokers=2, config={"group.initial.rebalance.delay.ms": 0}) as kafka:
        yield kafka.bootstrap_servers
