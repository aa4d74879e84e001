"""Measurements as Prometheus text: `kafka_server_produce_byte_rate{user="alice",...} 1024.0`."""

import re
from collections.abc import Iterator
from functools import cache

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from protocol.pacing import paced
from quotas.metrics import DESCRIPTIONS, MetricsRegistry

_DOMAINS = {"ControllerEventManager": "kafka_controller"}
"""Groups whose MBeans have a domain other than `kafka.server` in Kafka."""

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


def prometheus_text(registry: MetricsRegistry, now_ms: int) -> str:
    """Return all measurements in Prometheus' text format; all of them are gauges."""
    rows: dict[str, list[tuple[dict[str, str], float]]] = {}
    descriptions: dict[str, str] = {}
    for group, name, tags, value in registry.measure(now_ms):
        domain = _DOMAINS.get(group, "kafka_server")
        full_name = f"{domain}_{_snake(group)}_{_snake(name)}"
        descriptions.setdefault(full_name, DESCRIPTIONS.get((group, name), f"{group} {name}"))
        labels = {_snake(label): text for label, text in tags.items()}
        rows.setdefault(full_name, []).append((labels, value))
    parts: list[str] = []
    for full_name, values in rows.items():
        for first in paced(range(0, len(values), PART_ROWS)):
            part = values[first : first + PART_ROWS]
            text = _family_text(full_name, descriptions[full_name], part)
            # Each family has its two lines of description once.
            parts.append(text if first == 0 else text.split("\n", 2)[2])
    return "".join(parts)


def _family_text(name: str, description: str, values: list[tuple[dict[str, str], float]]) -> str:
    family = GaugeMetricFamily(name, description, labels=list(values[0][0]))
    for labels, value in values:
        family.add_metric(list(labels.values()), value)
    collected = CollectorRegistry()
    collected.register(_OneFamily(family))
    return generate_latest(collected).decode()


@cache
def _snake(name: str) -> str:
    return _WORD_START.sub("_", name).replace("-", "_").lower()
