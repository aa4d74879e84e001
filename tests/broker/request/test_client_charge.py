"""A charge is where the values of a client are recorded while quotas stay."""

from broker.request.client_charge import ClientCharge
from quotas.counters import IDLE_MS
from tests.broker.cluster_builder import make_cluster
from tests.broker.connection_driver import NOW_MS

CLIENT = ("alice", "client")


class Charges:
    """The quota on bytes produced by alice."""

    def __init__(self) -> None:
        self.cluster = make_cluster()
        self.manager = self.cluster.quotas.brokers[1].produce

    def limit(self, key: str = "producer_byte_rate", value: float | None = 1000.0) -> None:
        assert self.cluster.quotas.clients.alter((("user", "alice"),), [(key, value)]) is None

    def charge(self) -> ClientCharge:
        return ClientCharge(self.cluster.quotas.brokers[1], self.manager, *CLIENT, NOW_MS)

    def record(self, value: int, now_ms: int = NOW_MS) -> int:
        return self.manager.record(*CLIENT, value, now_ms)


def test_without_a_quota_it_allows_everything_and_records_nothing() -> None:
    charges = Charges()
    charge = charges.charge()

    assert charge.rate is None
    assert charge.allows(10**12, NOW_MS)
    charge.record(10**12, NOW_MS)
    charges.limit()
    assert charges.record(1) == 0


def test_what_it_records_counts_for_the_client() -> None:
    charges = Charges()
    charges.limit()
    charge = charges.charge()
    assert not charge.allows(1, NOW_MS), "the first value begins a sample"
    charges.record(1)
    assert not charge.allows(1, NOW_MS), "it finds the rate of this sample"

    assert charge.allows(9_999, NOW_MS)
    assert not charge.allows(10_000, NOW_MS)
    charge.record(9_999, NOW_MS)
    assert charges.record(1) > 0


def test_it_charges_the_time_of_requests() -> None:
    charges = Charges()
    charges.limit("request_percentage", 1.0)
    charge = charges.charge()
    assert not charge.allows(1, NOW_MS), "the first value begins a sample"
    manager = charges.cluster.quotas.brokers[1].request
    manager.record(*CLIENT, 1, NOW_MS)
    assert not charge.allows(1, NOW_MS), "it finds the rate of this sample"

    assert charge.allows(10**12, NOW_MS), "no quota counts bytes"
    assert charge.time_rate is not None
    charge.time_rate.record(90_000_000, NOW_MS)
    assert not charge.allows(1, NOW_MS), "less than `TIME_MAX_NS` is left of 100 ms"
    assert manager.record(*CLIENT, 11_000_000, NOW_MS) > 0


def test_after_an_hour_without_a_value_it_finds_the_new_rate() -> None:
    charges = Charges()
    charges.limit()
    charge = charges.charge()
    charges.record(1)
    later_ms = NOW_MS + IDLE_MS
    charges.record(5_000, later_ms)

    assert not charge.allows(1, later_ms)
    assert charge.allows(5_000, later_ms)
    assert not charge.allows(5_001, later_ms)
