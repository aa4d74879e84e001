from collections.abc import Callable
from itertools import count

from quotas.producer_id_cache import ProducerIdQuotaManagerCache
from tests.broker.interleaving import at_pause, run_with_pauses

HOUR_MS = 3_600_000


def counting_seeds() -> Callable[[], bytes]:
    numbers = count()
    return lambda: next(numbers).to_bytes(16)


def make_cache(false_positive_rate: float = 1e-9) -> ProducerIdQuotaManagerCache:
    return ProducerIdQuotaManagerCache(
        window_ms=HOUR_MS,
        layer_count=4,
        false_positive_rate=false_positive_rate,
        new_seed=counting_seeds(),
    )


def test_an_id_is_found_only_for_the_user_it_was_added_for() -> None:
    cache = make_cache()
    assert not cache.contains_and_refresh("alice", 1, 0)
    assert not cache.contains_and_refresh("alice", 1, 0)
    cache.add("alice", 1, 0)
    assert cache.contains_and_refresh("alice", 1, 0)
    assert not cache.contains_and_refresh("bob", 1, 0)
    assert [user for user, _layered in cache.filters()] == ["alice"]


def test_a_filter_is_removed_with_its_last_layer() -> None:
    cache = make_cache()
    cache.add("alice", 1, 0)
    cache.add("bob", 1, 0)
    assert cache.contains_and_refresh("bob", 1, HOUR_MS // 2)
    cache.expire(HOUR_MS)
    assert cache.users() == ["bob"]
    assert cache.next_expiry_ms == HOUR_MS * 3 // 2
    cache.expire(HOUR_MS * 3 // 2)
    assert cache.users() == []
    assert cache.next_expiry_ms is None
    assert cache.bytes_held == 0


def test_a_forgotten_user_keeps_its_expiry() -> None:
    cache = make_cache()
    cache.add("alice", 1, 0)
    cache.forget_user("alice")
    cache.forget_user("nobody")
    assert not cache.contains_and_refresh("alice", 1, 0)
    assert list(cache.filters()) == []
    assert cache.known_until_ms("alice") == 0
    cache.expire(HOUR_MS)
    assert cache.users() == []


def test_a_cleared_cache_hashes_with_a_new_seed() -> None:
    cache = make_cache(false_positive_rate=0.5)
    found = []
    for _ in range(2):
        for producer_id in range(200):
            if not cache.contains_and_refresh("alice", producer_id, 0):
                cache.add("alice", producer_id, 0)
        found.append(
            [cache.contains_and_refresh("alice", stranger, 0) for stranger in range(1000, 2000)]
        )
        cache.clear()
        assert list(cache.filters()) == []
        assert cache.next_expiry_ms == HOUR_MS
    assert found[0] != found[1]


def test_to_list_filters_pauses_before_each_and_leaves_out_what_has_expired_by_then() -> None:
    cache = make_cache()
    for number in range(5):
        cache.add(f"u{number}", 1, number * HOUR_MS)

    def users() -> list[str]:
        return [user for user, _layered in cache.filters()]

    found = run_with_pauses(users, at_pause(2, lambda: cache.expire(3 * HOUR_MS)))
    assert found == ["u0", "u3", "u4"]
