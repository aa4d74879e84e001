"""Records over the admin port: read them, store them, wait for them."""

import asyncio
from base64 import b64decode, b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.faults import fault_rule
from broker.http_admin import topic_records
from broker.http_admin.operation import Problem
from broker.http_admin.state import Admin
from broker.http_admin.topic_records import (
    BytesBody,
    RecordBody,
    RecordsBody,
    RecordsQuery,
    RecordsView,
    WaitForRecordsQuery,
    bytes_of,
    get_records,
    produce_records,
    saved_bytes,
    wait_for_records,
)
from broker.http_admin.topics import (
    LeaderBody,
    NewTopicBody,
    PartitionPath,
    TopicPath,
    create_topic,
    list_topics,
    put_leader,
)
from broker.produce.append import append_batch
from protocol.api_keys import ApiKey
from protocol.pacing import paced
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_context
from tests.broker.connection_driver import Client
from tests.broker.http_admin.admin_server import make_admin, serving_site
from tests.broker.http_admin.snapshots import ORDERS, body_of
from tests.broker.journal.journalled_cluster import produce_frame


def store(admin: Admin, name: str, partition_index: int, *values: bytes | None) -> None:
    topic = admin.topic(name)
    batch = make_batch(*values)
    partition = admin.partition(name, partition_index)
    context = make_context(ApiKey.PRODUCE, 9, broker_id=partition.leader_id)
    result = append_batch(context, admin.cluster, topic, partition, batch, 0, len(batch))
    assert result.error_code == 0


def values_of(view: RecordsView) -> list[tuple[int, int, str | None]]:
    return [
        (record.partition, record.offset, record.value.text if record.value else None)
        for record in view.records
    ]


def test_records_are_shown_with_keys_times_and_partitions() -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("a", 2))
    store(admin, "a", 0, b"x", None)
    store(admin, "a", 1, b"\xff")
    view = get_records(admin, TopicPath("a"), RecordsQuery())

    assert values_of(view)[:2] == [(0, 0, "x"), (0, 1, None)]
    assert view.records[2].value is not None
    assert b64decode(view.records[2].value.base64 or "") == b"\xff"
    assert view.records[0].key is not None
    assert view.records[0].key.text == "k"
    assert view.records[0].timestamp == NOW_MS
    assert view.next_offsets == {}


def test_records_can_be_requested_in_base64() -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("a"))
    store(admin, "a", 0, b"x")
    (record,) = get_records(admin, TopicPath("a"), RecordsQuery(encoding="base64")).records
    assert record.value is not None
    assert (record.value.text, record.value.base64) == (None, "eA==")


@given(st.lists(st.lists(st.integers(1, 4), max_size=4), min_size=1, max_size=3), st.integers(1, 5))
def test_following_next_offsets_returns_every_record_once(
    batch_sizes: list[list[int]], limit: int
) -> None:
    admin = make_admin(1)
    create_topic(admin, NewTopicBody("a", len(batch_sizes)))
    expected = []
    for partition_index, sizes in enumerate(batch_sizes):
        for size in sizes:
            store(admin, "a", partition_index, *[b"v"] * size)
        expected += [(partition_index, offset) for offset in range(sum(sizes))]
    seen = []
    left = dict.fromkeys(range(len(batch_sizes)), 0)
    while left:
        partition_index, offset = left.popitem()
        query = RecordsQuery(partition=partition_index, offset=offset, limit=limit)
        view = get_records(admin, TopicPath("a"), query)
        seen += [(record.partition, record.offset) for record in view.records]
        assert len(view.records) <= limit
        left |= view.next_offsets

    assert sorted(seen) == expected
    all_records = get_records(admin, TopicPath("a"), RecordsQuery())
    assert [(record.partition, record.offset) for record in all_records.records] == expected


def test_a_limited_response_has_the_next_offset_of_every_partition() -> None:
    admin = make_admin(1)
    create_topic(admin, NewTopicBody("a", 3))
    for partition_index in range(3):
        store(admin, "a", partition_index, b"1", b"2")
    view = get_records(admin, TopicPath("a"), RecordsQuery(limit=3))

    assert len(view.records) == 3
    assert view.next_offsets == {1: 1, 2: 0}


def test_a_response_with_records_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_records, "PEEK_BYTES_MAX", 10)
    admin = make_admin(1)
    create_topic(admin, NewTopicBody("a"))
    store(admin, "a", 0, b"12345678", b"12345678", b"12345678")
    view = get_records(admin, TopicPath("a"), RecordsQuery())

    assert len(view.records) == 2
    assert view.next_offsets == {0: 2}


def test_records_begin_at_the_log_start_offset() -> None:
    admin = make_admin(1)
    create_topic(admin, NewTopicBody("a"))
    store(admin, "a", 0, b"1", b"2", b"3")
    admin.cluster.delete_records_before(admin.partition("a", 0), 1, NOW_MS)
    view = get_records(admin, TopicPath("a"), RecordsQuery())
    assert [record.offset for record in view.records] == [1, 2]
    assert get_records(admin, TopicPath("a"), RecordsQuery(offset=99)).records == []


