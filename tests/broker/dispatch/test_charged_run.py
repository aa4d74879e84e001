"""A charged run leaves the same behind as a shared run, and what quotas count."""

from dataclasses import replace
from typing import Any

import pytest

from broker.dispatch.charged_run import ChargedRun
from broker.produce.request_run import RequestRun
from tests.broker.dispatch.produce_runs import (
    Change,
    Produce,
    Run,
    assert_needed,
    counted_calls,
    hits_of,
)

BYTE_RATE: Change = ("set_quota", "producer_byte_rate", 1_000_000.0, False)
NEW_IDS: Change = ("set_quota", "producer_ids_rate", 1.0, False)
TIMED: Change = ("set_quota", "request_percentage", 1e6, False)


@pytest.mark.parametrize("quota", [BYTE_RATE, NEW_IDS, TIMED])
@pytest.mark.parametrize("producer_id", [-1, 7])
@pytest.mark.parametrize("count", [1, 5])
def test_requests_below_their_quotas_are_handled_in_runs(
    quota: Change, producer_id: int, count: int
) -> None:
    made = Run()
    produce = Produce(producer_id=producer_id, count=count)
    made.do(quota)
    for _ in range(8):
        made.do(produce)

    with counted_calls(RequestRun, "append" if count > 1 else "respond_to_one") as results:
        made.do(produce)
    assert len(results) == 1
    assert results[0]
    hits_of([quota, *[produce] * 9])


@pytest.mark.parametrize("principal", ["ANONYMOUS", "alice"])
def test_connections_of_a_principal_share_one_and_all_share_its_run(principal: str) -> None:
    made = Run()
    made.do(BYTE_RATE)
    made.do(("log_in", 1, principal))
    for _ in range(6):
        made.do(Produce())
        made.do(Produce(connection=1))

    first, second, _ = (connection._responder for connection in made.connections)
    assert isinstance(first, ChargedRun)
    assert isinstance(second, ChargedRun)
    assert first.run is second.run
    assert (second is first) == (principal == "ANONYMOUS")
    assert second.charge.principal == principal


RATE, IDS, TIME = "producer_byte_rate", "producer_ids_rate", "request_percentage"
AT_ONCE, APPEND = ChargedRun.respond_at_once, ChargedRun.append
CHECKS: tuple[tuple[Any, str, str, str, float, int], ...] = (
    (AT_ONCE, "size_bytes > rate.left", "False", RATE, 150.0, 1),
    (AT_ONCE, "rate.record(size_bytes, now_ms)", "pass", RATE, 1e5, 1),
    (AT_ONCE, "time_rate.record(run.now_ns() - started_ns, now_ms)", "pass", TIME, 1e6, 1),
    (AT_ONCE, "charge.is_known_producer)\n    if", "None)\n    if", IDS, 1.0, 1),
    (APPEND, "if end:", "if False:", RATE, 1e5, 5),
    (APPEND, "charge.record_time(run.now_ns() - started_ns, now_ms)", "pass", TIME, 1e6, 5),
    (APPEND, "len(responses) * SIZE_BYTES", "0", RATE, 1e5, 5),
)
"""The last number is how many requests are in a read."""


@pytest.mark.parametrize(("function", "right", "wrong", "key", "limit", "count"), CHECKS)
def test_a_run_that_does_not_charge_is_found(
    function: Any, right: str, wrong: str, key: str, limit: float, count: int
) -> None:
    anonymous, first, second = (Produce(producer_id=number, count=count) for number in (-1, 7, 8))
    steps: list[Produce | Change] = [BYTE_RATE, *[anonymous] * 5]
    steps.append(("set_quota", key, limit * count, False))
    steps += [*[anonymous] * 12, *[replace(first, connection=1)] * 3, *[second] * 5]
    assert_needed(steps, function, right, wrong)


@pytest.mark.parametrize(
    ("right", "steps"),
    [
        ("run.journal.is_enabled", [("keep_journal", True)]),
        ("run.produce_version != cluster.produce_version", [("lead", "t", 0, -1)]),
        ("run.acknowledgements.is_enabled", [("audit", True)]),
        ("run.faults.is_enabled", [("add_error_rule", None)]),
    ],
)
def test_a_run_without_a_check_is_found(right: str, steps: list[Produce | Change]) -> None:
    steps = [BYTE_RATE, *[Produce()] * 6, *steps, *[Produce()] * 5]
    assert_needed(steps, AT_ONCE, right, "False")


def test_a_run_that_frees_batches_is_not_handled_at_once() -> None:
    steps: list[Produce | Change] = [BYTE_RATE, ("configure", "t", "retention.bytes", "100")]
    steps += [*[Produce()] * 6, *[Produce(indexes=(1,))] * 3]
    assert_needed(steps, AT_ONCE, "run.can_free", "False")


def test_requests_without_responses_are_charged() -> None:
    steps: list[Produce | Change] = [BYTE_RATE, *[Produce(acks=0, count=5)] * 5]
    assert_needed(steps, ChargedRun.append, "not run.shape.acks", "False")


def test_new_producer_ids_are_refused_if_no_quota_counts_bytes() -> None:
    steps: list[Produce | Change] = [NEW_IDS, *[Produce()] * 5]
    steps += [*[Produce(connection=1, producer_id=7)] * 3, *[Produce(producer_id=8)] * 3]
    assert_needed(steps, AT_ONCE, "charge.is_known_producer)\n    if", "None)\n    if")


def test_the_time_of_requests_without_responses_is_exempt() -> None:
    produce = Produce(acks=0)
    steps: list[Produce | Change] = [*[produce] * 6, TIMED, *[Produce(connection=1)] * 3]
    steps += [*[produce] * 3, *[replace(produce, indexes=(1,))] * 3]
    assert_needed(steps, ChargedRun.respond_at_once, "or not run.shape.acks", "")


def test_requests_that_have_taken_too_long_together_are_throttled() -> None:
    steps: list[Produce | Change] = [("set_quota", TIME, 0.11, False), *[Produce()] * 120]
    assert_needed(steps, AT_ONCE, "time_rate.left < TIME_MAX_NS", "False")


@pytest.mark.parametrize("quota", [RATE, TIME])
def test_a_rate_that_was_dropped_is_not_used(quota: str) -> None:
    steps: list[Produce | Change] = [("set_quota", quota, 1e6, False), *[Produce()] * 6]
    steps += [("advance", 7_200_000), Produce(connection=1), Produce()]
    right = f"now_ms >= {'rate' if quota == RATE else 'time_rate'}.ends_ms"
    assert_needed(steps, AT_ONCE, right, "False")
