"""An accounted run leaves the same behind as a shared run, and what journal and quotas note."""

from dataclasses import replace
from typing import Any

import pytest

from broker.dispatch.accounted_run import AccountedRun
from broker.dispatch.charged_run import ChargedRun
from broker.journal.lines import Entry, Outcome
from tests.broker.dispatch.produce_runs import (
    Change,
    Produce,
    Run,
    assert_needed,
    counted_calls,
)


def accounted_run() -> Run:
    """Return connections whose next requests are handled at once."""
    made = Run()
    made.do(("keep_journal", True))
    for _ in range(6):
        made.do(Produce())
        made.do(Produce(connection=1))
    return made


def test_each_connection_has_one_of_its_own_for_the_run_that_they_share() -> None:
    made = accounted_run()

    first, second, _ = (connection._responder for connection in made.connections)
    assert isinstance(first, AccountedRun)
    assert isinstance(second, AccountedRun)
    assert first is not second
    assert first.charged is second.charged


def test_a_request_that_is_handled_at_once_is_recorded() -> None:
    made = accounted_run()
    with counted_calls(AccountedRun, "respond_at_once") as responses:
        made.do(Produce(connection=1))

    *_, entry = made.dispatcher.journal
    assert isinstance(entry, Entry)
    assert [entry.response] == responses
    assert (entry.outcome, entry.context.connection_id) == (Outcome.RESPONDED, 2)


def test_a_journal_that_is_disabled_gets_nothing() -> None:
    made = accounted_run()
    count = len(made.dispatcher.journal)
    made.do(("keep_journal", False))
    for _ in range(6):
        made.do(Produce())

    assert len(made.dispatcher.journal) == count


NEW_IDS: Change = ("set_quota", "producer_ids_rate", 1.0, False)


def test_a_connection_without_producer_ids_needs_none_for_quotas() -> None:
    made = Run()
    made.do(NEW_IDS)
    for _ in range(6):
        made.do(Produce())
    assert isinstance(made.connections[0]._responder, ChargedRun)

    for _ in range(6):
        made.do(Produce(producer_id=7))
    accounted = made.connections[0]._responder
    assert isinstance(accounted, AccountedRun)
    assert accounted.producer_ids is made.connections[0].session.producer_ids


FIRST, SECOND = (Produce(producer_id=number) for number in (7, 8))
CHECKS: tuple[tuple[Any, str, str, Change], ...] = (
    (
        AccountedRun.respond_at_once,
        "size_bytes > rate.left",
        "False",
        ("set_quota", "producer_byte_rate", 100.0, False),
    ),
    (
        AccountedRun.respond_at_once,
        "rate.record(size_bytes, now_ms)",
        "pass",
        ("set_quota", "producer_byte_rate", 1e5, False),
    ),
    (
        AccountedRun.respond_at_once,
        "time_rate.record(run.now_ns() - started_ns, now_ms)",
        "pass",
        ("set_quota", "request_percentage", 1e6, False),
    ),
    (
        AccountedRun.respond_at_once,
        "now_ms, is_known_producer)",
        "now_ms, None)",
        ("set_quota", "producer_byte_rate", 1e5, False),
    ),
)


@pytest.mark.parametrize(("function", "right", "wrong", "change"), CHECKS)
def test_a_run_that_does_not_charge_is_found(
    function: Any, right: str, wrong: str, change: Change
) -> None:
    steps: list[Produce | Change] = [NEW_IDS, *[FIRST] * 5, change]
    assert_needed([*steps, *[FIRST] * 12, *[SECOND] * 5], function, right, wrong)


def test_new_producer_ids_of_requests_in_one_read_are_refused() -> None:
    first, second = (Produce(producer_id=number, count=5) for number in (7, 8))
    steps: list[Produce | Change] = [NEW_IDS, *[first] * 5, *[second] * 5]
    right = "is_known_producer or charge.is_known_producer"
    assert_needed(steps, ChargedRun.append, right, "None")


def test_the_time_of_requests_without_responses_is_exempt() -> None:
    produce = Produce(acks=0)
    steps: list[Produce | Change] = [("keep_journal", True), *[produce] * 6]
    steps += [("set_quota", "request_percentage", 1e6, False), *[Produce(connection=1)] * 3]
    steps += [*[produce] * 3, *[replace(produce, indexes=(1,))] * 3]
    assert_needed(steps, AccountedRun.respond_at_once, "or not run.shape.acks", "")


def test_requests_that_have_taken_too_long_together_are_throttled() -> None:
    steps: list[Produce | Change] = [("keep_journal", True)]
    steps += [("set_quota", "request_percentage", 0.11, False), *[Produce()] * 120]
    right = "time_rate.left < TIME_MAX_NS"
    assert_needed(steps, AccountedRun.respond_at_once, right, "False")


@pytest.mark.parametrize("quota", ["producer_byte_rate", "request_percentage"])
def test_a_rate_that_was_dropped_is_not_used(quota: str) -> None:
    steps: list[Produce | Change] = [("keep_journal", True), ("set_quota", quota, 1e6, False)]
    steps += [*[Produce()] * 6, ("advance", 7_200_000), Produce(connection=1), Produce()]
    right = f"now_ms >= {'rate' if quota == 'producer_byte_rate' else 'time_rate'}.ends_ms"
    assert_needed(steps, AccountedRun.respond_at_once, right, "False")
