import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotas.counters import IDLE_MS
from quotas.shadow import (
    ENTITIES_MAX,
    EVENTS_MAX,
    GROUP,
    IDS_MAX,
    ShadowCounter,
    ShadowEvent,
    ShadowKey,
    ShadowReport,
)

KEY = ShadowKey("producer_byte_rate", ("alice", "app"), 1)


def event(time_ms: int, throttle_time_ms: int) -> ShadowEvent:
    return ShadowEvent(time_ms, throttle_time_ms, "alice", "app")


def test_a_counter_has_the_sum_and_the_maximum_of_throttle_times() -> None:
    counter = ShadowCounter(5)
    for throttle_time_ms in (100, 700, 30):
        counter.throttle(event(5, throttle_time_ms))

    assert counter.throttled == 3
    assert counter.throttle_time_total_ms == 830
    assert counter.throttle_time_max_ms == 700


def test_a_longer_throttle_of_the_same_request_replaces_its_first_one() -> None:
    counter = ShadowCounter(5)
    counter.throttle(event(5, 100))
    counter.extend(250)
    counter.extend(200)

    assert (counter.throttled, counter.throttle_time_total_ms) == (1, 250)
    assert counter.throttle_time_max_ms == counter.events[-1].throttle_time_ms == 250


def test_only_the_newest_events_are_kept() -> None:
    counter = ShadowCounter(0)
    for number in range(EVENTS_MAX + 5):
        counter.throttle(event(number, 1))

    assert [kept.time_ms for kept in counter.events] == list(range(5, EVENTS_MAX + 5))
    assert counter.throttled == EVENTS_MAX + 5


@given(st.lists(st.integers(0, IDS_MAX - 2)))
def test_few_producer_ids_are_counted_exactly_also_when_repeated(ids: list[int]) -> None:
    counter = ShadowCounter(0)
    for producer_id in ids:
        counter.exceed_with_id(producer_id)

    assert counter.over_quota == len(set(ids))


@pytest.mark.parametrize("first_id", [0, 4_000_000])
@pytest.mark.parametrize("distinct", [1_000, 50_000])
def test_many_producer_ids_are_estimated_within_a_fifth(first_id: int, distinct: int) -> None:
    counter = ShadowCounter(0)
    for producer_id in range(first_id, first_id + distinct):
        counter.exceed_with_id(producer_id)
        counter.exceed_with_id(producer_id)

    # Three standard errors of 6 %.
    assert counter.over_quota == pytest.approx(distinct, rel=0.2)


def test_an_entity_is_removed_after_an_idle_hour() -> None:
    report = ShadowReport()
    report.counter(KEY, 0).throttle(event(0, 10))
    report.counter(KEY, 1000).throttle(event(1000, 10))

    assert [row[1].throttled for row in report.rows(1000 + IDLE_MS - 1)] == [2]
    assert list(report.rows(1000 + IDLE_MS)) == []
    assert report.counter(KEY, 1000 + IDLE_MS).throttled == 0
    assert report.counter(KEY, 1000 + IDLE_MS).first_ms == 1000 + IDLE_MS


def test_a_full_report_keeps_the_most_recently_throttled_entities() -> None:
    report = ShadowReport()
    for number in range(ENTITIES_MAX):
        report.counter(ShadowKey("producer_ids_rate", (f"u{number}", ""), 1), number)
    report.counter(ShadowKey("producer_ids_rate", ("u0", ""), 1), ENTITIES_MAX)
    report.counter(ShadowKey("producer_ids_rate", ("new", ""), 1), ENTITIES_MAX + 1)

    users = {key.tags[0] for key, _counter in report.rows(ENTITIES_MAX + 1)}
    assert len(users) == ENTITIES_MAX
    assert {"u0", "new"} <= users
    assert "u1" not in users


def test_a_cleared_report_is_empty() -> None:
    report = ShadowReport()
    report.counter(KEY, 0)
    report.clear()

    assert list(report.rows(0)) == []


def test_measurements_have_the_quota_its_scope_and_the_broker_as_tags() -> None:
    report = ShadowReport()
    counter = report.counter(KEY, 0)
    counter.throttle(event(0, 40))
    counter.held += 2
    counter.exceed(500)
    report.counter(ShadowKey("controller_mutation_rate", ("bob", ""), None), 0)

    measured = list(report.measurements(0))
    assert {measurement.group for measurement in measured} == {GROUP}
    assert {
        measurement.name: measurement.value
        for measurement in measured
        if measurement.tags["user"] == "alice"
    } == {
        "throttled": 1,
        "held": 2,
        "over-quota": 500,
        "throttle-time-total": 40,
        "throttle-time-max": 40,
    }
    assert measured[0].tags == {
        "quota": "producer_byte_rate",
        "user": "alice",
        "client-id": "app",
        "broker-id": "1",
    }
    assert {
        measurement.tags["broker-id"]
        for measurement in measured
        if measurement.tags["user"] == "bob"
    } == {""}
