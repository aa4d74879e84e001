"""ShareGroupHeartbeat on the wire."""

from typing import Any

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.share_driver import GROUP, TOPIC, ShareDriver, member_id


def test_the_second_heartbeat_assigns_the_partitions() -> None:
    driver = ShareDriver(partition_count=2)

    first = driver.heartbeat(1, 0, [TOPIC])
    assert (first.member_epoch, first.heartbeat_interval_ms) == (2, 5000)
    assert first.assignment.topic_partitions == []
    second = driver.heartbeat(1, 2)
    (assigned,) = second.assignment.topic_partitions
    assert (assigned.topic_id, assigned.partitions) == (driver.topic.topic_id, [0, 1])
    third = driver.heartbeat(1, second.member_epoch)
    assert (third.error_code, third.assignment) == (ErrorCode.NONE, None)


def test_a_member_leaves_and_is_unknown() -> None:
    driver = ShareDriver()
    driver.join(1)

    left = driver.heartbeat(1, -1)

    assert (left.error_code, left.member_id, left.member_epoch) == (0, member_id(1), -1)
    assert driver.heartbeat(1, -1).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.heartbeat(1, 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_errors_have_kafkas_messages() -> None:
    driver = ShareDriver(broker_count=2)
    missing = driver.heartbeat(1, 1)
    assert (missing.error_code, missing.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Share group g not found.",
    )
    invalid = driver.heartbeat(1, 0)
    assert invalid.error_code == ErrorCode.INVALID_REQUEST
    request = messages.ShareGroupHeartbeatRequest(
        group_id=GROUP, member_id=member_id(1), member_epoch=0, subscribed_topic_names=[TOPIC]
    )
    other = driver.ask(request, broker_id=3 - driver.coordinator_id)
    assert (other.error_code, other.error_message) == (
        ErrorCode.NOT_COORDINATOR,
        "This is not the correct coordinator.",
    )


def test_a_group_of_another_type_is_no_share_group() -> None:
    driver = ShareDriver()
    commit: type = messages.OffsetCommitRequest
    topic = commit.OffsetCommitRequestTopic  # type: ignore[attr-defined]
    partition = topic.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    driver.ask(
        commit(group_id=GROUP, topics=[topic(name=TOPIC, partitions=[partition])]), version=8
    )

    response = driver.heartbeat(1, 0, [TOPIC])

    assert (response.error_code, response.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group g is not a share group.",
    )


def test_a_share_group_is_no_group_of_another_type() -> None:
    driver = ShareDriver()
    driver.join(1)
    join_class: type = messages.JoinGroupRequest
    protocol = join_class.JoinGroupRequestProtocol(name="range", metadata=b"")  # type: ignore[attr-defined]
    join = join_class(
        group_id=GROUP,
        member_id="",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[protocol],
    )
    response = driver.ask(join, 5)
    assert (response.error_code, response.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    beat = messages.ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id=member_id(9),
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=[TOPIC],
        topic_partitions=[],
    )
    assert driver.ask(beat, 1).error_message == "Group g is not a consumer group."
    commit: type = messages.OffsetCommitRequest
    topic = commit.OffsetCommitRequestTopic  # type: ignore[attr-defined]
    partition = topic.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    for version in (2, 9):
        offsets = commit(group_id=GROUP, topics=[topic(name=TOPIC, partitions=[partition])])
        response = driver.ask(offsets, version=version)
        assert response.topics[0].partitions[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert GROUP not in driver.cluster.groups.table


def test_a_share_group_has_no_committed_offsets_and_no_members_of_other_protocols() -> None:
    driver = ShareDriver()
    driver.join(1)
    fetch: type = messages.OffsetFetchRequest
    requested = fetch.OffsetFetchRequestGroup  # type: ignore[attr-defined]
    topics = requested.OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])
    for named in ([topics], None):
        group = requested(group_id=GROUP, member_id=None, member_epoch=-1, topics=named)
        (found,) = driver.ask(fetch(groups=[group]), 9).groups
        assert found.error_code == ErrorCode.NONE
        assert [p.committed_offset for t in found.topics for p in t.partitions] == (
            [] if named is None else [-1]
        )
    delete = messages.OffsetDeleteRequest(group_id=GROUP, topics=[])
    assert driver.ask(delete, 0).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    beat = messages.HeartbeatRequest(group_id=GROUP, member_id="m", generation_id=1)
    assert driver.ask(beat, 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    sync: type = messages.SyncGroupRequest
    synced = sync(group_id=GROUP, member_id="m", generation_id=1, assignments=[])
    assert driver.ask(synced, 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    leave: type = messages.LeaveGroupRequest
    member = leave.MemberIdentity(member_id="m")  # type: ignore[attr-defined]
    left = driver.ask(leave(group_id=GROUP, members=[member]), 5)
    assert (left.error_code, left.members[0].error_code) == (0, ErrorCode.UNKNOWN_MEMBER_ID)


def test_share_groups_are_listed_and_deleted_with_the_others() -> None:
    driver = ShareDriver()
    driver.join(1)

    def listed(**filters: list[str]) -> list[tuple[str, str, str, str]]:
        request: Any = messages.ListGroupsRequest(states_filter=[], types_filter=[])
        for name, value in filters.items():
            setattr(request, name, value)
        groups = driver.ask(request, 5).groups
        return [(g.group_id, g.protocol_type, g.group_state, g.group_type) for g in groups]

    def delete() -> int:
        response = driver.ask(messages.DeleteGroupsRequest(groups_names=[GROUP]), 2)
        return int(response.results[0].error_code)

    assert listed() == [(GROUP, "share", "Stable", "share")]
    assert listed(types_filter=["Share"], states_filter=["stable"]) == listed()
    assert listed(types_filter=["classic"]) == listed(states_filter=["Empty"]) == []
    assert delete() == ErrorCode.NON_EMPTY_GROUP
    driver.heartbeat(1, -1)
    assert delete() == ErrorCode.NONE
    assert listed() == []


def test_sessions_end_when_the_feature_is_switched_off() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.acquire(1)
    request_class: type = messages.UpdateFeaturesRequest
    update = request_class.FeatureUpdateKey(  # type: ignore[attr-defined]
        feature="share.version", max_version_level=0, upgrade_type=2
    )

    response = driver.ask(request_class(feature_updates=[update]), 2)

    assert response.error_code == ErrorCode.NONE
    assert len(driver.cluster.share.leaders[1].sessions) == 0
    assert driver.heartbeat(1, 2).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_share_groups_may_be_off() -> None:
    driver = ShareDriver(cluster_features="share.version=0")

    assert driver.heartbeat(1, 0, [TOPIC]).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_since_kafka_4_3_the_epochs_of_a_group_begin_at_one() -> None:
    epochs = {
        release: ShareDriver(broker_api_versions=release).heartbeat(1, 0, ["t"]).member_epoch
        for release in ("4.2", "4.3")
    }

    assert epochs == {"4.2": 1, "4.3": 2}


def test_since_kafka_4_2_an_invalid_member_id_is_refused_without_a_message() -> None:
    request = messages.ShareGroupHeartbeatRequest(
        group_id=GROUP, member_id="m" * 37, member_epoch=0, subscribed_topic_names=["t"]
    )

    response = ShareDriver(broker_api_versions="4.2").ask(request)

    assert (response.error_code, response.error_message) == (ErrorCode.INVALID_REQUEST, None)
