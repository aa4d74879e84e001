from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import make_acl_cluster
from tests.broker.cluster_builder import call, make_cluster
from tests.broker.interleaving import at_pause, run_with_pauses
from tests.protocol.counting_turn import pauses_of

VERSIONS = range(4)
_Topic = messages.CreatePartitionsRequest.CreatePartitionsTopic


def growth(name: str, count: int, assignments: list[list[int]] | None = None) -> Any:
    wire_assignments = None
    if assignments is not None:
        wire_assignments = [
            _Topic.CreatePartitionsAssignment(broker_ids=assignment) for assignment in assignments
        ]
    return _Topic(name=name, count=count, assignments=wire_assignments)


def grow(
    cluster: Cluster,
    *topics: Any,
    version: int = 3,
    validate_only: bool = False,
    timeout_ms: int = 1000,
) -> list[Any]:
    request = messages.CreatePartitionsRequest(
        version=version, topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only
    )
    results: list[Any] = call(cluster, request, version).results
    return results


def cluster_with(*names: str) -> Cluster:
    cluster = make_cluster()
    for name in names:
        cluster.create_topic(name, [(1, 2)], {})
    return cluster


def partition_counts(cluster: Cluster) -> dict[str, int]:
    return {topic.name: len(topic.partitions) for topic in cluster.topics.all()}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_adds_partitions(version: int) -> None:
    cluster = cluster_with("a", "b")

    placed, chosen = grow(cluster, growth("a", 3), growth("b", 2, [[3, 1]]), version=version)

    assert (placed.error_code, placed.error_message) == (ErrorCode.NONE, None)
    assert (chosen.error_code, chosen.error_message) == (ErrorCode.NONE, None)
    assert partition_counts(cluster) == {"a": 3, "b": 2}
    topic = cluster.topics.get("b")
    assert topic is not None
    assert [part.replicas for part in topic.partitions] == [(1, 2), (3, 1)]
    assert topic.partitions[1].partition_index == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_returns_the_error_and_its_message(version: int) -> None:
    (result,) = grow(cluster_with("a"), growth("a", 1), version=version)

    assert result.error_code == ErrorCode.INVALID_PARTITIONS
    assert result.error_message == "Topic already has 1 partition(s)."


def test_each_topic_has_its_own_result_in_request_order() -> None:
    cluster = cluster_with("a", "b")

    results = grow(cluster, growth("missing", 2), growth("b", 2), growth("a", 0))

    assert [(result.name, result.error_code) for result in results] == [
        ("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("b", ErrorCode.NONE),
        ("a", ErrorCode.INVALID_PARTITIONS),
    ]
    assert results[0].error_message is None
    assert partition_counts(cluster) == {"a": 1, "b": 2}


def test_a_duplicate_name_is_refused_once() -> None:
    cluster = cluster_with("a", "b")

    results = grow(cluster, growth("a", 2), growth("b", 2), growth("a", 3))

    assert [(result.name, result.error_code) for result in results] == [
        ("a", ErrorCode.INVALID_REQUEST),
        ("b", ErrorCode.NONE),
    ]
    assert partition_counts(cluster) == {"a": 1, "b": 2}


def test_validate_only_checks_and_adds_nothing() -> None:
    cluster = cluster_with("a", "b")

    results = grow(cluster, growth("a", 2), growth("b", 1), validate_only=True)

    assert [result.error_code for result in results] == [0, ErrorCode.INVALID_PARTITIONS]
    assert partition_counts(cluster) == {"a": 1, "b": 1}


@pytest.mark.parametrize("version", VERSIONS)
def test_no_partition_is_added_without_time(version: int) -> None:
    cluster = cluster_with("a")
    results = grow(cluster, growth("a", 3), growth("b", 3), version=version, timeout_ms=0)

    assert [result.error_code for result in results] == [ErrorCode.REQUEST_TIMED_OUT] * 2
    assert partition_counts(cluster) == {"a": 1}


def test_a_request_that_adds_too_many_partitions_is_refused_as_a_whole() -> None:
    cluster = cluster_with("a", "b")
    message = "Excessively large number of additional partitions per request."

    for version in VERSIONS:
        results = grow(
            cluster,
            *(growth("a", 6001), growth("b", 4002), growth("missing", 9000)),
            version=version,
        )
        assert {(result.error_code, result.error_message) for result in results} == {
            (ErrorCode.POLICY_VIOLATION, message)
        }
    assert partition_counts(cluster) == {"a": 1, "b": 1}
    # Each name that occurs twice has its own error, and adds nothing.
    results = grow(cluster, growth("a", 9000), growth("a", 9000), growth("b", 2))
    assert [result.error_code for result in results] == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]


def test_before_kafka_4_4_a_topic_with_too_many_partitions_is_a_server_error() -> None:
    cluster = make_cluster(**{"broker.api.versions": "4.3"})
    cluster.create_topic("a", [(1, 2)], {})

    (result,) = grow(cluster, growth("a", 20_000))

    assert (result.error_code, result.error_message) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)


def test_many_partitions_are_added_with_pauses() -> None:
    cluster = cluster_with("a")
    assert pauses_of(lambda: grow(cluster, growth("a", 1001))) >= 1000 // 64
    assert partition_counts(cluster) == {"a": 1001}


def test_partitions_that_another_request_adds_during_a_pause_are_there_already() -> None:
    cluster = cluster_with("a")

    def add_one() -> None:
        topic = cluster.topics.get("a")
        assert topic is not None
        cluster.add_partitions(topic, [(3,)] * 1000)

    # The pauses before that at the first partition are at the topics of the request.
    (result,) = run_with_pauses(lambda: grow(cluster, growth("a", 1001)), at_pause(5, add_one))
    assert result.error_code == ErrorCode.INVALID_PARTITIONS
    assert partition_counts(cluster) == {"a": 1001}


DENIED = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_topic_needs_alter(version: int) -> None:
    cluster = make_acl_cluster("ALTER TOPIC a", "ALTER TOPIC gone", "ALTER CLUSTER")
    for name in ("a", "b"):
        cluster.create_topic(name, [(1, 2)], {})
    names = ["a", "b", "missing", "gone", "d", "d"]
    results = grow(cluster, *(growth(name, 2) for name in names), version=version)
    assert [(result.name, result.error_code) for result in results] == [
        ("a", ErrorCode.NONE),
        ("b", DENIED[0]),
        ("missing", DENIED[0]),
        ("gone", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("d", ErrorCode.INVALID_REQUEST),
    ]
    assert results[1].error_message is None
    assert partition_counts(cluster) == {"a": 2, "b": 1}


def test_a_request_whose_topics_are_all_denied_does_not_time_out() -> None:
    cluster = make_acl_cluster("ALTER TOPIC a")
    (denied,) = grow(cluster, growth("b", 2), timeout_ms=0)
    assert (denied.error_code, denied.error_message) == DENIED
    results = grow(cluster, growth("a", 2), growth("b", 2), timeout_ms=0)
    assert {result.error_code for result in results} == {ErrorCode.REQUEST_TIMED_OUT}


def test_denied_topics_do_not_count_against_the_limit_of_a_request() -> None:
    cluster = make_acl_cluster("ALTER TOPIC a")
    for name in ("a", "b"):
        cluster.create_topic(name, [(1, 2)], {})
    grown, denied = grow(cluster, growth("a", 2), growth("b", 20_000))
    assert (grown.error_code, denied.error_code) == (ErrorCode.NONE, DENIED[0])
