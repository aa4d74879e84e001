"""The broker's configuration: one immutable mapping from key to parsed value.

There are four layers as in Kafka's `DynamicBrokerConfig`, in order of precedence: values changed at
run time for one broker, values changed at run time for all brokers, values from the start, and
defaults. `config[key]` is the value of brokers without their own;
`config.for_broker(id)` has the values of one broker.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import dropwhile
from types import MappingProxyType
from typing import Any, TypeVar

from broker.config import broker_keys, ignored_keys, kafka_keys, quota_keys, security_keys
from broker.config.api_versions import (
    API_VERSIONS_KEY,
    emulated_release,
    features_release_of,
    release_of,
)
from broker.config.authorizer_settings import with_class_name
from broker.config.broker_requirements import requirement_problem
from broker.config.config_providers import PROVIDER_PREFIX, resolved
from broker.config.features import release_problem
from broker.config.keys import (
    DYNAMIC_ONLY,
    ConfigError,
    ConfigKey,
    by_name,
    plugin_key,
    shortened,
)
from broker.config.release_keys import is_known, key_in, release_defaults
from broker.config.repeated_elements import broker_tags_problem
from broker.config.synonyms import LISTENER_KEY, combine_layers, synonym_names
from broker.config.values import format_value, parse_value
from protocol.configs import ConfigSource, ResourceType
from protocol.releases import Release
from protocol.suggestions import did_you_mean

BROKER_KEYS: Mapping[str, ConfigKey] = MappingProxyType(
    by_name(
        broker_keys.CLUSTER_KEYS,
        broker_keys.TOPIC_DEFAULT_KEYS,
        broker_keys.LOG_KEYS,
        broker_keys.CONNECTION_KEYS,
        broker_keys.GROUP_KEYS,
        broker_keys.PRODUCER_KEYS,
        broker_keys.AUDIT_KEYS,
        broker_keys.JOURNAL_KEYS,
        broker_keys.ADMIN_KEYS,
        quota_keys.QUOTA_KEYS,
        security_keys.SECURITY_KEYS,
        broker_keys.TRANSACTION_KEYS,
        ignored_keys.INTERNAL_TOPIC_KEYS,
        ignored_keys.LOG_DETAIL_KEYS,
        ignored_keys.PROCESS_KEYS,
        kafka_keys.CONTROLLER_KEYS,
        kafka_keys.GROUP_PROTOCOL_KEYS,
        kafka_keys.REMOTE_LOG_KEYS,
        kafka_keys.LOG_FILE_KEYS,
        kafka_keys.REPLICATION_KEYS,
        kafka_keys.SOCKET_KEYS,
        kafka_keys.AUTHENTICATION_KEYS,
        kafka_keys.TLS_KEYS,
        kafka_keys.OTHER_KEYS,
    )
)
"""Every key of a broker, sorted by name."""

RENAMED_KEYS = {"controller.mutation.time.ms": "controller.mutation.time.us, in whole microseconds"}
"""The new names of our own keys, by the old ones."""

_BROKER_PREFIX = re.compile(r"broker\.([0-9]{1,9})\.(.+)", re.ASCII)
"""`broker.2.KEY=VALUE` starts broker 2 with its own value."""

DEFAULT_NODE_ID = 1

_Name = TypeVar("_Name")
_NOTHING: Mapping[str, str] = MappingProxyType({})
_DEFAULTS = {key.name: key.default for key in BROKER_KEYS.values()}

ResourceName = tuple[ResourceType, str]


@dataclass(frozen=True, slots=True)
class Synonym:
    """One source of a key's value. `text` is None for a secret."""

    name: str
    text: str | None
    source: ConfigSource


