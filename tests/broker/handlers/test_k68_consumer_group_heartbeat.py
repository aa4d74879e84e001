"""ConsumerGroupHeartbeat on the wire."""

from base64 import b64decode
from random import Random
from typing import Any
from uuid import UUID

import pytest

from broker.cluster.cluster import Cluster
from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_body, decode_request, encode_message
from protocol.configs import ResourceType
from protocol.errors import ErrorCode
from tests.broker.groups.consumer.driver import JOINED
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
    assert (response.member_id, response.member_epoch) == ("m", JOINED)
    assert response.heartbeat_interval_ms == 5000
    assert assigned(response) == [(cluster.topic.topic_id, [0, 1])]
    assert heartbeat(cluster, JOINED, version).assignment is None


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
    assert assigned(heartbeat(cluster, JOINED, topic_partitions=[both])) == [(topic_id, [0])]
    one = _Partitions(version=1, topic_id=topic_id, partitions=[0])
    assert heartbeat(cluster, JOINED, topic_partitions=[one]).member_epoch == JOINED + 1
    assert assigned(heartbeat(cluster, JOINED + 1, member_id="other")) == [(topic_id, [1])]


def test_a_topic_without_partitions_counts_as_owned() -> None:
    cluster = GroupCluster()
    nothing = _Partitions(version=1, topic_id=UUID(int=9), partitions=[])
    joining = heartbeat(cluster, topic_partitions=[nothing])
    assert joining.error_message == "TopicPartitions must be empty when (re-)joining."

    topic_id = cluster.topic.topic_id
    heartbeat(cluster)
    heartbeat(cluster, member_id="other")
    both, one = (_Partitions(version=1, topic_id=topic_id, partitions=p) for p in ([0, 1], [0]))
    for owned in (both, one):
        heartbeat(cluster, JOINED, topic_partitions=[owned])
    behind = heartbeat(cluster, JOINED, topic_partitions=[one, nothing])
    assert behind.error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert heartbeat(cluster, JOINED, topic_partitions=[one]).error_code == ErrorCode.NONE


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
    assert assigned(heartbeat(cluster, JOINED)) == [(topic_id, [0, 1, 2])]
    cluster.cluster.delete_topic(cluster.topic, cluster.now_ms)
    assert assigned(heartbeat(cluster, JOINED + 1)) == []


def test_the_members_of_a_group_stay_when_its_coordinator_changes() -> None:
    cluster = GroupCluster()
    heartbeat(cluster)
    partition = cluster.cluster.group_log.partition(GROUP)
    assert partition is not None
    cluster.cluster.move_leader(partition, cluster.other_id, cluster.now_ms)
    cluster.cluster.timers.run_due(cluster.now_ms)
    new_id = partition.leader_id
    assert heartbeat(cluster, JOINED, broker_id=new_id).error_code == ErrorCode.NONE


def some_request(random: Random, epochs: dict[str, int], topic_id: UUID) -> dict[str, Any]:
    """Return a heartbeat; most of them are right and report nothing."""
    member_id = random.choice(list(epochs))
    known = epochs[member_id]
    fields: dict[str, Any] = {
        "group_id": GROUP if random.random() < 0.95 else "unknown",
        "member_id": member_id,
        "member_epoch": known if random.random() < 0.9 else random.randint(-2, known + 1),
        "instance_id": "i" if (member_id == "static") is (random.random() < 0.95) else None,
    }
    if fields["member_epoch"] == 0:
        fields |= {
            "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": ["t"],
            "subscribed_topic_regex": "",
            "topic_partitions": [],
        }
        if random.random() < 0.05:
            fields |= {"subscribed_topic_names": None, "subscribed_topic_regex": "t.*"}
    elif random.random() < 0.3:
        indexes = random.sample(range(3), random.randint(0, 3))
        owned = _Partitions(version=1, topic_id=topic_id, partitions=indexes)
        fields["topic_partitions"] = [owned]
    return fields


@pytest.mark.parametrize("seed", range(20))
def test_the_shortcut_and_the_handler_respond_alike(seed: int) -> None:
    random = Random(seed)
    both = [GroupCluster(), GroupCluster()]
    epochs = {"a": 0, "b": 0, "static": 0}
    shortcut_count = 0
    route = ROUTES[ApiKey.CONSUMER_GROUP_HEARTBEAT]
    assert route.shortcut is not None
    for _ in range(100):
        fields = some_request(random, epochs, both[0].topic.topic_id)
        client_id = random.choice(["client"] * 20 + ["other"])
        advance_ms = random.choice([0, 100, 1_000] * 5 + [20_000])
        broker_id = random.choice([both[0].coordinator_id] * 20 + [both[0].other_id])
        grows = random.random() < 0.02
        bodies = []
        for number, cluster in enumerate(both):
            cluster.now_ms += advance_ms
            cluster.cluster.timers.run_due(cluster.now_ms)
            if grows:
                cluster.cluster.add_partitions(cluster.topic, [(3,)])
            request = messages.ConsumerGroupHeartbeatRequest(version=1, **fields)
            body = encode_message(request, 1)
            context = cluster.context(route.api_key, 1, broker_id=broker_id, client_id=client_id)
            response = None
            if number == 0:
                response = route.shortcut(context, body, 0, len(body), cluster.cluster)
                shortcut_count += response is not None
            if response is None:
                message = decode_request(route.api_key, 1, body, 0, len(body))
                response = encode_message(route.handler(context, message, cluster.cluster), 1)
            assert isinstance(response, bytes)
            bodies.append(response)
        assert bodies[0] == bodies[1]
        decoded = decode_body(messages.response_class(route.api_key), 1, memoryview(bodies[0]))
        is_known = decoded.error_code == 0 and decoded.member_epoch >= 0
        epochs[fields["member_id"]] = decoded.member_epoch if is_known else 0
        described = [c.cluster.groups.describe_consumer_group(GROUP) for c in both]
        assert described[0] == described[1]
    assert shortcut_count > 1
