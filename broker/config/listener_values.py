"""The values of one listener: a key with the listener's prefix is stronger than one without it.

Source: Kafka's `AbstractConfig.valuesWithPrefixOverride`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from broker.config.api_versions import release_of
from broker.config.broker_config import BROKER_KEYS, BrokerConfig, parse_overrides
from broker.config.config_providers import resolved
from broker.config.release_keys import key_in
from broker.config.synonyms import combine_layers
from broker.config.values import parse_value

ADVERTISED_LISTENERS = "advertised.listeners"


class ReloadedCertificates(Protocol):
    """The certificates of the TLS listeners of all brokers, which change at run time (KIP-226)."""

    def problem(self, broker_id: int, listener_name: str, values: Mapping[str, Any]) -> str | None:
        """Return why a listener cannot adopt these values, or None."""
        ...

    def reload(self, broker_id: int) -> None:
        """Have the listeners of a broker adopt its values, and files that have changed."""
        ...


def inter_broker_listener(values: Mapping[str, Any]) -> str:
    """Return the name of the listener that brokers use among themselves in Kafka."""
    return str(values["inter.broker.listener.name"] or values["security.inter.broker.protocol"])


def own_texts(config: BrokerConfig, broker_id: int, listener_name: str) -> dict[str, str]:
    """Return the keys of one listener of a broker as texts, without the prefix."""
    layers = combine_layers(
        config.started_with(broker_id),
        config.dynamic_default,
        config.dynamic_layer(broker_id),
    )
    return _with_prefix((resolved(layers),), listener_name)


def listener_values(config: BrokerConfig, broker_id: int, listener_name: str) -> dict[str, Any]:
    """Return the values of a broker's keys for one of its listeners.

    Raises:
        ConfigError: a key of the listener has an invalid value.
    """
    values = config.for_broker(broker_id)
    own = own_texts(config, broker_id, listener_name)
    return {**values, **parse_overrides(own, release_of(values))}


def first_listener_values(
    config: BrokerConfig, listener_name: str, broker_id: int | None = None
) -> dict[str, Any]:
    """Return the values with which a listener starts on a broker, or for None on every broker.

    Raises:
        ConfigError: a key of the listener has an invalid value.
    """
    own = started_texts(config, listener_name, broker_id)
    values = config if broker_id is None else config.for_broker(broker_id)
    return {**values, **parse_overrides(own, release_of(config))}


def started_texts(
    config: BrokerConfig, listener_name: str, broker_id: int | None = None
) -> dict[str, str]:
    """Return the keys of a listener of one broker from the start, or for None of all brokers.

    They are texts, without the prefix.
    """
    return _with_prefix((config.started_with(broker_id),), listener_name)


def own_start_texts(config: BrokerConfig, listener_name: str, broker_id: int) -> dict[str, str]:
    """Return the keys of a listener that one broker alone was started with, as texts."""
    return _with_prefix((config.overrides_by_broker.get(broker_id, {}),), listener_name)


def started_value(
    config: BrokerConfig, broker_id: int, listener_name: str, name: str, mechanism: str = ""
) -> Any:
    """Return the value of a key that a broker's listener keeps from its start.

    The key may be one of a SASL mechanism: `listener.name.inside.plain.connections.max.reauth.ms`.
    """
    own = started_texts(config, listener_name, broker_id)
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
