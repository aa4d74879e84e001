"""Transactions over several partitions are stored exactly once, in spite of aborts and crashes."""

from collections import Counter

import pytest

from tests.loadgen.runs import committed_rows, of_api, plan_of, run_and_prepare


def stored_times(servers: str, options: str) -> tuple[Counter[int], set[int]]:
    """Return how often each record of an event is read, and the events with a commit."""
    plan = plan_of(
        "[{name: a, behaviour: transactional, topic: t, clients: 2, rate: 80, batches: 2,"
        f" records: 2, abort_every: 3, crash_every: 4, {options}}}]"
    )
    rows, spec = run_and_prepare(plan, servers)
    committed = {
        row["event_id"]
        for row in of_api(rows, "EndTxn")
        if (row["kind"], row["error_code"]) == ("commit", 0)
    }
    found = Counter((row["event_id"], row["number"]) for row in committed_rows(spec))
    assert {number for _, number in found} == set(range(4))
    assert committed <= {event_id for event_id, _ in found}
    return Counter(found.values()), committed


@pytest.mark.slow
def test_each_committed_transaction_is_read_once(servers: str) -> None:
    times, committed = stored_times(servers, "transactions: true")
    assert set(times) == {1}
    assert len(committed) > 10


def test_without_transactions_aborts_and_crashes_leave_duplicates(servers: str) -> None:
    times, committed = stored_times(servers, "transactions: false")
    assert times[2] > 10
    assert committed == set()
