"""Describe a resource for DescribeConfigs: its keys with values and sources.

Source: Kafka's `ConfigHelper`.
"""

from dataclasses import dataclass

from broker.cluster.brokers import Broker
from broker.config.broker_config import BROKER_KEYS, BrokerConfig, Synonym
from broker.config.keys import ConfigKey
from broker.config.resource_keys import RESOURCE_KEYS, RESOURCE_SOURCES
from broker.config.topic_config import TopicConfig
from broker.config.topic_keys import TOPIC_KEYS
from broker.config.values import format_value, parse_value
from protocol.configs import ConfigSource, ResourceType


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One described key. `text` is None for "not set" and for a secret.

    `synonyms` are all sources of its value, in order of precedence.
    """

    key: ConfigKey
    text: str | None
    is_read_only: bool
    source: ConfigSource
    synonyms: tuple[Synonym, ...]


def describe_topic(
    config: BrokerConfig, broker_id: int | None, values: TopicConfig
) -> list[ConfigEntry]:
    """Return every key of a topic; none is read-only.

    `broker_id` is the broker whose own layer the topic falls back to. It is None if the cluster has
    several brokers, which share the topic.
    """
    overrides = values.overrides
    entries = []
    for key in TOPIC_KEYS.values():
        text = format_value(values[key.name])
        synonyms = []
        if key.name in overrides:
            synonyms.append(Synonym(key.name, text, ConfigSource.DYNAMIC_TOPIC_CONFIG))
        if key.broker_synonym is not None:
            synonyms += config.synonyms(key.broker_synonym, broker_id)
        entries.append(_entry(key, text, synonyms, is_read_only=False))
    return entries


def describe_broker(config: BrokerConfig, broker: Broker) -> list[ConfigEntry]:
    """Return every key of one broker; a key that cannot change at run time is read-only."""
    values = config.for_broker(broker.node_id)
    own = _own_texts(broker)
    entries = []
    for key in BROKER_KEYS.values():
        text = format_value(values[key.name])
        synonyms = config.synonyms(key.name, broker.node_id)
        if key.name in own:
            text = own[key.name]
            synonyms = [Synonym(key.name, text, ConfigSource.STATIC_BROKER_CONFIG)]
        entries.append(_entry(key, text, synonyms, is_read_only=not key.is_dynamic))
    return entries


def _own_texts(broker: Broker) -> dict[str, str]:
    """Return the values that differ between brokers started with the same keys."""
    texts = {"node.id": str(broker.node_id), "broker.id": str(broker.node_id)}
    if broker.host:
        endpoints = broker.endpoints or {"PLAINTEXT": broker.address("PLAINTEXT")}
        texts["advertised.listeners"] = ",".join(
            f"{name}://{address}" for name, address in endpoints.items()
        )
    return texts


def describe_broker_defaults(config: BrokerConfig) -> list[ConfigEntry]:
    """Return the keys changed at run time for all brokers (a resource without a name)."""
    entries = []
    for name in sorted(config.dynamic_default):
        key = BROKER_KEYS[name]
        synonyms = [
            synonym
            for synonym in config.synonyms(name)
            if synonym.source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        ]
        entries.append(_entry(key, format_value(config[name]), synonyms, is_read_only=False))
    return entries


def describe_resource(
    config: BrokerConfig, resource_type: ResourceType, name: str
) -> list[ConfigEntry]:
    """Return every key of a group or of client metrics, set or not."""
    layer = config.resources.get((resource_type, name), {})
    entries = []
    for key in RESOURCE_KEYS[resource_type].values():
        default = format_value(key.default)
        synonyms = []
        if key.name in layer:
            text = format_value(parse_value(key, layer[key.name]))
            synonyms.append(Synonym(key.name, text, RESOURCE_SOURCES[resource_type]))
        else:
            text = default
        if resource_type is ResourceType.GROUP:
            synonyms.append(Synonym(key.name, default, ConfigSource.DEFAULT_CONFIG))
        entries.append(_entry(key, text, synonyms, is_read_only=False))
    return entries


def _entry(
    key: ConfigKey, text: str | None, synonyms: list[Synonym], *, is_read_only: bool
) -> ConfigEntry:
    return ConfigEntry(
        key=key,
        text=None if key.is_sensitive else text,
        is_read_only=is_read_only,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        synonyms=tuple(synonyms),
    )
