from typing import Any
from uuid import UUID

import pytest

from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import GROUP_METADATA
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import make_acl_cluster
from tests.broker.cluster_builder import NOW_MS, call, make_cluster
from tests.broker.groups.group_cluster import GROUP, GroupCluster

VERSIONS = range(1, 7)


def delete(
    cluster: Cluster, *topics: str | UUID | None, version: int = 6, timeout_ms: int = 1000
) -> list[Any]:
    """Delete topics by name (a string) or by id."""
    state = messages.DeleteTopicsRequest.DeleteTopicState
    if version < 6:
        names: list[Any] = list(topics)
        request = messages.DeleteTopicsRequest(
            version=version, topic_names=names, timeout_ms=timeout_ms
        )
    else:
        requested = [
            state(version=version, name=None, topic_id=topic)
            if isinstance(topic, UUID)
            else state(version=version, name=topic, topic_id=UUID(int=0))
            for topic in topics
        ]
        request = messages.DeleteTopicsRequest(
            version=version, topics=requested, timeout_ms=timeout_ms
        )
    responses: list[Any] = call(cluster, request, version).responses
    return responses


def cluster_with(*names: str, overrides: dict[str, str] | None = None) -> Cluster:
    cluster = make_cluster(**(overrides or {}))
    for name in names:
        cluster.create_topic(name, [(1, 2)], {})
    return cluster


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_deletes_by_name(version: int) -> None:
    cluster = cluster_with("a", "b")

    deleted, missing = delete(cluster, "a", "missing", version=version)

    assert (deleted.name, deleted.error_code) == ("a", ErrorCode.NONE)
    assert (missing.name, missing.error_code) == (
        "missing",
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )
    assert [topic.name for topic in cluster.topics.all()] == ["b"]
    if version >= 5:
        assert deleted.error_message is None
        assert missing.error_message == "This server does not host this topic-partition."
    if version >= 6:
        assert (deleted.topic_id, missing.topic_id) == (UUID(int=1), None)


def test_version_6_deletes_by_id() -> None:
    cluster = cluster_with("a", "b")

    deleted, missing = delete(cluster, UUID(int=2), UUID(int=77))

    assert (deleted.name, deleted.topic_id, deleted.error_code) == ("b", UUID(int=2), 0)
    assert (missing.name, missing.topic_id) == (None, UUID(int=77))
    assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert cluster.topics.get("b") is None
    assert cluster.topics.get_by_id(UUID(int=2)) is None


def test_version_6_refuses_a_topic_with_both_name_and_id_or_neither() -> None:
    cluster = cluster_with("a")

    (neither,) = delete(cluster, None)
    (both,) = delete(cluster, "a", UUID(int=1))

    assert neither.error_code == both.error_code == ErrorCode.INVALID_REQUEST
    assert neither.error_message == "Neither topic name nor id were specified."
    assert both.error_message == (
        "The provided topic name maps to an ID that was already supplied."
    )
    assert cluster.topics.get("a") is not None


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_refuses_a_duplicate_name_once(version: int) -> None:
    cluster = cluster_with("a", "b")

    twice, other = delete(cluster, "a", "b", "a", version=version)

    assert (twice.name, twice.error_code) == ("a", ErrorCode.INVALID_REQUEST)
    assert (other.name, other.error_code) == ("b", ErrorCode.NONE)
    assert [topic.name for topic in cluster.topics.all()] == ["a"]


@pytest.mark.parametrize("version", VERSIONS)
def test_deletion_can_be_disabled_for_every_version(version: int) -> None:
    cluster = cluster_with("a", "b", overrides={"delete.topic.enable": "false"})

    results = delete(cluster, "a", "b", version=version)

    disabled = ErrorCode.TOPIC_DELETION_DISABLED if version >= 3 else ErrorCode.INVALID_REQUEST
    assert [(result.name, result.error_code) for result in results] == [
        ("a", disabled),
        ("b", disabled),
    ]
    assert len(cluster.topics) == 2


def test_deleting_a_topic_deletes_its_records_and_completes_waiting_fetches() -> None:
    cluster = cluster_with("a")
    topic = cluster.topics.get("a")
    assert topic is not None
    partition = topic.partitions[0]
    partition.log.append(b"a batch", 1, 0)
    cluster.appended(topic, partition, 7, NOW_MS)
    woken_at: list[int] = []
    partition.log.wait(woken_at.append)

    delete(cluster, "a")

    assert cluster.log_bytes == 0
    assert woken_at == [NOW_MS]
    # A new topic of the same name is another topic.
    again = cluster.create_topic("a", [(1,)], {})
    assert (again.topic_id, again.partitions[0].log.log_end_offset) == (UUID(int=2), 0)


