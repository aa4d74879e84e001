"""A replay counts what a broker's shadow quota counts for the same requests."""

from itertools import pairwise
from typing import Any

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
from loadgen.quota_trials.replay import MUTED_MAX, Refused, replay
from loadgen.quota_trials.traffic import Traffic
from quotas.shadow import ShadowCounter
from tests.broker.cluster_builder import make_cluster
from tests.broker.connection_driver import NOW_MS, Client
from tests.broker.request.byte_rate_driver import RATE, make_client, produce_frame
from tests.broker.request.producer_driver import Producers
from tests.broker.request.shadow_driver import SHADOW, counters, create_frame
from tests.examples import examples
from tests.loadgen.quota_trials.made_traffic import fetch, produce, topics, traffic

WINDOW = Window(1, 11)
EVERYTHING = {("alice", ""): 1e18, ("bob", ""): 1e18}


def only(found: Traffic, candidate: Candidate) -> Refused | None:
    """Return what the candidate does to the only scope."""
    refused = replay(found, candidate, EVERYTHING)
    assert len(refused) <= 1
    return refused[0] if refused else None


def assert_same(refused: Refused | None, counter: ShadowCounter | None) -> None:
    if counter is None:
        assert refused is None
        return
    assert refused is not None
    for name in (
        "throttled",
        "held",
        "over_quota",
        "throttle_time_total_ms",
        "throttle_time_max_ms",
    ):
        assert getattr(refused.counter, name) == getattr(counter, name), name
    assert refused.counter.first_ms + NOW_MS == counter.first_ms
    assert refused.last_ms + NOW_MS == counter.last_used_ms


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 900), st.integers(1, 9000)), min_size=1, max_size=25))
def test_bytes_are_counted_like_by_a_broker(requests: list[tuple[int, int]]) -> None:
    client = make_client(f"user=<default>,{PRODUCER_BYTES}={RATE}", **SHADOW)
    now_ms = 0
    rows: list[dict[str, Any]] = []
    for number, (gap_ms, value_bytes) in enumerate(requests):
        now_ms += gap_ms if rows else 0
        frame = produce_frame(number, value_bytes)
        client.send(frame, NOW_MS + now_ms)
        rows.append(produce(now_ms, len(frame) - 4))
    counter = counters(client.cluster, NOW_MS + now_ms).get(PRODUCER_BYTES)
    assert_same(only(traffic(rows), Candidate(PRODUCER_BYTES, RATE, WINDOW)), counter)


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 200_000), st.integers(1, 9)), min_size=1, max_size=30))
def test_new_producer_ids_are_counted_like_by_a_broker(requests: list[tuple[int, int]]) -> None:
    window_s = 600
    overrides = {**SHADOW, "producer.id.quota.window.size.seconds": str(window_s)}
    producers = Producers("2", overrides=overrides)
    now_ms = 0
    rows: list[dict[str, Any]] = []
    sequences: dict[int, int] = {}
    for gap_ms, producer_id in requests:
        now_ms += gap_ms if rows else 0
        sequence = sequences.get(producer_id, 0)
        sequences[producer_id] = sequence + 1
        producers.cluster.timers.run_due(NOW_MS + now_ms)
        assert producers.codes((0, producer_id, sequence), now_ms=NOW_MS + now_ms) == [0]
        rows.append(produce(now_ms, producer_id=producer_id))
    counter = counters(producers.cluster, NOW_MS + now_ms).get(IDS)
    assert_same(only(traffic(rows), Candidate(IDS, 2, Window(window_s))), counter)


@settings(max_examples=examples(50), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 4000), st.integers(1, 3), st.integers(1, 8)),
        min_size=1,
        max_size=20,
    )
)
def test_topic_mutations_are_counted_like_by_a_broker(
    requests: list[tuple[int, int, int]],
) -> None:
    cluster = make_cluster(1, **{"client.quotas": f"user=<default>,{MUTATIONS}=1"}, **SHADOW)
    client = Client(cluster)
    now_ms = 0
    rows: list[dict[str, Any]] = []
    for number, (gap_ms, count, partitions) in enumerate(requests):
        now_ms += gap_ms if rows else 0
        client.send(create_frame(number, *[partitions] * count), NOW_MS + now_ms)
        rows.append(topics(now_ms, *[partitions] * count))
    counter = counters(cluster, NOW_MS + now_ms).get(MUTATIONS)
    assert_same(only(traffic(rows), Candidate(MUTATIONS, 1, WINDOW)), counter)


def test_a_throttled_fetch_is_not_charged() -> None:
    found = only(
        traffic([fetch(0, 8000), fetch(1, 8000), fetch(7000, 1500)]),
        Candidate(CONSUMER_BYTES, 1000, WINDOW),
    )
    assert found is not None
    # 16,000 bytes are 6,000 more than the burst; the third one comes after the throttle.
    assert (found.counter.throttled, found.counter.held) == (1, 0)
    assert found.counter.throttle_time_max_ms in range(5990, 6001)
    assert found.counter.over_quota == 8000


def test_times_that_touch_are_one() -> None:
    rows = [produce(0, 12_000), produce(2100, 3000), produce(60_000, 12_000)]
    found = only(traffic(rows), Candidate(PRODUCER_BYTES, 1000, WINDOW))
    assert found is not None
    assert found.counter.throttled == 3
    assert found.muted_ms[0] == (0, 2000)
    assert [start for start, _ in found.muted_ms] == [0, 2100, 60_000]


def test_very_many_times_become_fewer_and_still_cover_the_whole_time() -> None:
    found = Refused(("a", ""), ShadowCounter(0))
    for number in range(5 * MUTED_MAX):
        found.mute(number * 1000, number * 1000 + 100 + number % 700)
    assert len(found.muted_ms) <= MUTED_MAX
    assert found.gap_ms > 0
    assert found.muted_ms[0][0] == 0
    assert found.muted_ms[-1][1] > (5 * MUTED_MAX - 1) * 1000
    assert all(a[1] + found.gap_ms < b[0] for a, b in pairwise(found.muted_ms))


def test_a_scope_that_requires_no_more_is_skipped() -> None:
    rows = [produce(0, 50_000), produce(0, 50_000, client=1)]
    candidate = Candidate(PRODUCER_BYTES, 1000, WINDOW)
    found = replay(traffic(rows), candidate, {("alice", ""): 1000, ("bob", ""): 1001})
    assert [one.scope for one in found] == [("bob", "")]
