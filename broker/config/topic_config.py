"""One topic's configuration: its own value of a key, else its broker's, else the default.

Sources: Kafka's `LogConfig`, `ServerTopicConfigSynonyms` and `ControllerConfigurationValidator`.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from broker.config.api_versions import release_of
from broker.config.broker_keys import HOUR_MS
from broker.config.broker_requirements import retention_ms
from broker.config.hash_order import in_hash_order
from broker.config.keys import ConfigError
from broker.config.release_keys import is_known, key_in
from broker.config.synthetic_keys import synthetic_problem
from broker.config.topic_keys import CHECK_ORDER, TOPIC_KEYS
from broker.config.values import parse_value
from protocol.pacing import may_pause
from protocol.releases import DEFAULT_RELEASE, Release

_NOTHING: Mapping[str, str] = MappingProxyType({})


class TopicConfig(Mapping[str, Any]):
    """Parsed values by key. Immutable. `overrides` is what was set on the topic itself.

    `broker_values` is a BrokerConfig, or the view `BrokerConfig.for_broker(id)` of one broker.
    """

    __slots__ = ("_values", "overrides")

    def __init__(
        self, broker_values: Mapping[str, Any], overrides: Mapping[str, str] = _NOTHING
    ) -> None:
        """Raise ConfigError where `validate_topic_overrides` returns a message."""
        self.overrides: Mapping[str, str] = MappingProxyType(dict(overrides))
        self._values: dict[str, Any] = _broker_defaults(broker_values) | _parse(
            overrides, release_of(broker_values)
        )

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"TopicConfig({dict(self.overrides)!r})"


@may_pause
def validate_topic_overrides(
    overrides: Mapping[str, str | None], release: Release = DEFAULT_RELEASE
) -> str | None:
    """Return Kafka's error message for the keys of a new or altered topic, or None.

    Keys that came after `release` are unknown. Of several errors it is the one that Kafka finds
    first: unknown keys come before values, in the order of a Java `Properties`, and values in that
    of `CHECK_ORDER`.
    """
    nulls = [name for name, text in overrides.items() if text is None]
    if nulls:
        return f"Null value not supported for topic configs: {','.join(nulls)}"
    for name in in_hash_order(overrides):
        if name not in TOPIC_KEYS or not is_known(name, release):
            return f"Unknown topic config name: {name}"
    try:
        given = {name: text for name, text in overrides.items() if text is not None}
        values = _parse(given, release)
    except ConfigError as error:
        return str(error)
    return _contradiction(values)


def _parse(overrides: Mapping[str, str], release: Release) -> dict[str, Any]:
    for name in overrides:
        if name not in TOPIC_KEYS:
            raise ConfigError(f"Unknown topic config name: {name}")
    return {
        name: parse_value(key_in(TOPIC_KEYS[name], release), overrides[name])
        for name in CHECK_ORDER
        if name in overrides and is_known(name, release)
    }


def _contradiction(values: Mapping[str, Any]) -> str | None:
    low, high = (
        values.get(f"{limit}.compaction.lag.ms", TOPIC_KEYS[f"{limit}.compaction.lag.ms"].default)
        for limit in ("min", "max")
    )
    if low > high:
        return (
            f"conflict topic config setting min.compaction.lag.ms ({low}) >"
            f" max.compaction.lag.ms ({high})"
        )
    if values.get("remote.storage.enable"):
        return (
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured"
            " with remote log storage."
        )
    return synthetic_problem(values)


# Keys for which the broker has keys in several units.
_DERIVED: Mapping[str, Callable[[Mapping[str, Any]], int]] = {
    "retention.ms": retention_ms,
    "segment.ms": lambda values: _first_set(values, "log.roll.ms", "log.roll.hours"),
    "segment.jitter.ms": lambda values: _first_set(
        values, "log.roll.jitter.ms", "log.roll.jitter.hours"
    ),
    "flush.ms": lambda values: _first_set(
        values, "log.flush.interval.ms", "log.flush.scheduler.interval.ms", unit_ms=1
    ),
}


def _first_set(values: Mapping[str, Any], name: str, other: str, unit_ms: int = HOUR_MS) -> int:
    if values[name] is not None:
        return int(values[name])
    return int(values[other]) * unit_ms


def _broker_defaults(broker_values: Mapping[str, Any]) -> dict[str, Any]:
    defaults: dict[str, Any] = {}
    for key in TOPIC_KEYS.values():
        derive = _DERIVED.get(key.name)
        if derive is not None:
            defaults[key.name] = derive(broker_values)
        elif key.broker_synonym is not None:
            defaults[key.name] = broker_values[key.broker_synonym]
        else:
            defaults[key.name] = key.default
    return defaults
