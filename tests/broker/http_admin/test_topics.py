"""Topics over the admin port: create, move leaders, delete."""

import pytest

from broker.cluster import failover
from broker.cluster.topics import NO_LEADER
from broker.http_admin.groups import GroupPath, get_group
from broker.http_admin.operation import Problem
from broker.http_admin.record_search import SearchQuery, find_newest_records
from broker.http_admin.topic_records import (
    RecordBody,
    RecordsBody,
    RecordsQuery,
    get_records,
    produce_records,
)
from broker.http_admin.topics import (
    CompactedQuery,
    DeletedRecordsQuery,
    LeaderBody,
    NewTopicBody,
    PartitionPath,
    TopicPath,
    compact_topic,
    create_topic,
    delete_topic,
    delete_topic_records,
    get_topic,
    list_topics,
    put_leader,
)
from tests.broker.cluster_builder import NOW_MS
from tests.broker.http_admin.admin_server import make_admin
from tests.broker.http_admin.kafka_clients import commit, produce


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


def test_views_and_records_end_at_the_high_watermark() -> None:
    admin = make_admin(2)
    create_topic(admin, NewTopicBody("t", 1, 2, {"min.insync.replicas": "2"}))
    partition = admin.partition("t", 0)
    produce(admin, "t", 1)
    commit(admin, "g", "t", 0)
    failover.stop_broker(admin.cluster, 3 - partition.leader_id, NOW_MS)
    produce(admin, "t", 2)
    produce(admin, "t", 3)

    (view,) = get_topic(admin, TopicPath("t")).partitions
    assert (view.high_watermark, view.log_end_offset) == (1, 3)
    assert len(get_records(admin, TopicPath("t"), RecordsQuery()).records) == 1
    found = find_newest_records(admin, TopicPath("t"), SearchQuery())
    assert len(found.records) == 1
    assert [offset.lag for offset in get_group(admin, GroupPath("g")).offsets] == [1]


async def test_records_are_deleted_from_the_start_of_the_logs_on() -> None:
    admin = make_admin()
    path = TopicPath("a")
    create_topic(admin, NewTopicBody("a", 2))
    records = [RecordBody(value="x", partition=number % 2) for number in range(10)]
    await produce_records(admin, path, RecordsBody(records))
    (view,) = delete_topic_records(admin, path, DeletedRecordsQuery(1, 3))
    assert (view.partition, view.log_start_offset, view.log_end_offset) == (1, 3, 5)
    views = delete_topic_records(admin, path, DeletedRecordsQuery())
    assert [(view.log_start_offset, view.log_end_offset) for view in views] == [(5, 5)] * 2
    assert [view.bytes for view in views] == [0, 0]


@pytest.mark.parametrize(
    ("policy", "query", "status", "reason"),
    [
        ("compact", DeletedRecordsQuery(), 422, "POLICY_VIOLATION: partition 0 of 'a'"),
        ("delete", DeletedRecordsQuery(before_offset=1), 422, "OFFSET_OUT_OF_RANGE"),
        ("delete", DeletedRecordsQuery(5), 404, "0 to 1"),
        ("delete", DeletedRecordsQuery(1), 409, "partition 1 has no leader"),
    ],
)
async def test_records_that_may_not_be_deleted_are_kept(
    policy: str, query: DeletedRecordsQuery, status: int, reason: str
) -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("a", 2, config={"cleanup.policy": policy}))
    put_leader(admin, PartitionPath("a", 1), LeaderBody(None))
    with pytest.raises(Problem, match=reason) as caught:
        delete_topic_records(admin, TopicPath("a"), query)
    assert caught.value.status == status


def test_only_compacted_topics_of_clients_are_compacted() -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("table", 2, config={"cleanup.policy": "compact,delete"}))
    found = compact_topic(admin, TopicPath("table"), CompactedQuery())
    assert [(view.partition, view.cleaned_until) for view in found] == [(0, None), (1, None)]
    assert len(compact_topic(admin, TopicPath("table"), CompactedQuery(1))) == 1
    create_topic(admin, NewTopicBody("stream"))
    commit(admin, "g", "stream", 0)
    for name, detail in (
        ("stream", "cleanup.policy=delete"),
        ("__consumer_offsets", "is internal"),
    ):
        with pytest.raises(Problem, match=detail) as caught:
            compact_topic(admin, TopicPath(name), CompactedQuery())
        assert caught.value.status == 422
    with pytest.raises(Problem, match="partition"):
        compact_topic(admin, TopicPath("table"), CompactedQuery(2))
