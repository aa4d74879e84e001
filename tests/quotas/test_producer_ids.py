import gc
import tracemalloc
from fractions import Fraction
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotas.counters import IDLE_MS
from quotas.entities import make_entity
from quotas.limits import Limits
from quotas.producer_ids import ProducerIdQuotaManager

HOUR_MS = 3_600_000


class Setup:
    """Users with a quota of ids per window; `new` returns ids that were never used."""

    def __init__(
        self,
        quota: int | Fraction | None = 100,
        window_seconds: int = 3600,
        *,
        seed: bytes = bytes(16),
        layer_count: int = 4,
        false_positive_rate: float = 1e-9,
    ) -> None:
        self.limits = Limits()
        self.manager = ProducerIdQuotaManager(
            self.limits,
            sample_count=11,
            window_seconds=window_seconds,
            layer_count=layer_count,
            false_positive_rate=false_positive_rate,
            new_seed=lambda: seed,
        )
        self._new_ids = count(1_000_000)
        if quota is not None:
            self.set(quota)

    def set(self, quota: int | Fraction | None, user: str | None = None) -> None:
        limit = None if quota is None else Fraction(quota)
        self.limits.set(make_entity([("user", user)]), limit)

    def new(self, now_ms: int, user: str = "user") -> int:
        return self.manager.track(user, next(self._new_ids), now_ms)

    def measured(self, now_ms: int, user: str = "user") -> dict[str, float]:
        return {
            measurement.name: measurement.value
            for measurement in self.manager.measurements(now_ms)
            if measurement.tags == {"user": user}
        }


def test_a_quota_of_100_an_hour_admits_100_at_once_and_then_one_every_36_seconds() -> None:
    setup = Setup(100)
    assert [setup.new(0) for _ in range(100)] == [0] * 100
    assert setup.measured(0)["tokens"] == -1
    assert [setup.new(0) for _ in range(20)] == [36_000] * 20
    assert setup.new(18_000) == 18_000
    assert setup.new(35_999) == 1
    assert [setup.new(36_000), setup.new(36_000)] == [0, 36_000]


def test_a_quota_of_five_in_ten_seconds() -> None:
    setup = Setup(5, window_seconds=10)
    tokens = []
    for _ in range(5):
        assert setup.new(0) == 0
        tokens.append(setup.measured(0)["tokens"])
    assert tokens == [3, 2, 1, 0, -1]
    assert [setup.new(now_ms) for now_ms in (0, 1000, 2000, 2000, 3999, 4000)] == [
        2000,
        1000,
        0,
        2000,
        1,
        0,
    ]


def test_a_quota_of_one_admits_one_a_window() -> None:
    setup = Setup(1)
    waits_ms = [setup.new(now_ms) for now_ms in (0, 0, HOUR_MS - 1, HOUR_MS, HOUR_MS)]
    assert waits_ms == [0, HOUR_MS, 1, 0, HOUR_MS]


