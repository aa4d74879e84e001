"""OffsetFetch on the wire."""

from typing import Any
from uuid import UUID

import pytest

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.groups.group_cluster import GROUP, GroupCluster, versions

_Request: Any = messages.OffsetFetchRequest
NOBODYS_ID = UUID(int=2**100)


def fetch(
    cluster: GroupCluster,
    version: int,
    topics: dict[str, list[int]] | None,
    broker_id: int | None = None,
) -> Any:
    """Return the response for one group, in any version."""
    if version < 8:
        requested_topics = (
            None
            if topics is None
            else [
                _Request.OffsetFetchRequestTopic(
                    version=version, name=name, partition_indexes=indexes
                )
                for name, indexes in topics.items()
            ]
        )
        return cluster.ask(
            ApiKey.OFFSET_FETCH,
            version,
            group_id=GROUP,
            topics=requested_topics,
            broker_id=broker_id,
        )
    group_class = _Request.OffsetFetchRequestGroup
    ids = {"t": cluster.topic.topic_id}
    requested_topics = (
        None
        if topics is None
        else [
            group_class.OffsetFetchRequestTopics(
                version=version,
                name=name,
                topic_id=ids.get(name, NOBODYS_ID),
                partition_indexes=indexes,
            )
            for name, indexes in topics.items()
        ]
    )
    group = group_class(version=version, group_id=GROUP, topics=requested_topics)
    response = cluster.ask(ApiKey.OFFSET_FETCH, version, groups=[group], broker_id=broker_id)
    assert [result.group_id for result in response.groups] == [GROUP]
    return response.groups[0]


def found(response: Any) -> list[tuple[int, int, str | None, int]]:
    return [
        (
            partition.partition_index,
            partition.committed_offset,
            partition.metadata,
            partition.error_code,
        )
        for topic in response.topics
        for partition in topic.partitions
    ]


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH))
def test_every_version_fetches_committed_offsets(version: int) -> None:
    cluster = GroupCluster()
    cluster.commit(("t", 1, 42))

    response = fetch(cluster, version, {"t": [0, 1]})

    assert response.error_code == ErrorCode.NONE
    assert found(response) == [(0, -1, "", 0), (1, 42, "note", 0)]
    (topic,) = response.topics
    assert topic.partitions[1].committed_leader_epoch == -1
    if version >= 10:
        assert topic.topic_id == cluster.topic.topic_id
    else:
        assert topic.name == "t"


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH))
def test_a_missing_topic_has_no_offset_and_an_unknown_topic_id_is_an_error(
    version: int,
) -> None:
    response = fetch(GroupCluster(), version, {"nope": [3]})

    code = ErrorCode.UNKNOWN_TOPIC_ID if version >= 10 else ErrorCode.NONE
    assert found(response) == [(3, -1, "", code)]
    if version >= 10:
        assert response.topics[0].topic_id == NOBODYS_ID


def test_unknown_topic_ids_come_last() -> None:
    response = fetch(GroupCluster(), 10, {"nope": [3], "t": [0], "nowhere": [4]})

    no_id = ErrorCode.UNKNOWN_TOPIC_ID
    assert found(response) == [(0, -1, "", 0), (3, -1, "", no_id), (4, -1, "", no_id)]


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH, 2))
def test_null_topics_are_all_topics_and_an_empty_list_is_none(version: int) -> None:
    cluster = GroupCluster()
    assert found(fetch(cluster, version, None)) == []
    cluster.commit(("t", 0, 1), ("t", 1, 2))

    assert found(fetch(cluster, version, None)) == [(0, 1, "note", 0), (1, 2, "note", 0)]
    assert found(fetch(cluster, version, {})) == []


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH))
def test_another_broker_is_not_the_coordinator(version: int) -> None:
    cluster = GroupCluster()

    response = fetch(cluster, version, {"t": [0, 1]}, broker_id=cluster.other_id)

    error = ErrorCode.NOT_COORDINATOR
    if version == 1:
        assert found(response) == [(0, -1, "", error), (1, -1, "", error)]
    else:
        assert (response.error_code, response.topics) == (error, [])


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH, 8))
def test_each_group_has_its_own_error(version: int) -> None:
    cluster = GroupCluster()
    cluster.commit(("t", 0, 1))
    other_name = next(
        name
        for name in map(str, range(100))
        if cluster.cluster.coordinator_id(name) != cluster.coordinator_id
    )
    groups = [
        _Request.OffsetFetchRequestGroup(version=version, group_id=name, topics=None)
        for name in (other_name, GROUP)
    ]

    response = cluster.ask(ApiKey.OFFSET_FETCH, version, groups=groups, require_stable=True)

    assert [(group.group_id, group.error_code, len(group.topics)) for group in response.groups] == [
        (other_name, ErrorCode.NOT_COORDINATOR, 0),
        (GROUP, ErrorCode.NONE, 1),
    ]


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH, 5))
def test_the_leader_epoch_is_returned_from_version_5(version: int) -> None:
    cluster = GroupCluster()
    cluster.commit(("t", 0, 1))
    ((name, index, committed),) = cluster.cluster.groups.table.all_committed(GROUP)
    assert (name, index, committed.leader_epoch) == ("t", 0, -1)

    (topic,) = fetch(cluster, version, {"t": [0]}).topics

    assert topic.partitions[0].committed_leader_epoch == -1


def test_a_deleted_topic_has_no_committed_offsets() -> None:
    cluster = GroupCluster()
    cluster.commit(("t", 0, 1))

    cluster.cluster.delete_topic(cluster.topic, cluster.now_ms)

    assert found(fetch(cluster, 9, None)) == []
    assert found(fetch(cluster, 9, {"t": [0]})) == [(0, -1, "", 0)]
