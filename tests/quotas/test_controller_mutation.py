from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotas.client_quotas import ClientQuotas
from quotas.controller_mutation import ControllerMutationQuotaManager
from quotas.counters import IDLE_MS
from quotas.entities import CONTROLLER_MUTATION_RATE, make_entity

KEY = CONTROLLER_MUTATION_RATE.name
USER = make_entity([("user", "user")])


class Setup:
    """A user with a quota of mutations per second, and ten samples of a second."""

    def __init__(self, rate: float | None = 10.0) -> None:
        self.quotas = ClientQuotas()
        self.manager = ControllerMutationQuotaManager(self.quotas.limits[KEY], 10, 1)
        if rate is not None:
            self.set(rate)

    def set(self, rate: float | None, user: str | None = "user") -> None:
        assert self.quotas.alter(make_entity([("user", user)]), [(KEY, rate)]) is None

    def quota(self, *, is_strict: bool, user: str = "user") -> Any:
        return self.manager.quota_for(user, "client", is_strict=is_strict)

    def tokens(self, now_ms: int) -> list[float]:
        measured = self.manager.measurements(now_ms)
        return [measurement.value for measurement in measured if measurement.name == "tokens"]


def test_a_strict_quota_refuses_without_charging() -> None:
    setup = Setup()
    quota = setup.quota(is_strict=True)

    results = []
    for _ in range(3):
        is_accepted = quota.charge(90, 0)
        results.append((is_accepted, setup.tokens(0), quota.throttle_time_ms(0)))
    assert results == [(True, [10], 0), (True, [-80], 0), (False, [-80], 8000)]
    assert quota.throttle_time_ms(5000) == 3000
    assert quota.throttle_time_ms(9000) == 0


def test_a_permissive_quota_accepts_and_throttles_at_once() -> None:
    setup = Setup()
    quota = setup.quota(is_strict=False)

    results = []
    for _ in range(3):
        is_accepted = quota.charge(90, 0)
        results.append((is_accepted, setup.tokens(0), quota.throttle_time_ms(0)))
    assert results == [(True, [10], 0), (True, [-80], 8000), (True, [-170], 17_000)]
    assert quota.throttle_time_ms(5000) == 12_000


def test_a_client_within_its_rate_is_never_throttled_and_a_burst_is_throttled_after_it() -> None:
    setup = Setup()
    for second in range(10):
        assert setup.manager.try_charge("user", "client", 10, second * 1000) == 0
        assert setup.tokens(second * 1000) == [90]

    assert setup.manager.try_charge("user", "client", 110, 10_000) == 0
    assert setup.tokens(10_000) == [-10]
    assert setup.manager.try_charge("user", "client", 110, 10_000) == 1000
    assert setup.manager.try_charge("user", "client", 110, 11_000) == 0
    assert setup.tokens(11_000) == [-110]


@pytest.mark.parametrize("is_strict", [True, False])
def test_before_any_quota_was_set_everything_passes_and_nothing_is_kept(*, is_strict: bool) -> None:
    setup = Setup(rate=None)
    quota = setup.quota(is_strict=is_strict)

    assert not setup.manager.is_enabled
    assert quota.charge(10**9, 0)
    assert quota.throttle_time_ms(0) == 0
    assert [measurement.name for measurement in setup.manager.measurements(0)] == ["queue-size"]


def test_a_client_without_a_quota_is_not_throttled() -> None:
    setup = Setup()
    quota = setup.quota(is_strict=True, user="other")

    assert all(quota.charge(10**6, 0) for _ in range(3))
    assert quota.throttle_time_ms(0) == 0
    assert setup.tokens(0) == []


def test_a_new_rate_applies_at_once_and_keeps_the_balance() -> None:
    setup = Setup()
    setup.manager.charge("user", "client", 150, 0)
    setup.set(100.0)

    assert setup.manager.try_charge("user", "client", 1, 0) == 500
    assert setup.tokens(1000) == [50]


def test_a_removed_quota_throttles_no_client_and_returns_with_a_full_bucket() -> None:
    setup = Setup(rate=1.5)
    setup.manager.charge("user", "client", 100, 0)
    assert setup.tokens(0) == [-85]
    setup.set(None)
    assert setup.manager.try_charge("user", "client", 1000, 0) == 0
    assert setup.tokens(0) == []
    setup.set(2.0)

    assert setup.manager.try_charge("user", "client", 1, 0) == 0
    assert setup.tokens(0) == [19]


