"""Our brokers have the leaders and epochs of the real cluster."""

from typing import Any
from uuid import UUID

import pytest

from broker.cluster.internal_topics import GROUP_METADATA
from protocol import messages
from proxy.diff.id_map import IdMap
from proxy.diff.placement import (
    adopt_brokers,
    adopt_coordinators,
    adopt_placement,
    create_internal_topics,
    pair_topics,
)
from tests.proxy.diff.real_cluster import START_MS, Connection, broker_of


def test_the_epoch_of_a_leader_is_taken_over_with_the_id_of_its_topic() -> None:
    real, ours = broker_of(1000), broker_of(2000)
    topics = [{"name": "t", "num_partitions": 1, "replication_factor": 1}]
    for broker in (real, ours):
        Connection(broker).ask("CreateTopics", 7, topics=topics, timeout_ms=1000)
    named = [broker.cluster.topics.get("t") for broker in (real, ours)]
    assert named[0] is not None
    assert named[1] is not None
    response = messages.MetadataResponse
    partition = response.MetadataResponseTopic.MetadataResponsePartition(
        error_code=0, partition_index=0, leader_id=1, leader_epoch=5, replica_nodes=[1],
        isr_nodes=[1],
    )  # fmt: skip
    topic = response.MetadataResponseTopic(
        error_code=0, name="t", topic_id=named[0].topic_id, partitions=[partition]
    )
    ids = IdMap()
    adopt_placement(ours.cluster, response(topics=[topic]), ids, START_MS)
    assert named[1].partitions[0].leader_epoch == 5
    assert ids.ours("topic_id", str(named[0].topic_id)) == str(named[1].topic_id)


def metadata_of(*node_ids: int, topics: tuple[Any, ...] = ()) -> Any:
    """Return a response to Metadata with these brokers."""
    broker_class = messages.MetadataResponse.MetadataResponseBroker
    return messages.MetadataResponse(
        brokers=[broker_class(node_id=node_id) for node_id in node_ids], topics=list(topics)
    )


def test_replicas_have_the_order_of_the_real_cluster() -> None:
    ours = broker_of(1000, broker_count=3)
    topics = [{"name": "t", "num_partitions": 1, "replication_factor": 3}]
    Connection(ours).ask("CreateTopics", 7, topics=topics, timeout_ms=1000)
    topic_class = messages.MetadataResponse.MetadataResponseTopic
    for order in ([3, 1, 2], [3, 2, 1]):
        partition = topic_class.MetadataResponsePartition(
            error_code=0, partition_index=0, leader_id=3, leader_epoch=0, replica_nodes=order,
            isr_nodes=order,
        )  # fmt: skip
        described = topic_class(error_code=0, name="t", partitions=[partition])
        adopt_placement(ours.cluster, metadata_of(topics=(described,)), IdMap(), START_MS)
        (found,) = Connection(ours).ask("Metadata", 7, topics=[{"name": "t"}])["topics"]
        (shown,) = found["partitions"]
        assert (shown["replica_nodes"], shown["isr_nodes"], shown["leader_id"]) == (order, order, 3)


@pytest.mark.parametrize("version", [2, 4])
@pytest.mark.parametrize("key_type", [0, 1])
def test_the_coordinator_is_the_one_that_the_real_cluster_names(
    key_type: int, version: int
) -> None:
    ours = broker_of(1000, broker_count=3)
    request_class, response_class = (
        messages.FindCoordinatorRequest,
        messages.FindCoordinatorResponse,
    )
    for node_id in (3, 1, 2):
        if version == 2:
            request = request_class(version=2, key="billing", key_type=key_type)
            response = response_class(version=2, error_code=0, node_id=node_id)
        else:
            request = request_class(version=4, coordinator_keys=["billing"], key_type=key_type)
            found = response_class.Coordinator(
                version=4, key="billing", error_code=0, node_id=node_id
            )
            response = response_class(version=4, coordinators=[found])
        adopt_coordinators(ours.cluster, request, response, START_MS)
        arguments = {"coordinator_keys": ["billing"], "key_type": key_type}
        (shown,) = Connection(ours).ask("FindCoordinator", 4, **arguments)["coordinators"]
        assert shown["node_id"] == node_id


def test_an_error_names_no_coordinator() -> None:
    ours = broker_of(1000, broker_count=3)
    request = messages.FindCoordinatorRequest(version=2, key="billing", key_type=0)
    response = messages.FindCoordinatorResponse(version=2, error_code=15, node_id=-1)
    adopt_coordinators(ours.cluster, request, response, START_MS)
    assert ours.cluster.topics.get(GROUP_METADATA.name) is None


def test_a_broker_that_the_real_cluster_has_lost_is_fenced_until_it_is_back() -> None:
    ours = broker_of(1000, broker_count=3).cluster
    adopt_brokers(ours, metadata_of(1, 3), START_MS)
    assert ours.alive_broker_ids() == [1, 3]
    adopt_brokers(ours, metadata_of(1, 2, 3), START_MS)
    assert ours.alive_broker_ids() == [1, 2, 3]
    adopt_brokers(ours, metadata_of(7), START_MS)
    assert ours.alive_broker_ids() == [1, 2, 3]


def test_internal_topics_are_there_if_the_real_cluster_has_them() -> None:
    ours = broker_of(1000).cluster
    topic_class = messages.MetadataResponse.MetadataResponseTopic
    topics = tuple(topic_class(error_code=0, name=n) for n in (GROUP_METADATA.name, "orders"))
    create_internal_topics(ours, metadata_of(1, topics=topics))
    assert [topic.name for topic in ours.topics.all()] == [GROUP_METADATA.name]


def test_the_id_of_a_topic_is_paired_when_our_broker_has_the_topic() -> None:
    ours, ids = broker_of(1000), IdMap()
    topic_class = messages.MetadataResponse.MetadataResponseTopic
    real_id = UUID(int=7)
    described = topic_class(error_code=0, name="t", topic_id=real_id, partitions=[])
    adopt_placement(ours.cluster, metadata_of(topics=(described,)), ids, START_MS)
    assert ids.known_ours("topic_id", str(real_id)) is None
    topics = [{"name": "t", "num_partitions": 1, "replication_factor": 1}]
    Connection(ours).ask("CreateTopics", 7, topics=topics, timeout_ms=1000)
    pair_topics(ours.cluster, ids)
    created = ours.cluster.topics.get("t")
    assert created is not None
    assert ids.ours("topic_id", str(real_id)) == str(created.topic_id)