def test_known_ids_pass_without_charge_while_new_ones_are_refused() -> None:
    setup = Setup(2)
    track = setup.manager.track
    assert [track("user", 1, 0), track("user", 2, 0)] == [0, 0]
    assert setup.new(0) > 0
    assert [track("user", 1, 1), track("user", 2, 1)] == [0, 0]
    # Ids that are used in every layer are remembered beyond the window that admitted them.
    for now_ms in range(0, 10 * HOUR_MS, HOUR_MS // 4):
        assert track("user", 1, now_ms) == 0


def test_the_retry_of_a_refused_id_is_refused_as_well() -> None:
    setup = Setup(1)
    setup.new(0)
    assert [setup.manager.track("user", 7, now_ms) for now_ms in (0, 1, 2)] == [
        HOUR_MS,
        HOUR_MS - 1,
        HOUR_MS - 2,
    ]


def test_a_refused_id_changes_nothing() -> None:
    setup, other = Setup(3), Setup(3)
    for users in (setup, other):
        for producer_id in range(3):
            assert users.manager.track("user", producer_id, 0) == 0
    for producer_id in range(100, 200):
        assert setup.manager.track("user", producer_id, 0) > 0
    assert setup.measured(0) == other.measured(0)
    assert setup.manager.bytes_held == other.manager.bytes_held
    # Only the first id after the refill is admitted.
    assert setup.manager.track("user", 100, HOUR_MS // 3) == 0
    assert setup.manager.track("user", 101, HOUR_MS // 3) > 0


def test_users_share_neither_ids_nor_tokens() -> None:
    setup = Setup(1)
    assert [setup.manager.track(user, 1, 0) for user in ("alice", "bob")] == [0, 0]
    assert [setup.manager.track(user, 2, 0) for user in ("alice", "bob")] == [HOUR_MS] * 2


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.integers(0, 4000)), max_size=60)
)
def test_ids_of_one_user_do_not_affect_another(
    events: list[tuple[str, int, int]],
) -> None:
    together, alone = Setup(2, window_seconds=10), Setup(2, window_seconds=10)
    now_ms = 0
    for user, producer_id, pause_ms in events:
        now_ms += pause_ms
        waits_ms = together.manager.track(user, producer_id, now_ms)
        if user == "a":
            assert waits_ms == alone.manager.track("a", producer_id, now_ms)


@given(
    quota=st.integers(1, 9),
    window_seconds=st.integers(1, 30),
    pauses_ms=st.lists(st.integers(0, 5000), min_size=1, max_size=60),
)
def test_no_arrival_pattern_exceeds_the_quota_and_its_refill(
    quota: int, window_seconds: int, pauses_ms: list[int]
) -> None:
    setup = Setup(quota, window_seconds)
    now_ms = admitted = 0
    for pause_ms in pauses_ms:
        now_ms += pause_ms
        admitted += setup.new(now_ms) == 0
        assert admitted <= quota + Fraction(now_ms * quota, window_seconds * 1000)


@given(
    quota=st.integers(1, 50),
    window_seconds=st.integers(1, 10_000),
    pauses_ms=st.lists(st.integers(0, 3000), max_size=30),
)
def test_a_producer_that_waits_the_throttle_time_is_admitted(
    quota: int, window_seconds: int, pauses_ms: list[int]
) -> None:
    setup = Setup(quota, window_seconds)
    now_ms = 0
    for pause_ms in (*pauses_ms, *[0] * quota):
        now_ms += pause_ms
        setup.new(now_ms)
    throttle_time_ms = setup.new(now_ms)
    assert throttle_time_ms <= -(-window_seconds * 1000 // quota)
    if throttle_time_ms > 1:
        assert setup.new(now_ms + throttle_time_ms - 1) == 1
    assert setup.new(now_ms + throttle_time_ms) == 0


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 2000)), max_size=80))
def test_an_admitted_id_is_never_refused_within_the_time_it_is_remembered(
    sightings: list[tuple[int, int]],
) -> None:
    setup = Setup(3, window_seconds=8)
    last_seen: dict[int, int] = {}
    now_ms = 0
    for producer_id, pause_ms in sightings:
        now_ms += pause_ms
        throttle_time_ms = setup.manager.track("user", producer_id, now_ms)
        if producer_id in last_seen and now_ms - last_seen[producer_id] <= 6000:
            assert throttle_time_ms == 0
        if throttle_time_ms == 0:
            last_seen[producer_id] = now_ms


def test_without_a_quota_everything_passes_and_nothing_is_kept() -> None:
    setup = Setup(None)
    setup.set(1, "someone")
    assert [setup.new(0) for _ in range(1000)] == [0] * 1000
    assert setup.manager.next_expiry_ms is None
    assert setup.manager.bytes_held == 0
    assert setup.measured(0) == {}


def test_a_users_own_quota_has_precedence_over_the_default() -> None:
    setup = Setup(1)
    setup.set(3, "alice")
    assert [setup.new(0, "alice") == 0 for _ in range(4)] == [True, True, True, False]
    assert [setup.new(0, "bob") == 0 for _ in range(2)] == [True, False]