def test_a_bucket_that_is_idle_for_an_hour_is_removed() -> None:
    setup = Setup()
    setup.manager.charge("user", "client", 1000, 0)
    assert setup.tokens(IDLE_MS - 1) == [100]

    assert setup.tokens(IDLE_MS) == []


def test_a_bucket_that_takes_longer_than_an_hour_to_fill_is_kept() -> None:
    setup = Setup(rate=0.01)
    setup.manager.charge("user", "client", 100, 0)
    paid_ms, full_ms = 9_990_000, 10_000_000
    assert setup.manager.try_charge("user", "client", 1, IDLE_MS) == paid_ms - IDLE_MS
    assert setup.manager.try_charge("user", "client", 1, paid_ms - 1) == 1
    assert setup.tokens(full_ms - 1) != []
    assert setup.tokens(paid_ms - 1 + IDLE_MS) == []


@given(
    st.sampled_from([0.01, 0.3, 7.5, 100.0]),
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, 1000, 60_000, IDLE_MS - 1, IDLE_MS, 10 * IDLE_MS]),
            st.sampled_from([1, 50, 10_000]),
            st.booleans(),
        ),
        min_size=2,
    ),
)
def test_no_arrival_pattern_exceeds_rate_plus_burst_plus_one_mutation(
    rate: float, arrivals: list[tuple[int, int, bool]]
) -> None:
    setup = Setup(rate=rate)
    now_ms = admitted = largest = 0
    for pause_ms, cost, is_patient in arrivals:
        now_ms += pause_ms
        wait_ms = setup.manager.try_charge("user", "client", cost, now_ms)
        if wait_ms > 0 and is_patient:
            now_ms += wait_ms
            assert setup.manager.try_charge("user", "client", cost, now_ms) == 0
        elif wait_ms > 0:
            continue
        admitted, largest = admitted + cost, max(largest, cost)
        assert admitted <= rate * now_ms / 1000 + rate * 10 + largest


def test_only_buckets_of_users_of_the_last_hour_are_kept() -> None:
    setup = Setup(rate=None)
    setup.set(1.0, user=None)
    for number in range(5000):
        setup.manager.try_charge(f"user{number}", "client", 1, number * 36_000)

    assert len(setup.manager._counters) <= 3 * 100


def test_measurements_have_kafkas_names() -> None:
    setup = Setup()
    setup.quotas.alter(make_entity([("user", "a b*")]), [(KEY, 10.0)])
    setup.manager.charge("a b*", "client", 300, 0)
    setup.manager.note_throttle("a b*", "client", 20_000, 0)
    setup.manager.note_throttle("a b*", "client", 10_000, 0)
    tags = {"user": "a%20b%2A", "client-id": ""}

    assert [tuple(measurement) for measurement in setup.manager.measurements(0)] == [
        ("ControllerMutation", "queue-size", {}, 0),
        ("ControllerMutation", "rate", tags, 300 / 9),
        ("ControllerMutation", "mutation-rate", tags, 300 / 9),
        ("ControllerMutation", "tokens", tags, -200),
        ("ControllerMutation", "throttle-time", tags, 15_000),
    ]


@pytest.mark.slow
def test_an_hour_above_the_quota_gets_rate_plus_burst_plus_one_mutation() -> None:
    """Ten requests a second of fifty topics with four partitions each, without waiting."""
    setup = Setup(rate=7.5)
    admitted = 0
    for now_ms in range(0, 3_600_000, 100):
        quota = setup.quota(is_strict=True)
        admitted += sum(4 * quota.charge(4, now_ms) for _ in range(50))
        assert admitted <= 7.5 * now_ms / 1000 + 75 + 4

    assert admitted >= 7.5 * 3600


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 3000), st.integers(1, 50)),
        min_size=1,
    )
)
def test_users_are_charged_independently(steps: list[tuple[str, int, int]]) -> None:
    both, alone = Setup(rate=None), {"a": Setup(rate=None), "b": Setup(rate=None)}
    for setup in (both, *alone.values()):
        setup.set(2.0, user=None)
    now_ms = 0
    for user, pause_ms, cost in steps:
        now_ms += pause_ms
        wait_ms = both.manager.try_charge(user, "client", cost, now_ms)
        assert wait_ms == alone[user].manager.try_charge(user, "client", cost, now_ms)
