import pytest

from quotas.client_quotas import ClientQuotas
from quotas.connection_rate import AcceptRate, ConnectionRateQuotaManager
from quotas.counters import IDLE_MS
from quotas.entities import make_entity

KEY = "connection_creation_rate"


def make_manager(
    sample_count: int = 11, **rates: float
) -> tuple[ClientQuotas, ConnectionRateQuotaManager]:
    quotas = ClientQuotas()
    for ip, rate in rates.items():
        name = None if ip == "default" else ip.replace("_", ".").lstrip("i")
        assert quotas.alter(make_entity([("ip", name)]), [(KEY, rate)]) is None
    return quotas, ConnectionRateQuotaManager(quotas.limits[KEY], sample_count, 1)


@pytest.mark.parametrize(
    ("sample_count", "rate", "accepted", "close_after_ms"), [(11, 2, 20, 500), (2, 30, 30, 33)]
)
def test_a_connection_beyond_the_quota_is_closed_later_and_not_counted(
    sample_count: int, rate: float, accepted: int, close_after_ms: int
) -> None:
    _quotas, connections = make_manager(sample_count, default=rate)

    assert [connections.record("127.0.0.1", 0) for _ in range(accepted)] == [0] * accepted
    assert connections.record("127.0.0.1", 0) == close_after_ms
    assert connections.record("127.0.0.1", 0) == close_after_ms


def test_a_connection_waits_for_at_most_one_window() -> None:
    quotas, connections = make_manager(default=100)
    for _ in range(1000):
        connections.record("127.0.0.1", 0)
    quotas.alter(make_entity([("ip", None)]), [(KEY, 1.0)])

    assert connections.record("127.0.0.1", 0) == 1000


def test_each_address_has_its_own_counter_and_limit() -> None:
    _quotas, connections = make_manager(2, default=1, i1_2_3_4=2)

    assert [connections.record("1.2.3.4", 0) for _ in range(3)] == [0, 0, 500]
    assert [connections.record("4.3.2.1", 0) for _ in range(2)] == [0, 1000]


def test_without_a_limit_every_connection_is_served() -> None:
    quotas, connections = make_manager()
    assert not connections.is_enabled
    assert not any(connections.record("127.0.0.1", 0) for _ in range(100))
    assert list(connections.measurements(0)) == []
    quotas.alter(make_entity([("ip", "1.2.3.4")]), [(KEY, 1.0)])

    assert not any(connections.record("127.0.0.1", 0) for _ in range(100))


def test_the_rate_of_accepted_connections_is_measured_by_address() -> None:
    _quotas, connections = make_manager(default=1)
    for _ in range(15):
        connections.record("127.0.0.1", 0)

    assert [tuple(measurement) for measurement in connections.measurements(0)] == [
        ("socket-server-metrics", "connection-accept-rate", {"ip": "127.0.0.1"}, 1.0)
    ]
    assert list(connections.measurements(IDLE_MS)) == []


def test_a_burst_counts_for_all_its_windows_even_if_those_are_longer_than_an_hour() -> None:
    quotas = ClientQuotas()
    connections = ConnectionRateQuotaManager(quotas.limits[KEY], 3, 3600)
    quotas.alter(make_entity([("ip", None)]), [(KEY, 1.0)])
    for _ in range(2 * 3600):
        assert connections.record("127.0.0.1", 0) == 0

    assert connections.record("127.0.0.1", IDLE_MS) > 0


def test_only_counters_of_addresses_of_the_last_hour_are_kept() -> None:
    _quotas, connections = make_manager(default=1)
    for number in range(5000):
        connections.record(f"10.0.{number // 250}.{number % 250}", number * 36_000)

    assert len(connections._counters) <= 3 * 100


def test_a_connection_beyond_the_rate_of_a_broker_waits_for_at_most_a_window() -> None:
    accept_rate = AcceptRate(11, 1)

    assert [accept_rate.record(2, 0) for _ in range(20)] == [0] * 20
    assert accept_rate.record(2, 0) == 500
    assert accept_rate.record(2, 500) == 500
    assert accept_rate.record(2, 1000) == 1000


def test_a_connection_does_not_wait_for_those_before_once_the_rate_was_raised() -> None:
    accept_rate = AcceptRate(11, 1)
    assert [accept_rate.record(1, 0) for _ in range(200)][-1] == 1000

    assert accept_rate.record(2**31 - 1, 10) == 0


def test_connections_that_were_forgotten_do_not_count() -> None:
    accept_rate = AcceptRate(11, 1)
    assert [accept_rate.record(2, 0) for _ in range(21)][-1] == 500

    accept_rate.clear()

    assert [accept_rate.record(2, 0) for _ in range(20)] == [0] * 20


def test_a_connection_that_its_address_refuses_does_not_count_for_the_broker() -> None:
    accept_rate = AcceptRate(11, 1)
    for _ in range(100):
        assert accept_rate.record(2, 0) == 0
        accept_rate.undo(0)


def test_without_any_rate_each_connection_waits_a_window() -> None:
    accept_rate = AcceptRate(11, 1)

    assert [accept_rate.record(0, 0) for _ in range(2)] == [1000, 1000]
