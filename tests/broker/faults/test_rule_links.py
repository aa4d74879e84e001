"""Rules that begin or end when another rule has fired."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.faults.rule import FaultRule, fault_rule
from broker.faults.rule_links import Links, circle
from broker.faults.table import FaultTable
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context
from tests.broker.faults.requests import TOPIC, sample_request

SYNC, FIND = ApiKey.SYNC_GROUP, ApiKey.FIND_COORDINATOR


def table_of(*rules: dict[str, Any]) -> FaultTable:
    cluster = make_cluster(3)
    cluster.create_topic(TOPIC, [(1, 2, 3), (2, 3, 1)], {})
    table = FaultTable(cluster)
    table.add_all([fault_rule(**rule) for rule in rules], NOW_MS)
    return table


def ask(table: FaultTable, api_key: ApiKey = ApiKey.METADATA, now_ms: int = NOW_MS) -> list[str]:
    """Send a request; return the names of the rules that fire on it."""
    context = make_context(api_key, 3, now_ms=now_ms)
    decision = table.evaluate(context, lambda: sample_request(api_key, 3))
    return [] if decision is None else [str(match.rule.name) for match in decision.matches]


def count(name: str, **rule: Any) -> dict[str, Any]:
    return {"name": name, "delay_ms": 0, **rule}


def test_a_rule_begins_with_the_request_after_the_one_that_another_fired_on() -> None:
    table = table_of(count("a", times=2), count("b", after="a", times=1), count("c", after="b"))
    assert [ask(table) for _ in range(4)] == [["a"], ["a"], ["b"], ["c"]]
    assert [state.is_armed for state in table.rules()] == [False, False, True]


def test_the_second_request_after_another_one_fails() -> None:
    table = table_of(
        count("synced", api="SyncGroup"),
        {"name": "fails", "api": "FindCoordinator", "error": 15, "after": "synced", "nth": 2},
    )
    assert [ask(table, key) for key in (FIND, FIND, SYNC, FIND, FIND, FIND)] == [
        [],
        [],
        ["synced"],
        [],
        ["fails"],
        [],
    ]


def test_a_rule_ends_when_another_has_fired() -> None:
    table = table_of(count("a", until="end"), count("end", api="SyncGroup", times=2))
    keys = (FIND, SYNC, SYNC, FIND)
    assert [ask(table, key) for key in keys] == [["a"], ["a", "end"], ["a", "end"], []]
    assert not table.is_enabled


def test_times_count_from_the_moment_a_rule_begins() -> None:
    table = table_of(count("a", api="SyncGroup"), count("b", after="a", after_ms=100, until_ms=200))
    assert ask(table, now_ms=NOW_MS + 150) == []
    assert ask(table, SYNC, now_ms=NOW_MS + 1000) == ["a"]
    times = (1099, 1100, 1199, 1200)
    assert [ask(table, now_ms=NOW_MS + ms) for ms in times] == [[], ["b"], ["b"], []]


def test_a_rule_waits_for_the_latest_rule_before_it_with_the_name() -> None:
    table = table_of(count("x", api="SyncGroup"))
    table.add_all(
        [
            fault_rule(**rule)
            for rule in (
                count("x", api="FindCoordinator"),
                count("b", after="x"),
                count("c", until="y"),
                count("y", api="Heartbeat"),
            )
        ],
        NOW_MS,
    )
    assert ask(table, SYNC) == ["x", "c"]
    assert ask(table, FIND) == ["x", "c"]
    assert ask(table, SYNC) == ["x", "b", "c"]
    table.add(fault_rule(**count("d", after="c")), NOW_MS)  # it has fired: there is no wait
    assert ask(table, ApiKey.HEARTBEAT) == ["b", "c", "y", "d"]


def test_a_rule_at_once_and_a_new_connection_count_as_well() -> None:
    table = table_of(
        {"name": "moved", "topic": TOPIC, "leader": "next", "at_once": True},
        count("a", after="moved"),
        {"name": "refused", "refuse_connection": True, "times": 1},
        {"name": "late", "delay_connection_ms": 5, "after": "refused", "times": 1},
        count("b", after="late"),
    )
    assert ask(table) == ["a"]
    decisions = [table.evaluate_connection(1, NOW_MS) for _ in range(3)]
    assert [decision and decision.is_refused for decision in decisions] == [True, False, None]
    assert ask(table) == ["a", "b"]


def test_rules_that_wait_for_a_rule_that_is_gone_never_fire() -> None:
    table = table_of(
        count("a", api="SyncGroup"), count("b", after="a"), count("c", after="b"), count("d")
    )
    assert table.remove(1)
    assert [state.is_used_up for state in table.rules()] == [True, True, False]
    with pytest.raises(ValueError, match="after: the rule 'b' can never fire any more"):
        table.add(fault_rule(**count("e", after="b")), NOW_MS)


def test_rules_that_wait_for_one_that_fires_no_more_are_used_up() -> None:
    table = table_of(count("a", nth=1, probability=0.0), count("b", after="a"))
    assert ask(table) == []
    assert [state.is_used_up for state in table.rules()] == [True, True]
    assert not table.is_enabled


def test_a_leader_that_could_not_move_is_no_move() -> None:
    table = table_of(
        {"name": "moved", "topic": TOPIC, "api": "Metadata", "leader": 2}, count("a", after="moved")
    )
    context = make_context(ApiKey.METADATA, 3)
    decision = table.evaluate(context, lambda: sample_request(ApiKey.METADATA, 3))
    assert decision is not None
    table.undo(decision.matches[0])
    assert [(state.fire_count, state.is_armed) for state in table.rules()] == [
        (0, True),
        (0, False),
    ]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([count("a", after="b")], "after: there is no rule with the name 'b'"),
        (
            [count("synced"), count("b", until="synched")],
            "rule 2: until: there is no rule with the name 'synched'; did you mean synced?",
        ),
        ([count("a", after="a")], "after: the rule would wait for itself"),
        (
            [count("a"), count("b", after="a", until="a")],
            "rule 2: until: is the same rule as after",
        ),
        (
            [count("a", after="c"), count("b", after="a"), count("c", after="b"), count("d")],
            "after: these rules wait for each other, none could fire: a, c, b",
        ),
        (
            [{"topic": TOPIC, "leader": "next", "at_once": True, "after": "a"}],
            "after: at_once waits for no request",
        ),
    ],
)
def test_rules_that_could_never_fire_are_refused(rules: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - compared below
        table_of(*rules)
    assert message in str(raised.value)


def test_a_rule_without_its_past_can_be_added_to_another_cluster() -> None:
    table = table_of(
        count("a", times=1),
        count("b", after="a"),
        count("c", after="b", until="d"),
        count("d", api="SyncGroup"),
    )
    ask(table)
    table.remove(4)
    kept = [state.without_past() for state in table.rules() if not state.is_used_up]
    assert kept == [{"name": "b", "delay_ms": 0}, {"name": "c", "after": "b", "delay_ms": 0}]
    copies = [FaultRule.from_json(json.loads(json.dumps(rule))) for rule in kept]
    assert FaultTable(make_cluster()).add_all(copies, NOW_MS) == [1, 2]


@given(st.lists(st.integers(-1, 5), min_size=6, max_size=6))
def test_a_circle_is_found_exactly_if_there_is_one(waits: list[int]) -> None:
    links = [Links(None if after < 0 else after, None) for after in waits]

    def ends(place: int) -> bool:
        for _ in range(7):
            if waits[place] < 0:
                return True
            place = waits[place]
        return False

    found = circle(links)
    assert bool(found) is not all(map(ends, range(6)))
    for place, following in zip(found, [*found[1:], *found[:1]], strict=True):
        assert waits[place] == following
