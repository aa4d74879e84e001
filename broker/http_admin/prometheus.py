"""Measurements as Prometheus text: `kafka_server_produce_byte_rate{user="alice",...} 1024.0`."""

import re
from collections.abc import Iterator
from functools import cache

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from protocol.pacing import may_pause, paced
from quotas.metrics import DESCRIPTIONS, MetricsRegistry

_DOMAINS = {"ControllerEventManager": "kafka_controller", "Proxy": "mock_kafka"}
"""Groups whose MBeans have a domain other than `kafka.server` in Kafka, and one of ours."""

PART_ROWS = 100
"""Rows that are encoded in one go."""

_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])")


class _OneFamily(Collector):
    """A Prometheus collector of one metric family."""

    def __init__(self, family: GaugeMetricFamily) -> None:
        self._family = family

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the family."""
        yield self._family


@may_pause
def prometheus_text(registry: MetricsRegistry, now_ms: int) -> str:
    """Return all measurements in Prometheus' text format; all of them are gauges."""
    families: dict[str, _Family] = {}
    for group, name, tags, value in registry.measure(now_ms):
        domain = _DOMAINS.get(group, "kafka_server")
        full_name = f"{domain}_{_snake(group)}_{_snake(name)}"
        family = families.get(full_name)
        if family is None:
            description = DESCRIPTIONS.get((group, name), f"{group} {name}")
            family = families[full_name] = _Family(full_name, description)
        family.add({_snake(label): text for label, text in tags.items()}, value)
    return "".join(part for family in paced(families.values()) for part in family.parts())


class _Family:
    """The text of all measurements of one name, encoded in parts while they are measured."""

    def __init__(self, name: str, description: str) -> None:
        self._name = name
        self._description = description
        self._rows: list[tuple[dict[str, str], float]] = []
        self._parts: list[str] = []

    def add(self, labels: dict[str, str], value: float) -> None:
        self._rows.append((labels, value))
        if len(self._rows) == PART_ROWS:
            self._encode()

    def parts(self) -> list[str]:
        if self._rows:
            self._encode()
        return self._parts

    def _encode(self) -> None:
        family = GaugeMetricFamily(self._name, self._description, labels=list(self._rows[0][0]))
        for labels, value in self._rows:
            family.add_metric(list(labels.values()), value)
        self._rows.clear()
        collected = CollectorRegistry()
        collected.register(_OneFamily(family))
        text = generate_latest(collected).decode()
        # Each family has its two lines of description once.
        self._parts.append(text.split("\n", 2)[2] if self._parts else text)


@cache
def _snake(name: str) -> str:
    return _WORD_START.sub("_", name).replace("-", "_").lower()
