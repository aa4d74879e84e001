"""Topics, groups and requests are found by words, one page at a time."""

from dataclasses import replace

from broker.authorization.authorizer import DEFAULT_DENY
from broker.authorization.checks import WRITE_TOPIC, Denial
from broker.groups.results import JoinResult
from broker.http_admin.operation import encode_result
from broker.http_admin.search import (
    ChangesQuery,
    PageQuery,
    TopicPageQuery,
    search_groups,
    search_requests,
    search_topics,
)
from broker.http_admin.topics import NewTopicBody, create_topic
from broker.journal.lines import Entry
from tests.broker.cluster_builder import NOW_MS
from tests.broker.connection_driver import Client, metadata_frame
from tests.broker.http_admin.admin_server import make_admin
from tests.broker.http_admin.group_members import join_request
from tests.broker.http_admin.kafka_clients import commit, produce
from tests.broker.journal.journalled_cluster import produce_frame


async def test_a_page_of_topics_says_how_many_were_found() -> None:
    admin = make_admin()
    for number in range(201):
        create_topic(admin, NewTopicBody(f"Orders-{number}"))

    async def found(**query: object) -> tuple[int, list[str]]:
        page = search_topics(admin, TopicPageQuery(**query))  # type: ignore[arg-type]
        return page.total, [topic.name for topic in page.topics]

    assert await found(offset=199, limit=5) == (201, ["Orders-199", "Orders-200"])
    assert await found(search="200 orders") == (1, ["Orders-200"])
    assert await found(search="orders-20", limit=1, offset=1) == (2, ["Orders-200"])
    assert await found(search="no such") == (0, [])
    assert await found(limit=0) == (201, [])
    assert await found(offset=300) == (201, [])


async def test_internal_topics_are_found_only_if_they_are_asked_for() -> None:
    admin = make_admin()
    commit(admin, "g", "a", 0)
    assert search_topics(admin, TopicPageQuery()).total == 0
    page = search_topics(admin, TopicPageQuery(search="OFFSETS", internal=True))
    assert [topic.name for topic in page.topics] == ["__consumer_offsets"]


async def test_groups_with_members_come_first() -> None:
    admin = make_admin()
    for group_id in ("b", "a", "abc"):
        commit(admin, group_id, "t", 0)
    joined: list[JoinResult] = []
    admin.cluster.groups.join(replace(join_request(), group_id="with"), joined.append, NOW_MS)

    page = search_groups(admin, ChangesQuery(limit=3))
    assert (page.total, [group.group_id for group in page.groups]) == (4, ["with", "a", "abc"])
    page = search_groups(admin, ChangesQuery(search="b", offset=1))
    assert (page.total, [group.group_id for group in page.groups]) == (2, ["b"])


async def test_the_whole_journal_is_searched_newest_first() -> None:
    admin = make_admin()
    client = Client(admin.cluster, dispatcher=admin.server.dispatcher)
    client.send(produce_frame("orders", 1) + b"".join(map(metadata_frame, range(2, 500))))

    async def found(**query: object) -> tuple[int, list[int]]:
        page = search_requests(admin, PageQuery(**query))  # type: ignore[arg-type]
        return page.total, [line["number"] for line in page.requests]

    assert await found(limit=2) == (499, [499, 498])
    assert await found(search="METADATA", limit=2, offset=1) == (498, [498, 497])
    assert await found(search="produce orders unknown_topic") == (1, [1])
    assert await found(search="produce payments") == (0, [])
    assert await found(search="denied") == (0, [])
    for line in admin.journal:
        if isinstance(line, Entry) and line.number == 1:
            line.context.denials = (Denial(WRITE_TOPIC, "orders", DEFAULT_DENY),)
    assert await found(search="denied produce") == (1, [1])


async def test_a_page_that_was_read_before_has_only_what_changed() -> None:
    admin = make_admin()
    for number in range(305):
        create_topic(admin, NewTopicBody(f"orders-{number}", partitions=4))
    query = TopicPageQuery(limit=200)
    first = search_topics(admin, query)
    assert (len(first.topics), first.are_changes) == (200, False)
    query.since = first.version
    same = search_topics(admin, query)
    assert (same.topics, same.are_changes, same.version) == ([], True, first.version)

    commit(admin, "billing", "orders-7", 1)
    groups = search_groups(admin, ChangesQuery())
    commit(admin, "billing", "orders-7", 2)
    changed = search_groups(admin, ChangesQuery(since=groups.version))
    assert [group.offsets[0].offset for group in changed.groups] == [2]

    produce(admin, "orders-7", 1)
    page = search_topics(admin, query)
    assert [topic.name for topic in page.topics] == ["orders-7"]
    assert (page.total, page.are_changes) == (305, True)
    assert len(encode_result(page)) < 1_500
    assert len(encode_result(first)) > 100_000
    query.since = page.version
    create_topic(admin, NewTopicBody("another"))
    page = search_topics(admin, query)
    assert (page.total, page.topics, page.are_changes) == (306, [], True)
    admin.cluster.delete_topic(admin.topic("orders-0"), NOW_MS)
    page = search_topics(admin, query)
    assert (len(page.topics), page.are_changes) == (200, False)
