"""A shared run responds to reads of one request, as long as nothing else takes part in them."""

from dataclasses import replace
from typing import Any

import pytest

from broker.dispatch.shared_run import SharedRun
from broker.produce.request_run import RequestRun
from tests.broker.dispatch.produce_runs import (
    Change,
    Produce,
    Run,
    assert_needed,
    counted_calls,
    hits_of,
)


def test_connections_that_send_the_same_have_the_same_responder() -> None:
    made = Run()
    for _ in range(6):
        made.do(Produce())
        made.do(Produce(connection=1))

    first, second, _ = (connection._responder for connection in made.connections)
    assert isinstance(first, SharedRun)
    assert second is first
    with counted_calls(SharedRun, "respond_at_once") as responses:
        made.do(Produce())
        made.do(Produce(connection=1))
    assert len(responses) == 2
    assert all(responses)


@pytest.mark.parametrize(
    "change",
    [
        ("keep_journal", True),
        ("audit", True),
        ("add_error_rule", None),
        ("set_quota", "producer_byte_rate", 1.0, False),
        ("lead", "t", 0, -1),
    ],
)
def test_it_leaves_a_request_to_others_if_something_else_takes_part(change: Change) -> None:
    made = Run()
    for _ in range(6):
        made.do(Produce())
    made.do(change)

    with counted_calls(SharedRun, "respond_at_once") as responses:
        made.do(Produce())
    assert responses == [None]


@pytest.mark.parametrize(
    "other", [{"topics": ("t", "u")}, {"indexes": (0, 1)}, {"topics": ("u",), "indexes": (0, 1)}]
)
def test_a_connection_that_writes_to_several_partitions_asks_no_run(other: dict[str, Any]) -> None:
    made = Run()
    for _ in range(6):
        made.do(Produce())
    for _ in range(6):
        made.do(Produce(**other))

    with counted_calls(SharedRun, "respond_at_once") as responses:
        made.do(Produce(**other))
    assert not responses


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


def test_connections_of_another_principal_have_another_run() -> None:
    made = Run()
    made.do(("log_in", 1, "alice"))
    for _ in range(6):
        made.do(Produce())
        made.do(Produce(connection=1))

    first, second, _ = (connection._responder for connection in made.connections)
    assert isinstance(first, SharedRun)
    assert isinstance(second, SharedRun)
    assert first is not second


RATE, IDS, TIME = "producer_byte_rate", "producer_ids_rate", "request_percentage"
AT_ONCE, APPEND = SharedRun.respond_at_once, SharedRun.append_charged
CHECKS: tuple[tuple[Any, str, str, str, float, int], ...] = (
    (AT_ONCE, "size_bytes > rate.left", "False", RATE, 150.0, 1),
    (AT_ONCE, "rate.record(size_bytes, now_ms)", "pass", RATE, 1e5, 1),
    (AT_ONCE, "time_rate.record(self._now_ns() - started_ns, now_ms)", "pass", TIME, 1e6, 1),
    (AT_ONCE, "charge.is_known_producer)\n    if", "None)\n    if", IDS, 1.0, 1),
    (APPEND, "if end:", "if False:", RATE, 1e5, 5),
    (APPEND, "charge.record_time(self._now_ns() - started_ns, now_ms)", "pass", TIME, 1e6, 5),
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


def test_requests_without_responses_are_charged() -> None:
    steps: list[Produce | Change] = [BYTE_RATE, *[Produce(acks=0, count=5)] * 5]
    assert_needed(steps, SharedRun.append_charged, "not self.shape.acks", "False")


def test_new_producer_ids_are_refused_if_no_quota_counts_bytes() -> None:
    steps: list[Produce | Change] = [NEW_IDS, *[Produce()] * 5]
    steps += [*[Produce(connection=1, producer_id=7)] * 3, *[Produce(producer_id=8)] * 3]
    right = "return self.respond_to_one(cluster, data, now_ms, charge.is_known_producer)"
    wrong = "return self.respond_to_one(cluster, data, now_ms)"
    assert_needed(steps, SharedRun.respond_at_once, right, wrong)


def test_the_time_of_requests_without_responses_is_exempt() -> None:
    produce = Produce(acks=0)
    steps: list[Produce | Change] = [*[produce] * 6, TIMED, *[Produce(connection=1)] * 3]
    steps += [*[produce] * 3, *[replace(produce, indexes=(1,))] * 3]
    assert_needed(steps, SharedRun.respond_at_once, "or not self.shape.acks", "")


def test_requests_that_have_taken_too_long_together_are_throttled() -> None:
    steps: list[Produce | Change] = [("set_quota", TIME, 0.11, False), *[Produce()] * 120]
    assert_needed(steps, AT_ONCE, "time_rate.left < TIME_MAX_NS", "False")


@pytest.mark.parametrize("quota", [RATE, TIME])
def test_a_rate_that_was_dropped_is_not_used(quota: str) -> None:
    steps: list[Produce | Change] = [("set_quota", quota, 1e6, False), *[Produce()] * 6]
    steps += [("advance", 7_200_000), Produce(connection=1), Produce()]
    right = f"now_ms >= {'rate' if quota == RATE else 'time_rate'}.ends_ms"
    assert_needed(steps, AT_ONCE, right, "False")
