"""A rule says the same in Python and in JSON, and what is wrong with it by name."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.faults.rule import ACTIONS, FaultRule, rules_from_json
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.faults.strategies import rules


@given(rules())
def test_json_is_read_back_as_it_was_written(rule: FaultRule) -> None:
    written = json.dumps(rule.to_json())
    assert FaultRule.from_json(json.loads(written)) == rule


def test_a_rule_is_written_with_what_it_says_and_no_more() -> None:
    rule = FaultRule(api="Produce", error="NOT_ENOUGH_REPLICAS", times=2)
    assert rule.to_json() == {"api": "Produce", "error": "NOT_ENOUGH_REPLICAS", "times": 2}


@pytest.mark.parametrize("name", ["InitProducerId", "INIT_PRODUCER_ID", "initproducerid", 22])
def test_an_api_goes_by_any_of_its_names(name: Any) -> None:
    rule = FaultRule(api=name, delay_ms=1)
    assert (rule.api, rule.api_key) == ("InitProducerId", ApiKey.INIT_PRODUCER_ID)


def test_an_error_goes_by_name_and_number() -> None:
    by_number = FaultRule.from_json({"error": 19})
    assert (by_number.error, by_number.error_code) == (
        "NOT_ENOUGH_REPLICAS",
        ErrorCode.NOT_ENOUGH_REPLICAS,
    )


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"tpoic": "a", "delay_ms": 1}, "tpoic: there is no such field; did you mean topic?"),
        ({"api": "Produse", "delay_ms": 1}, "api: there is no Produse; did you mean Produce?"),
        ({"error": "NOT_LEADER"}, "error: .* did you mean NOT_LEADER_OR_FOLLOWER?"),
        ({"error": ["x"]}, "error: there is no"),
        ({"error": 4711}, "error: there is no error code 4711"),
        ({"drop": "before"}, "drop: must be one of before_handling, .* did you mean before_"),
        ({"drop": ["before"]}, "drop: must be one of"),
        ({"api": "Produce"}, "the rule does nothing: it needs one of error, response"),
        ({"delay_ms": "5"}, "delay_ms: must be a whole number from 0"),
        ({"delay_ms": True}, "delay_ms: must be a whole number"),
        ({"delay_ms": -1}, "delay_ms: must be a whole number"),
        ({"delay_ms": 1, "topic": 3}, "topic: must be a text"),
        ({"delay_ms": 1, "mute": 1}, "mute: must be true or false"),
        ({"delay_ms": 1, "probability": 1.5}, "probability: must be a number from 0 to 1"),
        ({"delay_ms": 1, "probability": float("nan")}, "probability: must be"),
        ({"leader": "nxt", "topic": "a"}, "leader: must be a node id or next or none"),
        ({"error": "NONE"}, "error: NONE is none"),
        ({"error": 0}, "error: NONE is none"),
        ({"throttle_time_ms": 0}, "throttle_time_ms: must be a whole number from 1"),
        ({"delay_ms": 1, "until_ms": 0}, "until_ms: must be a whole number from 1"),
        ([1], "a rule is an object, not list"),
        ({"response": {}}, "response: needs api"),
        ({"response": 3, "api": "Fetch"}, "response: must be an object, not 3"),
        (
            {"response": {"node": 3}, "api": "FindCoordinator"},
            "response: node: there is no such field; did you mean node_id",
        ),
    ],
)
def test_what_is_wrong_is_named(rule: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FaultRule.from_json(rule)


def test_of_a_list_the_rule_is_named_that_is_wrong() -> None:
    assert [rule.delay_ms for rule in rules_from_json([{"delay_ms": 1}, {"delay_ms": 2}])] == [1, 2]
    with pytest.raises(ValueError, match="rule 2: drop: must be"):
        rules_from_json([{"delay_ms": 1}, {"drop": "x"}])


def test_a_document_may_be_one_rule_alone() -> None:
    assert rules_from_json({"delay_ms": 1}) == [FaultRule(delay_ms=1)]
    with pytest.raises(ValueError, match="a rule is an object, not str"):
        rules_from_json("delay_ms")


json_values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers())
)


@given(st.dictionaries(st.one_of(st.sampled_from([*ACTIONS, "api", "at"]), st.text()), json_values))
def test_any_object_is_a_rule_or_a_value_error(document: dict[str, Any]) -> None:
    try:
        rule = FaultRule.from_json(document)
    except ValueError:
        return
    assert rule.actions


@pytest.mark.parametrize(
    ("actions", "falsifies"),
    [
        ({"response": {}, "api": "Metadata"}, True),
        ({"response": {}, "api": "Metadata", "error": "NONE"}, True),
        ({"truncate_bytes": 1}, True),
        ({"corrupt_bytes": 1}, True),
        ({"oversize_bytes": 1}, True),
        ({"announce_bytes": 1}, True),
        ({"error": "NOT_CONTROLLER", "at": "before_response"}, False),
        ({"drop": "within_response"}, False),
        ({"hang": "before_response"}, False),
        ({"delay_ms": 1, "throttle_time_ms": 1, "bytes_per_second": 1}, False),
    ],
)
def test_a_rule_falsifies_a_response_when_it_changes_what_it_says(
    actions: dict[str, Any], falsifies: bool
) -> None:
    assert FaultRule(**actions).falsifies is falsifies
