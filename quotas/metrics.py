"""What quotas measure, under Kafka's names: group, name, tags, value; not how it is published."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote

from quotas.limits import Tags


class Measurement(NamedTuple):
    """One value now, such as Kafka's MBean attribute `kafka.server:type=Produce` `byte-rate`."""

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
"""With units, by group and name. KIP-936 has those of `rate`, `tokens` and `throttle-time`."""

Source = Callable[[int], Iterator[Measurement]]
"""Gives its measurements at a time in ms."""


class MetricsRegistry:
    """All sources of measurements, each with the tags that tell it apart from the others."""

    def __init__(self) -> None:
        self._sources: list[tuple[Source, Mapping[str, str]]] = []

    def add(self, source: Source, tags: Mapping[str, str] | None = None) -> None:
        """Take in a source; its measurements get these tags besides their own."""
        self._sources.append((source, tags or {}))

    def measure(self, now_ms: int) -> Iterator[Measurement]:
        """Every measurement there is at this time."""
        for source, tags in self._sources:
            for each in source(now_ms):
                yield each._replace(tags={**each.tags, **tags})


def client_tags(tags: Tags) -> Mapping[str, str]:
    """User and client id as Kafka's metrics have them: the user's name percent-encoded."""
    user, client_id = tags
    return {"user": quote(user, safe="").replace("~", "%7E"), "client-id": client_id}
