"""Describe a resource for DescribeConfigs: its keys with values and sources.

Source: Kafka's `ConfigHelper`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from broker.cluster.brokers import Broker
from broker.config.api_versions import release_of
from broker.config.broker_config import BROKER_KEYS, BrokerConfig, Synonym, key_of
from broker.config.keys import ConfigKey
from broker.config.release_keys import key_in
from broker.config.resource_keys import (
    GROUP_BROKER_KEYS,
    RESOURCE_KEYS,
    RESOURCE_SOURCES,
    group_defaults,
)
from broker.config.synonyms import combine_layers
from broker.config.topic_config import TopicConfig
from broker.config.topic_keys import TOPIC_KEYS
from broker.config.values import format_value, parse_value
from protocol.configs import ConfigSource, ResourceType
from protocol.releases import Release

GROUP_SYNONYMS_SINCE: Release = (4, 3)
"""First release that names a broker's key as the source of a group's value."""

_NOTHING: Mapping[str, str] = MappingProxyType({})


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
    config: BrokerConfig, broker_id: int, overrides: Mapping[str, str] = _NOTHING
) -> list[ConfigEntry]:
    """Return every key of a topic as one broker has it; none is read-only."""
    broker_values = config.for_broker(broker_id)
    release = release_of(broker_values)
    values = TopicConfig(broker_values, overrides)
    entries = []
    for key in (key_in(key, release) for key in TOPIC_KEYS.values()):
        if key.is_hidden and key.name not in overrides:
            continue
        text = format_value(values[key.name])
        synonyms = []
        if key.name in overrides:
            synonyms.append(Synonym(key.name, text, ConfigSource.DYNAMIC_TOPIC_CONFIG))
        if key.broker_synonym is not None:
            synonyms += config.synonyms(key.broker_synonym, broker_id)
        entries.append(_entry(key, text, synonyms, is_read_only=False))
    return entries


def describe_new_topic(
    config: BrokerConfig, broker_id: int, overrides: Mapping[str, str]
) -> list[ConfigEntry]:
    """Return the keys of a topic for CreateTopics, which Kafka's controller describes.

    It names the broker's key in another unit as a source, unlike DescribeConfigs. Source: Kafka's
    `KafkaConfigSchema.resolveEffectiveTopicConfigs`.
    """
    entries = []
    for entry in describe_topic(config, broker_id, overrides):
        name = entry.key.broker_synonym
        sources = () if name is None else tuple(config.sources(name, broker_id))
        if entry.key.name not in overrides and sources:
            entries.append(replace(entry, source=sources[0].source, synonyms=sources))
        else:
            entries.append(entry)
    return entries


def describe_broker(config: BrokerConfig, broker: Broker) -> list[ConfigEntry]:
    """Return every key of one broker, and those that are set and only a plug-in knows."""
    values = config.for_broker(broker.node_id)
    release = release_of(values)
    started_with = config.started_with(broker.node_id)
    own = broker.own_config(started_with)
    texts = combine_layers(
        {**started_with, **own},
        config.dynamic_default,
        config.dynamic_layer(broker.node_id),
    )
    entries = []
    for name in (*BROKER_KEYS, *(name for name in texts if name not in BROKER_KEYS)):
        key = key_in(key_of(name), release)
        if key.is_hidden and name not in texts:
            continue
        if name in texts and (key.is_hidden or name in own):
            text: str | None = texts[name]
        else:
            text = format_value(values[name])
        synonyms = config.synonyms(name, broker.node_id, own)
        entries.append(_entry(key, text, synonyms, is_read_only=key.is_described_read_only))
    return entries


def describe_broker_defaults(config: BrokerConfig, release: Release) -> list[ConfigEntry]:
    """Return the keys changed at run time for all brokers (a resource without a name)."""
    entries = []
    for name, text in config.dynamic_default.items():
        key = key_in(key_of(name), release)
        synonyms = [
            synonym
            for synonym in config.synonyms(name)
            if synonym.source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        ]
        entries.append(_entry(key, text, synonyms, is_read_only=key.is_described_read_only))
    return entries


def describe_resource(
    config: BrokerConfig, resource_type: ResourceType, name: str, release: Release
) -> list[ConfigEntry]:
    """Return every key of a group or of client metrics, set or not."""
    layer = config.resources.get((resource_type, name), {})
    keys = RESOURCE_KEYS[resource_type]
    is_group = resource_type is ResourceType.GROUP
    values = (
        group_defaults(config) if is_group else {key.name: key.default for key in keys.values()}
    )
    values |= {
        key_name: parse_value(key_in(keys[key_name], release), text)
        for key_name, text in layer.items()
    }
    entries = []
    for key in (key_in(key, release) for key in keys.values()):
        if key.is_hidden and key.name not in layer:
            continue
        text = format_value(values[key.name])
        synonyms = _group_synonyms(config, key, text, release) if is_group else []
        if key.name in layer:
            own = Synonym(key.name, text, RESOURCE_SOURCES[resource_type])
            has_others = is_group and release >= GROUP_SYNONYMS_SINCE
            synonyms = [own, *synonyms] if has_others else [own]
        entries.append(_entry(key, text, synonyms, is_read_only=False))
    return entries


def _group_synonyms(
    config: BrokerConfig, key: ConfigKey, text: str | None, release: Release
) -> list[Synonym]:
    """Return the sources of a group's value that is not set: since Kafka 4.3 the broker's key."""
    if release < GROUP_SYNONYMS_SINCE:
        return [Synonym(key.name, text, ConfigSource.DEFAULT_CONFIG)]
    broker_key = GROUP_BROKER_KEYS.get(key.name)
    if broker_key is not None:
        return config.synonyms(broker_key)
    return [Synonym(key.name, format_value(key.default), ConfigSource.DEFAULT_CONFIG)]


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