class BrokerConfig(Mapping[str, Any]):
    """Parsed values by key. Immutable: every `with_...` returns a new one.

    `overrides` are the keys that all brokers were started with, `overrides_by_broker` those of
    single brokers. `dynamic_default` and `dynamic_by_broker` were set through AlterConfigs, for all
    brokers and for one. `resources` are the keys of groups and client metrics.
    """

    __slots__ = (
        "_sources",
        "_values",
        "_views",
        "dynamic_by_broker",
        "dynamic_default",
        "overrides",
        "overrides_by_broker",
        "resources",
    )

    def __init__(
        self,
        overrides: Mapping[str, str] = _NOTHING,
        dynamic_default: Mapping[str, str] = _NOTHING,
        dynamic_by_broker: Mapping[int, Mapping[str, str]] | None = None,
        resources: Mapping[ResourceName, Mapping[str, str]] | None = None,
        overrides_by_broker: Mapping[int, Mapping[str, str]] | None = None,
    ) -> None:
        """Raise ConfigError for an unknown key, an invalid value, or a contradiction."""
        overrides = with_class_name(overrides)
        self.overrides: Mapping[str, str] = MappingProxyType(dict(overrides))
        self.overrides_by_broker = _without_empty(overrides_by_broker or {})
        self.dynamic_default: Mapping[str, str] = MappingProxyType(dict(dynamic_default))
        self.dynamic_by_broker = _without_empty(dynamic_by_broker or {})
        # As in Kafka before 4.3, a group whose keys were all deleted is still a resource.
        self.resources = _without_empty(
            resources or {}, keep=lambda name: name[0] is ResourceType.GROUP
        )
        self._sources: dict[tuple[str, int | None], list[Synonym]] = {}
        """Sources that were found before; the layers never change."""
        for name in overrides:
            if LISTENER_KEY.fullmatch(name) is None and not name.startswith(PROVIDER_PREFIX):
                find_key(name)
        self._values: dict[str, Any] = _checked(overrides, dynamic_default)
        self._views: dict[int, Mapping[str, Any]] = {
            broker_id: _checked(
                self.started_with(broker_id), dynamic_default, self.dynamic_layer(broker_id)
            )
            for broker_id in self.overrides_by_broker.keys() | self.dynamic_by_broker.keys()
        }

    @classmethod
    def from_overrides(cls, overrides: Mapping[str, str]) -> "BrokerConfig":
        """Return the configuration of brokers started with these keys; may raise ConfigError.

        `broker.2.KEY` sets KEY of broker 2 alone; only some keys may differ between brokers.
        """
        shared: dict[str, str] = {}
        by_broker: dict[int, dict[str, str]] = {}
        for name, text in resolved(overrides).items():
            match = _BROKER_PREFIX.fullmatch(name)
            if match is None:
                shared[name] = text
            else:
                by_broker.setdefault(int(match[1]), {})[match[2]] = text
        config = cls(shared)
        for broker_id, own in by_broker.items():
            config = config.with_overrides_of(broker_id, own, is_start=True)
        return config

    def with_overrides_of(
        self, broker_id: int, overrides: Mapping[str, str | None], *, is_start: bool = False
    ) -> "BrokerConfig":
        """Return it with further start keys of this broker; None removes a key.

        `is_start`: they are from the start of the cluster, not from a restart of the broker.

        Raises:
            ConfigError: a key is unknown or shared by all brokers, or a value is invalid.
        """
        own = dict(self.overrides_by_broker.get(broker_id, _NOTHING))
        for name, text in overrides.items():
            problem = _own_problem(name, is_start=is_start)
            if problem is not None:
                raise ConfigError(f"broker.{broker_id}.{name}: {problem}")
            if text is None:
                own.pop(name, None)
            else:
                own[name] = text
        return self._changed(overrides_by_broker={**self.overrides_by_broker, broker_id: own})

    def with_dynamic(self, broker_id: int | None, layer: Mapping[str, str]) -> "BrokerConfig":
        """Return it with one dynamic layer replaced: a broker's, or for None the default one."""
        if broker_id is None:
            return self._changed(dynamic_default=layer)
        return self._changed(dynamic_by_broker={**self.dynamic_by_broker, broker_id: layer})

    def with_resource(self, name: ResourceName, layer: Mapping[str, str]) -> "BrokerConfig":
        """Return it with the keys of a group or of client metrics replaced, unchecked."""
        if not layer and name not in self.resources:
            return self
        return self._changed(resources={**self.resources, name: layer})

    def _changed(self, **layers: Any) -> "BrokerConfig":
        names = (name for name in self.__slots__ if not name.startswith("_"))
        return BrokerConfig(**{name: getattr(self, name) for name in names} | layers)

    def dynamic_layer(self, broker_id: int | None) -> Mapping[str, str]:
        """Return the keys changed at run time for one broker, or for None for all."""
        if broker_id is None:
            return self.dynamic_default
        return self.dynamic_by_broker.get(broker_id, _NOTHING)

    def started_with(self, broker_id: int | None) -> Mapping[str, str]:
        """Return the start keys of one broker, or for None those of all."""
        if broker_id is None:
            return self.overrides
        return {**self.overrides, **self.overrides_by_broker.get(broker_id, _NOTHING)}

    @property
    def first_node_id(self) -> int:
        """The id of the first broker, from `node.id` or `broker.id`."""
        if self["node.id"] is not None:
            return int(self["node.id"])
        return int(self["broker.id"]) if self["broker.id"] >= 0 else DEFAULT_NODE_ID

    def ids_of_different_brokers(self) -> Iterable[int]:
        """Return the ids of the brokers that have their own value."""
        return self._views.keys()

    def for_broker(self, broker_id: int) -> Mapping[str, Any]:
        """Return the values of one broker: this mapping with the broker's own values."""
        return self._views.get(broker_id, self._values)

    def synonyms(
        self, name: str, broker_id: int | None = None, own: Mapping[str, str] = _NOTHING
    ) -> list[Synonym]:
        """Return the sources of a key's value that DescribeConfigs lists.

        They are those of `sources`, without what is before the first source of the key itself.
        Source: Kafka's `ConfigHelper.configSynonyms`.
        """
        found = self.sources(name, broker_id, own)
        return list(dropwhile(lambda synonym: synonym.name != name, found))

    def sources(
        self, name: str, broker_id: int | None = None, own: Mapping[str, str] = _NOTHING
    ) -> list[Synonym]:
        """Return every source of a key's value, in order of precedence.

        Keys in other units are included: `log.retention.hours` after `log.retention.ms`. A default
        of "not set" is left out. `own` are start keys that the broker has by itself.
        """
        if own:
            return self._find_sources(name, broker_id, own)
        found = self._sources.get((name, broker_id))
        if found is None:
            found = self._sources[name, broker_id] = self._find_sources(name, broker_id, own)
        return list(found)

    def _find_sources(
        self, name: str, broker_id: int | None, own: Mapping[str, str]
    ) -> list[Synonym]:
        names = synonym_names(name)
        dynamic = _NOTHING if broker_id is None else self.dynamic_layer(broker_id)
        found = [
            _synonym(synonym, layer[synonym], source)
            for layer, source in (
                (dynamic, ConfigSource.DYNAMIC_BROKER_CONFIG),
                (self.dynamic_default, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
                ({**self.started_with(broker_id), **own}, ConfigSource.STATIC_BROKER_CONFIG),
            )
            for synonym in names
            if synonym in layer
        ]
        values = self if broker_id is None else self.for_broker(broker_id)
        of_release = release_defaults(release_of(values))
        known = (synonym for synonym in names if synonym in BROKER_KEYS)
        defaults = (
            (synonym, format_value(of_release.get(synonym, BROKER_KEYS[synonym].default)))
            for synonym in known
        )
        return found + [
            _synonym(synonym, text, ConfigSource.DEFAULT_CONFIG)
            for synonym, text in defaults
            if text is not None and not BROKER_KEYS[synonym].is_hidden
        ]

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        """Compare by the values of every broker."""
        if not isinstance(other, BrokerConfig):
            return NotImplemented
        return (self._values, self._views, self.resources) == (
            other._values,
            other._views,
            other.resources,
        )

    __hash__ = None  # type: ignore[assignment]  # values are compared, never looked up by

    def __repr__(self) -> str:
        return f"BrokerConfig({len(self.overrides)} set, {len(self.dynamic_default)} dynamic)"


def _without_empty(
    layers: Mapping[_Name, Mapping[str, str]], keep: Callable[[_Name], bool] = lambda _name: False
) -> Mapping[_Name, Mapping[str, str]]:
    """Return the layers that have a key, or a name for which `keep` holds."""
    kept = ((name, layer) for name, layer in layers.items() if layer or keep(name))
    return MappingProxyType({name: MappingProxyType(dict(layer)) for name, layer in kept})


def _own_problem(name: str, *, is_start: bool) -> str | None:
    """Return why one of several brokers cannot have a start key for itself, or None.

    The keys of its listeners it may have from the start of the cluster on.
    """
    is_of_listener = LISTENER_KEY.fullmatch(name) is not None
    key = None if is_of_listener else find_key(name)
    differs_at_start = key is None or key.differs_at_start
    if (key is not None and key.is_per_broker) or (is_start and differs_at_start):
        return None
    if differs_at_start:
        return f"{name} is set at the start of the cluster, not at a restart of a broker"
    return shared_key_message(name)


def find_key(name: str) -> ConfigKey:
    """Return the definition of a broker's key; a ConfigError suggests the nearest one."""
    key = BROKER_KEYS.get(name)
    if key is None:
        raise ConfigError(unknown_key_message(name, BROKER_KEYS))
    return key


def key_of(name: str) -> ConfigKey:
    """Return the definition of a broker's key, also of one that only a plug-in knows.

    The key of a listener has the type of the one without the listener.
    """
    if name in BROKER_KEYS:
        return BROKER_KEYS[name]
    base = base_key(name)
    return plugin_key(name) if base is None else replace(base, name=name, update_mode=DYNAMIC_ONLY)


def base_key(name: str) -> ConfigKey | None:
    """Return the key that one with the prefix of a listener or a mechanism is about, or None."""
    return next((BROKER_KEYS[n] for n in synonym_names(name) if n in BROKER_KEYS), None)


def unknown_key_message(name: str, known: Mapping[str, ConfigKey]) -> str:
    """Return the error for an unknown key, with its new name or the nearest known one."""
    if name in RENAMED_KEYS:
        return f"Unknown configuration {name}; it is {RENAMED_KEYS[name]}"
    return f"Unknown configuration {shortened(name)}{did_you_mean(name, known)}"


def shared_key_message(name: str) -> str:
    """Return the error for a shared key that was set for one of several brokers."""
    return f"{name} has one value for all brokers of the cluster, not one for each"


def parse_overrides(overrides: Mapping[str, str], release: Release) -> dict[str, Any]:
    """Parse the values of keys of a release's broker; ConfigError for the first invalid one.

    Keys that only a plug-in knows are left out, and those that the release does not have.
    """
    return {
        name: parse_value(key_in(BROKER_KEYS[name], release), text)
        for name, text in overrides.items()
        if name in BROKER_KEYS and is_known(name, release)
    }


def _release_in(texts: Mapping[str, str]) -> Release:
    """Return the release that texts name, or the default one; it decides how to read the others."""
    text = texts.get(API_VERSIONS_KEY)
    key = BROKER_KEYS[API_VERSIONS_KEY]
    return emulated_release(key.default if text is None else parse_value(key, text))


def _synonym(name: str, text: str, source: ConfigSource) -> Synonym:
    return Synonym(name, None if key_of(name).is_sensitive else text, source)


def _checked(*layers: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of layers, the lowest first, if none contradicts another.

    Keys that no layer sets have the defaults of the release.
    """
    texts = resolved(combine_layers(*layers))
    release = _release_in(texts)
    given = parse_overrides(texts, release)
    values = {**_DEFAULTS, **release_defaults(release), **given}
    problem = requirement_problem(values) or broker_tags_problem(texts, release)
    if problem is not None:
        raise ConfigError(problem)
    problem = release_problem(values["cluster.features"], features_release_of(values))
    if problem is not None:
        raise ConfigError(f"cluster.features: {problem}")
    return values
