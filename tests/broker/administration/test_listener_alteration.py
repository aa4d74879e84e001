"""Keys of a listener act, are kept, or are refused, each as by Kafka 4.1.0.

Each row is what a broker of Apache Kafka 4.1.0 has answered.
"""

import pytest

from broker.addresses import Address
from broker.administration.broker_alteration import check_broker_alteration
from broker.administration.config_operations import Alteration, Operation
from broker.config.broker_config import BrokerConfig
from broker.errors import Refusal
from protocol.configs import ConfigOperation, ResourceType
from tests.broker.handlers.config_requests import new_cluster

INVALID = (
    "Invalid value org.apache.kafka.common.config.ConfigException: {} for configuration Invalid"
    " dynamic configuration"
)
FIXED = INVALID.format(
    "Configs cannot be updated dynamically for existing listener ListenerName(SSL), restart broker"
    " or create a new listener for update"
)


def alter(broker: str, keys: dict[str, str]) -> BrokerConfig | Refusal:
    cluster = new_cluster(1)
    cluster.brokers[1].endpoints = {"SSL": Address("localhost", 9092)}
    operations = tuple(Operation(name, ConfigOperation.SET, text) for name, text in keys.items())
    alteration = Alteration(ResourceType.BROKER, broker, operations, is_replacement=False)
    return check_broker_alteration(cluster, 1, alteration)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"max.connections": "0"}, INVALID.format("Invalid max.connections 0")),
        (
            {"max.connection.creation.rate": "0"},
            INVALID.format("Invalid max.connection.creation.rate 0"),
        ),
        (
            {"num.network.threads": "99"},
            INVALID.format(
                "Dynamic thread count update validation failed for num.network.threads=99, value"
                " should not be greater than double the current value 3"
            ),
        ),
        (
            {"connections.max.reauth.ms": "abc"},
            INVALID.format(
                "Invalid value abc for configuration connections.max.reauth.ms: Not a number of"
                " type LONG"
            ),
        ),
        (
            {"ssl.client.auth": "xx"},
            (
                "Invalid value xx for configuration ssl.client.auth: String must be one of:"
                " required, requested, none"
            ),
        ),
    ],
)
def test_values_that_a_listener_cannot_adopt_are_refused(
    keys: dict[str, str], message: str
) -> None:
    refusal = alter("1", {f"listener.name.ssl.{name}": text for name, text in keys.items()})
    assert isinstance(refusal, Refusal)
    assert refusal.message == message


@pytest.mark.parametrize(
    "keys",
    [
        {"listener.name.ssl.ssl.cipher.suites": "x", "num.network.threads": "4"},
        {"listener.name.ssl.ssl.protocol": "x", "max.connections": "1000"},
    ],
)
def test_a_fixed_key_of_a_listener_is_refused_with_a_change_of_all_listeners(
    keys: dict[str, str],
) -> None:
    refusal = alter("1", keys)
    assert isinstance(refusal, Refusal)
    assert refusal.message == FIXED


@pytest.mark.parametrize(
    "keys",
    [
        {"listener.name.ssl.max.connections": "10"},
        {"listener.name.ssl.num.network.threads": "4"},
        {"listener.name.ssl.connections.max.reauth.ms": "5"},
        {"listener.name.ssl.ssl.client.auth": "required"},
        {"listener.name.ssl.ssl.principal.mapping.rules": "x"},
        {"listener.name.ssl.sasl.enabled.mechanisms": "PLAIN"},
        {"listener.name.ssl.foo.bar": "x"},
        {"listener.name.SSL.ssl.keystore.location": "/none"},
        {"listener.name.nolistener.ssl.keystore.location": "/none"},
    ],
)
def test_other_keys_are_kept(keys: dict[str, str]) -> None:
    config = alter("1", keys)
    assert isinstance(config, BrokerConfig)
    assert config.dynamic_layer(1) == keys
