"""Clusters that tests share: started once, and put back to the start for the next test."""

from collections.abc import Callable, Mapping
from typing import Any

from mock_kafka.cluster import MockKafka

IDLE_MAX = 8
"""Clusters of different kinds that are kept; what was not used for longest goes."""

Key = tuple[Any, ...]


class ClusterPool:
    """Lends running clusters, each to one test at a time."""

    def __init__(self, start: Callable[..., MockKafka]) -> None:
        """`start` makes a running cluster of the arguments that `lend` is given."""
        self._start = start
        self._idle: list[tuple[Key, MockKafka]] = []

    def lend(self, brokers: int, config: Mapping[str, Any]) -> MockKafka:
        """A cluster such as just started; `take_back` it."""
        key = _key(brokers, config)
        for index, (idle_key, kafka) in enumerate(self._idle):
            if idle_key == key:
                del self._idle[index]
                return self._fresh(kafka) or self._start(brokers, config)
        return self._start(brokers, config)

    def take_back(self, kafka: MockKafka) -> None:
        """Keep it for the next test, whose `lend` resets it; one that has died is forgotten."""
        if not kafka.is_running:
            kafka.stop()
            return
        self._idle.append((_key(kafka.brokers, kafka.config), kafka))
        if len(self._idle) > IDLE_MAX:
            self._idle.pop(0)[1].stop()

    def close(self) -> None:
        """Stop all clusters."""
        while self._idle:
            self._idle.pop()[1].stop()

    @staticmethod
    def _fresh(kafka: MockKafka) -> MockKafka | None:
        try:
            kafka.reset()
        except ConnectionError:
            kafka.stop()
            return None
        return kafka


def _key(brokers: int, config: Mapping[str, Any]) -> Key:
    return brokers, tuple(sorted((key, str(value)) for key, value in config.items()))