async def test_records_are_sought_by_their_time() -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("a", 2))
    times = [(0, 10), (0, 30), (0, 20), (1, 20), (1, 40)]
    records = [RecordBody(value="x", partition=index, timestamp=time) for index, time in times]
    await produce_records(admin, TopicPath("a"), RecordsBody(records))

    def found(**query: Any) -> list[tuple[int, int]]:
        view = get_records(admin, TopicPath("a"), RecordsQuery(**query))
        return [(record.partition, record.offset) for record in view.records]

    assert found(timestamp=0) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    assert found(timestamp=15) == [(0, 1), (0, 2), (1, 0), (1, 1)]
    assert found(timestamp=35) == [(1, 1)]
    assert found(timestamp=41) == []
    assert found(timestamp=15, offset=2) == [(0, 2)]
    assert found(timestamp=15, partition=0, limit=1) == [(0, 1)]
    view = get_records(admin, TopicPath("a"), RecordsQuery(timestamp=15, limit=1))
    assert view.next_offsets == {0: 2, 1: 0}
    view = get_records(admin, TopicPath("a"), RecordsQuery(timestamp=35, limit=1))
    assert view.next_offsets == {}


async def test_records_are_stored_with_their_keys_headers_and_timestamps() -> None:
    admin = make_admin(1)
    create_topic(admin, NewTopicBody("orders", 2))
    base64 = b64encode(b"\xff").decode()
    entry = {
        "key": "k",
        "value": {"base64": base64},
        "headers": [{"key": "h", "value": {"text": "v"}}, {"key": "empty"}],
        "partition": 1,
        "timestamp": 1234,
    }
    stored = await produce_records(admin, ORDERS, body_of(entry, {"partition": 1}))

    assert [(place.partition, place.offset) for place in stored] == [(1, 0), (1, 1)]
    assert [place.timestamp for place in stored] == [1234, NOW_MS]
    first, second = get_records(admin, ORDERS, RecordsQuery(encoding="base64")).records
    assert (first.key, first.value) == (
        topic_records.BytesView(base64=b64encode(b"k").decode()),
        topic_records.BytesView(base64=base64),
    )
    assert [header.key for header in first.headers] == ["h", "empty"]
    assert first.headers[1].value is None
    assert (first.timestamp, second.timestamp) == (1234, NOW_MS)
    assert (second.key, second.value) == (None, None)


async def test_a_missing_topic_is_created_unless_the_configuration_forbids_it() -> None:
    admin = make_admin(1, **{"num.partitions": "4"})
    await produce_records(admin, ORDERS, body_of({"value": "x"}))
    assert [len(topic.partitions) for topic in list_topics(admin)] == [4]

    strict = make_admin(1, **{"auto.create.topics.enable": "false"})
    with pytest.raises(Problem, match="no topic 'orders'") as caught:
        await produce_records(strict, ORDERS, body_of({"value": "x"}))
    assert caught.value.status == 404
    assert list_topics(strict) == []


@pytest.mark.parametrize(
    ("entry", "detail"),
    [
        ({"partition": 7}, "UNKNOWN_TOPIC_OR_PARTITION.*0 to 1, not 7"),
        ({"value": {"text": "a", "base64": "YQ=="}}, "either"),
        ({"value": {}}, "either"),
        ({"value": {"base64": "*"}}, "base64"),
        ({"value": "x" * 2000, "partition": 0}, "MESSAGE_TOO_LARGE: orders-0"),
    ],
)
async def test_if_one_record_is_refused_none_is_stored(entry: dict[str, Any], detail: str) -> None:
    admin = make_admin(1)
    create_topic(admin, NewTopicBody("orders", 2, config={"max.message.bytes": "1000"}))
    with pytest.raises(Problem, match=detail) as caught:
        await produce_records(admin, ORDERS, body_of({"value": "fine", "partition": 1}, entry))
    assert caught.value.status == 422
    assert get_records(admin, ORDERS, RecordsQuery()).records == []


async def test_records_for_a_partition_without_a_leader_are_refused() -> None:
    admin = make_admin(1)
    create_topic(admin, NewTopicBody("orders"))
    put_leader(admin, PartitionPath("orders", 0), LeaderBody(None))
    with pytest.raises(Problem, match="LEADER_NOT_AVAILABLE"):
        await produce_records(admin, ORDERS, body_of({"value": "x"}))
    with pytest.raises(Problem, match="LEADER_NOT_AVAILABLE: orders-0"):
        await produce_records(admin, ORDERS, body_of({"key": "k"}))


