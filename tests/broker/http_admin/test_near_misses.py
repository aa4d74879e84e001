"""Near misses over HTTP: of a query, and of a rule."""

from typing import Any

from broker.faults import fault_rule
from broker.http_admin.faults import FaultPath, list_near_misses_of_fault
from broker.http_admin.near_misses import NearMissesView, list_near_misses
from broker.http_admin.recorded_parts import AskedRequest
from broker.http_admin.requests import JournalQuery
from broker.http_admin.state import Admin
from broker.http_admin.strict_requests import StrictRequests
from tests.broker.cluster_builder import NOW_MS
from tests.broker.connection_driver import Client, metadata_frame
from tests.broker.http_admin.admin_server import make_admin, serving_site
from tests.broker.journal.journalled_cluster import produce_frame


def send(admin: Admin, *frames: bytes, now_ms: int = NOW_MS) -> None:
    Client(admin.cluster, dispatcher=admin.server.dispatcher).send(b"".join(frames), now_ms)


def texts(view: NearMissesView) -> list[str]:
    return [miss.text for miss in view.near_misses]


async def test_a_query_has_near_misses_with_their_fields() -> None:
    async with serving_site() as site:
        send(site.admin, produce_frame("order", 1), produce_frame("order", 2), metadata_frame(3))
        query = "/v1/requests/near-misses?api=Produce&topic=orders"
        assert await site.ask("GET", query) == (
            200,
            {
                "reasons": [],
                "near_misses": [
                    {
                        "number": 2,
                        "count": 2,
                        "held": 1,
                        "differences": [{"field": "topic", "text": "topic was 'order'"}],
                        "text": "#2 Produce v9 of 'test': topic was 'order' (2 times)",
                    }
                ],
            },
        )
        assert (await site.ask("GET", "/v1/faults/1/near-misses"))[0] == 404


def add(admin: Admin, **rule: Any) -> FaultPath:
    return FaultPath(admin.faults.add(fault_rule(**rule), NOW_MS))


def test_a_rule_names_the_rule_that_took_its_requests() -> None:
    admin = make_admin()
    add(admin, api="Produce", error="NOT_ENOUGH_REPLICAS", times=1)
    second = add(admin, api="Produce", topic="a", error="REQUEST_TIMED_OUT", skip=1)
    send(admin, produce_frame("a", 1), produce_frame("b", 2), produce_frame("a", 3))
    view = list_near_misses_of_fault(admin, second)
    assert view.reasons == ["it matched 1 request, fired on 0, and skip is 1"]
    assert texts(view) == [
        "#3 Produce v9 of 'test': the rule matched it and did not fire",
        "#1 Produce v9 of 'test': another rule took it: #1 error NOT_ENOUGH_REPLICAS",
        "#2 Produce v9 of 'test': topic was 'b'",
    ]


def test_requests_on_which_a_rule_fired_are_no_near_misses() -> None:
    admin = make_admin()
    rule = add(admin, api="Produce", topic="a", error="NOT_ENOUGH_REPLICAS")
    send(admin, produce_frame("a", 1), produce_frame("b", 2))
    assert texts(list_near_misses_of_fault(admin, rule)) == [
        "#2 Produce v9 of 'test': topic was 'b'"
    ]


def test_rules_without_requests_have_none() -> None:
    admin = make_admin()
    admin.cluster.create_topic("t", [(1,)], {})
    send(admin, metadata_frame(1))
    refusing = add(admin, refuse_connection=True)
    moving = add(admin, leader="next", topic="t", at_once=True)
    assert texts(list_near_misses_of_fault(admin, refusing)) == []
    assert texts(list_near_misses_of_fault(admin, moving)) == []


def test_only_the_newest_requests_are_compared() -> None:
    admin = make_admin()
    send(admin, produce_frame("a", 1))
    for start in range(0, 1000, 100):
        send(admin, *map(metadata_frame, range(start, start + 100)))
    [miss] = list_near_misses(admin, JournalQuery(api="Produce", topic="b")).near_misses
    assert (miss.count, miss.text[:6]) == (1000, "#1001 ")


async def test_a_request_that_was_not_recorded_has_the_nearest_recorded_one() -> None:
    async with serving_site() as site:
        admin = site.admin
        recorded = [AskedRequest("Produce", 9, "User:ANONYMOUS", topics=["orders"])]
        strict = StrictRequests(recorded, admin.faults.topic_name)
        admin.faults.set_hook(strict, is_lasting=True)
        send(admin, produce_frame("payments", 1))
        refused = (
            "it was refused: This request was not recorded: topic payments."
            " The nearest one is Produce v9: topics was 'orders'."
        )
        _, found = await site.ask("GET", "/v1/requests/near-misses?api=Produce&topic=orders")
        (miss,) = found["near_misses"]
        assert miss["differences"] == [
            {"field": "topic", "text": "topic was 'payments'"},
            {"field": "fault", "text": refused},
        ]
        rule = add(admin, api="Metadata", error="REQUEST_TIMED_OUT")
        assert refused in texts(list_near_misses_of_fault(admin, rule))[0]
        late = add(admin, api="Produce", error="REQUEST_TIMED_OUT")
        assert texts(list_near_misses_of_fault(admin, late)) == [
            f"#1 Produce v9 of 'test': {refused}"
        ]
