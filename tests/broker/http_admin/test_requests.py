"""The journal over the admin port."""

from dataclasses import fields
from typing import Any, get_args, get_type_hints

import pytest

from broker.http_admin.requests import (
    JournalQuery,
    ListQuery,
    clear_requests,
    get_journal,
    journal_filter,
    list_requests,
)
from broker.http_admin.state import Admin
from broker.journal import rendering
from broker.journal.lines import Outcome
from broker.journal.rendering import REQUEST_FIELDS, JournalFilter
from mock_kafka.arguments import RequestFilter
from protocol import messages
from protocol.pacing import LOOK_EVERY
from tests.broker.connection_driver import Client, metadata_frame, request_frame
from tests.broker.http_admin.admin_server import listed_requests, make_admin
from tests.broker.interleaving import run_with_pauses
from tests.broker.journal.journalled_cluster import produce_frame
from tests.protocol.counting_turn import pauses_of


@pytest.fixture
def admin() -> Admin:
    """1, 2, 3: Metadata; 4: Produce."""
    admin = make_admin()
    client = Client(admin.cluster, dispatcher=admin.server.dispatcher)
    client.send(b"".join(map(metadata_frame, (1, 2, 3))) + produce_frame("a", 4))
    return admin


async def test_the_newest_lines_that_fit_are_listed_in_order(admin: Admin) -> None:
    async def numbers(query: ListQuery) -> list[int]:
        return [line["number"] for line in await listed_requests(admin, query)]

    assert await numbers(ListQuery()) == [1, 2, 3, 4]
    assert await numbers(ListQuery(limit=2)) == [3, 4]
    assert await numbers(ListQuery(api="metadata", limit=2)) == [2, 3]
    assert await numbers(ListQuery(topic="a")) == [4]
    assert await numbers(ListQuery(since=2)) == [3, 4]


def test_the_listing_pauses_between_lines_and_while_it_decodes_them(admin: Admin) -> None:
    def pauses(**names: Any) -> int:
        found: list[None] = []
        run_with_pauses(
            lambda: list_requests(admin, ListQuery(**names)), lambda: found.append(None)
        )
        return len(found)

    assert pauses() >= 4
    one = pauses(limit=1)
    topics = [f"topic-{number}" for number in range(1000)]
    names = [messages.MetadataRequest.MetadataRequestTopic(version=1, name=t) for t in topics]
    client = Client(admin.cluster, dispatcher=admin.server.dispatcher)
    client.send(request_frame(messages.MetadataRequest(version=1, topics=names), 1, 5))
    assert pauses(limit=1) > one + 2 * len(topics) // LOOK_EVERY


async def test_bodies_are_included_only_on_request(admin: Admin) -> None:
    assert (await listed_requests(admin, ListQuery(limit=1)))[0]["request"]["acks"] == -1
    assert "request" not in (await listed_requests(admin, ListQuery(limit=1, bodies=False)))[0]


async def test_a_listing_has_the_named_fields_and_decodes_no_message_for_others(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def listed(fields: str) -> Any:
        return (await listed_requests(admin, ListQuery(api="Produce", fields=fields)))[0]

    assert list(await listed(",".join(REQUEST_FIELDS))) == list(REQUEST_FIELDS)
    assert await listed("topics,number") == {"number": 4, "topics": ["a"]}
    full = await listed_requests(admin, ListQuery(limit=1))
    assert list(full[0]) == list(REQUEST_FIELDS)

    def refuse(*_arguments: Any) -> None:
        raise AssertionError("a message was decoded")

    for decode in ("request_of", "response_of", "targets_of", "errors_of"):
        monkeypatch.setattr(rendering, decode, refuse)
    assert await listed("client_id,outcome") == {"client_id": "test", "outcome": "responded"}


def test_an_unknown_field_of_a_listing_is_refused() -> None:
    with pytest.raises(ValueError, match="fields: there is no 'topic'; did you mean topics"):
        ListQuery(fields="number,topic")


def test_a_cleared_journal_continues_its_numbers(admin: Admin) -> None:
    before = get_journal(admin)
    assert (before.is_enabled, before.lines, before.last_number) == (True, 4, 4)
    assert before.bytes > 0
    clear_requests(admin)
    after = get_journal(admin)
    assert (after.lines, after.bytes, after.last_number) == (0, 0, 4)


def test_other_requests_may_come_while_a_long_journal_is_freed() -> None:
    admin = make_admin()
    client = Client(admin.cluster, dispatcher=admin.server.dispatcher)
    client.send(b"".join(map(metadata_frame, range(500))))
    assert pauses_of(lambda: clear_requests(admin)) >= 500 // LOOK_EVERY


def test_every_query_parameter_reaches_the_filter() -> None:
    parameters = {
        "api": "Produce",
        "topic": "t",
        "partition": 0,
        "group": "g",
        "client_id": "c",
        "user": "u",
        "broker": 1,
        "connection": 2,
        "error": "NONE",
        "outcome": "closed",
        "kind": "request",
        "fault": "f",
        "denied": True,
        "since": 3,
        "since_ms": 4,
    }
    assert parameters.keys() == set(JournalQuery.__struct_fields__) - {"bodies"}
    line_filter = journal_filter(JournalQuery(**parameters))  # type: ignore[arg-type]
    assert {name: getattr(line_filter, name) for name in parameters} == parameters


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        ({"api": "Prodce"}, "api: there is no Prodce; did you mean Produce"),
        ({"error": "NOT_ENOUGH_REPLICA"}, "did you mean NOT_ENOUGH_REPLICAS"),
        ({"api": "x"}, "api: there is no x$"),
    ],
)
def test_an_unknown_api_or_error_name_is_refused(names: Any, hint: str) -> None:
    with pytest.raises(ValueError, match=hint):
        ListQuery(**names)
    assert ListQuery(api="create_topics", error="notEnoughReplicas").api == "create_topics"
    assert ListQuery(api="99").api == "99"


def test_a_query_has_the_fields_of_the_journal_filter_and_so_does_mock_kafka() -> None:
    names = [field.name for field in fields(JournalFilter)]
    assert [*names, "bodies"] == list(JournalQuery.__struct_fields__)
    which = get_type_hints(RequestFilter)
    assert {"api", *which} == set(names)
    declared = get_type_hints(JournalQuery)
    for name in ("outcome", "kind"):
        words = get_args(get_args(declared[name])[0])
        assert get_args(which[name]) == words
    assert set(get_args(which["outcome"])) == set(Outcome)


def test_a_filter_takes_every_value_of_its_query() -> None:
    query = JournalQuery(api="Produce", topic="t", since_ms=5, kind="disconnect", broker=1)
    expected = JournalFilter(api="Produce", topic="t", since_ms=5, kind="disconnect", broker=1)
    assert journal_filter(query) == expected
