"""The required value never throttles, and a smaller one does, by the broker's own quota code."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.quota_trials.candidates import (
    CONSUMER_BYTES,
    IDS,
    MUTATIONS,
    PRODUCER_BYTES,
    Candidate,
    Window,
)
from loadgen.quota_trials.replay import replay
from loadgen.quota_trials.requirements import MUTATION_RATE_MIN, required, sampled_rates
from loadgen.quota_trials.traffic import Traffic
from quotas.limits import Tags
from quotas.sampled_rate import SampledRate
from tests.examples import examples
from tests.loadgen.quota_trials.made_traffic import fetch, produce, topics, traffic

GAPS_MS = st.integers(0, 4000)
SAMPLED = st.builds(Window, st.integers(1, 3), st.integers(2, 6))
ALICE: Tags = ("alice", "")


def at_times(gaps_ms: Sequence[int]) -> list[int]:
    return np.cumsum(gaps_ms).tolist()  # type: ignore[no-any-return]


def throttled(found: Traffic, key: str, value: float, window: Window) -> int:
    """Replay all scopes, and count what is throttled."""
    everything = {(user, ""): 1e18 for user, _ in found.clients}
    trial = replay(found, Candidate(key, value, window), everything)
    return sum(one.counter.throttled for one in trial)


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(GAPS_MS, st.integers(0, 5000)), min_size=1, max_size=60), SAMPLED)
def test_rates_of_all_requests_together_are_those_of_the_sampled_rate(
    requests: list[tuple[int, int]], window: Window
) -> None:
    times_ms, sizes = at_times([gap for gap, _ in requests]), [size for _, size in requests]
    totals, spans_ms = sampled_rates(np.array(times_ms), np.array(sizes), window)
    rate = SampledRate(window.count, window.seconds * 1000)
    expected: list[Any] = []
    for now_ms, size_bytes in zip(times_ms, sizes, strict=True):
        rate.record(size_bytes, now_ms)
        expected.append((rate.total(now_ms), rate.window_ms(now_ms)))
    assert list(zip(totals.tolist(), spans_ms.tolist(), strict=True)) == expected


@settings(max_examples=examples(100))
@given(st.lists(st.tuples(GAPS_MS, st.integers(1, 5000)), min_size=1, max_size=60), SAMPLED)
def test_the_required_byte_rate_is_the_smallest_that_never_throttles(
    requests: list[tuple[int, int]], window: Window
) -> None:
    times_ms = at_times([gap for gap, _ in requests])
    for key, make in ((PRODUCER_BYTES, produce), (CONSUMER_BYTES, fetch)):
        found = traffic([make(t, r[1]) for t, r in zip(times_ms, requests, strict=True)])
        value = required(found, key, window, "user")[ALICE]
        assert throttled(found, key, value, window) == 0
        # A throttle time below half a millisecond is rounded to none.
        smaller = int(value * 0.999) - 1
        assert smaller < 1 or throttled(found, key, smaller, window) > 0


@settings(max_examples=examples(100))
@given(
    st.lists(st.tuples(GAPS_MS, st.integers(1, 4), st.integers(1, 20)), min_size=1, max_size=40),
    SAMPLED,
)
def test_the_required_mutation_rate_is_the_smallest_that_never_throttles(
    requests: list[tuple[int, int, int]], window: Window
) -> None:
    times_ms = at_times([gap for gap, *_ in requests])
    found = traffic(
        [
            topics(now_ms, *[partitions] * count)
            for now_ms, (_, count, partitions) in zip(times_ms, requests, strict=True)
        ]
    )
    value = required(found, MUTATIONS, window, "user")[ALICE]
    assert throttled(found, MUTATIONS, value * 1.000002, window) == 0
    if value > MUTATION_RATE_MIN:
        assert throttled(found, MUTATIONS, value * 0.999, window) > 0


@settings(max_examples=examples(100))
@given(
    st.lists(st.tuples(st.integers(0, 40_000), st.integers(0, 30)), min_size=1, max_size=80),
    st.integers(20, 200),
)
def test_the_required_quota_of_producer_ids_is_the_smallest_that_never_throttles(
    requests: list[tuple[int, int]], window_s: int
) -> None:
    window = Window(window_s)
    times_ms = at_times([gap for gap, _ in requests])
    rows = [
        produce(now_ms, producer_id=producer_id)
        for now_ms, (_, producer_id) in zip(times_ms, requests, strict=True)
    ]
    found = traffic(rows)
    value = required(found, IDS, window, "user")[ALICE]
    assert throttled(found, IDS, value, window) == 0
    assert value == 1 or throttled(found, IDS, value - 1, window) > 0


def test_brokers_count_alone_except_for_topic_mutations() -> None:
    window = Window(1, 11)
    rows = [produce(0, 5000, broker=1), produce(0, 3000, broker=2)]
    assert required(traffic(rows), PRODUCER_BYTES, window, "user") == {ALICE: 500}
    changes = [topics(0, 10, broker=1), topics(0, 10, broker=2), topics(0, 10, broker=1)]
    [value] = required(traffic(changes), MUTATIONS, window, "user").values()
    assert 20 / 11 <= value < 20.01 / 11


def test_a_scope_that_does_not_use_a_quota_requires_nothing() -> None:
    found = traffic([produce(0, 1000), produce(0, 2000, client=1)])
    assert set(required(found, PRODUCER_BYTES, Window(1, 11), "user")) == {ALICE, ("bob", "")}
    assert required(found, MUTATIONS, Window(1, 11), "user") == {}
