"""Which rules fire, and how often."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.faults import table
from broker.faults.decision import FaultDecision
from broker.faults.rule import FaultRule, fault_rule
from broker.faults.table import FaultTable
from protocol import messages
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context
from tests.broker.faults.requests import GROUP, TOPIC, sample_request


def table_of(*rules: FaultRule) -> FaultTable:
    cluster = make_cluster()
    cluster.create_topic(TOPIC, [(1,), (2,)], {})
    table = FaultTable(cluster)
    for rule in rules:
        table.add(rule, NOW_MS)
    return table


def ask(
    table: FaultTable, api_key: ApiKey = ApiKey.METADATA, version: int = 9, **context: Any
) -> FaultDecision | None:
    return table.evaluate(
        make_context(api_key, version, **context), lambda: sample_request(api_key, version)
    )


def test_all_rules_together_have_a_bounded_number_of_patterns() -> None:
    where = {"group_id": [{"matches": f"g{number}"} for number in range(table.PATTERNS_MAX)]}
    faults = table_of(fault_rule(api="Heartbeat", where=where, delay_ms=0))
    faults.add(fault_rule(api="Heartbeat", where={"group_id": "g"}, delay_ms=0), NOW_MS)
    one_more = fault_rule(api="Heartbeat", where={"group_id": {"matches": "g"}}, delay_ms=0)
    with pytest.raises(ValueError, match=rf"where: all rules .* {table.PATTERNS_MAX} patterns"):
        faults.add(one_more, NOW_MS)
    assert faults.remove(1)
    faults.add(one_more, NOW_MS)


def fired_on(table: FaultTable, count: int) -> list[int]:
    """Return on which of `count` equal requests, counted from 1, a rule fires."""
    return [number for number in range(1, count + 1) if ask(table) is not None]


@pytest.mark.parametrize(
    ("firing", "expected"),
    [
        ({}, [1, 2, 3, 4, 5, 6, 7, 8]),
        ({"times": 1}, [1]),
        ({"times": 3}, [1, 2, 3]),
        ({"nth": 3}, [3]),
        ({"every": 3}, [3, 6]),
        ({"every": 3, "times": 1}, [3]),
        ({"skip": 5}, [6, 7, 8]),
        ({"skip": 2, "every": 2, "times": 2}, [4, 6]),
        ({"skip": 2, "nth": 2}, [4]),
        ({"probability": 1.0}, [1, 2, 3, 4, 5, 6, 7, 8]),
    ],
)
def test_the_trigger_decides_on_which_requests_a_rule_fires(
    firing: dict[str, Any], expected: list[int]
) -> None:
    table = table_of(fault_rule(delay_ms=1, **firing))
    assert fired_on(table, 8) == expected
    (state,) = table.rules()
    assert state.fire_count == len(expected)


def test_a_used_up_rule_stops_counting_and_a_table_without_active_rules_is_disabled() -> None:
    table = table_of(fault_rule(delay_ms=1, times=2), fault_rule(delay_ms=1, nth=3))
    assert table.is_enabled
    for _ in range(5):
        ask(table)
    assert not table.is_enabled
    assert [(rule.match_count, rule.fire_count) for rule in table.rules()] == [(2, 2), (3, 1)]


@pytest.mark.parametrize(
    ("matcher", "api_key", "context", "is_match"),
    [
        ({"api": "Metadata"}, ApiKey.METADATA, {}, True),
        ({"api": "Fetch"}, ApiKey.METADATA, {}, False),
        ({"version_min": 10}, ApiKey.METADATA, {}, False),
        ({"version_max": 8}, ApiKey.METADATA, {}, False),
        ({"version_min": 9, "version_max": 9}, ApiKey.METADATA, {}, True),
        ({"broker": 2}, ApiKey.METADATA, {"broker_id": 2}, True),
        ({"broker": 2}, ApiKey.METADATA, {"broker_id": 1}, False),
        ({"client_id": "c"}, ApiKey.METADATA, {"client_id": "c"}, True),
        ({"client_id": "c"}, ApiKey.METADATA, {"client_id": None}, False),
        ({"user": "alice"}, ApiKey.METADATA, {"principal": "alice"}, True),
        ({"user": "alice"}, ApiKey.METADATA, {}, False),
        ({"connection": 7}, ApiKey.METADATA, {"connection_id": 7}, True),
        ({"connection": 7}, ApiKey.METADATA, {}, False),
        ({"topic": TOPIC}, ApiKey.METADATA, {}, True),
        ({"topic": "other"}, ApiKey.METADATA, {}, False),
        ({"topic": TOPIC, "partition": 0}, ApiKey.OFFSET_COMMIT, {}, True),
        ({"topic": TOPIC, "partition": 9}, ApiKey.OFFSET_COMMIT, {}, False),
        ({"group": GROUP}, ApiKey.OFFSET_COMMIT, {}, True),
        ({"group": "other"}, ApiKey.OFFSET_COMMIT, {}, False),
        ({"transactional_id": "x"}, ApiKey.INIT_PRODUCER_ID, {}, False),
    ],
)
def test_a_rule_matches_the_requests_that_fit_its_fields(
    matcher: dict[str, Any], api_key: ApiKey, context: dict[str, Any], is_match: bool
) -> None:
    table = table_of(fault_rule(delay_ms=1, **matcher))
    version = {ApiKey.METADATA: 9, ApiKey.OFFSET_COMMIT: 8}.get(api_key, 4)
    assert (ask(table, api_key, version, **context) is not None) is is_match


def test_topics_named_by_id_are_matched_by_name() -> None:
    table = table_of(fault_rule(delay_ms=1, topic=TOPIC))
    assert ask(table, ApiKey.FETCH, 13) is not None


def test_a_rule_matches_between_after_ms_and_until_ms() -> None:
    table = table_of(fault_rule(delay_ms=1, after_ms=100, until_ms=200))
    times = [0, 99, 100, 199, 200]
    fired = [ms for ms in times if ask(table, now_ms=NOW_MS + ms) is not None]
    assert fired == [100, 199]
    assert table.rules()[0].match_count == 2


def test_the_first_deciding_rule_that_fires_decides_and_later_ones_are_skipped() -> None:
    table = table_of(
        fault_rule(drop="before_response", times=1),
        fault_rule(error="NOT_CONTROLLER", times=2),
        fault_rule(delay_ms=5),
    )
    decisions = [ask(table) for _ in range(4)]

    assert [v.drop if v else None for v in decisions] == [
        "before_response",
        None,
        None,
        None,
    ]
    assert [v.error.error if v and v.error else None for v in decisions] == [
        None,
        "NOT_CONTROLLER",
        "NOT_CONTROLLER",
        None,
    ]
    assert [v.delay_ms if v else None for v in decisions] == [5, 5, 5, 5]
    assert [rule.match_count for rule in table.rules()] == [1, 2, 4]
    assert decisions[0] is not None
    assert decisions[0].description == "#1 drop before_response; #3 delay_ms 5"


def test_ids_of_removed_rules_are_not_reused() -> None:
    table = table_of(fault_rule(delay_ms=1), fault_rule(delay_ms=2))
    assert table.remove(2)
    assert not table.remove(2)
    assert table.add(fault_rule(delay_ms=3), NOW_MS) == 3
    assert [rule.rule_id for rule in table.rules()] == [1, 3]
    table.clear()
    assert (table.rules(), table.is_enabled) == ([], False)


def test_a_rule_that_names_a_missing_broker_is_refused() -> None:
    with pytest.raises(ValueError, match="stop_broker: there is no broker 9, only 1, 2, 3"):
        table_of(fault_rule(stop_broker=9))


def test_a_list_of_rules_is_added_completely_or_not_at_all() -> None:
    table = table_of()
    wrong = [fault_rule(stop_broker=2, at_once=True), fault_rule(stop_broker=9)]
    with pytest.raises(ValueError, match=r"rule 2: stop_broker: there is no broker 9"):
        table.add_all(wrong, NOW_MS)
    assert table.rules() == []
    assert not table.is_enabled
    assert table.add_all([fault_rule(delay_ms=1), fault_rule(delay_ms=2)], NOW_MS) == [1, 2]
    assert table.is_enabled


def test_the_number_of_rules_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "RULES_MAX", 3)
    rules = FaultTable(make_cluster())
    rule = fault_rule(delay_ms=1)
    rules.add_all([rule, rule], NOW_MS)
    with pytest.raises(ValueError, match="there may be 3 rules"):
        rules.add_all([rule, rule], NOW_MS)
    assert len(rules.rules()) == 2


def test_an_at_once_rule_acts_when_it_is_added() -> None:
    cluster = make_cluster()
    table = FaultTable(cluster)
    table.add(fault_rule(stop_broker=2, at_once=True), NOW_MS)
    assert cluster.alive_broker_ids() == [1, 3]
    assert not table.is_enabled
    assert [rule.fire_count for rule in table.rules()] == [1]


def test_connection_rules_do_not_match_requests() -> None:
    table = table_of(
        fault_rule(refuse_connection=True, broker=2, times=1),
        fault_rule(delay_connection_ms=30, after_ms=50),
        fault_rule(delay_ms=1),
    )
    first = table.evaluate_connection(2, NOW_MS)
    assert first is not None
    assert (first.is_refused, first.delay_ms) == (True, 0)
    assert table.evaluate_connection(2, NOW_MS) is None
    late = table.evaluate_connection(1, NOW_MS + 50)
    assert late is not None
    assert (late.is_refused, late.delay_ms, late.description) == (
        False,
        30,
        "#2 delay_connection_ms 30",
    )
    # They do not match requests.
    decision = ask(table, now_ms=NOW_MS + 50)
    assert decision is not None
    assert [match.rule for match in decision.matches] == [fault_rule(delay_ms=1)]


@given(st.integers(0, 1000), st.floats(0.05, 0.95))
def test_the_same_seed_gives_the_same_choices(seed: int, probability: float) -> None:
    rule = fault_rule(delay_ms=10, jitter_ms=90, probability=probability, seed=seed)
    first, second = table_of(rule), table_of(rule)
    decisions = [(ask(first), ask(second)) for _ in range(30)]
    assert all((a and a.delay_ms) == (b and b.delay_ms) for a, b in decisions)
    assert all(a is None or 10 <= a.delay_ms <= 100 for a, _b in decisions)


def test_a_probability_holds_approximately_and_depends_on_the_seed() -> None:
    fired = [
        fired_on(table_of(fault_rule(delay_ms=1, probability=0.3, seed=seed)), 500)
        for seed in range(3)
    ]
    assert all(110 < len(numbers) < 190 for numbers in fired)
    assert fired[0] != fired[1] != fired[2]


def test_the_body_is_decoded_only_if_a_rule_needs_it() -> None:
    table = table_of(
        fault_rule(api="Metadata", delay_ms=1), fault_rule(api="Fetch", topic=TOPIC, delay_ms=1)
    )

    def decode() -> Any:
        raise AssertionError("nobody asked for topics")

    assert table.evaluate(make_context(ApiKey.METADATA, 9), decode) is not None
    calls: list[int] = []

    def decode_once() -> Any:
        calls.append(1)
        return messages.FetchRequest(version=11, topics=[])

    table.add(fault_rule(group=GROUP, delay_ms=1), NOW_MS)
    assert table.evaluate(make_context(ApiKey.FETCH, 11), decode_once) is None
    assert calls == [1]


def test_an_action_that_could_not_be_done_is_not_counted() -> None:
    cluster = make_cluster()
    table = FaultTable(cluster)
    table.add(fault_rule(leader="none", topic=TOPIC, times=1), NOW_MS)
    table.add(fault_rule(leader="none", topic=TOPIC, times=1, delay_ms=5), NOW_MS)
    decision = ask(table)
    assert decision is not None
    assert not table.is_enabled
    for match in decision.matches:
        table.undo(match)
    assert table.is_enabled
    # The second action still delayed the response.
    assert [rule.fire_count for rule in table.rules()] == [0, 1]
