"""The advertised addresses of a broker, from the start and at run time."""

import pytest

from broker.addresses import Address
from broker.cluster.brokers import Broker


def test_a_listener_without_an_address_advertises_the_first_one() -> None:
    broker = Broker(1, "first", 9092, endpoints={"TLS": Address("tls", 9093)})
    assert broker.address("TLS") == Address("tls", 9093)
    assert broker.address("PLAINTEXT") == Address("first", 9092)


def broker_with_tls() -> Broker:
    endpoints = {"PLAINTEXT": Address("first", 9092), "TLS": Address("tls", 9093)}
    return Broker(1, "first", 9092, endpoints=endpoints)


def test_the_first_listener_is_the_address_of_the_broker() -> None:
    broker = broker_with_tls()
    broker.advertise("TLS", Address("proxy", 1))
    broker.advertise("PLAINTEXT", Address("proxy", 2))
    assert (broker.host, broker.port) == ("proxy", 2)
    assert broker.address("TLS") == Address("proxy", 1)


def test_an_altered_address_has_precedence_until_it_is_deleted() -> None:
    broker = broker_with_tls()
    broker.alter_endpoints("TLS://far:1")
    assert broker.advertised == {"PLAINTEXT": Address("first", 9092), "TLS": Address("far", 1)}
    with pytest.raises(ValueError, match="was altered at run time"):
        broker.advertise("TLS", Address("proxy", 2))
    broker.alter_endpoints("")
    assert broker.address("TLS") == Address("tls", 9093)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("TSL://far:1", "TSL is not among the listeners, only PLAINTEXT, TLS"),
        ("TLS://:1", "TLS needs a host and a port"),
        ("TLS://far:0", "TLS needs a host and a port"),
        ("far:1", "is not NAME://HOST:PORT"),
    ],
)
def test_an_invalid_value_changes_nothing(text: str, reason: str) -> None:
    broker = broker_with_tls()
    with pytest.raises(ValueError, match=reason):
        broker.alter_endpoints(text)
    with pytest.raises(ValueError, match="no listener 'TSL', only PLAINTEXT, TLS"):
        broker.advertise("TSL", Address("far", 1))
    assert broker.advertised == broker_with_tls().advertised