async def test_ten_thousand_records_are_stored_while_others_are_served() -> None:
    async with serving_site(broker_count=1) as site:
        entries = [{"value": str(number), "partition": 0} for number in range(10_000)]
        storing = asyncio.create_task(
            site.ask("POST", "/v1/topics/orders/records", json={"records": entries})
        )
        status, _ = await site.ask("GET", "/healthz")
        assert status == 200
        status, stored = await storing
        assert status == 201
        assert [place["offset"] for place in stored] == list(range(10_000))


def _never_ends() -> None:
    while True:
        for _ in paced(range(1000)):
            pass


async def test_a_reset_ends_a_request_that_stores_records() -> None:
    async with serving_site(broker_count=1) as site:
        admin = site.admin
        first = asyncio.create_task(admin.in_turns(_never_ends))
        await asyncio.sleep(0)
        second = asyncio.create_task(admin.in_turns(lambda: None))
        await asyncio.sleep(0)
        admin.server.reset()
        for ended in (first, second):
            with pytest.raises(Problem, match="reset") as caught:
                await ended
            assert caught.value.status == 409


async def test_a_waiting_request_returns_when_enough_records_are_there() -> None:
    async with serving_site(broker_count=1) as site:
        path = "/v1/topics/orders/records/wait?count=3&timeout_ms=20000"
        waiting = asyncio.create_task(site.ask("GET", path))
        for value in "abc":
            assert not waiting.done()
            body = {"records": [{"value": value}]}
            await site.ask("POST", "/v1/topics/orders/records", json=body)
        status, view = await waiting
        assert status == 200
        assert [record["value"]["text"] for record in view["records"]] == ["a", "b", "c"]


async def test_a_wait_that_ends_without_the_records_is_a_problem_with_their_number() -> None:
    admin = make_admin(1)
    query = WaitForRecordsQuery(timeout_ms=0)
    absent = "topic 'orders' did not exist after 0 s; the cluster has no topic yet"
    await check_problem(admin, query, absent)
    create_topic(admin, NewTopicBody("order"))
    await check_problem(admin, query, absent.replace("no topic yet", "order"))
    create_topic(admin, NewTopicBody("orders", 2))
    store(admin, "orders", 1, b"1", b"2")
    await wait_for_records(admin, ORDERS, query)
    query = WaitForRecordsQuery(count=3, timeout_ms=0)
    await check_problem(admin, query, "topic 'orders' had 2 of 3 records in 0 s")
    query = WaitForRecordsQuery(partition=0, timeout_ms=0)
    await check_problem(admin, query, "'orders'-0 had 0 of 1 records in 0 s")


async def check_problem(admin: Admin, query: WaitForRecordsQuery, reason: str) -> None:
    with pytest.raises(Problem) as caught:
        await wait_for_records(admin, ORDERS, query)
    assert (caught.value.status, caught.value.reason) == (408, reason)


async def test_the_problem_has_the_produce_requests_that_failed_or_went_elsewhere() -> None:
    admin = make_admin(1)
    create_topic(admin, NewTopicBody("orders"))
    rule = fault_rule(api="Produce", topic="orders", error="NOT_ENOUGH_REPLICAS")
    admin.faults.add(rule, NOW_MS)
    client = Client(admin.cluster, dispatcher=admin.server.dispatcher)
    client.send(produce_frame("order", 1) + produce_frame("orders", 2) + produce_frame("orders", 3))
    with pytest.raises(Problem) as caught:
        await wait_for_records(admin, ORDERS, WaitForRecordsQuery(timeout_ms=0))
    assert caught.value.detail == (
        "topic 'orders' had 0 of 1 records in 0 s"
        "; nearest: #3 Produce v9 of 'test': error was NOT_ENOUGH_REPLICAS (2 times)"
        "; #1 Produce v9 of 'test': topic was 'order', error was UNKNOWN_TOPIC_OR_PARTITION"
    )


async def test_a_wait_counts_what_a_reader_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_records, "COUNTED_BATCHES_MAX", 2)
    admin = make_admin(1)
    create_topic(admin, NewTopicBody("orders", 3))
    for index in range(3):
        for _ in range(5):
            store(admin, "orders", index, b"1", b"2", b"3")
    admin.cluster.delete_records_before(admin.partition("orders", 0), 4, NOW_MS)
    for count, is_there in ((41, True), (42, False)):
        query = WaitForRecordsQuery(count=count, timeout_ms=0)
        if is_there:
            await wait_for_records(admin, ORDERS, query)
        else:
            await check_problem(admin, query, "topic 'orders' had 41 of 42 records in 0 s")


def test_saved_bytes_are_the_shorter_form() -> None:
    for data in (b"", b"text", "é".encode(), b"\xff", b"a\tb " * 9, b"\x00\x01\x02", None):
        assert bytes_of(saved_bytes(data)) == data
    assert saved_bytes(b"text") == "text"
    assert saved_bytes(b"line one of a text\n") == "line one of a text\n"
    assert isinstance(saved_bytes(b"\x00\x01\x02"), BytesBody)
