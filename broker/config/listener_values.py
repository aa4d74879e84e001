"""The values of one listener: a key with the listener's prefix is stronger than one without it.

Source: Kafka's `AbstractConfig.valuesWithPrefixOverride`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from broker.config.api_versions import release_of
from broker.config.broker_config import BROKER_KEYS, BrokerConfig, parse_overrides
from broker.config.release_keys import key_in
from broker.config.values import parse_value


class ReloadedCertificates(Protocol):
    """The certificates of the TLS listeners of all brokers, which change at run time (KIP-226)."""

    def problem(self, broker_id: int, listener_name: str, values: Mapping[str, Any]) -> str | None:
        """Return why a listener cannot adopt these values, or None."""
        ...

    def reload(self, broker_id: int) -> None:
        """Have the listeners of a broker adopt its values, and files that have changed."""
        ...


def own_texts(config: BrokerConfig, broker_id: int, listener_name: str) -> dict[str, str]:
    """Return the keys of one listener of a broker as texts, without the prefix."""
    layers = (config.overrides, config.dynamic_default, config.dynamic_layer(broker_id))
    return _with_prefix(layers, listener_name)


def listener_values(config: BrokerConfig, broker_id: int, listener_name: str) -> dict[str, Any]:
    """Return the values of a broker's keys for one of its listeners.

    Raises:
        ConfigError: a key of the listener has an invalid value.
    """
    values = config.for_broker(broker_id)
    own = own_texts(config, broker_id, listener_name)
    return {**values, **parse_overrides(own, release_of(values))}


def first_listener_values(config: BrokerConfig, listener_name: str) -> dict[str, Any]:
    """Return the values with which a listener starts on every broker.

    Raises:
        ConfigError: a key of the listener has an invalid value.
    """
    own = started_texts(config, listener_name)
    return {**config, **parse_overrides(own, release_of(config))}


def started_texts(config: BrokerConfig, listener_name: str) -> dict[str, str]:
    """Return the keys of one listener from the start as texts, without the prefix."""
    return _with_prefix((config.overrides,), listener_name)


def started_value(config: BrokerConfig, listener_name: str, name: str, mechanism: str = "") -> Any:
    """Return the value of a key that a listener keeps from its start, in spite of its prefix.

    The key may be one of a SASL mechanism: `listener.name.inside.plain.connections.max.reauth.ms`.
    """
    own = started_texts(config, listener_name)
    text = own.get(f"{mechanism.lower()}.{name}", own.get(name))
    if text is None:
        return config[name]
    return parse_value(key_in(BROKER_KEYS[name], release_of(config)), text)


def _with_prefix(layers: Iterable[Mapping[str, str]], listener_name: str) -> dict[str, str]:
    prefix = f"listener.name.{listener_name.lower()}."
    return {
        name.removeprefix(prefix): text
        for layer in layers
        for name, text in layer.items()
        if name.startswith(prefix)
    }
