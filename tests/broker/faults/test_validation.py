"""A rule that contradicts itself or can never fire is refused; every other rule can fire."""

import json
from copy import copy
from functools import cache, partial
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.faults import FaultRule, fault_rule
from broker.faults.table import FaultTable
from broker.routes import ROUTES
from protocol import codec, produce_decoder
from protocol.api_keys import ApiKey
from protocol.request_targets import targets_in_schema
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context
from tests.broker.faults.group_members import join
from tests.broker.faults.requests import GROUP, TOPIC, sample_message
from tests.broker.faults.strategies import rules, rules_without_a_request
from tests.examples import examples

ID = "x"
TRIES = 200


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"api": "Produce"}, "the rule does nothing: it needs one of error, response"),
        # When it fires.
        ({"delay_ms": 1, "nth": 2, "every": 2}, "nth: excludes every and times"),
        ({"delay_ms": 1, "after_ms": 9, "until_ms": 5}, "until_ms: 5 is not after after_ms, 9"),
        ({"delay_ms": 1, "after_ms": 5, "until_ms": 5}, "until_ms: 5 is not after after_ms, 5"),
        # Fields that need other fields.
        ({"leader": 2}, "leader: needs topic"),
        ({"change_records": "flip_byte"}, "change_records: needs api to be Produce or Fetch"),
        (
            {"change_records": "flip_byte", "api": "Metadata"},
            "change_records: needs api to be Produce or Fetch",
        ),
        (
            {"change_records": "swap_batches", "api": "Fetch"},
            "change_records: swap_batches is for Produce alone",
        ),
        (
            {"change_records": "flip_byte", "api": "Fetch", "schema_id": 3},
            "schema_id: needs change_records to be replace_schema_id",
        ),
        (
            {"change_records": "reverse_records", "api": "Fetch", "record_index": 3},
            "record_index: reverse_records is not of one record",
        ),
        (
            {"change_records": "flip_byte", "api": "Produce", "drop": "before_handling"},
            "change_records: has no effect, drop ends the request before",
        ),
        (
            {"change_records": "flip_byte", "api": "Fetch", "drop": "before_response"},
            "change_records: has no effect, drop ends the request before",
        ),
        ({"coordinator": "next"}, "coordinator: needs group or transactional_id"),
        ({"delay_ms": 1, "restart_after_ms": 5}, "restart_after_ms: needs stop_broker or isolate"),
        ({"delay_ms": 1, "elect": False}, "elect: needs stop_broker or isolate_broker"),
        ({"start_broker": 1, "elect": True}, "elect: needs stop_broker or isolate_broker"),
        ({"delay_ms": 1, "mute": False}, "mute: needs throttle_time_ms"),
        (
            {"hang": "before_response", "jitter_ms": 5},
            "jitter_ms: needs delay_request_ms or delay_ms",
        ),
        ({"delay_ms": 1, "at": "before_response"}, "at: needs error or leader"),
        ({"delay_ms": 1, "drop_after_bytes": 5}, "drop_after_bytes: needs drop"),
        (
            {"drop": "before_handling", "drop_after_bytes": 5},
            "drop_after_bytes: needs drop to be w",
        ),
        (
            {"drop": "before_response", "drop_after_bytes": 5},
            "drop_after_bytes: needs drop to be wi",
        ),
        # Requests that do not exist.
        (
            {"delay_ms": 1, "version_min": 5, "version_max": 4},
            "version_max: 4 is below version_min",
        ),
        ({"api": "Heartbeat", "delay_ms": 1, "version_min": 5}, "version_min: .* are 0 to 4"),
        ({"delay_ms": 1, "version_min": 99}, "version_min: the versions of such requests are 0 to"),
        ({"api": "Heartbeat", "delay_ms": 1, "partition": 1}, "partition: Heartbeat names none"),
        ({"api": "Heartbeat", "delay_ms": 1, "topic": "t"}, "topic: Heartbeat names none"),
        ({"api": "Metadata", "delay_ms": 1, "partition": 1}, "partition: Metadata names none"),
        ({"api": "Fetch", "delay_ms": 1, "group": "g"}, "group: Fetch names none"),
        ({"api": "Fetch", "delay_ms": 1, "transactional_id": "x"}, "transactional_id: Fetch names"),
        ({"api": "CreateTopics", "delay_ms": 1, "partition": 0}, "partition: CreateTopics names"),
        (
            {"api": "FindCoordinator", "delay_ms": 1, "transactional_id": "x", "version_max": 0},
            "transactional_id: FindCoordinator names none in these versions",
        ),
        (
            {"api": "FindCoordinator", "delay_ms": 1, "group": "g", "transactional_id": "x"},
            "transactional_id: no request names it together with group",
        ),
        ({"api": "Heartbeat", "topic": "t", "leader": "none"}, "topic: Heartbeat names none"),
        ({"stale_metadata": True, "api": "Fetch"}, "stale_metadata: is for DescribeCluster, Desc"),
        ({"stale_metadata": True, "partition": 0}, "partition: such a request names none"),
        (
            {"api": "SaslHandshake", "throttle_time_ms": 5, "mute": False},
            "mute: no response of SaslHandshake has a throttle time",
        ),
        # Without any request.
        ({"delay_ms": 1, "at_once": True}, "at_once: is for leader, coordinator"),
        ({"stop_broker": "self", "at_once": True}, "at_once: no broker receives a request"),
        ({"stop_broker": 1, "at_once": True, "nth": 2}, "nth: at_once waits for no request"),
        ({"stop_broker": 1, "at_once": True, "after_ms": 2}, "after_ms: at_once waits for no req"),
        ({"stop_broker": 1, "at_once": True, "api": "Fetch"}, "api: at_once waits for no request"),
        ({"stop_broker": 1, "at_once": True, "topic": "t"}, "topic: at_once waits for no request"),
        ({"stop_broker": 1, "at_once": True, "broker": 1}, "broker: at_once waits for no request"),
        (
            {"stop_broker": 1, "at_once": True, "at": "before_response"},
            "at: at_once waits for no request",
        ),
        ({"refuse_connection": True, "api": "Fetch"}, "api: a new connection has none yet"),
        ({"refuse_connection": True, "user": "alice"}, "user: a new connection has none yet"),
        ({"delay_connection_ms": 1, "delay_ms": 1}, "delay_ms: a new connection has none yet"),
        (
            {"refuse_connection": True, "stop_broker": 1},
            "stop_broker: a new connection has none",
        ),
        (
            {"refuse_connection": True, "delay_connection_ms": 5},
            "delay_connection_ms: .* is refused",
        ),
        # Actions after the end of the request.
        ({"hang": "before_response", "drop": "before_response"}, "hang: excludes drop"),
        ({"hang": "before_handling", "drop": "within_response"}, "hang: excludes drop"),
        ({"hang": "before_response", "error": 5}, "error: has no effect, hang"),
        ({"drop": "before_response", "error": 5}, "error: has no effect, drop"),
        (
            {"drop": "before_response", "delay_ms": 5},
            "delay_ms: has no effect, drop",
        ),
        ({"hang": "before_response", "corrupt_bytes": 5}, "corrupt_bytes: has no effect, hang"),
        ({"hang": "before_response", "throttle_time_ms": 5}, "throttle_time_ms: has no effect"),
        ({"drop": "before_handling", "delay_request_ms": 5}, "delay_request_ms: has no effect"),
        ({"hang": "before_handling", "stale_metadata": True}, "stale_metadata: has no effect"),
        (
            {"stop_broker": "self", "error": 5},
            "error: has no effect, stop_broker",
        ),
        (
            {"stop_broker": 2, "broker": 2, "hang": "before_response"},
            "hang: has no effect, stop_b",
        ),
        ({"stop_broker": "self", "delay_request_ms": 5}, "delay_request_ms: has no effect"),
        (
            {"hang": "before_handling", "stop_broker": 1, "at": "before_response"},
            "at: the request never gets to before_response, hang ends it before",
        ),
        (
            {"api": "Fetch", "response": {}, "hang": "before_response"},
            "response: has no effect, hang",
        ),
        ({"error": 3, "stale_metadata": True}, "stale_metadata: the response is an error"),
        # Brokers.
        ({"stop_broker": 1, "isolate_broker": 1}, "isolate_broker: the same broker is named by st"),
        ({"stop_broker": 1, "start_broker": 1}, "start_broker: the same broker is named by stop_b"),
    ],
)
def test_a_contradiction_is_refused_with_the_name_of_the_field(
    rule: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        FaultRule.from_json(rule)


@pytest.mark.parametrize(
    "rule",
    [
        {"delay_ms": 0},
        {"api": "Produce", "error": "NONE", "response": {"throttle_time_ms": 3}},
        {"drop": "within_response", "error": 5, "delay_ms": 3},
        {"drop": "before_response", "delay_request_ms": 3},
        {"hang": "before_response", "isolate_broker": 1, "at": "before_response"},
        {"stop_broker": "self", "at": "before_response", "delay_request_ms": 3, "elect": False},
        {"stop_broker": 2, "broker": 1, "error": 5},
        {"stop_broker": 1, "start_broker": 2},
        {"topic": "t", "stale_metadata": True, "error": 3},
        {"leader": "none", "topic": "t", "partition": 0, "at_once": True},
        {"coordinator": 1, "group": "g", "transactional_id": "x", "at_once": True},
        {"group": "g", "topic": "t", "partition": 1, "delay_ms": 1},
        {"topic": "t", "transactional_id": "x", "delay_ms": 1},
        {"refuse_connection": True, "broker": 2, "skip": 1, "after_ms": 5},
        {"delay_connection_ms": 5, "jitter_ms": 5, "seed": 3},
        {"throttle_time_ms": 5, "mute": False},
    ],
)
def test_a_rule_that_can_fire_is_accepted(rule: dict[str, Any]) -> None:
    assert FaultRule.from_json(rule).actions


@cache
def request_of(api_key: ApiKey, version: int, has_id: bool) -> tuple[Any, Any]:
    """Return a request that names topic and group, or with `has_id` the transactional id.

    First as its handler gets it, then as decoded by its schema.
    """
    message = sample_message(api_key, version)
    if has_id and api_key == ApiKey.FIND_COORDINATOR:
        message.key, message.key_type, message.coordinator_keys = ID, 1, [ID]
    elif has_id and api_key == ApiKey.ADD_PARTITIONS_TO_TXN and version >= 4:
        message.transactions[0].transactional_id = ID
    elif has_id and api_key == ApiKey.DESCRIBE_TRANSACTIONS:
        message.transactional_ids = [ID]
    elif has_id and api_key == ApiKey.ADD_PARTITIONS_TO_TXN:
        message.v3_and_below_transactional_id = ID
    elif has_id:
        message.transactional_id = ID
    body = bytes(message.encode(version=version))
    decoded = codec.decode_request(api_key, version, body, 0, len(body))
    if ROUTES[api_key].is_raw:
        return produce_decoder.decode_request(version, body, 0, len(body)), decoded
    return decoded, decoded


def can_name_id(api_key: ApiKey, version: int) -> bool:
    return any("transactional_id" in names for names in targets_in_schema(api_key, version))


def fires(rule: FaultRule) -> bool:
    """Return whether there is a request or a connection on which the rule fires."""
    cluster = make_cluster(3)
    cluster.create_topic(TOPIC, [(1, 2, 3), (2, 3, 1)], {})
    join(cluster, GROUP)
    cluster.timers.on_advance = lambda _duration_ms: None
    table = FaultTable(cluster)
    table.add(rule, NOW_MS)
    (state,) = table.rules()
    now_ms = NOW_MS + (rule.trigger.after_ms or 0)
    broker_id = rule.match.broker or 1
    if rule.matches_connections:
        for _ in range(TRIES):
            table.evaluate_connection(broker_id, now_ms)
    for api_key, route in sorted(ROUTES.items()):
        for version, has_id in product(
            range(route.version_min, route.version_max + 1), (False, True)
        ):
            context = make_context(
                ApiKey(api_key),
                version,
                broker_id=broker_id,
                now_ms=now_ms,
                client_id=rule.match.client_id,
                connection_id=rule.match.connection or 1,
                principal=rule.match.user or "ANONYMOUS",
            )
            if has_id and not can_name_id(ApiKey(api_key), version):
                continue
            request, decoded = request_of(ApiKey(api_key), version, has_id)
            before = state.match_count
            decode, decode_by_schema = partial(copy, request), partial(copy, decoded)
            table.evaluate(context, decode, decode_by_schema)
            for _ in range(TRIES if state.match_count > before else 0):
                table.evaluate(context, decode, decode_by_schema)
            if state.fire_count:
                return True
    return bool(state.fire_count)


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(st.one_of(rules(), rules_without_a_request()))
def test_every_accepted_rule_can_fire_and_is_the_same_in_json(rule: FaultRule) -> None:
    assert FaultRule.from_json(json.loads(json.dumps(rule.to_json()))) == rule
    named = {"topic": TOPIC, "partition": 0, "group": GROUP, "transactional_id": ID}
    possible: dict[str, Any] = {
        name: value for name, value in named.items() if getattr(rule.match, name) is not None
    }
    # A rule for one request alone may never fire if its probability is below 1.
    trigger = rule.trigger
    if trigger.probability is not None:
        possible["probability"] = 1.0 if trigger.nth is not None else max(trigger.probability, 0.5)
    assert any(
        fires(fault_rule(**{**rule.to_json(), **possible, **resource}))
        for resource in resources(rule)
    )


def resources(rule: FaultRule) -> list[dict[str, Any]]:
    """Return the resources that sample requests name, if the rule is for one."""
    if rule.match.resource is None:
        return [{}]
    return [{"resource": name} for name in (TOPIC, "alice", "m", "")]
