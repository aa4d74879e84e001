"""Measurements as Prometheus text: `kafka_server_produce_byte_rate{user="alice",...} 1024.0`."""

import re
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from quotas.metrics import DESCRIPTIONS, MetricsRegistry

_DOMAINS = {"ControllerEventManager": "kafka_controller"}
"""Groups whose MBeans have a domain other than `kafka.server` in Kafka."""

_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])")


class PrometheusCollector(Collector):
    """A Prometheus collector for a registry of measurements; all of them are gauges."""

    def __init__(self, registry: MetricsRegistry, now_ms: Callable[[], int]) -> None:
        """`now_ms` gives the time of each reading."""
        self._registry = registry
        self._now_ms = now_ms

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield one metric family for each group and name."""
        families: dict[str, GaugeMetricFamily] = {}
        for group, name, tags, value in self._registry.measure(self._now_ms()):
            domain = _DOMAINS.get(group, "kafka_server")
            full_name = f"{domain}_{_snake(group)}_{_snake(name)}"
            labels = {_snake(label): text for label, text in tags.items()}
            family = families.get(full_name)
            if family is None:
                description = DESCRIPTIONS.get((group, name), f"{group} {name}")
                family = GaugeMetricFamily(full_name, description, labels=list(labels))
                families[full_name] = family
            family.add_metric(list(labels.values()), value)
        yield from families.values()

    def describe(self) -> list[GaugeMetricFamily]:
        """Return nothing: the metrics are unknown before they are measured."""
        return []


def prometheus_text(registry: MetricsRegistry, now_ms: int) -> str:
    """Return all measurements in Prometheus' text format."""
    collected = CollectorRegistry()
    collected.register(PrometheusCollector(registry, lambda: now_ms))
    return generate_latest(collected).decode()


def _snake(name: str) -> str:
    return _WORD_START.sub("_", name).replace("-", "_").lower()
