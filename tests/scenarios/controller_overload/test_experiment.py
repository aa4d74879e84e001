"""The experiments at a twelfth of their size, over TCP."""

from dataclasses import replace

import pytest

from scenarios.controller_overload import (
    FAILURES,
    QUEUE_MS_MAX,
    QUOTA,
    Pair,
    broken_promises,
    rows,
    run_pair,
)
from scenarios.controller_overload.experiment import OverloadResult

TOPIC_COUNT = 400
WORK_MS = 400 * 4 * 6


@pytest.fixture(scope="module")
def off() -> Pair:
    return run_pair(None, TOPIC_COUNT)


@pytest.fixture(scope="module")
def on() -> Pair:
    return run_pair(QUOTA, TOPIC_COUNT)


def first_latency_ms(outcome: OverloadResult) -> int:
    return outcome.latency_ms[FAILURES[0]]


@pytest.mark.slow
def test_without_the_quota_an_election_waits_for_all_that_was_asked_for(off: Pair) -> None:
    # The first broker fails after a second, when every request is in the queue.
    for outcome in off:
        assert WORK_MS - 1000 <= first_latency_ms(outcome) <= WORK_MS - 1000 + 250
        assert (outcome.done, outcome.timed_out, outcome.refusals) == (TOPIC_COUNT, 0, 0)
        assert WORK_MS <= outcome.drained_ms <= WORK_MS + 1000


@pytest.mark.slow
def test_with_the_quota_it_waits_for_the_burst_at_most(on: Pair) -> None:
    for outcome in on:
        # Of the burst a second has passed, and some was admitted since.
        assert QUEUE_MS_MAX - 1500 <= first_latency_ms(outcome) <= QUEUE_MS_MAX
        assert (outcome.done, outcome.timed_out, outcome.others) == (TOPIC_COUNT, 0, 0)
        assert outcome.refusals > 0


@pytest.mark.slow
def test_both_keep_the_promises_and_fill_the_table(off: Pair, on: Pair) -> None:
    assert broken_promises(off, on, TOPIC_COUNT) == []
    table = {name: (without, with_quota) for name, without, with_quota in rows(off[0], on[0])}
    assert table["topics answered without an error"] == ("400", "400")
    assert table["election latency of a broker that failed after 90 s"] == ("0.0 s", "0.0 s")


@pytest.mark.slow
def test_a_promise_that_is_broken_is_named(off: Pair, on: Pair) -> None:
    slow = replace(on.deletion, latency_ms={FAILURES[0]: 60_000})
    lossy = replace(off.creation, done=7)
    broken = broken_promises(
        Pair(lossy, replace(off.deletion, latency_ms={FAILURES[0]: 5})),
        Pair(on.creation, slow),
        TOPIC_COUNT,
    )
    assert broken == [
        "creation: 0 other errors, 7 topics done, 0 timed out",
        "deletion: with the quota an election took 60.0 s",
        "deletion: without the quota no election waited for most of the work",
    ]
