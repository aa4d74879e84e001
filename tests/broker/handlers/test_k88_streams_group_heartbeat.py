"""StreamsGroupHeartbeat on the wire."""

import pytest

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.groups.group_cluster import GROUP, GroupCluster, versions
from tests.broker.handlers.streams_requests import (
    heartbeat,
    joined,
    make_cluster,
    store,
    subtopology,
    tasks,
)

_Request = messages.StreamsGroupHeartbeatRequest


@pytest.mark.parametrize("version", versions(ApiKey.STREAMS_GROUP_HEARTBEAT))
def test_a_member_joins_with_a_topology_and_gets_its_tasks(version: int) -> None:
    cluster = make_cluster()
    response = joined(cluster, version=version)
    assert (response.member_id, response.member_epoch, response.status) == ("m", 2, [])
    assert tasks(response.active_tasks) == {"0": [0, 1]}
    assert (response.standby_tasks, response.warmup_tasks) == ([], [])
    assert (response.heartbeat_interval_ms, response.task_offset_interval_ms) == (5000, 60_000)
    if version >= 1:
        assert response.acceptable_recovery_lag == 10_000
    assert heartbeat(cluster, 2, version).active_tasks is None


def test_the_broker_creates_internal_topics_with_their_configurations() -> None:
    cluster = make_cluster()
    topology = [subtopology(state_changelog_topics=[store(replication_factor=2)])]
    response = joined(cluster, subtopologies=topology)
    (status,) = response.status
    assert (status.status_code, status.status_detail) == (3, "Internal topics are missing: store")
    topic = cluster.cluster.topics.get("store")
    assert topic is not None
    assert [len(partition.replicas) for partition in topic.partitions] == [2, 2]
    assert topic.config["cleanup.policy"] == ("compact",)
    assert tasks(heartbeat(cluster, response.member_epoch).active_tasks) == {"0": [0, 1]}


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        (
            "__consumer_offsets",
            (
                "Use of Kafka internal topics __consumer_offsets in a Kafka Streams topology is"
                " prohibited."
            ),
        ),
        ("a b", "Topic names a b are not valid topic names."),
    ],
)
def test_topics_of_a_topology_have_names_of_their_own(topic: str, message: str) -> None:
    cluster = make_cluster()
    response = heartbeat(cluster, subtopologies=[subtopology(source_topics=[topic])])
    assert response.error_code == ErrorCode.STREAMS_INVALID_TOPOLOGY
    assert response.error_message == message


def test_an_id_of_two_subtopologies_is_an_error_after_those_of_the_request() -> None:
    cluster = make_cluster()
    twice = [subtopology(), subtopology(repartition_sink_topics=["a b"])]
    response = heartbeat(cluster, subtopologies=twice)
    assert response.error_message == "Topic names a b are not valid topic names."
    response = heartbeat(cluster, subtopologies=twice[:1] * 2, process_id="p", member_id="")
    assert response.error_code == ErrorCode.INVALID_REQUEST
    response = heartbeat(cluster, subtopologies=twice[:1] * 2)
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert response.error_message == "Duplicate key 0"


def test_a_changelog_has_no_partition_count_of_its_own() -> None:
    cluster = make_cluster()
    topology = [subtopology(state_changelog_topics=[store(partitions=3)])]
    response = heartbeat(cluster, subtopologies=topology)
    assert response.error_code == ErrorCode.STREAMS_INVALID_TOPOLOGY
    assert response.error_message == (
        "Changelog topic store must have an undefined partition count, but it is set to 3."
    )


def test_a_subtopology_occurs_once() -> None:
    response = heartbeat(make_cluster(), subtopologies=[subtopology(), subtopology()])
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


INVALID = {
    "MemberId can't be empty.": {"member_id": " "},
    "GroupId can't be empty.": {"group_id": ""},
    "InstanceId can't be empty.": {"instance_id": ""},
    "RackId can't be empty.": {"rack_id": ""},
    "RebalanceTimeoutMs must be provided in first request.": {"rebalance_timeout_ms": -1},
    "ActiveTasks must be empty when (re-)joining.": {"active_tasks": None},
    "StandbyTasks must be empty when (re-)joining.": {"standby_tasks": None},
    "WarmupTasks must be empty when (re-)joining.": {"warmup_tasks": None},
    "Topology must be non-null when (re-)joining.": {"topology": None},
    "InstanceId can't be null.": {"epoch": -2},
    "MemberEpoch is -3, but must be greater than or equal to -2.": {"epoch": -3},
    "If one task-type is non-null, all must be non-null.": {"epoch": 1, "active_tasks": []},
    "Topology can only be provided when (re-)joining.": {
        "epoch": 1,
        "topology": _Request.Topology(version=1, epoch=0, subtopologies=[]),
    },
}


