"""Clusters that tests share: started once, and reset for the next test."""

from collections.abc import Callable, Mapping
from typing import Any

from mock_kafka.arguments import Ports
from mock_kafka.cluster import MockKafka

__tracebackhide__ = True  # pytest shows the line of the caller

IDLE_MAX = 8
"""Idle clusters to keep; beyond that the least recently used one is stopped."""


class ClusterPool:
    """Lend running clusters, each to one test at a time."""

    def __init__(self, start: Callable[..., MockKafka]) -> None:
        """`start` starts a cluster with the settings of `lend`."""
        self._start = start
        self._idle: list[tuple[object, MockKafka]] = []
        self._keys: dict[MockKafka, object] = {}
        """Of the clusters that are lent."""

    def lend(self, *, ports: Ports = "same", **settings: Any) -> MockKafka:
        """Return a cluster in the state after its start; give it back with `take_back`.

        `settings` are arguments of `MockKafka`. With new ports, clients that know the cluster from
        before can't reach it.
        """
        key = _key(settings)
        kafka = self._reused(key, ports) or self._start(**settings)
        self._keys[kafka] = key
        return kafka

    def take_back(self, kafka: MockKafka) -> None:
        """Keep a cluster for the next test, whose `lend` resets it; remove it if it has ended."""
        key = self._keys.pop(kafka)
        if not kafka.is_running:
            kafka.stop()
            return
        self._idle.append((key, kafka))
        if len(self._idle) > IDLE_MAX:
            self._idle.pop(0)[1].stop()

    def close(self) -> None:
        """Stop all clusters."""
        while self._idle:
            self._idle.pop()[1].stop()

    def _reused(self, key: object, ports: Ports) -> MockKafka | None:
        index = next((i for i, (idle_key, _) in enumerate(self._idle) if idle_key == key), None)
        if index is None:
            return None
        _, kafka = self._idle.pop(index)
        try:
            kafka.reset(ports=ports)
        except ConnectionError:
            kafka.stop()
            return None
        return kafka


def _key(setting: object) -> object:
    """Return a setting as a value that is equal if the clusters are; 1 and "1" are."""
    if isinstance(setting, Mapping):
        return tuple(sorted((name, _key(value)) for name, value in setting.items()))
    return str(setting)
