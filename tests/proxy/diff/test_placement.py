"""Our brokers have the leaders and epochs of the real cluster."""

from protocol import messages
from proxy.diff.id_map import IdMap
from proxy.diff.placement import adopt_placement
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
