"""Moving replicas to the only directory, or to another."""

import pytest

from broker.administration.log_dirs import dir_of, move_replica, place_replicas
from broker.cluster.cluster import Cluster
from broker.config.broker_requirements import LOG_DIR
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, make_cluster


@pytest.mark.parametrize(
    ("broker_id", "topic_name", "index", "path", "expected"),
    [
        (1, "a", 0, LOG_DIR.format(1), ErrorCode.NONE),
        (2, "a", 0, LOG_DIR.format(2), ErrorCode.REPLICA_NOT_AVAILABLE),
        (2, "a", 0, LOG_DIR.format(1), ErrorCode.LOG_DIR_NOT_FOUND),
        (1, "a", 1, LOG_DIR.format(1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (1, "a", -1, LOG_DIR.format(1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (1, "b", 0, LOG_DIR.format(1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (1, "b", 0, "/elsewhere", ErrorCode.LOG_DIR_NOT_FOUND),
        (1, "x" * 213, 0, "", ErrorCode.LOG_DIR_NOT_FOUND),
        (1, "x" * 214, 0, "", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_a_replica_is_in_the_only_directory_of_its_broker(
    broker_id: int, topic_name: str, index: int, path: str, expected: ErrorCode
) -> None:
    cluster = make_cluster(2)
    cluster.create_topic("a", [(1,)], {})
    assert move_replica(cluster, broker_id, topic_name, index, path) is expected


def dirs(cluster: Cluster, broker_id: int = 1) -> dict[str, list[tuple[str, int]]]:
    place_replicas(cluster, broker_id)
    found: dict[str, list[tuple[str, int]]] = {}
    for topic in cluster.topics.all():
        for partition in topic.partitions:
            if broker_id in partition.replicas:
                path = dir_of(cluster, broker_id, partition)
                found.setdefault(path, []).append((topic.name, partition.partition_index))
    return found


def test_the_only_directory_is_named_in_the_configuration_or_after_the_broker() -> None:
    named = make_cluster(1, **{"log.dirs": "/a"})
    for cluster, path in (
        (named, "/a"),
        (make_cluster(1, **{"log.dir": "/b"}), "/b"),
        (make_cluster(1), LOG_DIR.format(1)),
    ):
        cluster.create_topic("t", [(1,), (1,)], {})
        assert dirs(cluster) == {path: [("t", 0), ("t", 1)]}


def test_a_new_replica_goes_where_the_fewest_are_and_stays_there() -> None:
    cluster = make_cluster(2, **{"log.dirs": "/a,/b,/a"})
    cluster.create_topic("t", [(1,), (2,), (1,)], {})
    assert dirs(cluster) == {"/a": [("t", 0)], "/b": [("t", 2)]}
    cluster.create_topic("u", [(1,)], {})
    assert move_replica(cluster, 1, "t", 0, "/b") is ErrorCode.NONE
    assert dirs(cluster) == {"/b": [("t", 0), ("t", 2)], "/a": [("u", 0)]}
    cluster.create_topic("v", [(1,)] * 3, {})
    of_v = {"/a": [("u", 0), ("v", 0), ("v", 1)], "/b": [("t", 0), ("t", 2), ("v", 2)]}
    assert dirs(cluster) == of_v
    assert dirs(cluster, 2) == {"/a": [("t", 1)]}


def test_a_cordoned_directory_gets_no_new_replicas() -> None:
    cluster = make_cluster(1, **{"log.dirs": "/a,/b", "cordoned.log.dirs": "/a"})
    cluster.create_topic("t", [(1,), (1,)], {})
    assert dirs(cluster) == {"/b": [("t", 0), ("t", 1)]}
    assert move_replica(cluster, 1, "t", 0, "/a") is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_topic_with_the_name_of_a_deleted_one_is_new() -> None:
    cluster = make_cluster(1, **{"log.dirs": "/a,/b"})
    topic = cluster.create_topic("t", [(1,)], {})
    assert move_replica(cluster, 1, "t", 0, "/b") is ErrorCode.NONE
    cluster.delete_topic(topic, NOW_MS)
    cluster.create_topic("t", [(1,)], {})
    assert dirs(cluster) == {"/a": [("t", 0)]}