def test_without_the_topic_of_offsets_groups_are_gone_and_members_need_a_coordinator() -> None:
    cluster = GroupCluster()
    member_id = cluster.stable_member()
    waiting = cluster.join()
    cluster.commit(("t", 0, 5), member_id=member_id, generation_id_or_member_epoch=1)

    (deleted,) = delete(cluster.cluster, "__consumer_offsets")
    cluster.cluster.timers.run_due(NOW_MS)

    assert deleted.error_code == ErrorCode.NONE
    assert [response.error_code for response in waiting] == [ErrorCode.NOT_COORDINATOR]
    assert cluster.cluster.groups.table.group_ids() == []
    assert cluster.commit(("t", 0, 5)) == [ErrorCode.NOT_COORDINATOR]
    ensure_internal_topic(cluster.cluster, GROUP_METADATA)
    assert cluster.cluster.groups.table.committed(GROUP, "t", 0) is None
    assert cluster.commit(("t", 0, 5)) == [ErrorCode.NONE]


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_deleted_without_time(version: int) -> None:
    cluster = cluster_with("a")
    results = delete(cluster, "a", "missing", version=version, timeout_ms=0)

    assert [(result.name, result.error_code) for result in results] == [
        ("a", ErrorCode.REQUEST_TIMED_OUT),
        ("missing", ErrorCode.REQUEST_TIMED_OUT),
    ]
    assert [topic.name for topic in cluster.topics.all()] == ["a"]


DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def acl_cluster_with(*names: str, rights: tuple[str, ...]) -> Cluster:
    cluster = make_acl_cluster(*rights)
    for name in names:
        cluster.create_topic(name, [(1, 2)], {})
    return cluster


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("right", ["DELETE CLUSTER", "DELETE TOPIC a"])
def test_delete_on_the_cluster_or_on_the_topic_is_enough(right: str, version: int) -> None:
    cluster = acl_cluster_with("a", rights=(right,))
    (deleted,) = delete(cluster, "a", version=version)
    assert deleted.error_code == ErrorCode.NONE
    assert cluster.topics.get("a") is None


@pytest.mark.parametrize("version", VERSIONS)
def test_a_name_that_may_not_be_described_is_denied_whether_or_not_it_exists(version: int) -> None:
    cluster = acl_cluster_with("a", "seen", rights=("DESCRIBE TOPIC seen", "DESCRIBE TOPIC gone"))
    results = delete(cluster, "a", "missing", "seen", "gone", version=version)
    assert [(result.name, result.error_code) for result in results] == [
        ("a", DENIED),
        ("missing", DENIED),
        ("seen", DENIED),
        ("gone", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    if version >= 5:
        assert results[0].error_message == "Topic authorization failed."
    if version >= 6:
        assert {result.topic_id for result in results} == {None}
    assert [topic.name for topic in cluster.topics.all()] == ["a", "seen"]


def test_an_id_that_may_not_be_described_is_denied_without_its_name() -> None:
    cluster = acl_cluster_with(
        "a", "seen", "mine", rights=("ALTER TOPIC seen", "DELETE TOPIC mine")
    )
    a, seen, mine = (topic.topic_id for topic in cluster.topics.all())
    unknown = UUID(int=99)
    results = delete(cluster, a, seen, mine, unknown)
    assert [(result.name, result.topic_id, result.error_code) for result in results] == [
        (None, a, DENIED),
        ("seen", seen, DENIED),
        ("mine", mine, ErrorCode.NONE),
        (None, unknown, ErrorCode.UNKNOWN_TOPIC_ID),
    ]
    assert [topic.name for topic in cluster.topics.all()] == ["a", "seen"]


def test_a_topic_that_is_named_twice_is_malformed_only_if_it_may_be_deleted() -> None:
    cluster = acl_cluster_with("a", "b", rights=("DELETE TOPIC b",))
    a, b = (topic.topic_id for topic in cluster.topics.all())
    results = delete(cluster, "a", a, "b", b)
    assert [(result.name, result.topic_id, result.error_code) for result in results] == [
        ("a", None, DENIED),
        (None, a, DENIED),
        ("b", b, ErrorCode.INVALID_REQUEST),
    ]
    assert [topic.name for topic in cluster.topics.all()] == ["a", "b"]
