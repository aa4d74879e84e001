"""Measurements of quotas under Kafka's names: group, name, tags, value."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote

from quotas.limits import Tags, shortened


class Measurement(NamedTuple):
    """One current value, such as `byte-rate` of Kafka's MBean `kafka.server:type=Produce`."""

    group: str
    name: str
    tags: Mapping[str, str]
    value: float


DESCRIPTIONS: Mapping[tuple[str, str], str] = {
    ("ProducerIds", "queue-size"): "Connections that are muted now because of this quota",
    ("ProducerIds", "rate"): "The current rate: new producer ids admitted per"
    " producer.id.quota.window.size.seconds, as in producer_ids_rate",
    ("ProducerIds", "tokens"): "The remaining tokens in the bucket, in producer ids,"
    " < 0 indicates that throttling is applied",
    ("ProducerIds", "throttle-time"): "The average throttle-time per user, in ms",
    ("ProducerIds", "live-layers"): "Live layers of the user's Bloom filter",
    ("ProducerIds", "fill"): "Producer ids in the newest layer, as a share of its capacity",
    ("ProducerIds", "false-positive-rate"): "Estimated share of new producer ids that are taken"
    " for known ones",
    ("ProducerIds", "tracked-ids"): "Producer ids of the user that are remembered",
    ("ProducerIds", "tracked-bytes"): "Bytes of the user's Bloom filter",
}
"""Descriptions by group and name. `rate`, `tokens` and `throttle-time` are from KIP-936."""

Source = Callable[[int], Iterator[Measurement]]
"""Called with a time in ms; yields the measurements at that time."""


class MetricsRegistry:
    """All sources of measurements, each with its own tags."""

    def __init__(self) -> None:
        self._sources: list[tuple[Source, Mapping[str, str]]] = []

    def add(self, source: Source, tags: Mapping[str, str] | None = None) -> None:
        """Add a source; its measurements get these tags in addition."""
        self._sources.append((source, tags or {}))

    def measure(self, now_ms: int) -> Iterator[Measurement]:
        """Yield all measurements at this time."""
        for source, tags in self._sources:
            for measurement in source(now_ms):
                yield measurement._replace(tags={**measurement.tags, **tags})


def client_tags(tags: Tags) -> Mapping[str, str]:
    """Return user and client id as tags of Kafka's metrics: the user is percent-encoded."""
    user, client_id = map(shortened, tags)
    return {"user": quote(user, safe="").replace("~", "%7E"), "client-id": client_id}
