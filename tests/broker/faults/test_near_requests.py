"""Why a rule has not fired agrees with the rule."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.faults import FaultRule, fault_rule
from broker.faults.decision import RuleState
from broker.faults.near_requests import ComparedRequest, RuleConditions, reasons
from broker.routes import ROUTES
from protocol.api_keys import ApiKey
from protocol.request_targets import request_targets
from tests.broker.cluster_builder import NOW_MS, make_context
from tests.broker.faults.requests import TOPIC, TOPIC_ID, sample_request
from tests.broker.faults.strategies import rules

VERSIONS = [
    (api_key, version)
    for api_key, route in sorted(ROUTES.items())
    for version in (route.version_min, route.version_max)
]


def topic_name(topic_id: UUID) -> str | None:
    return {TOPIC_ID: TOPIC}.get(topic_id)


def request_of(api_key: int, version: int, **fields: Any) -> ComparedRequest:
    request = sample_request(api_key, version)
    context = make_context(ApiKey(api_key), version, **fields)
    return ComparedRequest(
        context, request_targets(request).with_topic_names(topic_name), request, topic_name
    )


def fits(state: RuleState, request: ComparedRequest) -> bool:
    return state.matches(
        request.context,
        lambda: request.targets,
        lambda: request.request,
        topic_name,
        at_any_time=True,
    )


@given(rule=rules(), of=st.sampled_from(VERSIONS))
def test_a_request_differs_exactly_if_the_rule_does_not_match_it(
    rule: FaultRule, of: tuple[int, int]
) -> None:
    state, request = RuleState(1, rule, NOW_MS), request_of(*of)
    conditions = RuleConditions(state)
    differences = conditions.differences(request)
    assert bool(differences) is not fits(state, request)
    assert conditions.held(differences) >= 0


def differences(request: ComparedRequest, **rule: Any) -> list[str]:
    state = RuleState(1, fault_rule(delay_ms=0, **rule), NOW_MS)
    return [one.text for one in RuleConditions(state).differences(request)]


PRODUCE = 0
NAME, INDEX = "topic_data[].name", "topic_data[].partition_data[].index"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"api": "Fetch"}, ["api was Produce"]),
        ({"api": "Produce", "version_min": 10}, ["version was 9"]),
        ({"api": "Produce", "version_max": 8}, ["version was 9"]),
        ({"topic": "orders", "partition": 9}, ["topic was 't'", "partition was 0"]),
        ({"topic": TOPIC, "partition": 9}, ["partition was 0"]),
        (
            {"client_id": "x", "user": "bob"},
            ["client_id was 'test-client'", "user was 'ANONYMOUS'"],
        ),
        ({"broker": 2, "connection": 5}, ["broker was 1", "connection was 1"]),
        ({"listener": "SSL"}, ["listener was 'PLAINTEXT'"]),
        ({"group": "g"}, ["group was none"]),
        ({"transactional_id": "t"}, ["transactional_id was none"]),
        ({"resource": "alice"}, ["resource was none"]),
        ({"api": "Produce", "where": {NAME: "orders"}}, [f"{NAME} was 't'"]),
        (
            {"api": "Produce", "where": {NAME: TOPIC, INDEX: {"min": 5}}},
            [f"{INDEX} was 0"],
        ),
    ],
)
def test_each_condition_that_differs_is_named(rule: dict[str, Any], expected: list[str]) -> None:
    assert differences(request_of(PRODUCE, 9), **rule) == expected


@pytest.mark.parametrize("version", [9, 13])
def test_a_topic_has_its_name_whether_or_not_the_request_has_its_id(version: int) -> None:
    request = request_of(PRODUCE, version)
    assert differences(request, api="Produce", where={NAME: "orders"}) == [f"{NAME} was 't'"]
    assert differences(request, api="Produce", where={NAME: TOPIC}) == []
    for topic in request.request.topic_data:
        topic.name, topic.topic_id = "", UUID(int=7)
    shown = "''" if version == 9 else f"'{UUID(int=7)}'"
    unknown = ComparedRequest(request.context, request.targets, request.request, topic_name)
    assert differences(unknown, api="Produce", where={NAME: TOPIC}) == [f"{NAME} was {shown}"]


def test_conditions_that_no_element_fits_together_are_one_difference() -> None:
    request = request_of(PRODUCE, 9)
    topic = request.request.topic_data[0]
    other = type(topic)(version=9, name="other", partition_data=[])
    topic.partition_data[0].index = 3
    request.request.topic_data.append(other)
    where = {NAME: "other", INDEX: 3}
    assert differences(request, api="Produce", where=where) == [
        "where: no element fits all of its conditions"
    ]


def test_the_value_of_a_secret_is_not_shown() -> None:
    request = request_of(44, 1)  # IncrementalAlterConfigs
    config = request.request.resources[0].configs[0]
    config.name, config.value = "ssl.keystore.password", "top secret"
    [text] = differences(
        request,
        api="IncrementalAlterConfigs",
        where={"resources[].configs[].value": "guess"},
    )
    assert "top secret" not in text


def test_a_request_that_was_not_kept_is_not_compared_with_fields() -> None:
    request = request_of(PRODUCE, 9)
    unknown = ComparedRequest(request.context, request.targets, None, topic_name)
    assert differences(unknown, api="Produce", where={NAME: TOPIC}) == [
        "where is not compared: the request was not kept"
    ]


def test_an_action_that_is_for_other_requests_is_a_difference() -> None:
    state = RuleState(1, fault_rule(stale_metadata=True), NOW_MS)
    [one] = RuleConditions(state).differences(request_of(PRODUCE, 9))
    assert (one.field, one.text) == ("rule", "it has nothing that the action is for")


def obstacle(state: RuleState, fault: str | None = None, now_ms: int = NOW_MS) -> str | None:
    request = request_of(PRODUCE, 9, now_ms=now_ms)
    request.context.fault = fault
    found = RuleConditions(state).obstacle(request.context)
    return None if found is None else found.text


def test_a_request_that_fits_has_a_reason_why_the_rule_did_not_fire() -> None:
    rule = fault_rule(error=7, after_ms=100)
    state = RuleState(12, rule, NOW_MS)
    assert obstacle(state, "#12 error REQUEST_TIMED_OUT; #3 delay_ms 5") is None
    assert obstacle(state, "#1 drop before_response") == (
        "another rule took it: #1 drop before_response"
    )
    assert obstacle(state, now_ms=NOW_MS - 1) == "it came before the rule"
    assert obstacle(state) == "it came outside of after_ms and until_ms"
    assert obstacle(state, now_ms=NOW_MS + 200) == "it came before the rule"
    state.match_count = 1
    assert obstacle(state, now_ms=NOW_MS + 200) == "the rule matched it and did not fire"


def test_a_rule_that_waits_for_another_says_so() -> None:
    first = RuleState(1, fault_rule(name="moved", delay_ms=0, times=2), NOW_MS)
    second = RuleState(2, fault_rule(delay_ms=0, after="moved"), NOW_MS, after=first)
    assert reasons(second, NOW_MS) == [
        "it waits for the rule 'moved' (#1), which fired on 0 of 2 requests"
    ]
    assert obstacle(second) == "the rule waits for 'moved'"
    second.is_lost = True
    assert reasons(second, NOW_MS) == [
        "it can never fire: the rule in after never will, or was removed"
    ]


@pytest.mark.parametrize(
    ("rule", "counts", "expected"),
    [
        ({}, (0, 0), []),
        ({"skip": 3}, (2, 0), ["it matched 2 requests, fired on 0, and skip is 3"]),
        ({"nth": 3}, (1, 0), ["it matched 1 request, fired on 0, and nth is 3"]),
        ({"every": 2}, (3, 1), ["it matched 3 requests, fired on 1, and every is 2"]),
        ({"times": 1}, (1, 1), ["it is used up: it fired on 1 request"]),
        ({"after_ms": 100}, (0, 0), ["after_ms is 100, and 50 ms have passed"]),
        ({"until_ms": 20}, (0, 0), ["until_ms is 20, and 50 ms have passed"]),
    ],
)
def test_a_rule_has_reasons_not_to_fire(
    rule: dict[str, Any], counts: tuple[int, int], expected: list[str]
) -> None:
    state = RuleState(1, fault_rule(delay_ms=0, **rule), NOW_MS)
    state.match_count, state.fire_count = counts
    assert reasons(state, NOW_MS + 50) == expected


def test_a_rule_that_another_one_ended_and_one_that_was_released_say_so() -> None:
    first = RuleState(1, fault_rule(name="moved", delay_ms=0, times=1), NOW_MS)
    first.count_fire(NOW_MS)
    second = RuleState(2, fault_rule(delay_ms=0, until="moved"), NOW_MS, until=first)
    assert reasons(second, NOW_MS) == ["it ended when the rule 'moved' had fired"]
    held = RuleState(3, fault_rule(hold="before_response"), NOW_MS, is_released=True)
    assert reasons(held, NOW_MS) == ["its requests were released, and it holds no others"]
