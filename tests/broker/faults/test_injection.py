"""The effect of each fault on a client of the connection core, with a clock moved by the test."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.cluster.brokers import Availability
from broker.cluster.cluster import Cluster
from broker.faults.rule import FaultRule, fault_rule
from broker.journal.lines import Entry
from broker.request.context import RequestContext
from broker.routes import ROUTES, Route
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.connection_driver import fetch_frame, metadata_frame, request_frame
from tests.broker.faults.faulty_clients import Clients, produce_frame
from tests.broker.faults.requests import TOPIC, sample_message
from tests.broker.faults.strategies import rules
from tests.examples import examples

CLOSED = "closed"


def produced(result: bytes) -> Any:
    response = messages.ProduceResponse.decode(result[4:], version=8)
    return response.responses[0].partition_responses[0]


# Outcome of a request -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "stored", "outcome"),
    [
        (fault_rule(drop="before_handling"), 0, CLOSED),
        (fault_rule(drop="before_response"), 1, CLOSED),
        (fault_rule(hang="before_handling"), 0, []),
        (fault_rule(hang="before_response"), 1, []),
        (fault_rule(error="NOT_ENOUGH_REPLICAS"), 0, [ErrorCode.NOT_ENOUGH_REPLICAS]),
        (fault_rule(error="REQUEST_TIMED_OUT", at="before_response"), 1, [7]),
        (fault_rule(stop_broker="self"), 0, CLOSED),
        (fault_rule(stop_broker="self", at="before_response"), 1, CLOSED),
        (fault_rule(leader="next", topic=TOPIC), 0, [ErrorCode.NOT_LEADER_OR_FOLLOWER]),
        (fault_rule(leader="none", topic=TOPIC), 0, [ErrorCode.NOT_LEADER_OR_FOLLOWER]),
        (fault_rule(leader="next", topic=TOPIC, at="before_response"), 1, [0]),
    ],
)
def test_a_fault_before_or_after_handling_decides_whether_records_are_stored(
    rule: FaultRule, stored: int, outcome: Any
) -> None:
    clients = Clients(rule)
    clients.send(produce_frame(1))
    clients.advance(3_600_000)

    assert clients.stored == stored
    if outcome == CLOSED:
        assert (clients.closed[0] or "").startswith("fault #1 ")
        assert clients.written == [b""]
    else:
        assert clients.closed == [None]
        assert [produced(response).error_code for response in clients.responses()] == outcome
    assert clients.bugs == []


def test_after_a_hang_later_requests_get_no_response() -> None:
    clients = Clients(fault_rule(api="Produce", hang="before_response"))
    clients.send(metadata_frame(1) + produce_frame(2) + metadata_frame(3))
    clients.advance(3_600_000)
    assert clients.ids() == [1]
    assert clients.connections[0].is_waiting


@pytest.mark.parametrize("at", ["delay_ms", "delay_request_ms"])
def test_a_delayed_response_delays_later_ones_until_the_clock_advances(at: str) -> None:
    clients = Clients(fault_rule(api="Produce", **{at: 500}))
    clients.send(metadata_frame(1) + produce_frame(2) + metadata_frame(3))
    assert (clients.ids(), clients.stored) == ([1], 0 if at == "delay_request_ms" else 1)
    clients.advance(499)
    assert clients.ids() == [1]
    clients.advance(1)
    assert (clients.ids(), clients.stored) == ([1, 2, 3], 1)


def test_the_delay_of_a_pending_response_begins_at_its_completion() -> None:
    clients = Clients(fault_rule(api="Fetch", delay_ms=300), count=2)
    clients.send(fetch_frame(1, TOPIC, max_wait_ms=10_000))
    clients.advance(1_000)
    clients.send(produce_frame(9), number=1)
    assert clients.ids(1) == [9]
    clients.advance(299)
    assert clients.ids() == []
    clients.advance(1)
    assert clients.ids() == [1]


def test_a_limited_rate_delays_the_response_until_its_last_byte() -> None:
    clients = Clients(fault_rule(bytes_per_second=1000))
    data = metadata_frame(1)
    clients.send(data)
    byte_count = len(data) - 4
    clients.advance(byte_count)
    assert clients.ids() == []
    clients.advance(1000)
    assert byte_count + len(clients.written[0]) <= 1000 + byte_count
    assert clients.ids() == [1]


def test_a_drop_within_the_response_sends_only_its_beginning() -> None:
    clients = Clients(fault_rule(drop="within_response", drop_after_bytes=11))
    clients.send(metadata_frame(1) + metadata_frame(2))
    assert len(clients.written[0]) == 11
    assert clients.closed[0] == "fault #1 drop within_response"


def test_a_rule_sends_the_wrong_bytes_that_it_describes() -> None:
    right = Clients()
    right.send(metadata_frame(1))
    frame = right.written[0]
    for rule, wrong in (
        (fault_rule(truncate_bytes=3), (len(frame) - 7).to_bytes(4, "big") + frame[4:-3]),
        (fault_rule(oversize_bytes=2), (len(frame) - 2).to_bytes(4, "big") + frame[4:] + b"\0\0"),
        (fault_rule(announce_bytes=5), (5).to_bytes(4, "big") + frame[4:]),
    ):
        clients = Clients(rule)
        clients.send(metadata_frame(1))
        assert clients.written[0] == wrong
    clients = Clients(fault_rule(corrupt_bytes=2))
    clients.send(metadata_frame(1))
    assert sum(a != b for a, b in zip(frame, clients.written[0], strict=True)) == 2


def test_acks_0_gets_no_response_and_an_error_closes_the_connection() -> None:
    clients = Clients(fault_rule(api="Produce", delay_ms=5, corrupt_bytes=1))
    clients.send(produce_frame(1, acks=0) + metadata_frame(2))
    clients.advance(5)
    assert (clients.ids(), clients.stored) == ([2], 1)
    clients = Clients(fault_rule(error="CORRUPT_MESSAGE"))
    clients.send(produce_frame(1, acks=0))
    assert (clients.closed[0], clients.stored) == ("Produce with acks=0 failed by a fault rule", 0)
    clients = Clients(fault_rule(drop="within_response"))
    clients.send(produce_frame(1, acks=0))
    assert clients.closed[0] == "fault #1 drop within_response"


# Throttles ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("api_key", "version"),
    [
        (api_key, version)
        for api_key, route in sorted(ROUTES.items())
        for version in range(route.version_min, route.version_max + 1)
        if messages.has_throttle_time(ApiKey(api_key), version) and api_key != ApiKey.JOIN_GROUP
    ],
)
def test_every_api_with_a_throttle_time_can_be_throttled(api_key: int, version: int) -> None:
    clients = Clients(fault_rule(throttle_time_ms=1234, api=api_key))
    request = request_frame(sample_message(api_key, version), version, 1)
    clients.send(request + metadata_frame(2))
    clients.advance(1233)
    assert clients.bugs == []
    (response,) = clients.responses()
    header_bytes = 4 + (messages.is_flexible(ApiKey(api_key), version) and api_key != 18)
    response_class = messages.response_class(ApiKey(api_key))
    assert response_class.decode(response[header_bytes:], version=version).throttle_time_ms == 1234
    clients.advance(1)
    assert len(clients.responses()) == 2 or api_key == ApiKey.METADATA


def test_a_throttle_time_may_be_returned_without_muting_the_connection() -> None:
    clients = Clients(fault_rule(throttle_time_ms=1234, mute=False))
    clients.send(produce_frame(1) + produce_frame(2))
    responses = clients.responses()
    throttle_times_ms = [
        messages.ProduceResponse.decode(a[4:], version=8).throttle_time_ms for a in responses
    ]
    assert throttle_times_ms == [1234, 1234]


def test_the_mute_begins_with_a_late_response() -> None:
    clients = Clients(fault_rule(throttle_time_ms=100, delay_ms=500, times=1))
    clients.send(metadata_frame(1) + metadata_frame(2))
    clients.advance(599)
    assert clients.ids() == [1]
    clients.advance(1)
    assert clients.ids() == [1, 2]


def test_a_quotas_mute_begins_with_a_delayed_response_too() -> None:
    quota = {"client.quotas": "user=<default>,producer_byte_rate=10"}
    clients = Clients(fault_rule(delay_ms=20_000, times=1), overrides=quota)
    clients.send(produce_frame(1) + produce_frame(2))
    clients.advance(20_000)
    (response,) = clients.responses()
    throttle_time_ms = messages.ProduceResponse.decode(response[4:], version=8).throttle_time_ms
    assert 0 < throttle_time_ms < 20_000
    clients.advance(throttle_time_ms - 1)
    assert clients.ids() == [1]
    clients.advance(1)
    assert clients.ids() == [1, 2]


# Loss and stop --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule",
    [
        fault_rule(delay_ms=500),
        fault_rule(delay_request_ms=500),
        fault_rule(hang="before_response"),
        fault_rule(hang="before_handling"),
        fault_rule(api="Fetch", error="NOT_CONTROLLER", at="before_response"),
    ],
)
def test_a_disconnect_cancels_delayed_responses(rule: FaultRule) -> None:
    clients = Clients(rule)
    timer_count = len(clients.cluster.timers)
    clients.send(fetch_frame(1, TOPIC, max_wait_ms=1_000))
    clients.connections[0].lose()
    assert len(clients.cluster.timers) == timer_count
    assert not clients.topic.partitions[0].log.waiters


@pytest.mark.parametrize("rule", [fault_rule(delay_ms=500), fault_rule(delay_request_ms=500)])
def test_a_stop_completes_delayed_responses_at_once(rule: FaultRule) -> None:
    clients = Clients(rule)
    clients.send(fetch_frame(1, TOPIC, max_wait_ms=1_000))
    clients.connections[0].force_complete(clients.now_ms)
    clients.settle()
    assert clients.ids() == [1]


def test_an_exception_in_a_delayed_handler_closes_only_that_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_arguments: Any) -> Any:
        raise RuntimeError("broken")

    route = ROUTES[ApiKey.DESCRIBE_CLUSTER]
    monkeypatch.setitem(ROUTES, ApiKey.DESCRIBE_CLUSTER, Route(**_fields(route, broken)))
    clients = Clients(fault_rule(api="DescribeCluster", delay_request_ms=5), count=2)
    frame = request_frame(messages.DescribeClusterRequest(version=0), 0, 1)
    clients.send(frame)
    clients.advance(5)
    assert (clients.closed[0] or "").startswith("internal error in DESCRIBE_CLUSTER")
    assert [str(bug) for bug in clients.bugs] == ["broken"]
    clients.send(metadata_frame(2), number=1)
    assert clients.ids(1) == [2]


def _fields(route: Any, handler: Any) -> dict[str, Any]:
    return {name: getattr(route, name) for name in Route.__slots__} | {"handler": handler}


def test_the_context_of_a_request_names_the_rules_that_fired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str | None] = []
    route = ROUTES[ApiKey.METADATA]

    def watching(context: RequestContext, request: Any, cluster: Cluster) -> Any:
        seen.append(context.fault)
        return route.handler(context, request, cluster)

    monkeypatch.setitem(ROUTES, ApiKey.METADATA, Route(**_fields(route, watching)))
    clients = Clients(
        fault_rule(api="Metadata", delay_ms=5, times=1), fault_rule(throttle_time_ms=1)
    )
    clients.send(metadata_frame(1) + metadata_frame(2))
    clients.advance(7)
    clients.dispatcher.faults.clear()
    clients.send(metadata_frame(3))
    assert seen == ["#1 delay_ms 5; #2 throttle_time_ms 1", "#2 throttle_time_ms 1", None]


def test_an_undecodable_body_closes_the_connection_also_when_rules_decode_it() -> None:
    clients = Clients(fault_rule(topic=TOPIC, delay_ms=1))
    clients.send(b"\0\0\0\x0c\0\x03\0\x01\0\0\0\x07\xff\xff\x7f\xff")
    assert (clients.closed[0] or "").startswith("undecodable METADATA v1")
    assert clients.bugs == []


# Properties -----------------------------------------------------------------------------------

requests = st.one_of(
    st.builds(lambda: produce_frame(1)),
    st.builds(lambda: produce_frame(1, acks=0)),
    st.builds(lambda: fetch_frame(1, TOPIC, max_wait_ms=400)),
    st.sampled_from(
        [(key, v) for key, r in sorted(ROUTES.items()) for v in {r.version_min, r.version_max}]
    ).map(lambda api: request_frame(sample_message(*api), api[1], 1)),
)
scripts = st.lists(st.tuples(requests, st.integers(0, 3000)), min_size=1, max_size=6)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(rules(), min_size=1, max_size=4), scripts)
def test_any_rules_with_any_requests_raise_no_exception(
    faults: list[FaultRule], script: list[tuple[bytes, int]]
) -> None:
    clients = Clients(*faults)
    for data, wait_ms in script:
        clients.send(data)
        clients.advance(wait_ms)
    clients.connections[0].force_complete(clients.now_ms)
    clients.advance(600_000)
    clients.connections[0].lose()
    assert clients.bugs == []
    for state in clients.dispatcher.faults.rules():
        assert 0 <= state.fire_count <= state.match_count <= len(script)
        assert state.rule.trigger.times is None or state.fire_count <= state.rule.trigger.times


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(rules(), min_size=1, max_size=4), scripts)
def test_the_same_rules_and_seeds_give_the_same_bytes(
    faults: list[FaultRule], script: list[tuple[bytes, int]]
) -> None:
    seen = []
    for _ in range(2):
        clients = Clients(*faults)
        for data, wait_ms in script:
            clients.send(data)
            clients.advance(wait_ms)
        counts = [(rule.match_count, rule.fire_count) for rule in clients.dispatcher.faults.rules()]
        seen.append((clients.written, clients.closed, counts))
    assert seen[0] == seen[1]


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(rules(may_touch_cluster=False), min_size=1, max_size=4), scripts)
def test_rules_do_not_change_responses_on_other_connections(
    faults: list[FaultRule], script: list[tuple[bytes, int]]
) -> None:
    of_the_first = [fault_rule(**(rule.to_json() | {"connection": 1})) for rule in faults]
    clients = Clients(*of_the_first, count=2)
    for number, (data, wait_ms) in enumerate(script):
        clients.send(data)
        clients.send(metadata_frame(number), number=1)
        assert clients.ids(1) == list(range(number + 1))
        clients.advance(wait_ms)
    assert clients.closed[1] is None
    assert all(
        broker.availability is Availability.UP for broker in clients.cluster.brokers.values()
    )


def test_a_leader_that_cannot_move_is_reported_in_the_journal_and_not_counted() -> None:
    clients = Clients(
        fault_rule(api="Metadata", topic="new", leader="none", times=1),
        fault_rule(api="Metadata", topic="new", leader="none", at="before_response", times=1),
    )
    clients.dispatcher.journal.is_enabled = True
    for number in range(2):
        request = messages.MetadataRequest(
            version=9,
            topics=[messages.MetadataRequest.MetadataRequestTopic(version=9, name="new")],
            allow_auto_topic_creation=True,
        )
        clients.send(request_frame(request, 9, number))
    # The first created the topic, whose leader was gone for the response; the second found it.
    lines = [line for line in clients.dispatcher.journal if isinstance(line, Entry)]
    first, second = (line.context.fault or "" for line in lines)
    assert "#1 leader none" in first
    assert first.endswith("(nothing was done: there is no topic new)")
    assert second == "#1 leader none"
    assert [rule.fire_count for rule in clients.dispatcher.faults.rules()] == [1, 1]
