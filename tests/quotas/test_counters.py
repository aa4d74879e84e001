from collections import OrderedDict
from fractions import Fraction

import pytest

from quotas.counters import IDLE_MS, ClientCounters, add_counter, is_idle
from quotas.entities import make_entity
from quotas.limits import NAME_CHARACTERS_MAX, Limits

USER, ANYBODY = make_entity([("user", "u")]), make_entity([("user", None)])


class Counted:
    life_ms = IDLE_MS

    def __init__(self, last_used_ms: int = 0) -> None:
        self.last_used_ms = last_used_ms
        self.limit: Fraction | None = None

    def set_limit(self, limit: Fraction | None, now_ms: int) -> None:
        self.limit = limit


def test_a_counter_is_idle_after_an_hour() -> None:
    assert not is_idle(Counted(0), IDLE_MS - 1)
    assert is_idle(Counted(0), IDLE_MS)


def test_a_counter_with_a_longer_life_is_kept_longer() -> None:
    limits = Limits()
    counters = ClientCounters(limits, Counted)
    limits.set(USER, Fraction(1))
    kept = counters.get("u", "a", 0)
    kept.life_ms = 2 * IDLE_MS

    assert counters.get("u", "a", 2 * IDLE_MS - 1) is kept
    assert counters.get("u", "a", 4 * IDLE_MS - 1) is not kept


def test_new_counters_remove_idle_ones_and_keep_those_in_use() -> None:
    counters: OrderedDict[str, Counted] = OrderedDict()
    for number in range(100):
        add_counter(counters, f"old{number}", Counted(0), 0)
    used = counters["old3"]
    used.last_used_ms = IDLE_MS
    for number in range(100):
        add_counter(counters, f"new{number}", Counted(IDLE_MS), IDLE_MS)

    assert sorted(counters) == sorted(["old3", *(f"new{number}" for number in range(100))])
    assert counters["old3"] is used


def test_a_counter_can_be_replaced() -> None:
    counters = OrderedDict(a=Counted(0))
    fresh = Counted(IDLE_MS)
    add_counter(counters, "a", fresh, IDLE_MS)

    assert counters == {"a": fresh}


def test_clients_of_one_scope_share_a_counter() -> None:
    limits = Limits()
    counters = ClientCounters(limits, Counted)
    limits.set(USER, Fraction(1))

    assert counters.get("u", "a", 0) is counters.get("u", "b", 0) is counters.get("u", None, 0)
    assert counters.get("v", "a", 0) is not counters.get("u", "a", 0)
    assert [tags for tags, _counter in counters.live(0)] == [("u", ""), ("v", "")]


def test_a_change_of_limits_applies_at_once_to_every_client() -> None:
    limits = Limits()
    counters = ClientCounters(limits, Counted)
    limits.set(USER, Fraction(1))
    shared = counters.get("u", "a", 0)
    assert counters.get("u", "b", 0).limit == 1
    limits.set(USER, Fraction(2))
    assert counters.get("u", "a", 0).limit == 2
    limits.set(make_entity([("user", "u"), ("client-id", "b")]), Fraction(3))

    assert counters.get("u", "a", 0) is shared
    assert counters.get("u", "b", 0) is not shared
    assert counters.get("u", "b", 0).limit == 3


def test_every_client_of_a_scope_leaves_an_idle_counter_for_the_same_new_one() -> None:
    limits = Limits()
    counters = ClientCounters(limits, Counted)
    limits.set(USER, Fraction(1))
    old = counters.get("u", "a", 0)
    assert counters.get("u", "b", 0) is old
    new = counters.get("u", "a", IDLE_MS)

    assert new is not old
    assert counters.get("u", "b", IDLE_MS) is new
    assert len(counters) == 1


def test_a_counter_keeps_no_long_client_id_and_still_belongs_to_one_client() -> None:
    limits = Limits()
    start = "c" * 30_000
    limits.set(make_entity([("client-id", None)]), Fraction(1))
    limits.set(make_entity([("client-id", f"{start}1")]), Fraction(7))
    counters = ClientCounters(limits, Counted)
    first, second = (counters.get("u", f"{start}{number}", 0) for number in (1, 2))

    assert first is counters.get("u", f"{start}1", 1)
    assert (first.limit, second.limit) == (Fraction(7), Fraction(1))
    names = [client_id for (_user, client_id), _counter in counters.live(1)]
    assert [len(name) for name in names] == [NAME_CHARACTERS_MAX] * 2
    assert len(set(names)) == 2


def test_the_cache_of_clients_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quotas.counters.CLIENTS_MAX", 10)
    limits = Limits()
    counters = ClientCounters(limits, Counted)
    limits.set(ANYBODY, Fraction(1))
    first = [counters.get(f"u{number}", "c", 0) for number in range(100)]

    assert len(counters.by_client) <= 10
    assert [counters.get(f"u{number}", "c", 0) for number in range(100)] == first
