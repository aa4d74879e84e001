"""Misbehaving producers with a real broker."""

from itertools import pairwise

import pytest

from loadgen.plan.plan import Plan
from tests.loadgen.runs import Row, endings, of_api, plan_of, run

pytestmark = pytest.mark.slow

SEQUENCE_END = 2**31


def producers(rows: list[Row]) -> list[int]:
    """Return the producer ids in the order of their first batch."""
    return list(dict.fromkeys(row["producer_id"] for row in of_api(rows, "Produce")))


def run_one(behaviour: str, servers: str, more: str = "") -> tuple[Plan, list[Row]]:
    plan = plan_of(f"[{{name: a, behaviour: {behaviour}, topic: t, clients: 2, rate: 20{more}}}]")
    return plan, run(plan, servers)


def test_a_restart_is_a_new_id_and_a_few_batches(servers: str) -> None:
    _, rows = run_one("restart-loop", servers, ", batches: 2")
    assert len(of_api(rows, "InitProducerId")) == len(producers(rows)) == 10
    assert [row["sequence"] for row in of_api(rows, "Produce")].count(0) == 10
    assert endings(of_api(rows, "Produce")) == {("responded", "new", 0): 20}


def test_new_producer_per_batch_uses_an_id_for_each_batch(servers: str) -> None:
    _, rows = run_one("new-producer-per-batch", servers)
    assert len(producers(rows)) == len(of_api(rows, "Produce")) == 10
    assert {row["sequence"] for row in of_api(rows, "Produce")} == {0}


def test_an_error_makes_a_new_producer_that_sends_the_batch_again(servers: str) -> None:
    _, rows = run_one("new-producer-per-error", servers, ", error_every: 2")
    produce = of_api(rows, "Produce")
    refused = [row for row in produce if row["error_code"] == 45]
    assert refused, "no event of this seed is wrong"
    assert len(producers(rows)) == 2 + len(refused)
    again = {row["event_id"]: row for row in produce if row["attempt"] == 2}
    assert set(again) == {row["event_id"] for row in refused}
    for row in refused:
        assert again[row["event_id"]]["producer_id"] != row["producer_id"]
        assert again[row["event_id"]]["error_code"] == 0


def test_the_latest_batch_is_sent_again_after_its_response_was_lost(servers: str) -> None:
    _, rows = run_one("retries-lost-responses", servers, ", kinds: [latest]")
    assert endings(of_api(rows, "Produce")) == {
        ("lost", "new", None): 10,
        ("responded", "latest", 46): 10,
    }


def test_several_batches_without_response_are_sent_again_in_order(servers: str) -> None:
    _, rows = run_one("retries-lost-responses", servers, ", kinds: [old], batches: 3, records: 2")
    assert endings(of_api(rows, "Produce")) == {
        ("lost", "new", None): 30,
        ("responded", "old", 46): 20,
        ("responded", "latest", 46): 10,
    }
    for client in (0, 1):
        produced = [row for row in of_api(rows, "Produce") if row["client"] == client]
        by_event = {
            event: [row["sequence"] for row in produced if row["event_id"] == event]
            for event in dict.fromkeys(row["event_id"] for row in produced)
        }
        for sequences in by_event.values():
            assert sequences[:3] == sequences[3:]
            assert all(later - earlier == 2 for earlier, later in pairwise(sequences[:3]))


def test_batches_across_the_wraparound_of_sequences_are_sent_again(servers: str) -> None:
    _, rows = run_one("retries-lost-responses", servers, ", kinds: [wraparound], batches: 2")
    assert {row["sequence"] for row in of_api(rows, "Produce")} == {SEQUENCE_END - 1, 0}
    assert endings(of_api(rows, "Produce")) == {
        ("lost", "new", None): 20,
        ("responded", "wraparound", 46): 20,
    }
