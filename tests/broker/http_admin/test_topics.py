"""Topics over the admin port: create, read, move leaders, delete."""

from base64 import b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cluster import failover
from broker.cluster.topics import NO_LEADER
from broker.http_admin import topics
from broker.http_admin.operation import Problem
from broker.http_admin.state import Admin
from broker.http_admin.topics import (
    LeaderBody,
    NewTopicBody,
    PartitionPath,
    RecordsQuery,
    TopicPath,
    create_topic,
    delete_topic,
    get_records,
    get_topic,
    list_topics,
    put_leader,
)
from broker.produce.append import append_batch
from protocol.api_keys import ApiKey
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_context
from tests.broker.http_admin.admin_server import make_admin


def store(admin: Admin, name: str, partition_index: int, *values: bytes | None) -> None:
    topic = admin.topic(name)
    batch = make_batch(*values)
    partition = admin.partition(name, partition_index)
    context = make_context(ApiKey.PRODUCE, 9)
    result = append_batch(context, admin.cluster, topic, partition, batch, 0, len(batch))
    assert result.error_code == 0


def values_of(view: topics.RecordsView) -> list[tuple[int, int, str | None]]:
    return [
        (record.partition, record.offset, record.value.text if record.value else None)
        for record in view.records
    ]


def test_a_topic_is_created_with_the_requested_or_configured_numbers() -> None:
    admin = make_admin(3, **{"num.partitions": "2"})
    made = create_topic(admin, NewTopicBody("a", 4, 3, {"retention.ms": "1000"}))
    assert [len(part.replicas) for part in made.partitions] == [3] * 4
    assert made.config == {"retention.ms": "1000"}
    assert len(create_topic(admin, NewTopicBody("b")).partitions) == 2
    assert [view.name for view in list_topics(admin)] == ["a", "b"]
    assert get_topic(admin, TopicPath("a")) == made


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        (NewTopicBody("there"), 409, "TOPIC_ALREADY_EXISTS"),
        (NewTopicBody("a b"), 422, "INVALID_TOPIC_EXCEPTION"),
        (NewTopicBody("a", 0), 422, "INVALID_PARTITIONS"),
        (NewTopicBody("a", 1, 9), 422, "INVALID_REPLICATION_FACTOR"),
        (NewTopicBody("a", 2**31 - 1), 422, "POLICY_VIOLATION"),
        (NewTopicBody("a", config={"no.such": "1"}), 422, "INVALID_CONFIG"),
    ],
)
def test_topics_that_create_topics_refuses_get_the_same_message(
    body: NewTopicBody, status: int, detail: str
) -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("there"))
    with pytest.raises(Problem, match=detail) as caught:
        create_topic(admin, body)
    assert caught.value.status == status
    assert len(list_topics(admin)) == 1


def test_a_deleted_topic_is_gone() -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("a"))
    delete_topic(admin, TopicPath("a"))
    with pytest.raises(Problem):
        delete_topic(admin, TopicPath("a"))


def test_a_leader_can_be_moved_removed_and_restored() -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("a", 1, 1))
    path = PartitionPath("a", 0)
    moved = put_leader(admin, path, LeaderBody(3))
    assert (moved.leader, moved.leader_epoch) == (3, 1)
    assert 3 in moved.replicas
    assert put_leader(admin, path, LeaderBody(None)).leader is None
    assert admin.partition("a", 0).leader_id == NO_LEADER
    assert put_leader(admin, path, LeaderBody(1)).leader == 1


def test_a_missing_or_stopped_broker_cannot_lead() -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("a"))
    failover.stop_broker(admin.cluster, 2, NOW_MS)
    with pytest.raises(Problem, match="brokers/2/start") as caught:
        put_leader(admin, PartitionPath("a", 0), LeaderBody(2))
    assert caught.value.status == 409
    with pytest.raises(Problem) as caught:
        put_leader(admin, PartitionPath("a", 0), LeaderBody(4))
    assert caught.value.status == 404


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
    monkeypatch.setattr(topics, "PEEK_BYTES_MAX", 10)
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
