"""Brokers whose log directories are cordoned get no new replicas (KIP-1066)."""

from typing import Any

import pytest

from broker.administration.log_dirs import move_replica
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.cordoned_dirs import is_cordoned, usable_broker_ids
from broker.cluster.internal_topics import GROUP_METADATA
from broker.config.broker_config import BrokerConfig
from broker.config.broker_requirements import LOG_DIR
from broker.config.keys import ConfigError
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import call, make_cluster

KEY = "cordoned.log.dirs"


def cordon(cluster: Cluster, broker_id: int, value: str) -> tuple[int, str]:
    request_class = messages.IncrementalAlterConfigsRequest
    resource_class = request_class.AlterConfigsResource
    config = resource_class.AlterableConfig(name=KEY, config_operation=0, value=value)
    request = request_class(
        resources=[resource_class(resource_type=4, resource_name=str(broker_id), configs=[config])],
        validate_only=False,
    )
    (result,) = call(cluster, request, 1, broker_id=broker_id).responses
    return result.error_code, result.error_message


def create(
    cluster: Cluster, name: str, factor: int, replicas: tuple[int, ...] = ()
) -> tuple[int, str]:
    request_class = messages.CreateTopicsRequest
    topic_class = request_class.CreatableTopic
    assignments = [
        topic_class.CreatableReplicaAssignment(partition_index=0, broker_ids=list(replicas))
    ]
    topic = topic_class(
        name=name,
        num_partitions=-1 if replicas else 6,
        replication_factor=-1 if replicas else factor,
        assignments=assignments if replicas else [],
        configs=[],
    )
    request = request_class(topics=[topic], timeout_ms=1000, validate_only=False)
    (result,) = call(cluster, request, 7).topics
    return result.error_code, result.error_message


def replicas_of(cluster: Cluster, name: str) -> set[int]:
    topic = cluster.topics.get(name)
    assert topic is not None
    return {node_id for partition in topic.partitions for node_id in partition.replicas}


@pytest.mark.parametrize("value", ["*", LOG_DIR.format(2)])
def test_new_replicas_avoid_a_cordoned_broker_until_it_is_free(value: str) -> None:
    cluster = make_cluster(3)
    assert create(cluster, "before", 3)[0] == ErrorCode.NONE
    assert cordon(cluster, 2, value)[0] == ErrorCode.NONE
    assert usable_broker_ids(cluster) == [1, 3]
    assert create(cluster, "a", 2)[0] == ErrorCode.NONE
    assert replicas_of(cluster, "a") == {1, 3}
    assert replicas_of(cluster, "before") == {1, 2, 3}
    ensure_internal_topic(cluster, GROUP_METADATA)
    assert replicas_of(cluster, "__consumer_offsets") == {1, 3}
    assert create(cluster, "b", 3) == (
        ErrorCode.INVALID_REPLICATION_FACTOR,
        (
            "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot"
            " be reached because only 2 broker(s) are registered or some brokers have all their log"
            " directories cordoned."
        ),
    )
    assert create(cluster, "c", 2, (1, 2)) == (
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        (
            "The manual partition assignment includes broker 2, but all its log directories are"
            " cordoned."
        ),
    )
    assert cordon(cluster, 2, "")[0] == ErrorCode.NONE
    assert create(cluster, "b", 3)[0] == ErrorCode.NONE


def test_without_any_directory_there_is_no_new_topic() -> None:
    cluster = make_cluster(2)
    for broker_id in (1, 2):
        assert cordon(cluster, broker_id, "*")[0] == ErrorCode.NONE
    assert create(cluster, "a", 1) == (
        ErrorCode.INVALID_REPLICATION_FACTOR,
        (
            "Unable to replicate the partition 1 time(s): All brokers are currently fenced, or have"
            " all their log directories cordoned."
        ),
    )


def described(cluster: Cluster) -> bool:
    request = messages.DescribeLogDirsRequest(topics=None)
    response: Any = call(cluster, request, 5)
    return bool(response.results[0].is_cordoned)


def test_describe_log_dirs_shows_a_cordoned_directory_that_takes_no_moved_replica() -> None:
    cluster = make_cluster(1)
    cluster.create_topic("t", [(1,)], {})
    assert not described(cluster)
    assert move_replica(cluster, 1, "t", 0, LOG_DIR.format(1)) is ErrorCode.NONE
    cordon(cluster, 1, "*")
    assert described(cluster)
    assert (
        move_replica(cluster, 1, "t", 0, LOG_DIR.format(1)) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    )


def test_an_older_metadata_version_does_not_know_cordoned_directories() -> None:
    cluster = make_cluster(1, **{"cluster.features": "metadata.version=29", KEY: "*"})
    assert not is_cordoned(cluster, 1)
    cluster.features.apply({"metadata.version": 30})
    assert is_cordoned(cluster, 1)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("*,/b", "When cordoned.log.dirs is set to *, it must not contain other values"),
        ("/b,/c", "log.dirs or log.dir. Missing entries : /c"),
        ("/mock-kafka/broker-x", "Missing entries : /mock-kafka/broker-x"),
    ],
)
def test_unknown_directories_are_refused(value: str, problem: str) -> None:
    with pytest.raises(ConfigError, match="requirement failed: ") as caught:
        BrokerConfig.from_overrides({"log.dirs": "/a,/b", KEY: value})
    assert problem in str(caught.value)
    assert cordon(make_cluster(1), 1, "/c")[0] == ErrorCode.INVALID_REQUEST


def test_one_of_two_directories_is_enough_for_new_replicas() -> None:
    settings = {"log.dirs": "/a,/b"}
    assert not is_cordoned(make_cluster(1, **settings, **{KEY: "/a"}), 1)
    assert is_cordoned(make_cluster(1, **settings, **{KEY: "/b,/a"}), 1)
