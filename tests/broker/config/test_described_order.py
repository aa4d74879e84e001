"""The order of described keys, as Apache Kafka 4.4.0 sends them."""

import pytest

from broker.config.broker_config import BROKER_KEYS
from broker.config.described_order import in_described_order
from broker.config.topic_keys import TOPIC_KEYS
from protocol.configs import ResourceType


def order(resource_type: ResourceType, *names: str) -> list[str]:
    """Return these names in the order that they have among all keys."""
    keys = BROKER_KEYS if resource_type is ResourceType.BROKER else TOPIC_KEYS
    all_names = {name for name, key in keys.items() if not key.is_hidden} | set(names)
    ordered = in_described_order(resource_type, sorted(all_names))
    assert sorted(ordered) == sorted(all_names)
    return [name for name in ordered if name in names]


def test_keys_of_topics_that_share_a_bucket_are_in_the_order_of_their_definitions() -> None:
    for names in (
        ("segment.bytes", "retention.ms", "compression.gzip.level"),
        ("flush.messages", "compression.zstd.level"),
        ("index.interval.bytes", "min.cleanable.dirty.ratio"),
    ):
        assert order(ResourceType.TOPIC, *sorted(names)) == list(names)


@pytest.mark.parametrize(
    "names",
    [
        ("remote.fetch.max.wait.ms", "group.streams.max.heartbeat.interval.ms"),
        (
            "remote.log.storage.manager.class.name",
            "socket.receive.buffer.bytes",
            "group.streams.initial.rebalance.delay.ms",
        ),
    ],
)
def test_keys_of_brokers_are_in_the_order_of_their_definitions(names: tuple[str, ...]) -> None:
    assert order(ResourceType.BROKER, *names) == list(names)


def test_what_kafka_does_not_define_comes_first() -> None:
    found = order(ResourceType.BROKER, "a.plugin", "cluster.features", "log.dirs")
    assert found[-1] == "log.dirs"
