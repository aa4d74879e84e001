"""OffsetCommit on the wire."""

from typing import Any
from uuid import UUID

import pytest

from broker.cluster.coordinators import move_coordinator
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.groups.group_cluster import GROUP, GroupCluster, versions
from tests.broker.interleaving import at_pause, run_with_pauses

_Topic: Any = messages.OffsetCommitRequest.OffsetCommitRequestTopic
NOBODYS_ID = UUID(int=2**100)


def partition(version: int, index: int, offset: int = 5, metadata: str | None = "note") -> Any:
    return _Topic.OffsetCommitRequestPartition(
        version=version,
        partition_index=index,
        committed_offset=offset,
        committed_leader_epoch=3,
        committed_metadata=metadata,
    )


def commit(cluster: GroupCluster, version: int, topics: list[Any], **fields: Any) -> Any:
    fields = {"group_id": GROUP, "topics": topics} | fields
    return cluster.ask(ApiKey.OFFSET_COMMIT, version, **fields)


def codes(response: Any) -> list[list[tuple[int, int]]]:
    return [
        [(result.partition_index, result.error_code) for result in topic.partitions]
        for topic in response.topics
    ]


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_COMMIT))
def test_every_version_commits_existing_partitions_and_refuses_missing_ones(version: int) -> None:
    cluster = GroupCluster()
    known = _Topic(
        version=version,
        name="t",
        topic_id=cluster.topic.topic_id,
        partitions=[partition(version, 1), partition(version, 2), partition(version, -1)],
    )
    missing = _Topic(
        version=version, name="nope", topic_id=NOBODYS_ID, partitions=[partition(version, 0)]
    )

    response = commit(cluster, version, [missing, known])

    no_topic = ErrorCode.UNKNOWN_TOPIC_ID if version >= 10 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    no_partition = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(response) == [[(0, no_topic)], [(2, no_partition), (-1, no_partition), (1, 0)]]
    if version >= 10:
        assert [topic.topic_id for topic in response.topics] == [NOBODYS_ID, cluster.topic.topic_id]
    else:
        assert [topic.name for topic in response.topics] == ["nope", "t"]
    (found,) = cluster.cluster.groups.table.all_committed(GROUP)
    assert found[:2] == ("t", 1)
    assert (found[2].offset, found[2].metadata) == (5, "note")
    assert found[2].leader_epoch == (3 if version >= 6 else -1)


@pytest.mark.parametrize("pause", range(1, 4))
def test_a_member_that_leaves_while_its_commit_pauses_commits_nothing(pause: int) -> None:
    cluster = GroupCluster()
    member_id = cluster.stable_member()
    topics = [_Topic(version=8, name="t", partitions=[partition(8, 0)])]
    member = {"member_id": member_id, "generation_id_or_member_epoch": 1}

    def leave() -> None:
        cluster.ask(ApiKey.LEAVE_GROUP, 0, group_id=GROUP, member_id=member_id)

    response = run_with_pauses(lambda: commit(cluster, 8, topics, **member), at_pause(pause, leave))

    assert codes(response) == [[(0, ErrorCode.UNKNOWN_MEMBER_ID)]]
    assert cluster.cluster.groups.table.committed(GROUP, "t", 0) is None


@pytest.mark.parametrize("pause", range(1, 4))
def test_a_coordinator_that_moves_while_a_commit_pauses_commits_nothing(pause: int) -> None:
    cluster = GroupCluster()
    member_id = cluster.stable_member()
    topics = [_Topic(version=8, name="t", partitions=[partition(8, 0)])]
    member = {"member_id": member_id, "generation_id_or_member_epoch": 1}

    def move() -> None:
        move_coordinator(cluster.cluster, GROUP, cluster.other_id, cluster.now_ms)

    response = run_with_pauses(lambda: commit(cluster, 8, topics, **member), at_pause(pause, move))

    assert codes(response) == [[(0, ErrorCode.NOT_COORDINATOR)]]
    assert cluster.cluster.groups.table.committed(GROUP, "t", 0) is None


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_COMMIT))
def test_an_error_of_the_member_is_set_on_each_existing_partition(
    version: int,
) -> None:
    cluster = GroupCluster()
    member_id = cluster.stable_member()
    topics = [
        _Topic(
            version=version,
            name="t",
            topic_id=cluster.topic.topic_id,
            partitions=[partition(version, 0), partition(version, 1), partition(version, 9)],
        )
    ]

    def code(**fields: Any) -> int:
        ((missing, first, second),) = codes(commit(cluster, version, topics, **fields))
        assert missing[1] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert first[1] == second[1]
        return first[1]

    right = {"member_id": member_id, "generation_id_or_member_epoch": 1}
    wrong = right | {"generation_id_or_member_epoch": 2}
    assert code(**right) == ErrorCode.NONE
    assert code(**wrong) == ErrorCode.ILLEGAL_GENERATION
    assert code(**right, broker_id=cluster.other_id) == ErrorCode.NOT_COORDINATOR
    assert code() == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_COMMIT))
