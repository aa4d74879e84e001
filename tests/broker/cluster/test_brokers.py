"""The advertised address of a listener."""

from broker.addresses import Address
from broker.cluster.brokers import Broker


def test_a_listener_without_an_address_advertises_the_first_one() -> None:
    broker = Broker(1, "first", 9092, endpoints={"TLS": Address("tls", 9093)})
    assert broker.address("TLS") == Address("tls", 9093)
    assert broker.address("PLAINTEXT") == Address("first", 9092)
