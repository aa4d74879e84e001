"""A replay has the batches of the trace in their order, at scaled times, from as many clients."""

from collections import Counter
from typing import Any

import pytest

from loadgen.learning.replayed_traffic import ReplayedTraffic, Scale, replayed
from loadgen.plan.replayed_batch import unpack
from loadgen.plan.schedule import ARROW_SCHEMA, event_counts
from tests.loadgen.learning.made_traffic import ZERO_US, Row, plan_of, rows_of, traffic_of

Event = dict[str, Any]
CHURN = "name: loop, behaviour: restart-loop, topic: t, rate: 5, batches: 3"
STEADY = "name: shop, behaviour: steady, topic: t, clients: 4, rate: 20, record_bytes: [50, 900]"


def replay(rows: list[Row], **scale: Any) -> tuple[ReplayedTraffic, list[Event]]:
    found = replayed(traffic_of(rows), "again", Scale(**scale), {})
    assert found.events.schema == ARROW_SCHEMA
    return found, found.events.to_pylist()


def test_every_batch_is_an_event_at_its_scaled_time_with_its_shape() -> None:
    rows = sorted(rows_of(plan_of(STEADY)), key=lambda row: row["time_us"])
    found, events = replay(rows, speed=4)
    zero_us = rows[0]["time_us"]
    assert [event["t_us"] for event in events] == [
        round((row["time_us"] - zero_us) / 4) for row in rows
    ]
    for event, row in zip(events, rows, strict=True):
        batch = unpack(event["salt"])
        assert (batch.partition, batch.topic, batch.records) == (row["partition"], 0, 1)
        assert (
            batch.record_bytes
            == {50: 50, 900: 900}[row["batch_bytes"] - 68 - (row["batch_bytes"] > 200) * 2]
        )
    assert [(topic.name, topic.partitions) for topic in found.plan.topics] == [("replay.t", 4)]
    (tenant,) = found.plan.tenants
    assert (tenant.name, tenant.clients, tenant.arrival) == ("shop", 4, "trace")
    assert event_counts(found.plan) == [len(rows)]
    assert found.left_out == {}


def test_a_client_has_one_producer_of_the_trace_at_a_time_and_in_order() -> None:
    rows = sorted(rows_of(plan_of(CHURN)), key=lambda row: row["time_us"])
    _, events = replay(rows)
    current: dict[int, int] = {}
    for event, row in zip(events, rows, strict=True):
        if unpack(event["salt"]).is_first:
            current[event["client"]] = row["producer_id"]
        assert current[event["client"]] == row["producer_id"]
    first_batches = sum(unpack(event["salt"]).is_first for event in events)
    assert first_batches == len({row["producer_id"] for row in rows})
    assert len(current) < first_batches / 10


@pytest.mark.parametrize(("number", "clients"), [(3, 12), (0.5, 2), (1.5, 6)])
def test_the_number_of_clients_is_scaled_with_their_events(number: float, clients: int) -> None:
    rows = rows_of(plan_of(STEADY))
    by_client = Counter(row["client_id"] for row in rows)
    found, events = replay(rows, number=number)
    assert found.plan.tenants[0].clients == clients
    counts = Counter(event["client"] for event in events)
    assert set(counts) == set(range(clients))
    assert set(counts.values()) <= set(by_client.values())
    assert event_counts(found.plan) == [len(events)]


def test_ids_of_events_are_counted_by_tenant_and_clients_over_all_of_them() -> None:
    found, events = replay(rows_of(plan_of(STEADY, CHURN)))
    counts = event_counts(found.plan)
    first_client = 0
    for index, tenant in enumerate(found.plan.tenants):
        ids = [event["event_id"] for event in events if event["tenant"] == index]
        assert sorted(ids) == ids == list(range(sum(counts[:index]), sum(counts[: index + 1])))
        clients = {event["client"] for event in events if event["tenant"] == index}
        assert clients == set(range(first_client, first_client + tenant.clients))
        first_client += tenant.clients


def test_changes_of_topics_are_tenants_by_their_size() -> None:
    rows: list[Row] = [
        {"time_us": 5, "api": "CreateTopics", "client_id": "m", "topics": 2, "mutations": 6},
        {"time_us": 6, "api": "CreateTopics", "client_id": "m", "topics": 2, "mutations": 6},
        {"time_us": 7, "api": "CreateTopics", "client_id": "m", "topics": 1, "mutations": 9},
        {"time_us": 8, "api": "DeleteTopics", "client_id": "m"},
        {"time_us": 9, "api": "Metadata", "client_id": "m"},
    ]
    found, events = replay(rows)
    assert {
        (tenant.name, tenant.behaviour, tenant.topics_per_request, tenant.partitions)
        for tenant in found.plan.tenants
    } == {
        ("m-topic-creator", "topic-creator", 1, 9),
        ("m-topic-creator-ANONYMOUS", "topic-creator", 2, 3),
        ("m-topic-deleter", "topic-deleter", 1, 1),
    }
    assert [event["t_us"] for event in events] == [0, 1, 2, 3]
    assert found.left_out == {"Metadata": 1}
    assert found.plan.topics == ()


def test_without_producer_ids_connections_send() -> None:
    row = {"api": "Produce", "topic": "t", "request_bytes": 160}
    rows: list[Row] = [{**row, "time_us": n, "connection": str(n % 2)} for n in range(6)]
    found, events = replay(rows)
    (tenant,) = found.plan.tenants
    assert (tenant.clients, tenant.idempotent) == (2, False)
    assert [event["client"] for event in events] == [0, 1, 0, 1, 0, 1]


def test_users_get_their_passwords() -> None:
    rows: list[Row] = [{"time_us": 1, "api": "Produce", "topic": "t", "user": "alice"}]
    plan = replayed(traffic_of(rows), "p", Scale(), {"alice": "secret"}).plan
    assert [(tenant.user, tenant.password) for tenant in plan.tenants] == [("alice", "secret")]


@pytest.mark.parametrize(
    ("rows", "scale", "expected"),
    [
        ([{"time_us": 1, "api": "Metadata"}], {}, "there are no Produce requests"),
        (
            [{"time_us": ZERO_US * n, "api": "Produce"} for n in range(2)],
            {},
            "the replay lasts 1800000000 s, and 86400 s are the maximum: use --speed",
        ),
        ([{"time_us": 1, "api": "Produce"}], {"number": 0.1}, "0.1 clients for each one"),
        (
            [{"time_us": 1, "api": "Produce", "partition": 70_000}],
            {},
            "partition 70000 is above 65535",
        ),
        (
            [{"time_us": n, "api": "Produce", "topic": f"t{n}"} for n in range(2049)],
            {},
            "2049 topics are more than 2048",
        ),
        (
            [{"time_us": 1, "api": "Produce"}],
            {"number": 200_000},
            "more than 100000 clients: use --number",
        ),
    ],
)
def test_what_cannot_be_replayed_is_refused(
    rows: list[Row], scale: dict[str, float], expected: str
) -> None:
    with pytest.raises(ValueError, match=expected):
        replay(rows, **scale)