def test_a_generation_of_a_missing_group_gets_group_id_not_found_from_version_9(
    version: int,
) -> None:
    cluster = GroupCluster()
    topic = _Topic(
        version=version,
        name="t",
        topic_id=cluster.topic.topic_id,
        partitions=[partition(version, 0)],
    )

    response = commit(cluster, version, [topic], generation_id_or_member_epoch=4, member_id="m")

    expected = ErrorCode.GROUP_ID_NOT_FOUND if version >= 9 else ErrorCode.ILLEGAL_GENERATION
    assert codes(response) == [[(0, expected)]]


def test_metadata_may_be_null_and_must_not_be_too_long() -> None:
    cluster = GroupCluster(offset_metadata_max_bytes="4")
    partitions = [partition(9, 0, metadata=None), partition(9, 1, metadata="12345")]

    response = commit(cluster, 9, [_Topic(version=9, name="t", partitions=partitions)])

    assert codes(response) == [[(0, 0), (1, ErrorCode.OFFSET_METADATA_TOO_LARGE)]]


def test_a_static_member_is_fenced_by_the_one_that_replaced_it() -> None:
    cluster = GroupCluster()
    old_id = cluster.stable_member(group_instance_id="i")
    cluster.join(5, group_instance_id="i")
    member: dict[str, Any] = {
        "member_id": old_id,
        "group_instance_id": "i",
        "generation_id_or_member_epoch": 1,
    }

    assert cluster.commit(("t", 0, 1), **member) == [ErrorCode.FENCED_INSTANCE_ID]


@pytest.mark.parametrize("version", [9, 10])
@pytest.mark.parametrize(
    ("release", "error_code"), [("4.2", ErrorCode.STALE_MEMBER_EPOCH), ("4.3", ErrorCode.NONE)]
)
def test_a_member_commits_with_the_epoch_in_which_it_got_a_partition_since_kafka_4_3(
    release: str, error_code: ErrorCode, version: int
) -> None:
    cluster = GroupCluster(broker_api_versions=release)
    joined = modern_join(cluster, "a")
    modern_join(cluster, "b")
    owned = messages.ConsumerGroupHeartbeatRequest.TopicPartitions(
        version=1, topic_id=cluster.topic.topic_id, partitions=[0]
    )
    beat = {"group_id": GROUP, "member_id": "a", "topic_partitions": [owned]}
    heartbeat = ApiKey.CONSUMER_GROUP_HEARTBEAT
    moved = cluster.ask(heartbeat, 1, member_epoch=joined.member_epoch, **beat)
    assert moved.member_epoch == joined.member_epoch + 1

    def committed(index: int) -> int:
        topic = _Topic(
            version=version,
            name="t",
            topic_id=cluster.topic.topic_id,
            partitions=[partition(version, index)],
        )
        member = {"member_id": "a", "generation_id_or_member_epoch": joined.member_epoch}
        (((_, found),),) = codes(commit(cluster, version, [topic], **member))
        return found

    assert committed(0) == error_code
    assert committed(1) == ErrorCode.STALE_MEMBER_EPOCH


def modern_join(cluster: GroupCluster, member_id: str) -> Any:
    return cluster.ask(
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        1,
        group_id=GROUP,
        member_id=member_id,
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )


def test_a_commit_without_partitions_creates_no_group() -> None:
    cluster = GroupCluster()

    assert commit(cluster, 9, []).topics == []
    assert cluster.commit(("nope", 0, 1)) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert len(cluster.cluster.groups.table) == 0


def test_versions_2_to_4_have_a_retention_time() -> None:
    cluster = GroupCluster()
    for version in (2, 5):
        fields = {"retention_time_ms": 1_000} if version == 2 else {}
        cluster.commit(("t", 0, 1), version=version, group_id=GROUP, **fields)
        (found,) = cluster.cluster.groups.table.all_committed(GROUP)
        assert found[2].expires_ms == (cluster.now_ms + 1_000 if version == 2 else None)
