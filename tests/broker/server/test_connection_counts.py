from dataclasses import dataclass
from typing import Any

from broker.server.connection_counts import Accepted, ConnectionCounts

UNLIMITED = 2**31 - 1
KEYS = {
    "max.connections.per.ip": UNLIMITED,
    "max.connections.per.ip.overrides": "",
}


@dataclass(eq=False)
class Connection:
    broker_id: int = 1
    listener_name: str = "PLAINTEXT"


class Limits:
    def __init__(self, **values: Any) -> None:
        names = {name.replace("_", "."): value for name, value in values.items()}
        self.values = {**KEYS, **names}
        self.counts = ConnectionCounts()

    def admit(self, connection: Accepted, host: str = "10.0.0.1") -> str | None:
        return self.counts.admit(connection, host, self.values)

    def has_place(
        self,
        connection: Accepted,
        connections_max: int = UNLIMITED,
        listener_max: int | None = None,
        *,
        is_protected: bool = False,
    ) -> bool:
        broker_id, name = connection.broker_id, connection.listener_name
        return self.counts.has_place(
            broker_id, name, connections_max, listener_max, is_protected=is_protected
        )


def test_a_broker_has_places_of_its_own() -> None:
    limits = Limits()
    first = Connection(1)
    assert limits.has_place(first, 1)
    assert limits.admit(first) is None
    assert limits.counts.has(first)
    assert limits.has_place(Connection(2), 1)
    assert not limits.has_place(Connection(1), 1)
    limits.counts.forget(first)
    assert not limits.counts.has(first)
    assert limits.has_place(Connection(1), 1)


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
    limits = Limits()
    assert limits.admit(Connection()) is None
    assert not limits.has_place(Connection(), listener_max=1)
    assert not limits.has_place(Connection(), listener_max=1, is_protected=True)
    assert limits.has_place(Connection(listener_name="OTHER"), listener_max=1)


def test_a_protected_listener_has_places_beyond_those_of_its_broker() -> None:
    limits = Limits()
    for _ in range(3):
        assert limits.admit(Connection()) is None
    assert limits.has_place(Connection(), 2, is_protected=True)
    assert [limits.counts.excess(1, limit) for limit in (1, 3, 9)] == [2, 0, 0]
    assert limits.counts.excess(2, 0) == 0


def test_a_connection_that_is_forgotten_twice_counts_once() -> None:
    limits = Limits()
    connection = Connection()
    assert limits.admit(connection) is None
    limits.counts.forget(connection)
    limits.counts.forget(connection)
    assert limits.has_place(Connection(), 1)
    assert limits.admit(Connection()) is None
    assert not limits.has_place(Connection(), 1)
