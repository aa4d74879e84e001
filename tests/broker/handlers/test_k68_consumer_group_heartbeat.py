"""ConsumerGroupHeartbeat on the wire."""

from base64 import b64decode
from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.configs import ResourceType
from protocol.errors import ErrorCode
from tests.broker.groups.group_cluster import GROUP, GroupCluster, versions

_Partitions = messages.ConsumerGroupHeartbeatRequest.TopicPartitions


def heartbeat(cluster: GroupCluster, epoch: int = 0, version: int = 1, **fields: Any) -> Any:
    """Send a heartbeat of the member m, by default one that joins and subscribes to t."""
    defaults: dict[str, Any] = {"group_id": GROUP, "member_id": "m", "member_epoch": epoch}
    if epoch == 0:
        defaults |= {
            "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": ["t"],
            "topic_partitions": [],
        }
    return cluster.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, version, **(defaults | fields))


def assigned(response: Any) -> list[tuple[Any, list[int]]]:
    return [(topic.topic_id, topic.partitions) for topic in response.assignment.topic_partitions]


@pytest.mark.parametrize("version", versions(ApiKey.CONSUMER_GROUP_HEARTBEAT))
def test_a_member_joins_with_epoch_0_and_gets_its_partitions(version: int) -> None:
    cluster = GroupCluster()
    response = heartbeat(cluster, version=version)
    assert (response.error_code, response.error_message) == (0, None)
    assert (response.member_id, response.member_epoch) == ("m", 1)
    assert response.heartbeat_interval_ms == 5000
    assert assigned(response) == [(cluster.topic.topic_id, [0, 1])]
    assert heartbeat(cluster, 1, version).assignment is None


def test_the_broker_gives_an_id_in_version_0_only() -> None:
    cluster = GroupCluster()
    given = heartbeat(cluster, version=0, member_id="").member_id
    assert len(b64decode(given + "==", altchars="-_", validate=True)) == 16
    assert heartbeat(cluster, member_id="").error_code == ErrorCode.INVALID_REQUEST


def test_a_member_reports_what_it_owns() -> None:
    cluster = GroupCluster()
    topic_id = cluster.topic.topic_id
    heartbeat(cluster)
    heartbeat(cluster, member_id="other")

    both = _Partitions(version=1, topic_id=topic_id, partitions=[0, 1])
    assert assigned(heartbeat(cluster, 1, topic_partitions=[both])) == [(topic_id, [0])]
    one = _Partitions(version=1, topic_id=topic_id, partitions=[0])
    assert heartbeat(cluster, 1, topic_partitions=[one]).member_epoch == 2
    assert assigned(heartbeat(cluster, 2, member_id="other")) == [(topic_id, [1])]


def test_a_refusal_has_a_message() -> None:
    cluster = GroupCluster()
    response = heartbeat(cluster, 5)
    assert response.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert (response.error_message, response.member_id) == ("Consumer group g not found.", None)


def test_only_the_coordinator_takes_heartbeats() -> None:
    cluster = GroupCluster()
    response = heartbeat(cluster, broker_id=cluster.other_id)
    assert response.error_code == ErrorCode.NOT_COORDINATOR


def without_feature(cluster: Cluster) -> None:
    cluster.features.apply({"group.version": 0})


def test_without_the_feature_or_the_protocol_the_api_is_not_supported() -> None:
    cluster = GroupCluster()
    without_feature(cluster.cluster)
    assert heartbeat(cluster).error_code == ErrorCode.UNSUPPORTED_VERSION
    cluster = GroupCluster(group_coordinator_rebalance_protocols="classic")
    assert heartbeat(cluster).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_group_has_its_own_heartbeat_interval() -> None:
    cluster = GroupCluster()
    layer = {"consumer.heartbeat.interval.ms": "7000"}
    config = cluster.cluster.config.with_resource((ResourceType.GROUP, GROUP), layer)
    cluster.cluster.set_config(config)
    assert heartbeat(cluster).heartbeat_interval_ms == 7000
    other = next(
        name
        for name in map(str, range(100))
        if cluster.cluster.coordinator_id(name) == cluster.coordinator_id
    )
    assert heartbeat(cluster, group_id=other).heartbeat_interval_ms == 5000


def test_new_partitions_and_deleted_topics_are_seen_by_the_next_heartbeat() -> None:
    cluster = GroupCluster()
    topic_id = cluster.topic.topic_id
    heartbeat(cluster)
    cluster.cluster.add_partitions(cluster.topic, [(3,)])
    assert assigned(heartbeat(cluster, 1)) == [(topic_id, [0, 1, 2])]
    cluster.cluster.delete_topic(cluster.topic, cluster.now_ms)
    assert assigned(heartbeat(cluster, 2)) == []


def test_the_members_of_a_group_stay_when_its_coordinator_changes() -> None:
    cluster = GroupCluster()
    heartbeat(cluster)
    partition = cluster.cluster.group_log.partition(GROUP)
    assert partition is not None
    cluster.cluster.move_leader(partition, cluster.other_id, cluster.now_ms)
    cluster.cluster.timers.run_due(cluster.now_ms)
    new_id = partition.leader_id
    assert heartbeat(cluster, 1, broker_id=new_id).error_code == ErrorCode.NONE
