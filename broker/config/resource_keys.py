# ruff: noqa: E501
"""The keys of groups and of client metrics (Kafka's `GroupConfig` and `ClientMetricsConfigs`).

The broker stores and describes them and acts on none: its groups are classic ones, which take
their settings from the client, and it collects no client metrics.
"""

from collections.abc import Mapping
from types import MappingProxyType

from broker.config.keys import (
    INT,
    LIST,
    READ_ONLY,
    STRING,
    ConfigKey,
    by_name,
    ignored_key,
)
from broker.config.values import at_least, between, one_of
from protocol.configs import ConfigSource, ResourceType

# fmt: off
GROUP_RESOURCE_KEYS: tuple[ConfigKey, ...] = (
    ignored_key("consumer.session.timeout.ms",    INT,    45_000,             at_least(1),              READ_ONLY, "Time without a heartbeat after which a member is removed."),
    ignored_key("consumer.heartbeat.interval.ms", INT,    5000,               at_least(1),              READ_ONLY, "Time between a consumer's heartbeats."),
    ignored_key("share.session.timeout.ms",       INT,    45_000,             at_least(1),              READ_ONLY, "Time without a heartbeat after which a member of a share group is removed."),
    ignored_key("share.heartbeat.interval.ms",    INT,    5000,               at_least(1),              READ_ONLY, "Time between the heartbeats of a member of a share group."),
    ignored_key("share.record.lock.duration.ms",  INT,    30_000,             at_least(1),              READ_ONLY, "Time that a member of a share group holds a record."),
    ignored_key("share.auto.offset.reset",        STRING, "latest",           None,                     READ_ONLY, "Where a share group starts: earliest, latest or by_duration:PT1H."),
    ignored_key("share.isolation.level",          STRING, "read_uncommitted", one_of("read_committed", "read_uncommitted"), READ_ONLY, "Whether a share group sees records of open transactions."),
    ignored_key("streams.session.timeout.ms",     INT,    45_000,             at_least(1),              READ_ONLY, "Time without a heartbeat after which a member of a streams group is removed."),
    ignored_key("streams.heartbeat.interval.ms",  INT,    5000,               at_least(1),              READ_ONLY, "Time between the heartbeats of a member of a streams group."),
    ignored_key("streams.num.standby.replicas",   INT,    0,                  at_least(0),              READ_ONLY, "Standby copies of each task of a streams group."),
)

CLIENT_METRICS_KEYS: tuple[ConfigKey, ...] = (
    ignored_key("metrics",     LIST, (),      None,                    READ_ONLY, "Prefixes of the metrics that clients send."),
    ignored_key("interval.ms", INT,  300_000, between(100, 3_600_000), READ_ONLY, "Time between two pushes of metrics."),
    ignored_key("match",       LIST, (),      None,                    READ_ONLY, "Clients that send these metrics."),
)
# fmt: on

RESOURCE_KEYS: Mapping[ResourceType, Mapping[str, ConfigKey]] = MappingProxyType(
    {
        ResourceType.GROUP: MappingProxyType(by_name(GROUP_RESOURCE_KEYS)),
        ResourceType.CLIENT_METRICS: MappingProxyType(by_name(CLIENT_METRICS_KEYS)),
    }
)
"""Keys by the type of resource, for the two types that are neither broker nor topic."""

RESOURCE_SOURCES: Mapping[ResourceType, ConfigSource] = MappingProxyType(
    {
        ResourceType.GROUP: ConfigSource.DYNAMIC_GROUP_CONFIG,
        ResourceType.CLIENT_METRICS: ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG,
    }
)
