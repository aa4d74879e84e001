"""The broker's configuration: one immutable mapping from key to parsed value.

There are four layers as in Kafka's `DynamicBrokerConfig`, in order of precedence: values changed at
run time for one broker, values changed at run time for all brokers, values from the start, and
defaults. `config[key]` is the value of brokers without a value of their own;
`config.for_broker(id)` has the values of one broker.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from broker.config import broker_keys, ignored_keys, quota_keys, security_keys
from broker.config.api_versions import emulated_release
from broker.config.broker_keys import HOUR_MS
from broker.config.features import release_problem
from broker.config.keys import ConfigError, ConfigKey, by_name, shortened
from broker.config.values import format_value, parse_value
from protocol.configs import ConfigSource, ResourceType
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
        quota_keys.QUOTA_KEYS,
        security_keys.SECURITY_KEYS,
        broker_keys.TRANSACTION_KEYS,
        ignored_keys.INTERNAL_TOPIC_KEYS,
        ignored_keys.LOG_DETAIL_KEYS,
        ignored_keys.PROCESS_KEYS,
    )
)
"""Every key of a broker, sorted by name."""

_BROKER_PREFIX = re.compile(r"broker\.([0-9]{1,9})\.(.+)", re.ASCII)
"""`broker.2.KEY=VALUE` starts broker 2 with a value of its own."""

_Name = TypeVar("_Name")
_NOTHING: Mapping[str, str] = MappingProxyType({})
_DEFAULTS = {key.name: key.default for key in BROKER_KEYS.values()}

ResourceName = tuple[ResourceType, str]

SYNONYMS: tuple[tuple[str, ...], ...] = (
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
)
"""Keys for the same setting in different units; the first one that is set wins."""


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
        self.overrides: Mapping[str, str] = MappingProxyType(dict(overrides))
        self.overrides_by_broker = _without_empty(overrides_by_broker or {})
        self.dynamic_default: Mapping[str, str] = MappingProxyType(dict(dynamic_default))
        self.dynamic_by_broker = _without_empty(dynamic_by_broker or {})
        self.resources = _without_empty(resources or {})
        started_with, changed = parse_overrides(overrides), parse_overrides(dynamic_default)
        self._values: dict[str, Any] = _checked(_DEFAULTS | started_with | changed)
        self._views: dict[int, Mapping[str, Any]] = {
            broker_id: _checked(
                _DEFAULTS
                | started_with
                | parse_overrides(self.overrides_by_broker.get(broker_id, _NOTHING))
                | changed
                | parse_overrides(self.dynamic_layer(broker_id))
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
        for name, text in overrides.items():
            match = _BROKER_PREFIX.fullmatch(name)
            if match is None:
                shared[name] = text
            else:
                by_broker.setdefault(int(match[1]), {})[match[2]] = text
        config = cls(shared)
        for broker_id, own in by_broker.items():
            config = config.with_overrides_of(broker_id, own)
        return config

    def with_overrides_of(
        self, broker_id: int, overrides: Mapping[str, str | None]
    ) -> "BrokerConfig":
        """Return it with further start keys of this broker; None removes a key.

        Raises:
            ConfigError: a key is unknown or shared by all brokers, or a value is invalid.
        """
        own = dict(self.overrides_by_broker.get(broker_id, _NOTHING))
        for name, text in overrides.items():
            if not find_key(name).is_per_broker:
                raise ConfigError(f"broker.{broker_id}.{name}: {shared_key_message(name)}")
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
        return self._changed(resources={**self.resources, name: layer})

    def _changed(self, **layers: Any) -> "BrokerConfig":
        names = (name for name in self.__slots__ if not name.startswith("_"))
        return BrokerConfig(**{name: getattr(self, name) for name in names} | layers)

    def dynamic_layer(self, broker_id: int | None) -> Mapping[str, str]:
        """Return the keys changed at run time for one broker, or for None for all."""
        if broker_id is None:
            return self.dynamic_default
        return self.dynamic_by_broker.get(broker_id, _NOTHING)

    def for_broker(self, broker_id: int) -> Mapping[str, Any]:
        """Return the values of one broker: this mapping with the broker's own values."""
        return self._views.get(broker_id, self._values)

    def synonyms(self, name: str, broker_id: int | None = None) -> list[Synonym]:
        """Return every source of a key's value, in order of precedence.

        Keys in other units are included, as in Kafka: `log.retention.hours` after
        `log.retention.ms`. A default of "not set" is left out.
        """
        names = next((group for group in SYNONYMS if name in group), (name,))
        own, started_with = _NOTHING, self.overrides
        if broker_id is not None:
            own = self.dynamic_layer(broker_id)
            started_with = {**self.overrides, **self.overrides_by_broker.get(broker_id, _NOTHING)}
        found = [
            _synonym(synonym, layer[synonym], source)
            for layer, source in (
                (own, ConfigSource.DYNAMIC_BROKER_CONFIG),
                (self.dynamic_default, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
                (started_with, ConfigSource.STATIC_BROKER_CONFIG),
            )
            for synonym in names
            if synonym in layer
        ]
        defaults = ((synonym, format_value(BROKER_KEYS[synonym].default)) for synonym in names)
        return found + [
            _synonym(synonym, text, ConfigSource.DEFAULT_CONFIG)
            for synonym, text in defaults
            if text is not None
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


def _without_empty(layers: Mapping[_Name, Mapping[str, str]]) -> Mapping[_Name, Mapping[str, str]]:
    kept = {name: MappingProxyType(dict(layer)) for name, layer in layers.items() if layer}
    return MappingProxyType(kept)


def find_key(name: str) -> ConfigKey:
    """Return the definition of a broker's key; a ConfigError suggests the nearest one."""
    key = BROKER_KEYS.get(name)
    if key is None:
        raise ConfigError(unknown_key_message(name, BROKER_KEYS))
    return key


def unknown_key_message(name: str, known: Mapping[str, ConfigKey]) -> str:
    """Return the error for an unknown key, with the nearest known one."""
    return f"Unknown configuration {shortened(name)}{did_you_mean(name, known)}"


def shared_key_message(name: str) -> str:
    """Return the error for a shared key that was set for one of several brokers."""
    return f"{name} has one value for all brokers of the cluster, not one for each"


def parse_overrides(overrides: Mapping[str, str]) -> dict[str, Any]:
    """Parse the values of a broker's keys; ConfigError for the first invalid one."""
    return {name: parse_value(find_key(name), text) for name, text in overrides.items()}


def retention_ms(values: Mapping[str, Any]) -> int:
    """Return `log.retention.*` in milliseconds; any negative value is -1, unlimited."""
    if values["log.retention.ms"] is not None:
        kept_ms = values["log.retention.ms"]
    elif values["log.retention.minutes"] is not None:
        kept_ms = values["log.retention.minutes"] * 60_000
    else:
        kept_ms = values["log.retention.hours"] * HOUR_MS
    return max(int(kept_ms), -1)


def _synonym(name: str, text: str, source: ConfigSource) -> Synonym:
    return Synonym(name, None if BROKER_KEYS[name].is_sensitive else text, source)


def _checked(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values if none contradicts another."""
    low, high = "group.min.session.timeout.ms", "group.max.session.timeout.ms"
    if values[low] > values[high]:
        raise ConfigError(f"{low} ({values[low]}) must not be more than {high} ({values[high]})")
    release = emulated_release(values["broker.api.versions"])
    problem = release_problem(values["cluster.features"], release)
    if problem is not None:
        raise ConfigError(f"cluster.features: {problem}")
    return values
