from typing import Any

import pytest

from broker.administration.authorized_operations import NOT_REQUESTED, TOPIC_OPERATIONS, bit_field
from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import GROUP_METADATA
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import make_acl_cluster
from tests.broker.cluster_builder import NOW_MS, call, make_cluster

VERSIONS = range(1)
_Request = messages.DescribeTopicPartitionsRequest


def describe(
    cluster: Cluster,
    *names: str,
    limit: int = 2000,
    cursor: tuple[str, int] | None = None,
    version: int = 0,
) -> Any:
    sent = cursor and _Request.Cursor(topic_name=cursor[0], partition_index=cursor[1])
    request = _Request(
        version=version,
        topics=[_Request.TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=sent,
    )
    return call(cluster, request, version)


def topics_of(response: Any) -> list[tuple[str, int, list[int]]]:
    return [
        (topic.name, topic.error_code, [part.partition_index for part in topic.partitions])
        for topic in response.topics
    ]


def cluster_with_a_and_b() -> Cluster:
    cluster = make_cluster()
    cluster.create_topic("b", [(2, 3)], {})
    cluster.create_topic("a", [(1, 2), (3,), (2, 1)], {})
    return cluster


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_describes_topics_and_partitions(version: int) -> None:
    cluster = cluster_with_a_and_b()
    failover.stop_broker(cluster, 3, NOW_MS)

    response = describe(cluster, version=version)

    assert topics_of(response) == [("a", 0, [0, 1, 2]), ("b", 0, [0])]
    assert response.next_cursor is None
    topic = response.topics[0]
    described = cluster.topics.get("a")
    assert described is not None
    assert topic.topic_id == described.topic_id
    assert topic.is_internal is False
    ensure_internal_topic(cluster, GROUP_METADATA)
    (internal,) = describe(cluster, "__consumer_offsets").topics
    assert internal.is_internal is True
    assert len(internal.partitions) == 50
    assert topic.topic_authorized_operations == bit_field(TOPIC_OPERATIONS)
    led, leaderless, _ = topic.partitions
    assert (led.error_code, led.leader_id, led.leader_epoch) == (ErrorCode.NONE, 1, 0)
    assert (led.replica_nodes, led.isr_nodes, led.offline_replicas) == ([1, 2], [1, 2], [])
    assert (led.eligible_leader_replicas, led.last_known_elr) == ([], [])
    assert (leaderless.error_code, leaderless.leader_id) == (ErrorCode.NONE, -1)
    assert (leaderless.isr_nodes, leaderless.offline_replicas) == ([], [3])
    assert (leaderless.eligible_leader_replicas, leaderless.last_known_elr) == ([3], [3])


def test_names_are_sorted_and_unique_and_each_invalid_one_has_an_error() -> None:
    response = describe(
        cluster_with_a_and_b(), "b", "no name", "missing", "b", "__consumer_offsets"
    )

    assert topics_of(response) == [
        ("__consumer_offsets", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []),
        ("b", ErrorCode.NONE, [0]),
        ("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []),
        ("no name", ErrorCode.INVALID_TOPIC_EXCEPTION, []),
    ]
    assert [topic.is_internal for topic in response.topics] == [True, False, False, False]
    assert response.topics[2].topic_id is None


def test_following_the_cursor_returns_all_partitions() -> None:
    cluster = cluster_with_a_and_b()

    first = describe(cluster, limit=2)
    at = (first.next_cursor.topic_name, first.next_cursor.partition_index)
    second = describe(cluster, limit=2, cursor=at)

    assert topics_of(first) == [("a", 0, [0, 1])]
    assert at == ("a", 2)
    assert topics_of(second) == [("a", 0, [2]), ("b", 0, [0])]
    assert second.next_cursor is None


def test_a_cursor_may_be_at_partition_0() -> None:
    assert topics_of(describe(cluster_with_a_and_b(), "a", "b", cursor=("b", 0))) == [("b", 0, [0])]


def test_a_cursor_on_a_deleted_topic_continues_with_the_next() -> None:
    assert topics_of(describe(cluster_with_a_and_b(), cursor=("aa", 5))) == [("b", 0, [0])]


@pytest.mark.parametrize("cursor", [("c", 0), ("a", -1)])
def test_an_invalid_cursor_is_refused_for_every_topic(cursor: tuple[str, int]) -> None:
    response = describe(cluster_with_a_and_b(), "a", "b", cursor=cursor)

    assert topics_of(response) == [
        ("a", ErrorCode.INVALID_REQUEST, []),
        ("b", ErrorCode.INVALID_REQUEST, []),
    ]
    assert response.next_cursor is None


DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def acl_cluster_with_a_and_b(*rights: str) -> Cluster:
    cluster = make_acl_cluster(*rights)
    cluster.create_topic("a", [(1,), (2,), (3,)], {})
    cluster.create_topic("b", [(2, 3)], {})
    return cluster


def test_all_topics_are_those_that_may_be_described() -> None:
    response = describe(acl_cluster_with_a_and_b("DESCRIBE TOPIC b"))
    assert topics_of(response) == [("b", ErrorCode.NONE, [0])]


def test_a_name_that_may_not_be_described_is_denied_whether_or_not_it_exists() -> None:
    cluster = acl_cluster_with_a_and_b("DESCRIBE TOPIC b", "DESCRIBE TOPIC gone")
    response = describe(cluster, "__consumer_offsets", "a", "b", "bad name", "gone")
    assert topics_of(response) == [
        ("b", ErrorCode.NONE, [0]),
        ("gone", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []),
        ("a", DENIED, []),
        ("bad name", DENIED, []),
        ("__consumer_offsets", DENIED, []),
    ]
    assert not any(topic.is_internal for topic in response.topics)
    assert response.topics[-1].topic_authorized_operations == NOT_REQUESTED


def test_every_page_has_the_denied_names_behind_its_cursor() -> None:
    cluster = acl_cluster_with_a_and_b("DESCRIBE TOPIC a", "DESCRIBE TOPIC b")
    names = ("0", "a", "b", "c")
    first = describe(cluster, *names, limit=2)
    assert topics_of(first) == [("a", 0, [0, 1]), ("0", DENIED, []), ("c", DENIED, [])]
    cursor = (first.next_cursor.topic_name, first.next_cursor.partition_index)
    second = describe(cluster, *names, limit=2, cursor=cursor)
    assert topics_of(second) == [("a", 0, [2]), ("b", 0, [0]), ("c", DENIED, [])]
    assert second.next_cursor is None


def test_authorized_operations_are_those_that_the_client_may_do() -> None:
    cluster = acl_cluster_with_a_and_b("READ TOPIC a", "DESCRIBE TOPIC gone")
    a, gone = describe(cluster, "a", "gone").topics
    assert a.topic_authorized_operations == 1 << 3 | 1 << 8
    assert gone.topic_authorized_operations == 1 << 8


def test_the_empty_name_is_an_error_only_if_it_may_be_described() -> None:
    assert topics_of(describe(acl_cluster_with_a_and_b(), "")) == [("", DENIED, [])]
    response = describe(acl_cluster_with_a_and_b("DESCRIBE TOPIC *"), "")
    assert topics_of(response) == [("", ErrorCode.UNKNOWN_SERVER_ERROR, [])]
