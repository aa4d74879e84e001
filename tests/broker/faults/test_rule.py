"""A rule is the same in Python and in JSON, and errors name the field."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.faults.actions import Drop, Error, FalsifyingAction, Hang, StopBroker
from broker.faults.match import Match, Trigger
from broker.faults.rule import FIELDS, FaultRule, fault_rule, rules_from_json
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.faults.strategies import rules


@given(rules())
def test_a_rule_survives_the_round_trip_through_json(rule: FaultRule) -> None:
    written = json.dumps(rule.to_json())
    assert FaultRule.from_json(json.loads(written)) == rule


def test_json_has_the_fields_that_differ_from_their_defaults() -> None:
    rule = fault_rule(api="Produce", error="NOT_ENOUGH_REPLICAS", times=2)
    assert rule.to_json() == {"api": "Produce", "error": "NOT_ENOUGH_REPLICAS", "times": 2}


@pytest.mark.parametrize("name", ["InitProducerId", "INIT_PRODUCER_ID", "initproducerid", 22])
def test_an_api_can_be_given_by_any_of_its_names(name: Any) -> None:
    rule = fault_rule(api=name, delay_ms=1)
    assert (rule.match.api, rule.match.api_key) == ("InitProducerId", ApiKey.INIT_PRODUCER_ID)


def test_an_error_can_be_given_by_name_or_number() -> None:
    by_number = FaultRule.from_json({"error": 19}).action(Error)
    assert by_number is not None
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
        ({"drop": "before_respond"}, "drop: must be one of .* did you mean before_response"),
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
        ({"error": "NONE"}, "error: NONE is no error"),
        ({"error": 0}, "error: NONE is no error"),
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
def test_an_error_names_the_field_and_the_nearest_word(rule: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FaultRule.from_json(rule)


def test_an_error_names_the_rule_of_a_list() -> None:
    delays = [{"delay_ms": 1}, {"delay_ms": 2}]
    assert [rule.to_json() for rule in rules_from_json(delays)] == delays
    with pytest.raises(ValueError, match="rule 2: drop: must be"):
        rules_from_json([{"delay_ms": 1}, {"drop": "x"}])


def test_a_document_may_be_a_single_rule() -> None:
    assert rules_from_json({"delay_ms": 1}) == [fault_rule(delay_ms=1)]
    with pytest.raises(ValueError, match="a rule is an object, not str"):
        rules_from_json("delay_ms")


json_values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers())
)


@given(st.dictionaries(st.one_of(st.sampled_from(list(FIELDS)), st.text()), json_values))
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
def test_rules_that_change_the_meaning_of_a_response_are_falsifying(
    actions: dict[str, Any], falsifies: bool
) -> None:
    assert fault_rule(**actions).has_action(FalsifyingAction) is falsifies


def test_the_flat_form_becomes_a_match_a_trigger_and_actions() -> None:
    rule = fault_rule(
        api="Produce",
        nth=2,
        stop_broker=1,
        elect=False,
        error="NONE",
        response={},
        at="before_response",
    )
    assert (rule.match, rule.trigger) == (Match(api="Produce"), Trigger(nth=2))
    assert [type(action).__name__ for action in rule.actions] == [
        "Error",
        "PatchResponse",
        "StopBroker",
    ]
    stop = rule.action(StopBroker)
    assert stop == StopBroker(1, elect=False, at="before_response")
    assert rule.action(Hang) is None


def test_a_rule_can_be_built_from_its_parts() -> None:
    rule = FaultRule(match=Match(topic="t"), actions=(Drop("within_response", 5),))
    assert rule.to_json() == {"topic": "t", "drop": "within_response", "drop_after_bytes": 5}
    with pytest.raises(ValueError, match="partition: must be a whole number"):
        Match(partition=-1)
    with pytest.raises(ValueError, match="drop: is there twice"):
        FaultRule(actions=(Drop("before_response"), Drop("before_handling")))
    with pytest.raises(ValueError, match="at: differs between the actions"):
        FaultRule(actions=(Error("NOT_CONTROLLER"), StopBroker(1, at="before_response")))


def test_an_action_that_is_false_is_left_out() -> None:
    assert fault_rule(stale_metadata=False, delay_ms=1).to_json() == {"delay_ms": 1}
    with pytest.raises(ValueError, match="the rule does nothing"):
        fault_rule(refuse_connection=False)


def test_an_option_with_its_default_value_needs_no_action() -> None:
    assert fault_rule(delay_ms=1, mute=True, skip=0) == fault_rule(delay_ms=1)