@pytest.mark.parametrize("message", INVALID)
def test_an_invalid_request_says_what_is_wrong(message: str) -> None:
    response = heartbeat(make_cluster(), **INVALID[message])  # type: ignore[arg-type]
    assert (response.error_code, response.error_message) == (ErrorCode.INVALID_REQUEST, message)


def test_source_topics_are_named() -> None:
    topology = [subtopology(source_topic_regex=["t.*"])]
    response = heartbeat(make_cluster(), subtopologies=topology)
    assert response.error_message == (
        "Regular expressions for source topics are not supported yet."
    )


_OFFSET = _Request.TaskOffset(version=0, subtopology_id="0", partition=0, offset=1)
_TASK = _Request.TaskIds(version=0, subtopology_id="0", partitions=[0])
SINCE_4_4 = {
    "Static membership is not yet supported.": {"instance_id": "i"},
    "TaskOffsets are not supported yet.": {"task_offsets": [_OFFSET]},
    "TaskEndOffsets are not supported yet.": {"task_end_offsets": [_OFFSET]},
    "WarmupTasks are not supported yet.": {"warmup_tasks": [_TASK]},
}


@pytest.mark.parametrize("message", SINCE_4_4)
def test_some_fields_are_refused_before_kafka_4_4(message: str) -> None:
    fields = SINCE_4_4[message]
    old = heartbeat(make_cluster("4.3"), version=0, **fields)  # type: ignore[arg-type]
    assert (old.error_code, old.error_message) == (ErrorCode.INVALID_REQUEST, message)
    new = heartbeat(make_cluster(), version=0, **fields)  # type: ignore[arg-type]
    assert new.error_message != message


@pytest.mark.parametrize(
    "overrides",
    [
        {"release": "4.1"},
        {"cluster_features": "streams.version=0"},
        {"group_coordinator_rebalance_protocols": "classic,consumer"},
    ],
)
def test_the_feature_and_the_protocol_must_be_on(overrides: dict[str, str]) -> None:
    response = heartbeat(make_cluster(**overrides))
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION


def test_only_the_coordinator_takes_heartbeats() -> None:
    cluster = make_cluster()
    response = heartbeat(cluster, broker_id=cluster.other_id)
    assert response.error_code == ErrorCode.NOT_COORDINATOR
    invalid = heartbeat(cluster, broker_id=cluster.other_id, member_id="")
    assert invalid.error_code == ErrorCode.INVALID_REQUEST


def test_endpoints_and_their_partitions_are_told() -> None:
    cluster = make_cluster()
    endpoint = _Request.Endpoint(version=1, host="h", port=80)
    response = joined(cluster, user_endpoint=endpoint)
    (found,) = response.partitions_by_user_endpoint
    assert (found.user_endpoint.host, found.user_endpoint.port) == ("h", 80)
    (topic,) = found.active_partitions
    assert (topic.topic, topic.partitions) == ("t", [0, 1])
    assert found.standby_partitions == []


def describe_classic(cluster: GroupCluster) -> object:
    response = cluster.ask(ApiKey.DESCRIBE_GROUPS, 6, groups=[GROUP])
    return response.groups[0].error_message


def test_other_apis_know_the_group() -> None:
    cluster = make_cluster()
    epoch = joined(cluster).member_epoch
    (listed,) = cluster.ask(ApiKey.LIST_GROUPS, 5, types_filter=["streams"]).groups
    assert (listed.group_type, listed.protocol_type) == ("streams", "streams")
    assert listed.group_state == "Stable"
    assert describe_classic(cluster) == "Group g is not a classic group."
    (deleted,) = cluster.ask(ApiKey.DELETE_GROUPS, 2, groups_names=[GROUP]).results
    assert deleted.error_code == ErrorCode.NON_EMPTY_GROUP
    left = heartbeat(cluster, -1)
    assert (left.error_code, left.member_epoch, left.status) == (0, -1, [])
    assert epoch == 2
    (deleted,) = cluster.ask(ApiKey.DELETE_GROUPS, 2, groups_names=[GROUP]).results
    assert deleted.error_code == ErrorCode.NONE