def test_a_removed_quota_admits_all_ids_and_drops_the_filter() -> None:
    setup = Setup(1)
    setup.manager.track("user", 1, 0)
    setup.set(None)
    assert [setup.new(0) for _ in range(3)] == [0, 0, 0]
    assert setup.manager.bytes_held == 0
    setup.set(1)
    assert setup.new(1) == 0
    assert setup.manager.track("user", 1, 1) > 0
    setup.manager.expire(2 * HOUR_MS)
    assert setup.manager.next_expiry_ms is None


def test_forget_makes_all_ids_new_and_keeps_expiry() -> None:
    setup = Setup(1)
    setup.manager.track("user", 1, 0)
    setup.manager.forget()
    assert setup.measured(0) == {}
    assert setup.manager.track("user", 2, 1) == 0
    assert setup.manager.track("user", 1, 1) > 0
    setup.manager.expire(HOUR_MS)
    assert setup.manager.next_expiry_ms == HOUR_MS + 1
    setup.manager.expire(HOUR_MS + 1)
    assert not setup.manager.is_tracking


def test_a_raised_quota_applies_at_once() -> None:
    setup = Setup(1000)
    setup.manager.track("user", 1, 0)
    setup.set(10_000)
    setup.new(0)
    setup.new(HOUR_MS // 4)
    assert setup.manager.track("user", 1, HOUR_MS // 4) == 0
    assert setup.measured(HOUR_MS // 4)["tokens"] == 2499 + 999 - 2


@pytest.mark.slow
@pytest.mark.parametrize("quota", [5, 100, 10**6, 10**9])
def test_a_user_with_one_id_in_all_layers_takes_less_than_3_kb(quota: int) -> None:
    setup = Setup(quota, false_positive_rate=0.001)
    users = [f"user-{number}" for number in range(200)]
    gc.collect()
    tracemalloc.start()
    for layer in range(4):
        for user in users:
            assert setup.manager.track(user, 1, layer * HOUR_MS // 4) == 0
    taken_bytes, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert setup.measured(HOUR_MS - 1, users[0])["live-layers"] == 4
    assert taken_bytes / len(users) < 2900


def search_colliding_ids(seed: bytes, count: int) -> list[int]:
    """Find false positives of a broker with this seed and five known ids, without a broker."""
    copy = manager_with_five_ids(seed)
    strangers = iter(range(1000, 10**9))
    return [
        next(stranger for stranger in strangers if copy.track("rogue", stranger, 0) == 0)
        for _ in range(count)
    ]


def manager_with_five_ids(seed: bytes) -> ProducerIdQuotaManager:
    """The false positive rate is high, so that the search is short."""
    setup = Setup(5, seed=seed, layer_count=1, false_positive_rate=0.5)
    for producer_id in range(5):
        assert setup.manager.track("rogue", producer_id, 0) == 0
    return setup.manager


@pytest.mark.long
def test_ids_searched_with_a_wrong_seed_have_the_usual_false_positive_rate() -> None:
    seeds = [bytes([number] * 16) for number in range(6)]
    colliding = search_colliding_ids(seeds[0], 100)

    def admitted(seed: bytes) -> int:
        manager = manager_with_five_ids(seed)
        return sum(manager.track("rogue", producer_id, 0) == 0 for producer_id in colliding)

    assert admitted(seeds[0]) == 100
    # Of 500, where 0.7 in a thousand are expected.
    assert sum(admitted(seed) for seed in seeds[1:]) <= 3


def test_a_lowered_quota_does_not_refuse_known_ids() -> None:
    setup = Setup(10)
    for producer_id in range(10):
        setup.manager.track("user", producer_id, 0)
    setup.set(1)
    assert setup.new(0) == HOUR_MS
    assert [setup.manager.track("user", producer_id, 0) for producer_id in range(10)] == [0] * 10


def test_a_filter_is_dropped_with_its_last_layer() -> None:
    setup = Setup(10)
    setup.new(0, "early")
    setup.new(1000, "late")
    setup.new(HOUR_MS // 4, "early")
    assert setup.manager.next_expiry_ms == HOUR_MS
    setup.manager.expire(HOUR_MS)
    assert setup.manager.next_expiry_ms == HOUR_MS + 1000
    assert setup.measured(HOUR_MS, "early")["live-layers"] == 1
    setup.manager.expire(HOUR_MS + 1000)
    assert "live-layers" not in setup.measured(HOUR_MS + 1000, "late")
    setup.manager.expire(HOUR_MS * 5 // 4)
    assert setup.manager.next_expiry_ms is None
    assert setup.manager.bytes_held == 0


def test_a_filter_that_was_emptied_on_access_is_dropped_all_the_same() -> None:
    setup = Setup(1)
    setup.new(0)
    setup.manager.track("user", 5, HOUR_MS)
    setup.manager.track("user", 6, HOUR_MS)
    setup.manager.expire(HOUR_MS)
    assert setup.manager.next_expiry_ms == 2 * HOUR_MS
    setup.manager.expire(2 * HOUR_MS)
    assert setup.manager.next_expiry_ms is None


@pytest.mark.parametrize(("quota", "window_seconds"), [(2, 36_000), (Fraction(1, 4), 3600)])
def test_an_unused_bucket_keeps_its_negative_balance(quota: Fraction, window_seconds: int) -> None:
    setup = Setup(quota, window_seconds)
    while setup.new(0) == 0:
        pass
    wait_ms = setup.new(0)
    assert wait_ms > IDLE_MS
    assert setup.new(wait_ms - 1) == 1
    assert setup.measured(wait_ms + IDLE_MS)["tokens"] >= 0
    full_ms = wait_ms - 1 + window_seconds * 1000 * 4
    assert "tokens" not in setup.measured(full_ms)
    setup.new(full_ms)
    assert setup.measured(full_ms)["tokens"] == max(Fraction(0), quota - 1) - 1


def test_a_bucket_is_removed_after_an_hour_without_use() -> None:
    setup = Setup(10, window_seconds=10)
    setup.new(0)
    assert "tokens" in setup.measured(IDLE_MS - 1)
    assert "tokens" not in setup.measured(IDLE_MS)


def test_metrics_are_those_of_the_kip_and_of_the_filter() -> None:
    setup = Setup(10)
    for _ in range(10):
        setup.new(0)
    setup.manager.note_throttle("user", "client", setup.new(0), 0)
    measured = setup.measured(0)

    assert measured.pop("false-positive-rate") == pytest.approx(0, abs=1e-9)
    assert measured == {
        "rate": 1,
        "tokens": -1,
        "throttle-time": 360_000,
        "live-layers": 1,
        "fill": 10 / 32,
        "tracked-ids": 10,
        "tracked-bytes": setup.manager.bytes_held,
    }
    assert {measurement.group for measurement in setup.manager.measurements(0)} == {"ProducerIds"}


def test_names_of_users_are_encoded_in_tags() -> None:
    setup = Setup(10)
    setup.new(0, "CN=a")
    assert "tokens" in setup.measured(0, "CN%3Da")


def test_removing_a_quota_drops_the_remembered_ids() -> None:
    setup = Setup(10)
    setup.new(0)
    assert setup.measured(0)["tokens"] == 8
    setup.set(None)
    assert list(setup.manager.filters(0)) == []
    assert setup.measured(0) == {}
    setup.set(10)
    assert setup.manager.track("user", 1_000_000, 0) == 0
    assert setup.measured(0)["live-layers"] == 1


def test_an_id_of_a_user_without_a_quota_stays_known_until_the_limits_change() -> None:
    setup = Setup(None)
    setup.limits.set(make_entity([("user", "other")]), Fraction(5))
    assert setup.new(0) == 0
    assert setup.manager.known_until_ms("user") > 1000 * HOUR_MS
    assert setup.manager.known_until_ms("other") == 0
