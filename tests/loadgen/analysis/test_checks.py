"""Verdicts from figures: a bound that is just reached passes, one that is just exceeded fails."""

import pytest

from loadgen.analysis.checks import (
    bucket_levels,
    delivery_timeout,
    duplicates,
    exactly_once,
    fairness,
    lateness,
    producer_ids,
    shadow_quota,
    throttles,
    topic_mutations,
)

SECOND = 1_000_000


def test_new_ids_may_be_as_many_as_allowed() -> None:
    verdict = producer_ids("u", 1, 5, 10, ids=7, allowed=7.0, excess=0.0)
    assert (verdict.verdict, verdict.details) == ("passed", "7 ids, at most 7.0 (Q=5, T=10 s)")
    assert producer_ids("u", 1, 5, 10, ids=7, allowed=7.0, excess=0.001).verdict == "failed"
    assert producer_ids("u", 1, 5, 10, ids=0, allowed=None, excess=None).verdict == "passed"


def test_mutations_are_bounded_by_rate_burst_and_the_last_topic() -> None:
    assert topic_mutations("u", 10, 100, 114, 110.0, 4.0, 4).verdict == "passed"
    assert topic_mutations("u", 10, 100, 115, 110.0, 5.0, 4).verdict == "failed"
    verdict = topic_mutations("u", 10, 100, 0, None, None, 4)
    assert (verdict.verdict, verdict.details) == (
        "passed",
        "0 mutations, at most 100 + 4 (R=10/s, B=100)",
    )


@pytest.mark.parametrize(
    ("acknowledged", "missing", "repeated", "can_repeat", "expected"),
    [
        (10, 0, 0, False, "passed"),
        (10, 1, 0, False, "failed"),
        (10, 0, 1, False, "failed"),
        (10, 0, 1, True, "passed"),
        (10, 1, 0, True, "failed"),
        (0, 0, 0, False, "not checked"),
    ],
)
def test_an_acknowledged_batch_is_stored_once(
    acknowledged: int, missing: int, repeated: int, can_repeat: bool, expected: str
) -> None:
    verdict = exactly_once("t", acknowledged, missing, repeated, can_repeat=can_repeat)
    assert verdict.verdict == expected


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ({"NONE": 3, "DUPLICATE_SEQUENCE_NUMBER": 2}, "passed"),
        ({"NONE": 3, "no response": 2, "THROTTLING_QUOTA_EXCEEDED": 1}, "passed"),
        ({"NONE": 3, "OUT_OF_ORDER_SEQUENCE_NUMBER": 1}, "failed"),
        ({"no response": 2}, "not checked"),
        ({}, "not checked"),
    ],
)
def test_duplicates_are_recognised(outcomes: dict[str, int], expected: str) -> None:
    assert duplicates("old", outcomes).verdict == expected


def test_throttles_are_obeyed_by_the_client_or_enforced_by_the_broker() -> None:
    assert throttles("t", 500, 0, 0, obeys=True).verdict == "passed"
    assert throttles("t", 500, 1, 0, obeys=True).verdict == "failed"
    assert throttles("t", 0, 0, 0, obeys=True).verdict == "not checked"
    assert throttles("t", 500, 7, 0, obeys=False).verdict == "passed"
    assert throttles("t", 500, 7, 1, obeys=False).verdict == "failed"
    assert throttles("t", 500, 0, 0, obeys=False).verdict == "not checked"


def test_the_delivery_timeout_bounds_the_time_to_the_report() -> None:
    assert delivery_timeout("t", 1000, 3, 1100.0).verdict == "passed"
    assert delivery_timeout("t", 1000, 3, 1100.1).verdict == "failed"
    assert delivery_timeout("t", 1000, 0, None).verdict == "not checked"


def test_the_generator_is_checked_too() -> None:
    assert lateness(5.0, 5.0).verdict == "passed"
    assert lateness(5.1, 5.0).verdict == "failed"
    assert lateness(None, 5.0).verdict == "not checked"


def test_a_shadow_quota_reports_what_it_would_have_done() -> None:
    row = {
        "quota": "producer_ids_rate",
        "user": "alice",
        "client_id": None,
        "broker": 2,
        "throttled": 3,
        "held": 4,
        "over_quota": 5,
        "throttle_time_max_ms": 700,
        "throttle_time_total_ms": 1500,
    }
    verdict = shadow_quota(row)

    assert verdict.check == "shadow quota producer_ids_rate: evaluated, not enforced"
    assert (verdict.scope, verdict.verdict) == ("user alice at broker 2", "not checked")
    assert verdict.details == (
        "it would have throttled 3 requests, for 1500 ms in total and at most 700 ms each; held: 4;"
        " over the quota: 5 producer ids"
    )
    of_client = shadow_quota({**row, "user": None, "client_id": "app", "broker": None})
    assert of_client.scope == "client id app"


def test_equal_shares_are_fair() -> None:
    assert fairness([0.5, 0.5]) == 1.0
    assert fairness([1.0, 0.0]) == 0.5
    assert fairness([]) is None
    assert fairness([0.0]) is None


def test_a_bucket_starts_full_and_refills_to_its_capacity() -> None:
    charges = [(0, 4.0), (SECOND, 12.0), (100 * SECOND, 1.0)]
    line = bucket_levels(2, 10, charges, -SECOND, 101 * SECOND)
    assert line[:3] == [(-SECOND, 10), (0, 10), (0, 6.0)]
    assert line[3:5] == [(SECOND, 8.0), (SECOND, -4.0)]
    assert line[5:8] == [(8 * SECOND, 10), (100 * SECOND, 10), (100 * SECOND, 9.0)]
    assert line[8:] == [(round(100.5 * SECOND), 10), (101 * SECOND, 10), (101 * SECOND, 10)]


def test_an_unused_bucket_stays_full() -> None:
    assert {level for _, level in bucket_levels(2, 10, [], 0, SECOND)} == {10}
