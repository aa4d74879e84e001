"""The keys of groups and of client metrics (Kafka's `GroupConfig` and `ClientMetricsConfigs`).

They are stored and described. Nothing acts on them: the groups here are classic ones, which take
their settings from the client, and no client metrics are collected.
"""

from collections.abc import Mapping
from types import MappingProxyType

from broker.config.keys import ConfigKey, ConfigType, by_name
from broker.config.values import at_least, between, one_of
from protocol.configs import ConfigSource, ResourceType

_INT, _LIST, _STRING = ConfigType.INT, ConfigType.LIST, ConfigType.STRING


def _duration(name: str, default_ms: int, doc: str) -> ConfigKey:
    return ConfigKey(name, _INT, default_ms, doc, at_least(1), is_enforced=False)


GROUP_RESOURCE_KEYS: tuple[ConfigKey, ...] = (
    _duration(
        "consumer.session.timeout.ms", 45_000, "Time without heartbeat that ends a membership."
    ),
    _duration("consumer.heartbeat.interval.ms", 5000, "Time between a consumer's heartbeats."),
    _duration("share.session.timeout.ms", 45_000, "The same as for consumers, in a share group."),
    _duration("share.heartbeat.interval.ms", 5000, "The same as for consumers, in a share group."),
    _duration(
        "share.record.lock.duration.ms", 30_000, "Time a record is lent to a member of the group."
    ),
    ConfigKey(
        "share.auto.offset.reset",
        _STRING,
        "latest",
        "Where a share group begins: earliest, latest or by_duration:PT1H.",
        is_enforced=False,
    ),
    ConfigKey(
        "share.isolation.level",
        _STRING,
        "read_uncommitted",
        "Whether a share group sees records of open transactions.",
        one_of("read_committed", "read_uncommitted"),
        is_enforced=False,
    ),
    _duration("streams.session.timeout.ms", 45_000, "As for consumers, in a streams group."),
    _duration("streams.heartbeat.interval.ms", 5000, "As for consumers, in a streams group."),
    ConfigKey(
        "streams.num.standby.replicas",
        _INT,
        0,
        "Standby copies of each task of a streams group.",
        at_least(0),
        is_enforced=False,
    ),
)

CLIENT_METRICS_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("metrics", _LIST, (), "Prefixes of the metrics to send.", is_enforced=False),
    ConfigKey(
        "interval.ms",
        _INT,
        300_000,
        "Time between two sendings.",
        between(100, 3_600_000),
        is_enforced=False,
    ),
    ConfigKey("match", _LIST, (), "Which clients are to send them.", is_enforced=False),
)

RESOURCE_KEYS: Mapping[ResourceType, Mapping[str, ConfigKey]] = MappingProxyType(
    {
        ResourceType.GROUP: MappingProxyType(by_name(GROUP_RESOURCE_KEYS)),
        ResourceType.CLIENT_METRICS: MappingProxyType(by_name(CLIENT_METRICS_KEYS)),
    }
)
"""Keys by the kind of resource, for the two kinds that are neither broker nor topic."""

RESOURCE_SOURCES: Mapping[ResourceType, ConfigSource] = MappingProxyType(
    {
        ResourceType.GROUP: ConfigSource.DYNAMIC_GROUP_CONFIG,
        ResourceType.CLIENT_METRICS: ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG,
    }
)
