"""Batches are sent again after errors that pass, and a new producer follows all others."""

from collections import Counter

import pytest

from mock_kafka import MockKafka
from tests.loadgen.runs import committed_rows, of_api, plan_of, run_and_prepare

KEYED = "[{name: a, behaviour: keyed, topic: t, rate: 40, keys: 20}]"


@pytest.mark.slow
@pytest.mark.parametrize("error", ["NOT_ENOUGH_REPLICAS", "NOT_LEADER_OR_FOLLOWER"])
def test_a_batch_is_sent_again_with_its_sequence(error: str) -> None:
    with MockKafka(brokers=2) as kafka:
        kafka.fail(error=error, api="Produce", times=2)
        rows, spec = run_and_prepare(plan_of(KEYED), kafka.bootstrap_servers)
        stored = Counter(row["event_id"] for row in committed_rows(spec))
    produce = of_api(rows, "Produce")
    assert len({row["producer_id"] for row in produce}) == 1
    again = [row for row in produce if row["attempt"] > 1]
    assert again
    first_attempts = {row["event_id"]: row for row in produce if row["attempt"] == 1}
    assert {row["sequence"] == first_attempts[row["event_id"]]["sequence"] for row in again} == {
        True
    }
    assert stored == Counter(range(20))


@pytest.mark.slow
def test_a_new_producer_follows_an_error_that_stays() -> None:
    with MockKafka() as kafka:
        kafka.fail(error="OUT_OF_ORDER_SEQUENCE_NUMBER", api="Produce", times=1)
        rows, spec = run_and_prepare(plan_of(KEYED), kafka.bootstrap_servers)
        stored = Counter(row["event_id"] for row in committed_rows(spec))
    assert len({row["producer_id"] for row in of_api(rows, "Produce")}) == 2
    assert sorted(stored.values()) == [1] * 19


@pytest.mark.slow
@pytest.mark.parametrize("drop", ["before_handling", "before_response"])
def test_a_batch_whose_response_is_lost_is_sent_again_with_its_sequence(drop: str) -> None:
    with MockKafka(brokers=2) as kafka:
        kafka.add_fault(api="Produce", drop=drop, times=3)
        rows, spec = run_and_prepare(plan_of(KEYED), kafka.bootstrap_servers)
        stored = Counter(row["event_id"] for row in committed_rows(spec))
    produce = of_api(rows, "Produce")
    lost = [row for row in produce if row["status"] == "lost"]
    assert len(lost) == 3
    assert len({row["producer_id"] for row in produce}) == 1
    for row in lost:
        assert (row["event_id"], row["sequence"]) in {
            (again["event_id"], again["sequence"])
            for again in produce
            if again["attempt"] == row["attempt"] + 1
        }
    assert stored == Counter(range(20))


@pytest.mark.slow
def test_without_retries_a_new_producer_follows_a_lost_response() -> None:
    plan = plan_of(KEYED.replace("keys: 20", "keys: 20, retries: 0"))
    with MockKafka() as kafka:
        kafka.drop_response(api="Produce", times=1)
        rows, _ = run_and_prepare(plan, kafka.bootstrap_servers)
    produce = of_api(rows, "Produce")
    assert [row["attempt"] for row in produce] == [1] * 20
    assert len({row["producer_id"] for row in produce}) == 2
