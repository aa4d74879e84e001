"""A key of a listener is stronger than the same key of its broker."""

import pytest

from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError
from broker.config.listener_values import listener_values, own_texts


def configured(for_all: dict[str, str], for_one: dict[str, str]) -> BrokerConfig:
    config = BrokerConfig.from_overrides({"max.connections": "9"})
    return config.with_dynamic(None, for_all).with_dynamic(1, for_one)


def test_the_value_of_the_listener_of_one_broker_comes_first() -> None:
    key = "listener.name.inside.max.connections"
    config = configured({key: "7"}, {key: "5", "listener.name.inside.custom": "x"})
    assert listener_values(config, 1, "INSIDE")["max.connections"] == 5
    assert listener_values(config, 2, "INSIDE")["max.connections"] == 7
    assert listener_values(config, 1, "OUTSIDE")["max.connections"] == 9
    assert own_texts(config, 1, "INSIDE") == {"max.connections": "5", "custom": "x"}


def test_a_prefix_in_capitals_is_of_no_listener() -> None:
    config = configured({}, {"listener.name.INSIDE.max.connections": "5"})
    assert listener_values(config, 1, "INSIDE")["max.connections"] == 9


def test_an_invalid_value_is_named() -> None:
    config = configured({}, {"listener.name.inside.connections.max.reauth.ms": "abc"})
    with pytest.raises(ConfigError, match="Invalid value abc"):
        listener_values(config, 1, "INSIDE")
