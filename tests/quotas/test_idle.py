from collections import OrderedDict

from quotas.idle import IDLE_MS, add_counter, is_idle


class Counted:
    def __init__(self, last_used_ms: int) -> None:
        self.last_used_ms = last_used_ms


def test_a_counter_is_idle_after_an_hour() -> None:
    assert not is_idle(Counted(0), IDLE_MS - 1)
    assert is_idle(Counted(0), IDLE_MS)


def test_idle_counters_go_as_new_ones_come_and_those_in_use_stay() -> None:
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
