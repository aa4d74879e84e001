from dataclasses import dataclass
from typing import Any

from broker.server.connection_counts import Accepted, ConnectionCounts

UNLIMITED = 2**31 - 1
KEYS = {
    "max.connections": UNLIMITED,
    "max.connections.per.ip": UNLIMITED,
    "max.connections.per.ip.overrides": "",
}


@dataclass(eq=False)
class Connection:
    broker_id: int = 1
    listener_name: str = "PLAINTEXT"


class Limits:
    def __init__(self, listener_max: int | None = None, **values: Any) -> None:
        names = {name.replace("_", "."): value for name, value in values.items()}
        self.values = {**KEYS, **names}
        self.listener_max = listener_max
        self.counts = ConnectionCounts()

    def admit(self, connection: Accepted, host: str = "10.0.0.1") -> str | None:
        return self.counts.admit(connection, host, self.values, self.listener_max)


def test_a_limit_is_that_of_one_broker() -> None:
    limits = Limits(max_connections=1)
    first = Connection(1)
    assert limits.admit(first) is None
    assert limits.admit(Connection(2)) is None
    assert limits.admit(Connection(1)) == "max.connections (1) reached"
    limits.counts.forget(first)
    assert limits.admit(Connection(1)) is None


def test_a_limit_of_addresses_counts_each_broker_and_address() -> None:
    limits = Limits(max_connections_per_ip=1)
    assert limits.admit(Connection()) is None
    assert limits.admit(Connection()) == "max.connections.per.ip (1) reached"
    assert limits.admit(Connection(2)) is None
    assert limits.admit(Connection(), "10.0.0.2") is None


def test_an_address_may_have_a_limit_of_its_own() -> None:
    key = "max.connections.per.ip.overrides"
    limits = Limits(
        max_connections_per_ip=0, max_connections_per_ip_overrides="10.0.0.1:2,10.0.0.3:0"
    )
    results = [limits.admit(Connection()) for _ in range(3)]
    assert results == [None, None, f"{key} (2) reached"]
    assert limits.admit(Connection(), "10.0.0.2") == "max.connections.per.ip (0) reached"
    assert limits.admit(Connection(), "10.0.0.3") == f"{key} (0) reached"


def test_a_listener_may_have_a_limit_of_its_own() -> None:
    limits = Limits(listener_max=1)
    assert limits.admit(Connection()) is None
    assert limits.admit(Connection()) == "max.connections (1) of PLAINTEXT reached"
    assert limits.admit(Connection(listener_name="OTHER")) is None


def test_a_connection_that_is_forgotten_twice_counts_once() -> None:
    limits = Limits(max_connections=1)
    connection = Connection()
    assert limits.admit(connection) is None
    limits.counts.forget(connection)
    limits.counts.forget(connection)
    assert limits.admit(Connection()) is None
    assert limits.admit(Connection()) is not None
