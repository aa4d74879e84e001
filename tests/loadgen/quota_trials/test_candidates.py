"""A candidate is a default quota whose scopes are those of a broker."""

import pytest

from loadgen.quota_trials.candidates import (
    CONSUMER_BYTES,
    IDS,
    KEYS,
    MUTATIONS,
    PRODUCER_BYTES,
    WINDOWS,
    Candidate,
    Window,
    charged,
    groups,
    scopes_of,
)
from tests.loadgen.quota_trials.made_traffic import fetch, produce, topics, traffic

TRAFFIC = traffic([produce(0), fetch(1, 5), topics(2, 3), produce(3, producer_id=7, client=1)])


def test_each_key_charges_its_requests() -> None:
    found = {key: charged(TRAFFIC, key).tolist() for key in KEYS}
    assert found == {PRODUCER_BYTES: [0, 3], CONSUMER_BYTES: [1], MUTATIONS: [2], IDS: [3]}


def test_a_request_of_unknown_size_is_not_charged_for_bytes() -> None:
    unknown = traffic([produce(0, 0, producer_id=1), fetch(1, 0)])
    found = {key: charged(unknown, key).tolist() for key in KEYS}
    assert found == {PRODUCER_BYTES: [], CONSUMER_BYTES: [], MUTATIONS: [], IDS: [0]}


def test_scopes_follow_the_entity() -> None:
    window = WINDOWS[MUTATIONS][0]
    assert scopes_of(TRAFFIC, Candidate(MUTATIONS, 1, window))[0] == ("alice", "")
    assert scopes_of(TRAFFIC, Candidate(MUTATIONS, 1, window, "client-id"))[0] == ("", "a")
    both = Candidate(MUTATIONS, 1, window, "user,client-id")
    assert scopes_of(TRAFFIC, both)[0] == ("alice", "a")
    # KIP-936's quota is for users only.
    assert scopes_of(TRAFFIC, Candidate(IDS, 1, Window(60), "client-id"))[0] == ("alice", "")


def test_the_admitted_amount_has_the_burst() -> None:
    assert Candidate(PRODUCER_BYTES, 10, Window(1, 11)).admitted == 10 * (60 + 10)
    assert Candidate(MUTATIONS, 10, Window(1, 11)).admitted == 10 * (60 + 11)
    assert Candidate(IDS, 10, Window(3600)).admitted == 10 * (1 + 24)


def test_a_value_that_a_broker_refuses_is_an_error() -> None:
    with pytest.raises(ValueError, match="cannot be a fractional value"):
        Candidate(PRODUCER_BYTES, 1.5, Window(1, 11)).limits()
    with pytest.raises(ValueError, match="must be greater than 0"):
        Candidate(MUTATIONS, 0, Window(1, 11)).limits()


def test_groups_keep_the_order_of_their_rows() -> None:
    found = {
        number: rows.tolist()
        for number, rows in groups(charged(TRAFFIC, PRODUCER_BYTES), TRAFFIC.client)
    }
    assert found == {0: [0], 1: [3]}
