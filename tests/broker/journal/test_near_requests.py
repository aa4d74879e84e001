"""What comes nearest to a filter agrees with the filter."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.journal.lines import Entry
from broker.journal.near_requests import conditions_of, near_requests
from broker.journal.rendering import JournalFilter
from protocol.pacing import paced
from tests.broker.connection_driver import Client, fetch_frame, metadata_frame
from tests.broker.journal.journalled_cluster import journalled_cluster, produce_frame


def journalled_client() -> Client:
    cluster = journalled_cluster()
    cluster.create_topic("orders", [(1,)], {})
    client = Client(cluster)
    client.send(metadata_frame(1) + produce_frame("orders", 2) + produce_frame("order", 3))
    client.send(fetch_frame(4, "orders", max_wait_ms=0) + produce_frame("order", 5))
    return client


def no_topic_name(_topic_id: UUID) -> None:
    """Know the name of no topic id."""


def near(client: Client, **conditions: Any) -> list[str]:
    lines = paced(reversed(client.dispatcher.journal))
    found = near_requests(lines, JournalFilter(**conditions), no_topic_name)
    return list(map(str, found))


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (
            {"api": "Produce", "topic": "orders", "partition": 1},
            [
                "#2 Produce v9 of 'test': partition was 0",
                "#5 Produce v9 of 'test': topic was 'order', partition was 0 (2 times)",
            ],
        ),
        (
            {"api": "produce", "since": 5},
            ["#5 Produce v9 of 'test': it came before since (3 times)"],
        ),
        ({"api": "Fetch", "client_id": "x"}, ["#4 Fetch v11 of 'test': client_id was 'test'"]),
        (
            {"api": "Produce", "topic": "order", "error": "NOT_ENOUGH_REPLICAS", "user": "alice"},
            [
                (
                    "#5 Produce v9 of 'test': user was 'ANONYMOUS', "
                    "error was UNKNOWN_TOPIC_OR_PARTITION (2 times)"
                ),
                "#2 Produce v9 of 'test': topic was 'orders', user was 'ANONYMOUS', error was none",
            ],
        ),
        (
            {"api": "Fetch", "outcome": "waiting", "fault": "#1", "denied": True},
            [
                "#4 Fetch v11 of 'test': outcome was responded, fault was none, denied was False",
            ],
        ),
        (
            {"api": "Fetch", "broker": 2, "connection": 7, "group": "g"},
            ["#4 Fetch v11 of 'test': group was none, broker was 1, connection was 1"],
        ),
        ({"kind": "disconnect", "broker": 9}, []),
        ({}, []),
    ],
)
def test_each_field_that_differs_is_named(conditions: dict[str, Any], expected: list[str]) -> None:
    assert near(journalled_client(), **conditions) == expected


def test_a_condition_on_the_time_has_the_time_of_the_request() -> None:
    client = journalled_client()
    [newest, *_] = reversed(client.dispatcher.journal)
    assert isinstance(newest, Entry)
    assert near(client, api="Fetch", since_ms=newest.received_ms + 1) == [
        f"#4 Fetch v11 of 'test': since_ms was {newest.received_ms}"
    ]


CONDITIONS = {
    "api": st.sampled_from(["Produce", "Fetch", "Metadata"]),
    "topic": st.sampled_from(["orders", "order", "x"]),
    "partition": st.integers(0, 1),
    "client_id": st.sampled_from(["test", "x"]),
    "outcome": st.sampled_from(["responded", "waiting"]),
    "since": st.integers(0, 6),
    "error": st.sampled_from(["UNKNOWN_TOPIC_OR_PARTITION", "NONE"]),
}


@given(st.fixed_dictionaries({}, optional=CONDITIONS))
def test_exactly_the_requests_that_do_not_fit_are_compared(conditions: dict[str, Any]) -> None:
    client = journalled_client()
    line_filter = JournalFilter(**conditions)
    journal = client.dispatcher.journal
    misfits = {line.number for line in journal if not line_filter.fits(line, no_topic_name)}
    found = near_requests(paced(reversed(journal)), line_filter, no_topic_name)
    assert {miss.newest.number for miss in found} <= misfits
    assert bool(found) == bool(misfits)
    names = set(conditions_of(line_filter))
    for miss in found:
        differing = {difference.field for difference in miss.newest.differences}
        assert differing <= names
        assert miss.newest.held == len(names) - len(differing)
