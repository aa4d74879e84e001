"""The values of one listener: a key with the listener's prefix is stronger than one without it.

Source: Kafka's `AbstractConfig.valuesWithPrefixOverride`.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from broker.config.broker_config import BROKER_KEYS, BrokerConfig
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
    prefix = f"listener.name.{listener_name.lower()}."
    layers = (config.dynamic_default, config.dynamic_layer(broker_id))
    return {
        name.removeprefix(prefix): text
        for layer in layers
        for name, text in layer.items()
        if name.startswith(prefix)
    }


def listener_values(config: BrokerConfig, broker_id: int, listener_name: str) -> dict[str, Any]:
    """Return the values of a broker's keys for one of its listeners.

    Raises:
        ConfigError: a key of the listener has an invalid value.
    """
    own = {
        name: parse_value(BROKER_KEYS[name], text)
        for name, text in own_texts(config, broker_id, listener_name).items()
        if name in BROKER_KEYS
    }
    return {**config.for_broker(broker_id), **own}
