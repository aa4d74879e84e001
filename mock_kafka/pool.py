"""Clusters that tests share: started once, and reset for the next test."""

from collections.abc import Callable, Mapping
from typing import Any

from mock_kafka.cluster import MockKafka

__tracebackhide__ = True  # pytest shows the line of the caller

IDLE_MAX = 8
"""Idle clusters to keep; beyond that the least recently used one is stopped."""

Key = tuple[Any, ...]


class ClusterPool:
    """Lend running clusters, each to one test at a time."""

    def __init__(self, start: Callable[..., MockKafka]) -> None:
        """`start` starts a cluster with the arguments of `lend`."""
        self._start = start
        self._idle: list[tuple[Key, MockKafka]] = []

    def lend(self, brokers: int, config: Mapping[str, Any]) -> MockKafka:
        """Return a cluster in the state after its start; give it back with `take_back`."""
        key = _key(brokers, config)
        for index, (idle_key, kafka) in enumerate(self._idle):
            if idle_key == key:
                del self._idle[index]
                return self._fresh(kafka) or self._start(brokers, config)
        return self._start(brokers, config)

    def take_back(self, kafka: MockKafka) -> None:
        """Keep a cluster for the next test, whose `lend` resets it; remove it if it has ended."""
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
