"""One cluster for all tests that need a broker; each test has its own topics."""

from collections.abc import Iterator

import pytest

from mock_kafka import MockKafka


@pytest.fixture(scope="session")
def servers() -> Iterator[str]:
    """Return the bootstrap servers of a cluster of two brokers."""
    # Tests write old records; the retention check, every five minutes, must not delete them.
    config = {"group.initial.rebalance.delay.ms": 0, "log.retention.ms": -1}
    with MockKafka(brokers=2, config=config) as kafka:
        yield kafka.bootstrap_servers
