"""Fault rules over the admin port: add, count, remove."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.faults import FaultRule, fault_rule, rules_from_json
from broker.faults.actions import ACTION_NAMES
from broker.http_admin.faults import (
    FaultPath,
    FaultView,
    FaultWaitQuery,
    add_faults,
    add_rules,
    clear_faults,
    fault_views,
    remove_fault,
    wait_for_fault,
)
from broker.http_admin.operation import Problem, encode_result
from broker.http_admin.requests import ListQuery
from broker.http_admin.service import ResetBody, reset
from tests.broker.cluster_builder import NOW_MS
from tests.broker.connection_driver import Client, metadata_frame
from tests.broker.faults.requests import TOPIC
from tests.broker.faults.strategies import rules, rules_without_a_request
from tests.broker.http_admin.admin_server import Site, listed_requests, make_admin, serving_site
from tests.examples import examples

ACTIONS: dict[str, Any] = {
    "error": 3,
    "response": {"throttle_time_ms": 7},
    "throttle_time_ms": 5,
    "delay_request_ms": 5,
    "delay_ms": 5,
    "bytes_per_second": 100,
    "request_bytes_per_second": 100,
    "response_bytes_per_second": 100,
    "trickle_bytes": 5,
    "change_records": "drop_record",
    "drop": "within_response",
    "hang": "before_handling",
    "hold": "before_handling",
    "truncate_bytes": 5,
    "corrupt_bytes": 5,
    "oversize_bytes": 5,
    "announce_bytes": -1,
    "stale_metadata": True,
    "leader": "next",
    "coordinator": 2,
    "stop_broker": "self",
    "isolate_broker": 2,
    "fence_broker": 2,
    "start_broker": 3,
    "refuse_connection": True,
    "delay_connection_ms": 5,
    "api_versions": "3.9",
    "members": "rebalance",
    "advance_ms": 5,
}
"""A value of each action."""
NEEDED: dict[str, dict[str, Any]] = {
    "response": {"api": "Metadata"},
    "change_records": {"api": "Produce"},
    "leader": {"topic": TOPIC},
    "coordinator": {"group": "g"},
    "members": {"group": "g"},
}


async def test_a_rule_that_fires_is_counted_and_named_in_the_journal() -> None:
    admin = make_admin()
    added = await add_faults(admin, fault_rule(api="Metadata", drop="before_response", nth=2))
    assert isinstance(added, FaultView)
    assert (added.id, added.matched, added.fired) == (1, 0, 0)
    assert added.rule == {"api": "Metadata", "drop": "before_response", "nth": 2}

    client = Client(admin.cluster, dispatcher=admin.server.dispatcher)
    client.send(metadata_frame(1) + metadata_frame(2))
    (view,) = fault_views(admin)
    assert (view.matched, view.fired, view.is_used_up) == (2, 1, True)
    first, second = await listed_requests(admin, ListQuery())
    assert (first["outcome"], first["fault"]) == ("responded", None)
    assert (second["outcome"], second["fault"]) == ("closed", "#1 drop before_response")
    assert len(await listed_requests(admin, ListQuery(fault="#1"))) == 1


async def test_a_request_that_hangs_is_in_the_journal_as_waiting() -> None:
    admin = make_admin()
    await add_faults(admin, fault_rule(api="Metadata", hang="before_response"))
    Client(admin.cluster, dispatcher=admin.server.dispatcher).send(metadata_frame(1))

    (line,) = await listed_requests(admin, ListQuery())
    assert (line["outcome"], line["response"]) == ("waiting", None)
    assert line["fault"] == "#1 hang before_response"


async def test_a_delayed_response_is_in_the_journal_before_and_after() -> None:
    admin = make_admin()
    await add_faults(admin, fault_rule(api="Metadata", delay_ms=500))
    client = Client(admin.cluster, dispatcher=admin.server.dispatcher)
    client.send(metadata_frame(1))
    assert (await listed_requests(admin, ListQuery()))[0]["outcome"] == "waiting"
    client.settle(NOW_MS + 500)
    assert (await listed_requests(admin, ListQuery()))[0]["outcome"] == "responded"


async def test_rules_are_removed_one_by_one_or_all() -> None:
    admin = make_admin()
    for _ in range(3):
        await add_faults(admin, fault_rule(delay_ms=1))
    remove_fault(admin, FaultPath(2))
    assert [view.id for view in fault_views(admin)] == [1, 3]
    with pytest.raises(Problem) as caught:
        remove_fault(admin, FaultPath(2))
    assert caught.value.status == 404
    clear_faults(admin)
    assert fault_views(admin) == []


async def test_a_rule_for_a_missing_broker_is_refused() -> None:
    with pytest.raises(Problem, match="9") as caught:
        await add_faults(make_admin(), fault_rule(stop_broker=9, at_once=True))
    assert caught.value.status == 422


@pytest.mark.parametrize(
    ("rule", "detail"),
    [
        ({"erorr": "NOT_ENOUGH_REPLICAS"}, "erorr"),
        ({"error": "NOT_ENOUGH_REPLICA"}, "NOT_ENOUGH_REPLICAS"),
        ({"times": 0, "error": 5}, "times"),
        ([1], "rule 1: a rule is an object"),
        ([{"delay_ms": 1}, {"delay": 1}], "rule 2: delay: there is no such field"),
        (3, "a rule is an object"),
    ],
)
async def test_an_invalid_rule_gets_a_message_with_the_problem(rule: object, detail: str) -> None:
    await check_refusal(rule, 400, detail)


@pytest.mark.parametrize(
    ("rule", "detail"),
    [
        ([{"delay_ms": 1}, {"broker": 9, "delay_ms": 1}], "rule 2: broker: there is no broker 9"),
        ([{"delay_ms": 1}, {"nth": 2, "times": 1, "delay_ms": 1}], "rule 2: nth: excludes every"),
        ({"drop_after_bytes": 7, "delay_ms": 1}, "drop_after_bytes: needs drop"),
        ({}, "the rule does nothing"),
    ],
)
async def test_a_rule_that_contradicts_itself_is_refused_as_such(rule: object, detail: str) -> None:
    await check_refusal(rule, 422, detail)


async def check_refusal(rule: object, expected: int, detail: str) -> None:
    async with serving_site() as site:
        status, document = await site.ask("POST", "/v1/faults", json=rule)
        assert status == expected
        assert detail in document["detail"]
        assert await site.ask("GET", "/v1/faults") == (200, [])
        status, added = await site.ask("POST", "/v1/faults", json={"delay_ms": 5})
        assert (status, added["id"], added["rule"]) == (201, 1, {"delay_ms": 5})


async def test_a_list_of_rules_is_added_in_order_and_returned_with_ids() -> None:
    async with serving_site() as site:
        rules = [{"api": "Produce", "hang": "before_response"}, {"delay_ms": 5}]
        status, added = await site.ask("POST", "/v1/faults", json=rules)
        assert status == 201
        assert [(view["id"], view["rule"]) for view in added] == [(1, rules[0]), (2, rules[1])]
        assert await site.ask("POST", "/v1/faults", json=[]) == (201, [])
        assert await site.ask("GET", "/v1/faults") == (200, added)


async def kafka_connection(site: Site) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", site.kafka_ports[0])


async def test_a_request_is_held_until_it_is_released() -> None:
    async with serving_site() as site:
        await site.ask("POST", "/v1/faults", json={"api": "Metadata", "hold": "before_response"})
        held = asyncio.create_task(site.ask("GET", "/v1/faults/1/wait?held=2"))
        connections = [await kafka_connection(site) for _ in range(3)]
        for _reader, writer in connections[:2]:
            writer.write(metadata_frame(1))
        status, view = await held
        assert (status, view["held"], view["fired"], view["is_armed"]) == (200, 2, 2, True)
        _, lines = await site.ask("GET", "/v1/requests?outcome=held")
        assert [line["fault"] for line in lines] == ["#1 hold before_response"] * 2

        _, view = await site.ask("POST", "/v1/faults/1/release", json={"count": 1})
        assert (view["held"], view["is_used_up"]) == (1, False)
        _, view = await site.ask("POST", "/v1/faults/1/release", json={})
        assert (view["held"], view["is_used_up"], view["is_armed"]) == (0, True, False)
        connections[2][1].write(metadata_frame(1))  # it holds no others
        for reader, writer in connections:
            await reader.readexactly(8)
            writer.close()


async def test_a_wait_ends_when_the_rule_fires_and_after_its_timeout() -> None:
    async with serving_site() as site:
        await site.ask("POST", "/v1/faults", json={"api": "Metadata", "delay_ms": 0})
        status, problem = await site.ask("GET", "/v1/faults/1/wait?timeout_ms=1")
        assert status == 408
        assert problem["reason"] == "rule 1 (delay_ms 0) fired 0 of 1 in 0.001 s, and matched 0"
        status, view = await site.ask("GET", "/v1/faults/1/wait?fired=0")
        assert (status, view["fired"]) == (200, 0)
        waiting = asyncio.create_task(site.ask("GET", "/v1/faults/1/wait?fired=1"))
        _reader, writer = await kafka_connection(site)
        writer.write(metadata_frame(1))
        assert (await waiting)[1]["fired"] == 1
        writer.close()
        assert (await site.ask("GET", "/v1/faults/9/wait"))[0] == 404
        assert (await site.ask("POST", "/v1/faults/9/release", json={}))[0] == 404


@pytest.mark.parametrize("is_reset", [False, True])
async def test_a_wait_ends_with_its_rule(is_reset: bool) -> None:
    admin = make_admin()
    admin.server.first_faults = (fault_rule(delay_ms=7),)  # with the same id after a reset
    await add_faults(admin, fault_rule(api="Metadata", delay_ms=0))
    query = FaultWaitQuery(fired=1)
    waiting = asyncio.create_task(wait_for_fault(admin, FaultPath(1), query))
    await asyncio.sleep(0)
    if is_reset:
        await reset(admin, ResetBody())
    else:
        remove_fault(admin, FaultPath(1))
    with pytest.raises(Problem, match="there is no rule 1") as caught:
        await waiting
    assert caught.value.status == 404


async def test_a_reset_removes_rules_and_restores_those_of_the_start() -> None:
    async with serving_site() as site:
        site.admin.server.first_faults = (fault_rule(delay_ms=7),)
        await add_faults(site.admin, fault_rule(delay_ms=1))
        await add_faults(site.admin, fault_rule(delay_ms=2))
        await reset(site.admin, ResetBody())
        assert [view.rule for view in fault_views(site.admin)] == [{"delay_ms": 7}]
        await asyncio.sleep(0)


async def test_the_list_of_rules_can_be_posted_again() -> None:
    rules = [{"api": "Produce", "error": "NOT_ENOUGH_REPLICAS", "nth": 3}, {"delay_ms": 1}]
    async with serving_site() as site:
        await site.ask("POST", "/v1/faults", json=rules)
        _, listed = await site.ask("GET", "/v1/faults")
        await site.ask("DELETE", "/v1/faults")
        status, added = await site.ask("POST", "/v1/faults", json=listed)
        assert status == 201
        assert [view["rule"] for view in added] == rules
        status, one = await site.ask("POST", "/v1/faults", json=listed[0])
        assert (status, one["rule"]) == (201, rules[0])
        status, problem = await site.ask("POST", "/v1/faults", json=[{"rule": rules[0]}])
        assert (status, "no such field" in problem["detail"]) == (400, True)


def relisted(rules_: list[FaultRule]) -> tuple[list[Any], list[Any]]:
    """Return what GET lists of rules, and what it lists on a new cluster that got that by POST."""
    listed: list[list[Any]] = []
    document: Any = None
    for _ in range(2):
        admin = make_admin()
        admin.cluster.create_topic(TOPIC, [(1, 2, 3)] * 2, {})
        add_rules(admin, rules_ if document is None else rules_from_json(document))
        document = json.loads(encode_result(fault_views(admin)))
        listed.append([view["rule"] for view in document])
    return listed[0], listed[1]


@pytest.mark.parametrize("name", ACTION_NAMES)
def test_a_listed_rule_of_each_action_can_be_posted(name: str) -> None:
    rule = fault_rule(**{name: ACTIONS[name]}, **NEEDED.get(name, {}))
    before, after = relisted([rule])
    assert name in before[0]
    assert before == after


@settings(max_examples=examples(100))
@given(st.lists(st.one_of(rules(), rules_without_a_request()), max_size=3))
def test_all_listed_rules_can_be_posted(rules_: list[FaultRule]) -> None:
    before, after = relisted(rules_)
    assert before == [rule.to_json() for rule in rules_]
    assert after == before


async def test_a_reset_frees_what_is_held() -> None:
    async with serving_site() as site:
        await site.ask("POST", "/v1/faults", json={"api": "Metadata", "hold": "before_handling"})
        reader, writer = await kafka_connection(site)
        writer.write(metadata_frame(1))
        await site.ask("GET", "/v1/faults/1/wait?held=1")
        held = site.admin.faults.held
        assert (held.count, held.size_bytes > 0) == (1, True)
        await site.ask("POST", "/v1/reset", json={})
        assert await reader.read() == b""  # the connection was closed
        assert (held.count, held.size_bytes) == (0, 0)
        writer.close()
        reader, writer = await kafka_connection(site)
        writer.write(metadata_frame(1))
        await reader.readexactly(8)
        writer.close()
