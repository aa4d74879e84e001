"""An accounted run leaves the same behind as a shared run, and what journal and quotas note."""

from typing import Any

import pytest

from broker.dispatch.accounted_run import AccountedRun, note_of
from broker.journal.lines import Entry, Outcome
from tests.broker.dispatch.produce_runs import (
    Change,
    Produce,
    Run,
    assert_needed,
    counted_calls,
    hits_of,
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
    assert first.run is second.run


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


BYTE_RATE: Change = ("set_quota", "producer_byte_rate", 1_000_000.0, False)
NEW_IDS: Change = ("set_quota", "producer_ids_rate", 1.0, False)


@pytest.mark.parametrize("quota", [BYTE_RATE, NEW_IDS])
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

    name = "append" if count > 1 else "respond_at_once"
    with counted_calls(AccountedRun, name) as results:
        made.do(produce)
    assert len(results) == 1
    assert results[0]
    hits_of([quota, *[produce] * 9])


CHECKS: tuple[tuple[Any, str, str, str, float, int], ...] = (
    (
        AccountedRun.respond_at_once,
        "quotas.request_percentage.is_enabled",
        "False",
        "request_percentage",
        0.001,
        1,
    ),
    (note_of, "quotas.request_percentage.is_enabled", "False", "request_percentage", 0.001, 5),
    (
        AccountedRun.respond_at_once,
        "client_id, len(data)",
        "client_id, 0 * len(data)",
        "producer_byte_rate",
        100.0,
        1,
    ),
    (note_of, "client_id, size_bytes", "client_id, 0 * size_bytes", "producer_byte_rate", 100.0, 5),
    (AccountedRun.respond_at_once, "rate is not None:", "False:", "producer_byte_rate", 1e5, 1),
    (AccountedRun.append, "rate is not None:", "False:", "producer_byte_rate", 1e5, 5),
    (
        AccountedRun.respond_at_once,
        "quotas.producer_ids_rate.is_enabled",
        "False",
        "producer_ids_rate",
        1.0,
        1,
    ),
    (
        AccountedRun._is_known_producer,
        "not self._quotas.producer_ids_rate.is_enabled",
        "True",
        "producer_ids_rate",
        1.0,
        5,
    ),
)
"""The last number is how many requests are in a read."""


@pytest.mark.parametrize(("function", "right", "wrong", "key", "limit", "count"), CHECKS)
def test_a_run_that_does_not_charge_is_found(
    function: Any, right: str, wrong: str, key: str, limit: float, count: int
) -> None:
    first, second = (Produce(producer_id=number, count=count) for number in (7, 8))
    steps: list[Produce | Change] = [BYTE_RATE, *[first] * 5]
    steps.append(("set_quota", key, limit * count, False))
    assert_needed([*steps, *[first] * 12, *[second] * 5], function, right, wrong)


def test_requests_without_responses_are_charged() -> None:
    steps: list[Produce | Change] = [BYTE_RATE, *[Produce(acks=0, count=5)] * 5]
    assert_needed(steps, AccountedRun.append, "and not run.shape.acks", "and False")
