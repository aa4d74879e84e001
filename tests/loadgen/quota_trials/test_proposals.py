"""A proposal never throttles the protected tenants, and keeps to their digits and windows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.quota_trials.candidates import (
    IDS,
    MUTATIONS,
    PRODUCER_BYTES,
    Candidate,
    Window,
)
from loadgen.quota_trials.proposals import (
    ProtectionError,
    propose,
    protected_clients,
    try_candidate,
)
from tests.examples import examples
from tests.loadgen.quota_trials.made_results import results, two_users
from tests.loadgen.quota_trials.made_traffic import produce, traffic


def test_the_greedy_user_is_throttled_and_the_protected_one_is_not() -> None:
    found = results()[PRODUCER_BYTES]
    assert found.proposal is not None
    required = found.required_by_protected
    assert 1000 <= required <= 1500
    assert required * 1.2 <= found.proposal.value <= required * 1.35
    proposed, half, *_ = found.trials
    assert (proposed.label, half.label) == ("proposed", "half of it")
    assert [one.scope for one in proposed.refused] == [("bob", "")]
    assert proposed.refused[0].counter.first_ms >= 60_000
    assert proposed.refused_of(found.protected) == []
    assert [one.scope for one in half.refused_of(found.protected)] == [("alice", "")]


def test_a_quota_that_no_protected_tenant_uses_has_no_proposal() -> None:
    found = results()[MUTATIONS]
    assert found.proposal is None
    assert found.trials == []
    assert found.required[Window(1, 11)][("bob", "")] == pytest.approx(10 / 11, rel=0.01)


def test_if_all_are_protected_nobody_is_throttled_by_a_proposal() -> None:
    for found in results((0, 1)).values():
        assert all(not trial.refused for trial in found.trials if trial.label != "half of it")


def test_a_window_that_the_traffic_does_not_cover_is_not_tried_unless_it_is_the_default() -> None:
    found = results()
    assert set(found[PRODUCER_BYTES].required) == {Window(1, 11), Window(1, 3)}
    assert set(found[IDS].required) == {Window(3600)}


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 90_000)), min_size=1, max_size=50))
def test_no_window_of_a_proposal_throttles_the_protected(requests: list[tuple[int, int]]) -> None:
    now_ms, rows = 0, []
    for gap_ms, size_bytes in requests:
        now_ms += gap_ms
        rows.append(produce(now_ms, size_bytes, producer_id=size_bytes % 7))
    for found in propose(traffic(rows), [0], "user", 0.0).values():
        for trial in found.trials:
            assert trial.label == "half of it" or not trial.refused


def test_values_have_two_digits_and_ids_are_whole() -> None:
    for found in results().values():
        for trial in found.trials:
            text = f"{trial.candidate.value:.0f}"
            assert len(text.rstrip("0")) <= 2
            assert trial.candidate.value == int(trial.candidate.value)


def test_another_candidate_can_be_tried() -> None:
    found = results()[PRODUCER_BYTES]
    trial = try_candidate(two_users(), found, Candidate(PRODUCER_BYTES, 50, Window(1, 61)), "--try")
    assert found.trials[-1] is trial
    assert {one.scope for one in trial.refused} == {("alice", ""), ("bob", "")}


def test_a_name_is_a_tenant_a_user_or_a_client_id() -> None:
    tenants = {"shop": ("bob", "b")}
    assert protected_clients(two_users(), [], tenants) == [0, 1, 2]
    assert protected_clients(two_users(), ["alice", "shop", "c"], tenants) == [0, 1, 2]
    with pytest.raises(ProtectionError, match="--never-throttle bop: <made> has no such tenant"):
        protected_clients(two_users(), ["bop"], tenants)
