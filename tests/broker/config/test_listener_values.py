"""A key of a listener is stronger than the same key of its broker."""

import pytest

from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError
from broker.config.listener_values import (
    first_listener_values,
    listener_values,
    own_texts,
    started_value,
)


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


def test_the_keys_of_the_start_are_weaker_than_those_of_the_run_time() -> None:
    key = "listener.name.inside.max.connections"
    config = BrokerConfig.from_overrides({key: "7", "max.connections": "9"})
    assert first_listener_values(config, "INSIDE")["max.connections"] == 7
    assert first_listener_values(config, "OUTSIDE")["max.connections"] == 9
    assert listener_values(config, 1, "INSIDE")["max.connections"] == 7
    changed = config.with_dynamic(1, {key: "5"})
    assert listener_values(changed, 1, "INSIDE")["max.connections"] == 5
    assert first_listener_values(changed, "INSIDE")["max.connections"] == 7


def test_a_listener_keeps_its_value_of_the_start() -> None:
    name = "connections.max.reauth.ms"
    own = {f"listener.name.inside.{name}": "7", f"listener.name.inside.plain.{name}": "5"}
    config = BrokerConfig.from_overrides({**own, name: "9"})
    assert started_value(config, 1, "INSIDE", name) == 7
    assert started_value(config, 1, "INSIDE", name, "PLAIN") == 5
    assert started_value(config, 1, "INSIDE", name, "SCRAM-SHA-256") == 7
    assert started_value(config, 1, "OUTSIDE", name, "PLAIN") == 9
    changed = config.with_dynamic(1, {f"listener.name.inside.{name}": "3"})
    assert started_value(changed, 1, "INSIDE", name) == 7


def test_an_invalid_value_at_the_start_is_named() -> None:
    config = BrokerConfig.from_overrides({"listener.name.inside.ssl.client.auth": "maybe"})
    with pytest.raises(ConfigError, match=r"maybe for configuration ssl\.client\.auth"):
        first_listener_values(config, "INSIDE")


def test_a_broker_may_start_with_keys_of_a_listener_for_itself() -> None:
    limit, reauth = "max.connections", "connections.max.reauth.ms"
    config = BrokerConfig.from_overrides(
        {
            f"listener.name.inside.{limit}": "7",
            f"broker.2.listener.name.inside.{limit}": "5",
            f"broker.2.listener.name.inside.{reauth}": "3",
        }
    )
    assert [listener_values(config, broker_id, "INSIDE")[limit] for broker_id in (1, 2)] == [7, 5]
    assert [first_listener_values(config, "INSIDE", n)[limit] for n in (None, 1, 2)] == [7, 7, 5]
    assert [started_value(config, broker_id, "INSIDE", reauth) for broker_id in (1, 2)] == [0, 3]
    changed = config.with_dynamic(None, {f"listener.name.inside.{limit}": "6"})
    assert listener_values(changed, 2, "INSIDE")[limit] == 6


def test_a_restart_of_a_broker_brings_no_keys_of_listeners() -> None:
    config = BrokerConfig.from_overrides({})
    with pytest.raises(ConfigError, match="is set at the start of the cluster"):
        config.with_overrides_of(2, {"listener.name.inside.max.connections": "5"})
